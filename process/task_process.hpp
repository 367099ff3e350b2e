// Running one attempt of a task outside the agent: a supervisor process per task that outlives the agent.
//
// The agent starts `fairwaterd supervise DIRECTORY`; the supervisor starts the command in its own session,
// enforces limits, keeps bounded logs, and fsyncs the result into DIRECTORY. All that is known of a task is in
// its directory (grammar: top of process/task_directory.hpp), so that a restarted agent finds it again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "model/node.hpp"

namespace fairwater {

/// How this machine can hold a task to its amounts.
enum class LimitMethod : std::uint8_t { cgroup_v2, cgroup_v1, rlimit };
[[nodiscard]] std::string_view to_string(LimitMethod method);
/// Probes by making and removing a cgroup; says in `why` what keeps a better method from being used.
struct LimitProbe {
  LimitMethod method = LimitMethod::rlimit;
  std::string why;
};
[[nodiscard]] LimitProbe probe_limits();

struct TaskHostOptions {
  std::filesystem::path directory;       ///< holds one folder per attempt, the lease, and the logs
  std::filesystem::path supervisor;      ///< the fairwaterd program
  std::uint64_t log_limit_bytes = 16ull << 20;  ///< per stream; the rest is drained and marked
  LimitMethod limits = LimitMethod::rlimit;
};

/// What was found of an attempt on disk.
struct FoundTask {
  TaskKey task;
  bool running = false;
  std::optional<TaskResult> result;  ///< when not running
};

/// Starts, finds, stops and forgets tasks. Blocking calls: own thread or detached actor.
class TaskHost {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<TaskHost>> open(TaskHostOptions options);
  ~TaskHost();

  /// Everything that is on disk, each attempt once. A task whose supervisor vanished without a result is
  /// cleaned up (its cgroup killed) and gets a result with EndReason::node_lost.
  [[nodiscard]] std::vector<FoundTask> scan();
  /// Starts an attempt at most once, ever: `already_exists` when its directory is there. Returns when the
  /// supervisor is running (or has recorded why it could not start the command).
  [[nodiscard]] caf::error launch(const LaunchOrder& order);
  /// SIGTERM to the whole task, SIGKILL after its grace; returns at once. Unknown tasks: not_found.
  [[nodiscard]] caf::error stop(const TaskKey& task, EndReason reason);
  /// Readable when some supervisor has ended: poll it, then call `collect`.
  [[nodiscard]] int event_fd() const;
  /// Results of attempts that ended since the last call.
  [[nodiscard]] std::vector<TaskResult> collect();
  /// The result is durable elsewhere: forgets the attempt; its logs stay until `retain_logs` of newer tasks
  /// push them out.
  void forget(const TaskKey& task);
  /// Supervisors kill their tasks when this moment passes (CLOCK_BOOTTIME, milliseconds).
  void extend_lease(std::int64_t deadline_boottime_ms);
  /// A piece of a captured stream; empty at its end. not_found when the logs are gone.
  [[nodiscard]] Expected<std::string> read_log(const TaskKey& task, bool standard_error,
                                               std::uint64_t offset, std::uint32_t max_bytes) const;

 private:
  class Impl;
  explicit TaskHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// main() of `fairwaterd supervise DIRECTORY`.
[[nodiscard]] int supervise(const std::filesystem::path& directory);

}  // namespace fairwater
