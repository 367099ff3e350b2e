// Until when tasks may run without word from the coordinator. A few numbers in a file that the host
// and all its supervisors map: extending them wakes nobody.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "model/errors.hpp"

namespace fairwater::inline process {

/// How soon a supervisor that was started before any lease notices the first one.
inline constexpr std::int64_t kNoLeaseYetMs = 1000;
/// After the lease's end a task has the grace of its job, but no more than this, until its
/// supervisor kills it. It is counted from the lease's end, not from when that was noticed: who was
/// stopped, or frozen with the whole machine, for longer than that is killed at once.
inline constexpr std::int64_t kLeaseGraceMs = 2000;
/// This much later the guard kills what is left: long enough for a supervisor that can.
inline constexpr std::int64_t kGuardDelayMs = 500;
/// After this long beyond the end of the lease the last process of a task is gone: noticed, asked,
/// killed by its supervisor or the guard, and half a second for the kernel to carry it out. A
/// coordinator must wait no less before it gives the task to another node.
inline constexpr std::int64_t kLeaseEndMs = kNoLeaseYetMs + kLeaseGraceMs + kGuardDelayMs + 500;

/// Moments on CLOCK_BOOTTIME, in milliseconds. None of them ever goes back.
struct LeaseTimes {
  /// Of tasks without a lease of their own; 0: none was ever given, nothing expires.
  std::int64_t deadline_ms = 0;
  /// When the newest report left that a coordinator has answered.
  std::int64_t heard_ms = 0;
  /// No task goes on beyond it, however long its own lease is.
  std::int64_t longest_ms = 0;

  /// Of a task whose own lease is so long; 0: it has none.
  [[nodiscard]] std::int64_t deadline_of(std::int64_t own_lease_ms) const;
  /// Takes each moment that is later; false when none is.
  bool extend(const LeaseTimes& given);
  friend bool operator==(const LeaseTimes&, const LeaseTimes&) = default;
};

class Lease {
 public:
  /// Opens or makes the lease in a host's directory. It is bound to this boot: after another one,
  /// CLOCK_BOOTTIME starts anew and no task is left.
  [[nodiscard]] static Expected<Lease> open(const std::filesystem::path& host_directory);
  /// Whether it was opened there since the machine was booted.
  [[nodiscard]] static bool exists(const std::filesystem::path& host_directory);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  /// While another process extends it, each number may be the old or the new one: what follows
  /// from them is never later than what the new ones say.
  [[nodiscard]] LeaseTimes times() const;
  void extend(const LeaseTimes& times);

 private:
  /// In the order of LeaseTimes. Earlier versions know the first alone.
  using Numbers = std::array<std::int64_t, 3>;
  explicit Lease(Numbers* mapped) : mapped_(mapped) {}
  Numbers* mapped_ = nullptr;
};

}  // namespace fairwater::inline process
