// One tenant's live jobs: what waits, what runs, and in which order the rest should run. Pure: no
// clock, no messages; the tenant actor drives it.
//
// Invariants: a task of a live job waits, runs, or has ended; records are the ledger's, because
// both follow state/job.hpp: what a restart makes of the ledger is what would have been without it.
// A cancelled or blocked job has nothing in the window.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/node.hpp"
#include "model/tenant.hpp"
#include "policy/allocator/fair_window.hpp"
#include "policy/allocator/user_queues.hpp"
#include "policy/allocator/waiting_tasks.hpp"
#include "policy/prediction/run_time.hpp"
#include "state/elastic.hpp"
#include "state/gang.hpp"
#include "state/job.hpp"

namespace fairwater::inline state {

/// A live job as the ledger has it.
struct UnfinishedJob {
  JobRecord record;
  std::map<std::uint32_t, TaskRecord> tasks;  ///< those that have a record, by index
  std::vector<JobId> waits_for;               ///< jobs of `after` that have not succeeded yet
};
struct RunningTask {
  NodeId node;
  TaskKey key;
};
/// A task that waits for a pause to be over before it may be granted again.
struct BackingOff {
  TaskKey key;
  WallTime until;
};
/// What an attempt's end leads to.
struct AttemptOutcome {
  bool job_ended = false;  ///< with this task; the job is gone
  std::optional<BackingOff> backing_off;
  std::vector<RunningTask> to_stop;  ///< the rest of a gang that breaks with it
  bool out_of_work = false;          ///< the job is to wind down
  std::string measured_class;        ///< of the job, when it ended and measured tasks
};

/// What a task that ended by itself tells of those to come.
struct PastRun {
  std::string task_class;
  std::int64_t run_ms = 0;
  WallTime finished_at;
};
/// None: it was stopped, or lost, and says nothing of how long it would have run; or it is a
/// service's, whose runs say nothing of others'.
[[nodiscard]] std::optional<PastRun> past_run(const JobSpec& spec, const TaskResult& result);

class TenantJobs {
 public:
  TenantJobs(TenantId tenant, QueuePolicy policy, ResourceCatalog catalog,
             DealMode mode = DealMode::sized);
  // Its queues refer to its jobs.
  TenantJobs(const TenantJobs&) = delete;
  TenantJobs& operator=(const TenantJobs&) = delete;
  TenantJobs(TenantJobs&&) = default;
  TenantJobs& operator=(TenantJobs&&) = default;
  ~TenantJobs() = default;

  void set_policy(QueuePolicy policy);
  /// Of jobs that name none.
  void set_placement(Placement placement) { placement_ = placement; }
  /// What had ended when this began, in any order: later tasks are expected to run as long as the
  /// last of their class.
  void remember(std::vector<PastRun> runs);
  /// When its users were granted something last, by the journal. Before any job is added.
  void remember_served(std::map<std::string, std::uint64_t> served) {
    ready_.remember_served(std::move(served));
  }
  /// A job that is durable: new, or found by a restart. Its spec has been admitted.
  void add(UnfinishedJob job);
  [[nodiscard]] bool knows(JobId job) const { return jobs_.contains(job); }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  /// Of all jobs' specs together (model/job.hpp).
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const JobRecord& record(JobId job) const;

  /// The task runs now (or is about to); the order that starts it. None when the grant is for no
  /// live job.
  [[nodiscard]] std::optional<LaunchOrder> grant(const Grant& grant, NodeId node, Moment moment);
  /// It is a gang that runs again, once the rest of it has ended.
  [[nodiscard]] bool gathers(JobId job) const;
  /// Where the tasks of a gang are that was granted.
  [[nodiscard]] std::vector<GangPart> parts_of_gang(JobId job) const;
  AttemptOutcome end(const TaskResult& result, WallTime now);
  /// As requeue_task.
  AttemptOutcome give_back(const TaskKey& task, bool node_lost, WallTime now);
  /// Every task that backs off, e.g. after a restart.
  [[nodiscard]] std::vector<BackingOff> backing_off() const;
  /// The pause is over: the task, if it still waits under this attempt, may run. True for a
  /// service's: it is left to its own node, while that has room, until end_homing().
  bool end_backoff(const TaskKey& task);
  /// From here on any node will do.
  void end_homing(const TaskKey& task);
  /// Whose pause the task waits out: its own or, of a gang, the longest of any of its tasks.
  [[nodiscard]] std::optional<std::uint32_t> waits_out(JobId job, std::uint32_t index) const;
  /// The record of a task that backs off, else null.
  [[nodiscard]] const TaskRecord* backing_off(JobId job, std::uint32_t index) const;

  /// Takes the job's waiting tasks out of the window while its cancellation, or its winding down,
  /// is being made durable: until as many holds have been released.
  void hold(JobId job);
  void release_hold(JobId job);
  /// The cancellation is durable. Returns what must be stopped; when nothing runs, the job is gone.
  std::vector<RunningTask> cancel(JobId job, const std::string& reason, WallTime now);
  /// Everything of cancelled jobs and of breaking gangs that still runs, and what was reclaimed,
  /// e.g. after a restart.
  [[nodiscard]] std::vector<RunningTask> to_stop() const;

