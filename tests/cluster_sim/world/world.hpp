// A whole cluster in one process and one thread, from one seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fairwater::cluster_sim {

struct RunResult {
  std::optional<std::string> violation;
  std::uint64_t log_hash = 0;
  std::uint64_t log_lines = 0;
  std::uint64_t journal_records = 0;
  std::uint64_t attempts = 0;
  std::size_t fullest_mailbox = 0;  ///< messages
  std::uint64_t rivalries = 0;      ///< see Coordinators
  std::int64_t end_us = 0;          ///< of virtual time
};

/// The same seed gives the same result, on every machine. `verbose`: prints all that happens.
[[nodiscard]] RunResult run_seed(std::uint64_t seed, bool verbose = false);

}  // namespace fairwater::cluster_sim
