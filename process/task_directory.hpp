// What is on disk of one attempt of a task, in `HOST_DIRECTORY/tasks/JOB.INDEX.ATTEMPT/`:
//
//   order    what to start and how; complete before the supervisor is asked for
//   started  which process supervises it; the first thing it writes, holding the lock on `order`
//   result   how it ended; synced, with its name, before the supervisor unlocks `order` by ending
//   stdout, stderr  captured output, made with its first byte
//   work/    the working directory of a command that asked for none
//
// The attempt's directory is made once, and its name is synced before the command starts: whatever
// happens, the attempt is not started again. Its content is not, because after a power cut nothing
// runs any more and all that counts is the result. A supervisor is born with the lock (flock) on
// `order` and holds it until it ends; whoever finds it free and no result takes it and writes the
// result `node_lost`, after which no supervisor is forked or goes on.
//
//   order   = "fairwater-order 1" NL *field "end" NL        started = "fairwater-started 1" NL ..
//   result  = "fairwater-result 1" NL *field "end" NL
//   field   = name SP length ":" *byte NL      ; length: decimal count of bytes, so a value may
//   hold anything name    = 1*(a-z / "_")                    ; repeated for lists, in order;
//   unknown names are skipped number  = decimal digits with an optional "-" ; pair = key "=" value,
//   split at the first "="
//
//   order:   epoch, task_count, time_limit_ms, grace_ms, log_limit_bytes, method: number;
//   directory: text;
//            argument: text, repeated; environment, limit, cgroup: pair, repeated
//   started: pid, start_ticks, started_at_us: number; boot_id: text
//   result:  reason, exit_code, signal, started_at_us, finished_at_us, cpu_ms, peak_memory_kib:
//   number;
//            message: text
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/node.hpp"
#include "process/limits.hpp"
#include "process/process_identity.hpp"

namespace fairwater {

/// `12.0.1`: job, index, attempt.
[[nodiscard]] std::string directory_name(const TaskKey& task);
[[nodiscard]] std::optional<TaskKey> task_from_directory_name(std::string_view name);

/// Everything a supervisor must know.
struct TaskOrder {
  LaunchOrder launch;
  LimitMethod method = LimitMethod::rlimit;
  CgroupPaths cgroup;
  std::uint64_t log_limit_bytes = 0;
  friend bool operator==(const TaskOrder&, const TaskOrder&) = default;
};
struct TaskStarted {
  ProcessIdentity supervisor;
  WallTime started_at;
  friend bool operator==(const TaskStarted&, const TaskStarted&) = default;
};

class TaskDirectory {
 public:
  TaskDirectory(const std::filesystem::path& parent, TaskKey task)
      : task_(task), path_(parent / directory_name(task)) {}

  [[nodiscard]] const TaskKey& task() const { return task_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path log(bool standard_error) const {
    return path_ / (standard_error ? "stderr" : "stdout");
  }

  /// `already_exists` the second time, for ever.
  [[nodiscard]] caf::error create() const;

  // Reading gives `not_found` where there is no file, `storage_damaged` where it is not whole.
  [[nodiscard]] caf::error write(const TaskOrder& order) const;
  [[nodiscard]] caf::error write(const TaskStarted& started) const;
  [[nodiscard]] caf::error write(const TaskResult& result) const;
  [[nodiscard]] Expected<TaskOrder> read_order() const;
  [[nodiscard]] Expected<TaskStarted> read_started() const;
  [[nodiscard]] Expected<TaskResult> read_result() const;

  /// Holds the attempt until the descriptor closes; empty when somebody else does. Makes `order`
  /// where a crash left a directory without it.
  [[nodiscard]] FileDescriptor try_lock() const;

 private:
  TaskKey task_;
  std::filesystem::path path_;
};

}  // namespace fairwater
