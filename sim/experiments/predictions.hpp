// How far predicted run times are off while a workload runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policy/prediction/run_time.hpp"
#include "sim/engine/workload.hpp"

namespace fairwater::sim::inline experiments {

/// Of tasks whose users said how long they may take.
struct PredictedRuns {
  PredictionErrors limits;                   ///< users' own estimates, taken for predictions
  std::vector<PredictionErrors> predicted;   ///< by the mean of so many runs, as asked for
  std::array<std::uint64_t, 3> by_source{};  ///< by PredictionSource
  std::int64_t mean_run_ms = 0;
};

/// Runs the workload under `easy`. What a task is expected to take is judged by what is known when
/// it starts; its class is its tenant's demand and estimate. `recent_runs`: one predictor each.
[[nodiscard]] PredictedRuns measure_predictions(const Cluster& cluster, const Workload& workload,
                                                const std::vector<std::size_t>& recent_runs);

}  // namespace fairwater::sim::inline experiments