  /// The task is to end for others, and its gang with it. Where these run; none: that attempt does
  /// not run any more.
  std::vector<RunningTask> reclaim(const TaskKey& task);
  /// Its tasks that run, by index; none of a job that is gone.
  [[nodiscard]] std::vector<RunningTask> members_of(JobId job) const;
  /// Jobs whose tasks are told who else runs, e.g. after a restart. O(jobs).
  [[nodiscard]] std::vector<JobId> with_members() const;
  /// Elastic jobs of a class that may yet grow. O(jobs).
  [[nodiscard]] std::vector<JobId> growing_of(const std::string& job_class) const;
  /// The classes of elastic jobs, e.g. after a restart. O(jobs).
  [[nodiscard]] std::set<std::string> elastic_classes() const;
  /// What its class tells of growth is known, and as the job's record has it. An elastic job of a
  /// class does not grow before.
  void know_limit(JobId job);
  /// Another limit is durable, see GrowthLimited.
  void limit_growth(JobId job, const GrowthLimit& limit);
  /// Jobs that are to wind down, e.g. after a restart.
  [[nodiscard]] std::vector<JobId> out_of_work() const;
  /// That is durable. True: the job has ended with it, and is gone.
  bool wind_down(JobId job, WallTime now);

  /// `job` has succeeded: jobs that waited for it alone may run now. O(those that waited).
  void dependency_met(JobId job);
  /// Jobs that wait for `job`. O(them).
  [[nodiscard]] std::vector<JobId> waiting_for(JobId job) const;
  /// What `job` still waits for.
  [[nodiscard]] const std::set<JobId>& dependencies(JobId job) const;

  /// The next tasks in the tenant's order; at most `max_ranges` ranges and about `max_tasks` tasks,
  /// and behind them as much again of kinds that would be hidden
  /// (policy/allocator/queue_window.hpp). `now`: where the ledger counts time; then some of the job
  /// that is late first are among them, and they say how late they are. O(ranges), O(tasks log
  /// ranges) for fair, and O(ranges log jobs) for what would be hidden.
  [[nodiscard]] DemandWindow window(std::size_t max_ranges, std::uint32_t max_tasks,
                                    std::uint64_t seen_deal, std::optional<WallTime> now) const;
  /// Whose turn it is among several users who wait, where the queue is fair: see
  /// policy/allocator/user_turns.hpp. The one that comes next and the one behind.
  struct NextUsers {
    std::string next;
    UserShare next_share;
    std::string second;
    UserShare second_share;
    std::size_t waiting = 0;  ///< users
  };
  [[nodiscard]] std::optional<NextUsers> next_users() const;
  [[nodiscard]] UserShare share_of(const std::string& user) const { return ready_.share_of(user); }
  /// Tasks that stand before this one in the tenant's own order; where users take turns, of its own
  /// user. A gang has its turn as a whole: none of its own do.
  [[nodiscard]] std::uint64_t tasks_before(JobId job, std::uint32_t index) const;
  [[nodiscard]] bool waits(JobId job, std::uint32_t index) const;
  /// It waits for idle room, in no quota.
  [[nodiscard]] bool waits_to_grow(JobId job, std::uint32_t index) const;
  /// It would, and stands beyond what its job's limit has room for.
  [[nodiscard]] bool is_beyond_limit(JobId job, std::uint32_t index) const;
  /// How many jobs all of the above looked at that they were not called for: what it costs that
  /// others live.
  [[nodiscard]] std::uint64_t others_looked_at() const { return others_looked_at_; }

 private:
  struct Job {
    JobRecord record;
    ResourceVector demand;
    Units cost = 1;  ///< of the next task
    Units held = 0;  ///< by its tasks that run, but those by which it has grown
    PlacementRulePtr rule;
    TaskKind kind;  ///< of the next task
    WaitingTasks waiting;
    /// That run, or have run and wait again; of a gang all that have run.
    std::map<std::uint32_t, TaskRecord> tasks;
    std::set<std::uint32_t> backing_off;  ///< of `tasks`; not in `waiting` yet
    std::set<std::uint32_t> homing;       ///< of `tasks`; in `waiting`, see end_backoff
    /// Since when some task of it waits; of others than services, since it came.
    WallTime waits_since;
    std::set<JobId> waits_for;
    std::uint32_t holds = 0;         ///< of changes of the job that are being made durable
    bool awaits_limit = false;       ///< see know_limit()
    std::optional<LaunchText> text;  ///< once a task of it was granted
    [[nodiscard]] bool is_open() const {
      return holds == 0 && !record.cancelled && waits_for.empty();
    }
    /// Of the waiting tasks, those that are wanted within quota: the first so many.
    [[nodiscard]] std::uint32_t claimed() const {
      const std::uint32_t all = waiting.size();
      return is_elastic(record.spec) ? std::min(all, claimed_tasks(record)) : all;
    }
    /// A gang waits until all of its tasks do.
    [[nodiscard]] bool ready() const {
      const bool may_start =
          record.spec.gang ? waiting.size() == record.tasks.total : claimed() > 0;
      return is_open() && may_start;
    }
    /// Once it has what it claims, all else that waits would grow.
    [[nodiscard]] bool would_grow() const {
      return is_elastic(record.spec) && is_open() && !waiting.empty() && !awaits_limit &&
             claimed_tasks(record) == 0 && room_to_grow(record) > 0;
    }
    /// Its waiting tasks start at once.
    [[nodiscard]] bool starts_together() const {
      return record.spec.gang ||
             (is_elastic(record.spec) && !record.started_at && record.spec.tasks_min > 1);
    }
  };
  /// (milliseconds of the wall clock from which on its tasks are late; id).
  using LateKey = std::pair<std::int64_t, JobId>;

