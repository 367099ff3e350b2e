// Until when tasks may run without word from the coordinator. One number in a file that the host
// and all its supervisors map: extending it wakes nobody.
#pragma once

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

class Lease {
 public:
  /// Opens or makes the lease in a host's directory. It is bound to this boot: after another one,
  /// CLOCK_BOOTTIME starts anew and no task is left.
  [[nodiscard]] static Expected<Lease> open(const std::filesystem::path& host_directory);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();

  /// CLOCK_BOOTTIME in milliseconds; 0: none was ever given, nothing expires.
  [[nodiscard]] std::int64_t deadline_ms() const;
  void extend(std::int64_t deadline_boottime_ms);

 private:
  explicit Lease(std::int64_t* mapped) : mapped_(mapped) {}
  std::int64_t* mapped_ = nullptr;
};

}  // namespace fairwater::inline process
