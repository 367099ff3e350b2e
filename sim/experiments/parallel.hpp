// Independent repetitions on several threads, with progress.
#pragma once

#include <cstddef>
#include <mutex>

#include "sim/experiments/experiment.hpp"
#include "sim/report/scenario.hpp"

namespace fairwater::sim::inline experiments {

/// Calls `work(i)` once for each i below `count`, on up to `options.threads` threads, in no order:
/// each call writes its own result. Reports progress from `from` to `to`.
template <class Work>
void for_each_index(std::size_t count, const ExperimentOptions& options, double from, double to,
                    const Work& work) {
  std::mutex reporting;
  std::size_t done = 0;
  for_each_parallel(count, options.threads, [&](std::size_t i) {
    work(i);
    const std::lock_guard lock{reporting};
    options.progress(from + (to - from) * static_cast<double>(++done) / static_cast<double>(count));
  });
}

}  // namespace fairwater::sim::inline experiments
