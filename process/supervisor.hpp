// One task's supervisor: a small process that starts the command, holds it to its limits, and
// records how it ended. It owes nothing to the agent after the fork and outlives it.
//
//               main process ended, memory limit hit
//            +-------------------------------------------+
//            |                                           v
//   running -+- stop, time limit, lease: SIGTERM -> terminating -- grace over, main process ended:
//   SIGKILL
//                                                                       |
//   ended <- result synced <- every descendant reaped <------------- killing
//
// The process is the reaper of all its descendants (PR_SET_CHILD_SUBREAPER): when none is left, the
// task is over, whoever called setsid or holds its pipes. It waits in one poll only, for signals,
// pipes, one timer, the kernel's word about memory. Where no cgroup bounds that, the host's guard
// measures it (MemoryBoard), and a supervisor does so itself only when nobody else has for a while.
#pragma once

#include <filesystem>
#include <string>

#include "model/job.hpp"
#include "process/file_descriptor.hpp"

namespace fairwater::inline process {

/// Supervises one attempt under `host_directory` from start to recorded result, in the calling
/// process, which has been forked for it and holds the attempt's lock. Returns the process's exit
/// code: 0 when the result is on disk.
[[nodiscard]] int supervise_task(const std::filesystem::path& host_directory, const TaskKey& task,
                                 FileDescriptor lock);

/// Tells a supervisor to stop its task.
[[nodiscard]] caf::error order_stop(const FileDescriptor& supervisor, EndReason reason);

/// Tells a supervisor to pass the signal on to its task's first process, if that handles it: else
/// one that has just been started would be ended by it.
[[nodiscard]] caf::error order_notice(const FileDescriptor& supervisor, int signal);

/// The value that a SIGTERM to a supervisor carries: why its task is to stop. A SIGTERM without one
/// is the machine going down, or the task's doing, and the attempt is lost.
[[nodiscard]] constexpr int stop_signal_value(EndReason reason) {
  return 0x5700 + static_cast<int>(reason);
}
/// That of a notice: the task is not to stop, but to get that signal. Before they had a signal of
/// their own notices were SIGTERMs, too.
[[nodiscard]] constexpr int notice_value(int signal) { return 0x5800 + signal; }

}  // namespace fairwater::inline process
