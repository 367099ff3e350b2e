// What is on disk of one attempt of a task: `HOST_DIRECTORY/tasks/JOB.INDEX.ATTEMPT[.INCARNATION]`,
// one file to which each party appends its section, and the captured output in
// `HOST_DIRECTORY/logs/`.
//
//   order      what to start and how; by the host, whole before it asks for a supervisor
//   started    which process supervises it; by the supervisor, first of all
//   result     how it ended; by the supervisor, synced before it ends
//   forgotten  the result is durable elsewhere; by the host. Only the logs are still of use
//
// The file is made once (O_EXCL), and its name is synced before the command starts: whatever
// happens, the attempt is not started again. Its content is not synced before the result is there,
// because after a power cut nothing runs any more: an attempt without a result is lost.
//
// A supervisor is born with the lock (flock) on the file and holds it until it ends. Whoever finds
// it free and no result may take it and replace the file by one with a result of its own, after
// which no supervisor is forked or goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/node.hpp"
#include "process/cpus.hpp"
#include "process/devices.hpp"
#include "process/limits.hpp"
#include "process/process_identity.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline process {

/// `12.0.1`: job, index, attempt; and the ledger's incarnation, where it is not the first.
[[nodiscard]] std::string attempt_name(const TaskKey& task);
[[nodiscard]] std::optional<TaskKey> attempt_from_name(std::string_view name);

/// Everything a supervisor must know.
struct TaskOrder {
  LaunchOrder launch;
  LimitMethod method = LimitMethod::rlimit;
  CgroupPaths cgroup;
  std::uint64_t log_limit_bytes = 0;
  std::optional<TaskUser> user;          ///< none: as the host
  std::filesystem::path work_directory;  ///< the task's own; empty: none (an older host's order)
  NamedDevices devices;  ///< the task's, while the attempt lives; empty: the node has none
  CpuNumbers cpus;       ///< of its own; empty: whichever others left
  /// The numbers of device files that it cannot open (process/device_access.hpp).
  std::vector<std::string> denied_devices;
  /// The control group of all that have no processors of their own; empty: none, or it has some.
  std::filesystem::path shared_cpuset;
  friend bool operator==(const TaskOrder&, const TaskOrder&) = default;
};
struct TaskStarted {
  ProcessIdentity supervisor;
  WallTime started_at;
  friend bool operator==(const TaskStarted&, const TaskStarted&) = default;
};
struct AttemptRecord {
  std::optional<TaskOrder> order;
  std::optional<TaskStarted> started;
  std::optional<TaskResult> result;
  bool forgotten = false;
};

class AttemptFile {
 public:
  AttemptFile(const std::filesystem::path& host_directory, TaskKey task);

  [[nodiscard]] const TaskKey& task() const { return task_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::filesystem::path& log(bool standard_error) const {
    return standard_error ? standard_error_ : standard_output_;
  }
  /// What `HOST_DIRECTORY` must hold; made, private to its owner, and synced.
  [[nodiscard]] static caf::error make_directories(const std::filesystem::path& host_directory);
  /// Every attempt that has a file, in no order.
  [[nodiscard]] static Expected<std::vector<TaskKey>> list(
      const std::filesystem::path& host_directory);

  /// `already_exists` the second time, for ever (until it is removed).
  [[nodiscard]] caf::error create(const TaskOrder& order) const;
  /// Makes the name durable.
  [[nodiscard]] caf::error sync_name() const;
  /// Holds the attempt until the descriptor closes; empty when somebody else does, or there is no
  /// file.
  [[nodiscard]] FileDescriptor try_lock() const;
  /// `not_found` where there is no file.
  [[nodiscard]] Expected<AttemptRecord> read() const;

  /// By the lock's holder, through the lock.
  [[nodiscard]] static caf::error append(const FileDescriptor& lock, const TaskStarted& started);
  /// Durable when it returns; a failed write leaves the file as it was.
  [[nodiscard]] static caf::error append(const FileDescriptor& lock, const TaskResult& result);
  /// By the lock's holder, for a supervisor that never came to it, and whose file may be torn: what
  /// could be read of it, and the result. Durable.
  [[nodiscard]] caf::error replace(const AttemptRecord& known, const TaskResult& result) const;
  [[nodiscard]] caf::error append_forgotten() const;
  /// The file and its logs.
  void remove() const;

 private:
  TaskKey task_;
  std::filesystem::path path_;
  std::filesystem::path standard_output_;
  std::filesystem::path standard_error_;
};

}  // namespace fairwater::inline process
