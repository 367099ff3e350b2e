// The programs of which the saturation experiment takes curves, and what it makes of the curves.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/saturation/saturation.hpp"
#include "sim/experiments/experiment.hpp"
#include "sim/experiments/measured_programs.hpp"

namespace fairwater::sim::inline experiments {

/// Running times of one program over amounts of one resource, in the order in which they were
/// measured.
struct MeasuredCurve {
  std::string program;
  std::string resource;  ///< "cpu" or "memory"
  std::string unit;      ///< of the amounts
  double granule = 1;    ///< the smallest step between amounts
  std::vector<MeasuredPoint> runs;
};

struct ProgramPlan {
  std::vector<double> cores;       ///< ascending
  std::vector<double> memory_mib;  ///< ascending
  std::size_t input_bytes = 0;     ///< what is compressed and sorted
  std::size_t hashed_bytes = 0;
  std::size_t most_rounds = 1;  ///< each amount is measured once in a round; at least 1
  double most_seconds = 0;      ///< no round after the second is begun that would pass this
};

/// gzip over four files at once, sort with four threads and sha256sum by cores, sort by its buffer.
/// `unavailable` when one of the programs is missing or fails.
[[nodiscard]] Expected<std::vector<MeasuredCurve>> measure_programs(
    const ProgramPlan& plan, ProgramRunner& runner, const std::function<void(double)>& progress);

/// The report on the paper's examples and on measured curves; `circumstances` of the measurement
/// stand among the assumptions.
[[nodiscard]] ExperimentReport report_saturation(const std::vector<MeasuredCurve>& curves,
                                                 std::string_view circumstances);

}  // namespace fairwater::sim::inline experiments
