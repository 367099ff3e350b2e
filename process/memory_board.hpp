// How much memory the tasks of a host use, where no cgroup counts it: a table that the host's guard
// and all its supervisors map. The guard measures every task in one look over /proc, instead of
// each supervisor in one of its own, and tells a supervisor whose task uses more than its amount.
//
//   supervisor                          guard
//    | -- enters pid, start, limit -->   |  while anybody is in: every 100 ms
//    | <-- used, peak, when ----------   |
//    | <-- SIGTERM, memory_limit ------  |  above the limit, once
//    | -- leaves ------------------->    |  takes out whom it finds dead
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "process/process_identity.hpp"

namespace fairwater::inline process {

class MemoryBoard {
 public:
  /// Opens or makes the board in a host's directory. It is bound to this boot.
  [[nodiscard]] static Expected<MemoryBoard> open(const std::filesystem::path& host_directory);
  MemoryBoard(MemoryBoard&& other) noexcept;
  MemoryBoard& operator=(MemoryBoard&&) = delete;
  ~MemoryBoard();

  // For supervisors.

  /// The caller's place; none when all are taken. `limit_kib` 0: measured only.
  [[nodiscard]] std::optional<std::size_t> enter(const ProcessIdentity& supervisor,
                                                 std::int64_t limit_kib);
  void leave(std::size_t place);
  /// The most that was measured of the task in this place.
  [[nodiscard]] std::int64_t peak_kib(std::size_t place) const;
  /// When the guard measured last (CLOCK_BOOTTIME, milliseconds).
  [[nodiscard]] std::int64_t measured_at_ms() const;

  // For the guard.

  [[nodiscard]] bool in_use() const;
  /// Supervisors of this boot that are in.
  [[nodiscard]] std::vector<ProcessIdentity> supervisors() const;
  /// O(processes on the machine + places).
  void measure(std::int64_t now_ms);

 private:
  struct Table;
  explicit MemoryBoard(Table* table) : table_(table) {}
  Table* table_ = nullptr;
};

}  // namespace fairwater::inline process
