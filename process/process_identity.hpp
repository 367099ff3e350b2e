// Which process is which. A pid alone names nobody: pids come again, also over a reboot.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

#include "process/file_descriptor.hpp"

namespace fairwater::inline process {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat, in clock ticks since boot
  std::string boot_id;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The caller's own.
[[nodiscard]] ProcessIdentity own_identity();
/// Changes with every boot; constant for the process's life.
[[nodiscard]] const std::string& current_boot_id();
/// A pidfd of exactly this process; empty when it is gone or the pid is somebody else's by now.
[[nodiscard]] FileDescriptor open_process(const ProcessIdentity& identity);

/// Of a pidfd; 0 when the process is gone.
[[nodiscard]] pid_t pid_of(const FileDescriptor& process);

/// Whether the process has a handler for the signal.
[[nodiscard]] bool handles_signal(pid_t pid, int signal);

/// CLOCK_BOOTTIME: steady, and goes on while the machine sleeps.
[[nodiscard]] std::int64_t boottime_ms();

/// All live processes at one moment. O(processes on the machine) to make.
class ProcessTree {
 public:
  ProcessTree();
  /// Nearest first, without `root`.
  [[nodiscard]] std::vector<pid_t> descendants_of(pid_t root) const;
  /// Resident memory of all of them.
  [[nodiscard]] std::int64_t resident_kib_below(pid_t root) const;
  /// 0 for a process that is not there.
  [[nodiscard]] std::uint64_t start_ticks_of(pid_t pid) const;

 private:
  struct Process {
    std::uint64_t start_ticks = 0;
    std::int64_t resident_kib = 0;
  };
  std::map<pid_t, Process> processes_;
  std::multimap<pid_t, pid_t> children_;
};

/// Live processes whose environment holds the entry `NAME=value`. O(processes on the machine).
[[nodiscard]] std::vector<pid_t> processes_with_environment(const std::string& entry);
/// The same for entries that begin like this.
[[nodiscard]] std::vector<pid_t> processes_with_environment_from(const std::string& beginning);
/// Kills exactly this process if it is stopped (SIGSTOP, a debugger).
void kill_if_stopped(const ProcessIdentity& identity);

}  // namespace fairwater::inline process
