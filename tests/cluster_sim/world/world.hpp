// A whole cluster in one process and one thread, from one seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fairwater::cluster_sim {

struct RunOptions {
  std::int64_t virtual_seconds = 600;  ///< of faults; then everything is mended
  bool verbose = false;
};

struct RunResult {
  std::optional<std::string> violation;
  std::uint64_t log_hash = 0;
  std::uint64_t log_lines = 0;
  std::uint64_t journal_records = 0;
  std::uint64_t attempts = 0;
  std::int64_t end_us = 0;  ///< of virtual time
};

/// The same seed and options give the same result, on every machine.
[[nodiscard]] RunResult run_seed(std::uint64_t seed, const RunOptions& options = {});

}  // namespace fairwater::cluster_sim
