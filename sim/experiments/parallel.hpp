// Independent repetitions on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "sim/experiment.hpp"

namespace fairwater::sim {

/// Calls `work(i)` once for each i below `count`, on up to `options.threads` threads, in no order:
/// each call writes its own result. Reports progress from `from` to `to` from the calling thread.
template <class Work>
void for_each_index(std::size_t count, const ExperimentOptions& options, double from, double to,
                    const Work& work) {
  std::atomic<std::size_t> next{0}, done{0};
  const auto run = [&](bool reports) {
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
      const std::size_t so_far = ++done;
      if (reports)
        options.progress(from +
                         (to - from) * static_cast<double>(so_far) / static_cast<double>(count));
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t threads = std::min<std::size_t>(std::max(1u, options.threads), count);
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(run, false);
    run(true);
  }
  options.progress(to);
}

}  // namespace fairwater::sim
