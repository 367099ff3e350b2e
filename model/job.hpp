// Jobs and tasks: what a tenant asks for and what became of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "model/resources.hpp"
#include "model/time.hpp"
#include "policy/allocator/allocator.hpp"
#include "policy/allocator/deal.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline model {

/// A service runs until it is cancelled: whatever ends it, it is started again (state/service.hpp).
enum class JobKind : std::uint8_t { batch = 0, service = 1 };
[[nodiscard]] std::string_view to_string(JobKind kind);

/// What of a job's amounts follows its class's profile (model/profile.hpp).
struct ProfiledAmounts {
  bool all = false;                         ///< wanted: whatever the class's runs asked for
  std::vector<std::string> resources = {};  ///< wanted and, once it is submitted, taken; ascending
  // Filled in at the submission:
  std::uint32_t runs = 0;                 ///< of the class, by which the amounts were chosen
  std::uint32_t confidence_permille = 0;  ///< of the choice; 0: not known
  /// Measured amounts of memory above the one chosen, ascending: what tasks get next once one hits
  /// its memory limit.
  std::vector<Amount> memory_steps = {};
  [[nodiscard]] bool wanted() const { return all || !resources.empty(); }
  friend bool operator==(const ProfiledAmounts&, const ProfiledAmounts&) = default;
};