  /// Where a job is in a queue.
  struct Place {
    QueueKey key;
    TaskKind kind;
    friend bool operator==(const Place&, const Place&) = default;
  };
  /// In ready_ and growing_, where it is in them.
  struct Places {
    std::optional<Place> ready;
    std::optional<Place> growth;
  };

  [[nodiscard]] Places places_of(const Job& job) const;
  /// Of its queues touches those in which its place is another one.
  void move(const Job& job, const Places& before, const Places& now);
  /// Minus the priority, the time limit in milliseconds, the running tasks, or 0, by the policy.
  [[nodiscard]] QueueKey key_of(const Job& job) const;
  [[nodiscard]] static LateKey lateness_of(const Job& job);
  void show_first_late(DemandWindow& window, std::size_t max_ranges,
                       std::optional<WallTime> now) const;
  /// Shows the next of the job that fit the bounds. How many tasks.
  std::uint32_t append_job(DemandWindow& window, const Job& job, const Prediction& prediction,
                           const WindowBounds& bounds, std::optional<WallTime> now) const;
  /// Of the first `tasks` that wait.
  [[nodiscard]] static std::vector<AlikeTasks> alike(const Job& job, std::size_t limit,
                                                     std::uint32_t tasks);
  /// How long a task of the job may run: see WaitingRange::expected_ms.
  [[nodiscard]] Prediction expected(const Job& job) const;
  class Predictions;
  [[nodiscard]] WaitingRange waiting_range(const Job& job, const AlikeTasks& tasks,
                                           const Prediction& expected,
                                           std::optional<WallTime> now) const;
  /// Of a task that would run by growth: how many of its job stand before it.
  [[nodiscard]] std::optional<std::uint32_t> place_to_grow(JobId job, std::uint32_t index) const;
  void show_growth(DemandWindow& window, std::size_t max_ranges, std::optional<WallTime> now) const;
  class InTurns;
  void show_in_turns(DemandWindow& window, const WindowBounds& bounds,
                     std::optional<WallTime> now) const;
  void show_in_order(DemandWindow& window, const WindowBounds& bounds,
                     std::optional<WallTime> now) const;
  void set_demand(Job& job) const;
  void erase(std::map<JobId, Job>::iterator job);
  /// Of the job's tasks that are granted next.
  [[nodiscard]] ResourceVector demand_of(const JobRecord& job) const;
  [[nodiscard]] std::uint32_t granted_step(const JobSpec& spec, const Grant& grant) const;
  /// Applies the end of the attempt, if it is the one that runs.
  template <class Event>
  AttemptOutcome settle(const TaskKey& key, Event&& event);
  /// The task, which ran, has ended or waits: it is where that belongs.
  void sort_in(Job& job, std::uint32_t index, AttemptOutcome& outcome);
  /// Tasks of a gang that runs again start over.
  static void gather_gang(Job& job);
  [[nodiscard]] static std::vector<RunningTask> running(const Job& job);
  /// Keeps the queues and the pending totals true across a change of one job.
  template <class Change>
  void change(Job& job, Change&& apply);
  void count(const Job& job, bool add);

  TenantId tenant_;
  QueuePolicy policy_;
  Placement placement_ = Placement::unset;
  ResourceCatalog catalog_;
  std::map<JobId, Job> jobs_;
  std::map<JobId, std::set<JobId>> dependents_;  ///< by the job that they wait for
  std::size_t bytes_ = 0;
  DealMode mode_ = DealMode::sized;
  UserQueues<const Job*> ready_;  ///< borrowed from jobs_; users take turns where it is fair
  std::set<LateKey> late_;        ///< the same jobs
  JobQueue<const Job*> growing_;  ///< those that would grow, by arrival
  ResourceVector pending_;
  std::uint64_t pending_tasks_ = 0;
  RunTimePredictor run_times_;
  mutable std::uint64_t others_looked_at_ = 0;
};

}  // namespace fairwater::inline state
