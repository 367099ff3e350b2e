// What tenants' jobs wait for under `sequence`, as tenant actors keep it (state/tenant_jobs.hpp):
// which tasks they claim within their quotas, by which they would grow, and what of both they show
// in their windows.
//
// An elastic job claims its least, whichever tasks these are: so many of its tasks run but for what
// has grown, or wait in its tenant's order. Beyond them all that waits would grow.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/allocator/fair_window.hpp"
#include "policy/allocator/user_queues.hpp"
#include "policy/allocator/waiting_tasks.hpp"
#include "policy/prediction/run_time.hpp"
#include "sim/engine/initial_state.hpp"
#include "sim/schedulers/list.hpp"

namespace fairwater::sim::inline schedulers {

/// Bounds of a tenant's window, as a coordinator has them by default.
inline constexpr WindowBounds kWindowBounds{.ranges = 64, .tasks = 1024};

/// What the allocator calls it.
[[nodiscard]] inline JobId job_id(JobIndex job) { return {std::uint64_t{job} + 1}; }

class WorkQueues {
 public:
  /// `knows_runs`: estimates are what a cluster's history says of each task.
  WorkQueues(const PolicyOptions& options, const Cluster& cluster, const Workload& workload,
             const InitialState& initial, bool knows_runs);

  /// Of a job's tasks.
  struct AtStart {
    std::uint32_t running = 0;  ///< the first so many
    std::uint32_t grown = 0;    ///< of them
  };
  /// The job came; some of its tasks may run already.
  void add(JobIndex job, const AtStart& at_start);
  /// `number` grows from cycle to cycle that starts something.
  void start(TaskId task, std::uint32_t attempt, bool has_grown, std::uint64_t number);
  /// The greatest of those that were there at the start.
  [[nodiscard]] std::uint64_t last_number() const { return last_number_; }
  void end(TaskId task, bool had_grown);
  /// It has ended as it was told, and waits, unless its job is done.
  void wait_again(TaskId task, std::uint32_t attempt, bool had_grown);
  /// It has ended, and waits as the same attempt as the rest of its gang, which waits already.
  void wait_with_gang(TaskId task);
  /// The work of the elastic job is done.
  void done(JobIndex job);
  /// A task of the job took so long, and was not cut short.
  void note_run(JobIndex job, TimeMs run_ms);

  /// A gang of which some tasks wait again, and the rest will.
  [[nodiscard]] bool gathers(JobIndex job) const;
  /// Whether elastic jobs run.
  [[nodiscard]] bool may_grow() const { return elastic_jobs_ > 0; }
  /// Its window is to be shown anew.
  void note_changed(TenantIndex tenant) { changed_.insert(tenant); }
  [[nodiscard]] std::set<TenantIndex> take_changed() { return std::exchange(changed_, {}); }
  [[nodiscard]] DemandWindow window(TenantIndex tenant, TimeMs now, std::uint64_t seen_deal) const;

 private:
  /// From when on its tasks are late; by arrival where equal.
  using Lateness = std::pair<TimeMs, JobIndex>;
  /// A job with tasks that wait, or an elastic one whose work is not done.
  struct Unfinished {
    WaitingTasks waiting;
    // Of an elastic job:
    bool has_begun = false;
    std::uint32_t held = 0;  ///< tasks that run, but for those that have grown
  };
  struct Queue {
    explicit Queue(QueuePolicy queue) : policy(queue), ready(queue == QueuePolicy::fair) {}

    QueuePolicy policy;
    std::map<JobIndex, Unfinished> jobs;  ///< by arrival
    UserQueues<JobIndex> ready;           ///< those that claim something
    std::set<Lateness> late;              ///< the same, by when they are late
    JobQueue<JobIndex> growing;           ///< elastic jobs that would grow, by arrival
    ResourceVector pending;               ///< that is claimed
    std::uint64_t pending_tasks = 0;
  };
  class InTurns;

  [[nodiscard]] TimeMs patience_of(const Job& job) const;
  [[nodiscard]] Prediction expected(const Job& job) const;
  /// Smaller comes first.
  [[nodiscard]] QueueKey key_of(JobIndex job) const;
  [[nodiscard]] Lateness lateness_of(JobIndex job) const;
  /// Of its waiting tasks the first so many.
  [[nodiscard]] std::uint32_t claimed(JobIndex job, const Unfinished& unfinished) const;
  [[nodiscard]] bool would_grow(JobIndex job, const Unfinished& unfinished) const;
  /// Applies what changes the job, and keeps its tenant's queue true.
  template <class Change>
  void change(JobIndex job, Change&& apply);
  void count_claimed(JobIndex job, std::uint32_t before, std::uint32_t after);
  /// What its user holds, and how many tasks of it run.
  void count_running(JobIndex job, bool starts, bool has_grown);
  [[nodiscard]] static bool starts_together(const Job& job, const Unfinished& unfinished);
  [[nodiscard]] WaitingRange waiting_range(JobIndex job, const Unfinished& unfinished,
                                           const WaitingTasks::Range& range, TimeMs now) const;
  /// Of the tasks that it claims.
  [[nodiscard]] std::vector<AlikeTasks> waiting(JobIndex job, const Queue& queue,
                                                std::size_t limit) const;
  /// Shows what of the job fits into the window's bounds.
  std::uint32_t show(JobIndex job, const Queue& queue, const WindowBounds& most, TimeMs now,
                     DemandWindow& window) const;
  void show_growth(const Queue& queue, TimeMs now, DemandWindow& window) const;
  void show_first_late(const Queue& queue, TimeMs now, DemandWindow& window) const;

  const Cluster& cluster_;
  const Workload& workload_;
  const Predict predict_;
  const std::int64_t patience_percent_;
  const bool counts_time_;
  const bool knows_runs_;
  RunTimePredictor run_times_;          ///< where it predicts by history
  std::vector<Queue> queues_;           ///< by tenant
  std::vector<std::uint32_t> running_;  ///< tasks by job, where users take turns
  std::vector<TaskKind> kinds_;         ///< of its tasks, by job
  std::uint64_t last_number_ = 0;
  std::set<TenantIndex> changed_;
  std::size_t elastic_jobs_ = 0;  ///< that have begun, and whose work is not done
};

}  // namespace fairwater::sim::inline schedulers
