// Running one attempt of a task outside the agent: a supervisor process per task that outlives the
// agent.
//
// The host asks its fork server (`fairwater-supervisor supervise DIRECTORY`,
// process/fork_server.hpp) for a supervisor; the supervisor starts the command in its own session,
// enforces limits, keeps bounded logs, and fsyncs the result into the attempt's file. All that is
// known of a task is there (grammar: top of process/attempt_file.hpp), so that a restarted agent
// finds it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "model/node.hpp"
#include "process/device_access.hpp"
#include "process/devices.hpp"
#include "process/forgotten_tasks.hpp"
#include "process/lease.hpp"
#include "process/limits.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline process {

struct TaskHostOptions {
  std::filesystem::path directory;       ///< holds a file per attempt, the lease, and the logs
  std::filesystem::path supervisor;      ///< the fairwater-supervisor program
  std::filesystem::path work_directory;  ///< of the tasks' private directories; empty: in
                                         ///< `directory`, which no other user can enter
  TaskUserRules users;
  bool hide_processes = false;                  ///< tasks see their own user's processes only
  std::uint64_t log_limit_bytes = 16ull << 20;  ///< per stream; the rest is drained and marked
  LimitMethod limits = LimitMethod::rlimit;
  LogRetention log_retention;
  std::function<WallTime()> wall_clock = wall_time_now;  ///< by which logs grow old
  NamedDevices devices;      ///< of this node: what tasks take of them they get by id, none twice
  bool cpusets = false;      ///< tasks are held to processors by control group; `limits` is
                             ///< cgroup_v1 then
  DeviceFiles device_files;  ///< which tasks open only where they have the device; `limits` is
                             ///< cgroup_v1 then
};

/// What was found of an attempt on disk.
struct FoundTask {
  TaskKey task;
  bool running = false;
  std::optional<TaskResult> result;  ///< when not running
  std::int64_t lease_ms = 0;         ///< its own, while it runs; 0: none
};

/// Starts, finds, stops and forgets tasks. Blocking calls: own thread or detached actor. One host
/// per directory at a time; the caller sees to that.
class TaskHost {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<TaskHost>> open(TaskHostOptions options);
  ~TaskHost();

  /// Everything that is on disk and not forgotten, each attempt once. A task whose supervisor
  /// vanished without a result is cleaned up (its processes killed) and gets a result with
  /// EndReason::supervisor_lost, or node_lost when the machine has booted since. `storage_damaged`
  /// when a running task cannot be recognised. O(attempts).
  [[nodiscard]] Expected<std::vector<FoundTask>> scan();
  /// Starts an attempt at most once, ever: `already_exists` when its file is there. It gets
  /// devices, and where it is to have processors of its own these, that no attempt has of which a
  /// process may live; `unavailable` when there are not enough. Returns when the supervisor process
  /// runs; why the command could not be started is in its result, as EndReason::could_not_start
  /// where the job is wrong, launch_failed where the machine is.
  [[nodiscard]] caf::error launch(const LaunchOrder& order);
  /// SIGTERM to the whole task, SIGKILL after its grace; returns at once. Tasks that do not run:
  /// not_found.
  [[nodiscard]] caf::error stop(const TaskKey& task, EndReason reason);
  /// If the attempt runs, it is to find its job's members in their file, and to get the signal
  /// where there is one to get. Words that were said later have larger numbers: over several
  /// attempts they may come in another order, and the file keeps to the newest.
  [[nodiscard]] caf::error tell_members(const TaskKey& task, const JobMembers& members,
                                        std::uint64_t number);
  /// True from a launch, or a scan that found it running, until `collect` has told its end.
  [[nodiscard]] bool runs(const TaskKey& task) const;
  /// Readable when some supervisor has ended: poll it, then call `collect`.
  [[nodiscard]] int event_fd() const;
  /// Results of attempts that ended since the last call.
  [[nodiscard]] std::vector<TaskResult> collect();
  /// The result is durable elsewhere: forgets the attempt; its logs stay for as long as
  /// `log_retention` says.
  void forget(const TaskKey& task);
  /// Supervisors kill their tasks when their moment passes. Told with every heartbeat, so it also
  /// lets logs go whose time is over.
  void extend_lease(const LeaseTimes& times);
  /// A piece of a captured stream; empty at its end. not_found when the logs are gone.
  [[nodiscard]] Expected<std::string> read_log(const TaskKey& task, bool standard_error,
                                               std::uint64_t offset, std::uint32_t max_bytes) const;

 private:
  class Impl;
  explicit TaskHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// main() of `fairwater-supervisor supervise DIRECTORY [OPTION..]`: serves the socket that is its
/// standard input until the host closes it. Must be called before anything starts a thread.
[[nodiscard]] int supervise(const std::vector<std::string>& arguments);

}  // namespace fairwater::inline process
