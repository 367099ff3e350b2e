// How often start estimates hold: by when a job with a place in time is told to start
// (policy/allocator/by_time.hpp), and when it does.
#pragma once

#include <cstdint>

#include "sim/schedulers/list.hpp"

namespace fairwater::sim::inline experiments {

struct StartEstimates {
  std::uint64_t started = 0;     ///< tasks
  std::uint64_t waited = 0;      ///< of them, for some time
  std::uint64_t told = 0;        ///< of them, with an estimate meanwhile
  std::uint64_t first_held = 0;  ///< of them, no later than the first that was told
  std::uint64_t last_held = 0;   ///< of them, no later than the last
  TimeMs mean_wait_ms = 0;       ///< of all
  TimeMs mean_late_ms = 0;       ///< behind the first, of those that it did not hold for
};
/// Under `sequence` with these options, which count time.
[[nodiscard]] StartEstimates measure_starts(const Cluster& cluster, const Workload& workload,
                                            const PolicyOptions& options);

}  // namespace fairwater::sim::inline experiments