/// A job file's content.
struct JobSpec {
  std::string tenant;
  std::string name;
  std::string job_class;
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string directory;
  std::uint32_t tasks_min = 1;
  std::uint32_t tasks_max = 1;
  NamedAmounts resources;
  JobKind kind = JobKind::batch;
  std::int32_t priority = 0;
  bool gang = false;  ///< its tasks start at once or not at all, and end as one: state/gang.hpp
  std::string labels;
  std::vector<std::string> sites;
  std::vector<std::string> devices;  ///< by name: each task takes all of them
  std::int64_t time_limit_ms = 0;    ///< 0: none
  std::int64_t grace_ms = 5000;      ///< between SIGTERM and SIGKILL
  std::uint32_t retries = 0;
  std::vector<JobId> after;
  bool preemptible = true;
  std::string notify;    ///< of an elastic job: a signal when its members change, see JobMembers
  bool preempt = false;  ///< its tasks may take the room of others: policy/allocator/reclaim.hpp
  bool exclusive_cpus = false;  ///< each task gets processors that no other such task is given
  ProfiledAmounts profiled;     ///< of `resources`, those that were left to the profile
  Placement placement = Placement::unset;
  std::string user = {};  ///< of the tenant; the coordinator takes it from the token that submits
  std::int64_t lease_ms = 0;  ///< how long tasks run on without a coordinator; 0: the cluster's
  /// A gang whose run, as a whole, tells how long its class takes with so many tasks.
  bool measures_tasks = false;
  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// It starts with `tasks_min` tasks and grows into idle room, up to `tasks_max`: state/elastic.hpp.
[[nodiscard]] inline bool is_elastic(const JobSpec& spec) {
  return spec.tasks_min < spec.tasks_max;
}
/// Its tasks are told who else runs: JobMembers. One that is measured runs what an elastic job
/// does.
[[nodiscard]] inline bool follows_members(const JobSpec& spec) {
  return is_elastic(spec) || spec.measures_tasks;
}

/// Bounds that keep one submission from harming the others.
inline constexpr std::uint32_t kMaxTasksPerJob = 1'000'000;
/// Their grants are one journal record, and each is told of all their nodes.
inline constexpr std::uint32_t kMaxGangTasks = 1000;
/// All tasks of each such job are read for its class's profile.
inline constexpr std::uint32_t kMaxMeasuredTasks = 256;
inline constexpr std::size_t kMaxCommandBytes = 128 * 1024;  ///< command and environment together
inline constexpr std::size_t kMaxSpecBytes = 256 * 1024;     ///< as spec_bytes() counts
inline constexpr std::size_t kMaxDirectoryBytes = 4096;      ///< Linux's PATH_MAX
inline constexpr std::size_t kMaxLabelsBytes = 4096;         ///< of the expression
inline constexpr std::size_t kMaxReasonBytes = 1024;  ///< why something is cancelled or drained
inline constexpr std::size_t kMaxResultMessageBytes = 512;  ///< of TaskResult::message
inline constexpr std::size_t kMaxJobNameBytes = 200;
inline constexpr std::uint32_t kMaxRetries = 1000;
inline constexpr std::size_t kMaxListEntries = 1000;  ///< of `after` and `sites`
inline constexpr std::int32_t kMaxPriority = 1'000'000;
inline constexpr std::int64_t kMaxTimeLimit_ms = 10LL * 366 * 86'400'000;
inline constexpr std::int64_t kMaxGrace_ms = 3'600'000;

/// About what a spec takes in a message, on disk and in memory: its texts, with what holds each of
/// them. The one measure by which specs are bounded, singly and per tenant.
[[nodiscard]] std::size_t spec_bytes(const JobSpec& spec);

/// `invalid_input` naming `reason` when it is too long to be kept, or no UTF-8.
[[nodiscard]] caf::error validate_reason(const std::string& reason);

enum class TaskState : std::uint8_t {
  pending = 0,
  running = 1,  ///< granted, launched or about to be
  succeeded = 2,
  failed = 3,
  cancelled = 4,
};
enum class JobState : std::uint8_t { pending, running, succeeded, failed, cancelled };
[[nodiscard]] std::string_view to_string(TaskState state);
[[nodiscard]] std::string_view to_string(JobState state);
/// none for an unknown name.
[[nodiscard]] std::optional<JobState> job_state_from(std::string_view name);

/// Why a process ended.
enum class EndReason : std::uint8_t {
  exited = 0,        ///< `exit_code` says how
  signalled = 1,     ///< by somebody else; `signal` says which
  memory_limit = 2,  ///< killed for using more memory than it asked for
  time_limit = 3,
  cancelled = 4,        ///< on order
  lease_expired = 5,    ///< the node had lost its coordinator for longer than its lease
  could_not_start = 6,  ///< the job's own fault: no such program or directory; `message` says which
  node_lost = 7,        ///< the machine went down, and nobody knows how it ended
  launch_failed = 8,    ///< the node's fault: the command never started; `message` says why
  supervisor_lost = 9,  ///< its supervisor vanished on a machine that stayed up
};
inline constexpr EndReason kLastEndReason = EndReason::supervisor_lost;
[[nodiscard]] std::string_view to_string(EndReason reason);

/// How one attempt of a task ended, as the node reports it.
struct TaskResult {
  TaskKey task;
  EndReason reason = EndReason::exited;
  std::int32_t exit_code = 0;  ///< 128 + signal when signalled; 126/127 when it could not start
  std::int32_t signal = 0;
  WallTime started_at;
  WallTime finished_at;
  std::int64_t cpu_ms = 0;
  std::int64_t peak_memory_kib = 0;
  std::string message;  ///< one line of at most kMaxResultMessageBytes, but in old records
  friend bool operator==(const TaskResult&, const TaskResult&) = default;
};

/// How much earlier than its grant a task may have started, by its node's clock.
inline constexpr std::chrono::hours kNodeClockTolerance{1};
/// As it is kept of an agent that counts wrong: in the ranges that statuses, signals and sums of
/// resources have, and run between its grant (not set: not known) and now. A run elsewhere in time
/// is moved there with its length, as far as there is room.
[[nodiscard]] TaskResult plausible(TaskResult result, WallTime granted_at, WallTime now);

/// What a task is given at a step: `resources`, and from step 1 on their memory by
/// ProfiledAmounts::memory_steps. A step beyond them is the last.
[[nodiscard]] NamedAmounts amounts_at(const JobSpec& spec, std::uint32_t memory_step);

/// What runs of a class differ by, as its profile and its list in the ledger name them: what a task
/// is given and, of a job that measures tasks, their number.
inline constexpr std::string_view kTasksOfClass = "tasks";
[[nodiscard]] NamedAmounts profiled_amounts(const JobSpec& spec, std::uint32_t memory_step);

/// The number of a signal that `notify` may name: SIGUSR1, SIGUSR2 or SIGHUP. 0: it may not.
[[nodiscard]] std::int32_t notify_signal(std::string_view name);

/// A service is never preempted, a gang as a whole.
[[nodiscard]] PreemptionTerms preemption_terms(const JobSpec& spec);
/// A job's own rule wins over its tenant's.
[[nodiscard]] constexpr Placement placement_for(Placement job, Placement tenant) {
  return job == Placement::unset ? tenant : job;
}
/// `invalid_input` naming `placement` for what is not in-turn, gdrf, best-fit, spread or pack.
[[nodiscard]] Expected<Placement> parse_placement(std::string_view text);

/// `invalid_input` where the devices are none, or a job that is what it is cannot name any.
[[nodiscard]] caf::error validate_devices(const JobSpec& spec);

/// Where the job's tasks may run; null: anywhere. `invalid_input` naming `labels`.
[[nodiscard]] Expected<PlacementRulePtr> placement_of(const JobSpec& spec);

/// The text up to `max_bytes`, not cut within a UTF-8 character.
[[nodiscard]] std::string cut_text(std::string text, std::size_t max_bytes);

/// What is stored of a task. A task that was never granted has no record: it is pending, attempt 1.
struct TaskRecord {
  TaskState state = TaskState::pending;
  std::uint32_t attempt = 1;   ///< of the current or next run
  std::uint32_t failures = 0;  ///< failed attempts, counted against `retries`
  NodeId node;                 ///< of the current or last run
  Units cost = 0;
  GrantStep step = GrantStep::allowance;
  bool beyond_quota = false;
  std::uint64_t grant_cycle = 0;  ///< journal record of the current or last grant
  WallTime granted_at;
  std::optional<TaskResult> result;   ///< of the last attempt that ended
  std::uint32_t launch_failures = 0;  ///< attempts that no node could start
  std::uint32_t losses = 0;           ///< attempts whose end nobody knows
  WallTime waits_until;               ///< it waits, and is not granted before
  std::uint32_t incarnation = 0;      ///< TaskKey::incarnation of the current or last run
  std::uint32_t restarts = 0;         ///< of a service, in a row: see state/service.hpp
  std::uint32_t memory_step = 0;      ///< of the current or last run: see amounts_at()
  bool reclaimed = false;             ///< the current run was told to end for others: see Reclaim
  std::vector<std::string> devices = {};  ///< of the current or last run: Grant::devices
  friend bool operator==(const TaskRecord&, const TaskRecord&) = default;
};

/// `12.0.1`: job, index, attempt; and the ledger's incarnation, where it is not the first.
[[nodiscard]] std::string text_of(const TaskKey& task);
/// The key of the task's current or last run.
[[nodiscard]] TaskKey run_of(JobId job, std::uint32_t index, const TaskRecord& task);

struct TaskCounts {
  std::uint32_t total = 0;
  std::uint32_t running = 0;
  std::uint32_t succeeded = 0;
  std::uint32_t failed = 0;
  std::uint32_t cancelled = 0;
  std::uint32_t unneeded = 0;  ///< of an elastic job, which has no work left for them
  [[nodiscard]] std::uint32_t ended() const { return succeeded + failed + cancelled + unneeded; }
  [[nodiscard]] std::uint32_t pending() const { return total - running - ended(); }
  friend bool operator==(const TaskCounts&, const TaskCounts&) = default;
};

/// Beyond so many running tasks an elastic job does not grow: its class's saturation point.
struct GrowthLimit {
  std::uint32_t tasks = 0;                ///< 0: none is known
  std::uint32_t runs = 0;                 ///< of the class, by which it was found
  std::uint32_t confidence_permille = 0;  ///< 0: not known
  friend bool operator==(const GrowthLimit&, const GrowthLimit&) = default;
};

/// What is stored of a job.
struct JobRecord {
  JobId id;
  TenantId tenant;
  JobSpec spec;
  WallTime submitted_at;
  WallTime started_at;   ///< first grant
  WallTime finished_at;  ///< when it became terminal
  TaskCounts tasks;
  bool cancelled = false;
  std::string cancel_reason;
  std::uint32_t gang_failures = 0;  ///< of a gang: as a whole, counted against `retries`
  std::uint32_t memory_step = 0;    ///< of the tasks that are granted next
  bool winding_down = false;        ///< of an elastic job: see JobWindsDown
  std::uint32_t begun = 0;          ///< of an elastic job: tasks that were ever granted
  std::uint32_t grown = 0;  ///< of an elastic job: running tasks that GrantStep::growth placed
  GrowthLimit growth_limit = {};  ///< of an elastic job: see GrowthLimited
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// pending until the first grant, running while any task may still run, then cancelled when it was,
/// failed when any task failed, else succeeded.
[[nodiscard]] JobState state_of(const JobRecord& job);
[[nodiscard]] bool is_terminal(JobState state);

}  // namespace fairwater::inline model
