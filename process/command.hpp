// Starts a task's command in a process of its own: the part between fork and exec. The command may
// be anybody's, so the order matters: session, control group and limits while there is the right
// to, then groups and user id, which give up every privilege, then whatever the task could do
// itself.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>

#include "process/attempt_file.hpp"

namespace fairwater::inline process {

/// What the child needs, prepared before the fork so that little is left to do after it.
struct Command {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< `NAME=value`
  std::string directory;
  std::int64_t data_limit_bytes = 0;    ///< RLIMIT_DATA; 0: none
  std::optional<TaskUser> user;         ///< none: whoever we are
  CpuNumbers cpus;                      ///< on which alone it runs; empty: where we do, or
  std::filesystem::path shared_cpuset;  ///< where this control group lets it
};
/// The order's command, with what every task is given: FAIRWATER_JOB_ID, FAIRWATER_TASK_INDEX,
/// FAIRWATER_TASK_COUNT, FAIRWATER_ATTEMPT (its file, which no other task on the machine has),
/// where the node knows its devices FAIRWATER_DEVICES and CUDA_VISIBLE_DEVICES, where it has
/// processors of its own FAIRWATER_CPUS, and unless the order sets them: PATH, HOME (its private
/// directory), TMPDIR, USER, and as many threads as it has processors (OMP_NUM_THREADS, which also
/// `nproc`, OpenBLAS and MKL go by; GOMAXPROCS). It starts in its private directory unless the
/// order names one.
[[nodiscard]] Command prepare_command(const TaskOrder& order, const AttemptFile& file);

struct StartedCommand {
  pid_t pid = 0;
  FileDescriptor standard_output;
  FileDescriptor standard_error;
  FileDescriptor start_report;  ///< ends empty once the command runs, else holds one StartFailure
};
/// The child gives up here; `error_number` is errno.
struct StartFailure {
  enum Step : int { cgroup, processors, user, directory, program } step = program;
  int error_number = 0;
};
/// Forks; the child becomes leader of its own session and process group, enters the cgroup, becomes
/// the order's user, resets signals, limits and descriptors, and executes the command. It dies with
/// its supervisor, whatever kills that; who else belongs to the task is for the host to end.
[[nodiscard]] Expected<StartedCommand> start_command(const Command& command,
                                                     const TaskCgroup& cgroup);

/// Whose fault it is, the exit code that a shell would give (127: no such program, 126: not to be
/// executed), and words. Whatever a path of the job's answers is the job's fault: its file system
/// may be its own and answer anything, and must not speak against the node.
struct StartFailureText {
  EndReason reason = EndReason::could_not_start;
  int exit_code = 126;
  std::string message;
};
[[nodiscard]] StartFailureText describe(const StartFailure& failure, const Command& command);

}  // namespace fairwater::inline process
