// What `qrea-load` and `qrea-fairness` share, and both with a plan of their own size, for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/experiments/qrea_runs.hpp"

namespace fairwater::sim::inline experiments {

struct QreaPlan {
  std::vector<double> rates;          ///< jobs per second
  std::vector<double> variant_rates;  ///< of the variants of `qrea-fairness`
  std::size_t samples = 0;
  std::size_t variant_samples = 0;  ///< of each variant of the assumptions
  double main_part = 0.5;           ///< of the progress; the rest is for the variants
};

/// Ten samples per seed, so that ten seeds are the paper's 100 samples.
[[nodiscard]] inline QreaPlan default_qrea_plan(const ExperimentOptions& options) {
  const std::size_t samples = 10 * std::max<std::size_t>(options.seeds, 1);
  return {.rates = {1, 2, 3, 4, 5, 6, 7, 8, 9},
          .variant_rates = {1, 3, 5, 7, 9},
          .samples = samples,
          .variant_samples = std::min<std::size_t>(samples, 40),
          .main_part = 0.5};
}

[[nodiscard]] Expected<ExperimentReport> measure_qrea_load(const QreaPlan& plan,
                                                           const ExperimentOptions& options);
[[nodiscard]] Expected<ExperimentReport> measure_qrea_fairness(const QreaPlan& plan,
                                                               const ExperimentOptions& options);
/// Where the paper is silent, as both assume it.
[[nodiscard]] std::vector<std::string> qrea_assumptions(const QreaPlan& plan);

}  // namespace fairwater::sim::inline experiments
