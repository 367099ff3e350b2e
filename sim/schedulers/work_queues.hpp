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
#include <utility>
#include <vector>

#include "policy/allocator/waiting_tasks.hpp"
#include "policy/prediction/run_time.hpp"
#include "sim/engine/initial_state.hpp"
#include "sim/schedulers/list.hpp"

namespace fairwater::sim::inline schedulers {

/// Bounds of a tenant's window, as a coordinator has them by default.
inline constexpr std::size_t kWindowRanges = 64;
inline constexpr std::uint32_t kWindowTasks = 1024;

/// What the allocator calls it.
[[nodiscard]] inline JobId job_id(JobIndex job) { return {std::uint64_t{job} + 1}; }

class WorkQueues {
 public:
  /// `knows_runs`: estimates are what a cluster's history says of each task.
  WorkQueues(const PolicyOptions& options, const Cluster& cluster, const Workload& workload,
             bool knows_runs);

  /// Of a job's tasks.
  struct AtStart {
    std::uint32_t running = 0;  ///< the first so many
    std::uint32_t grown = 0;    ///< of them
  };
  /// The job came; some of its tasks may run already.
  void add(JobIndex job, const AtStart& at_start);
  void start(TaskId task, std::uint32_t attempt, bool has_grown);
  /// It ended as it was told, and waits, unless its job is done.
  void wait_again(TaskId task, std::uint32_t attempt, bool had_grown);
  /// The work of the elastic job is done.
  void done(JobIndex job);
  /// A task of the job took so long, and was not cut short.
  void note_run(JobIndex job, TimeMs run_ms);

  /// Whether elastic jobs run.
  [[nodiscard]] bool may_grow() const { return elastic_jobs_ > 0; }
  /// Its window is to be shown anew.
  void note_changed(TenantIndex tenant) { changed_.insert(tenant); }
  [[nodiscard]] std::set<TenantIndex> take_changed() { return std::exchange(changed_, {}); }
  [[nodiscard]] DemandWindow window(TenantIndex tenant, TimeMs now, std::uint64_t seen_deal) const;

 private:
  /// Smaller first; by arrival where equal.
  using Place = std::pair<TimeMs, JobIndex>;
  /// A job with tasks that wait, or an elastic one whose work is not done.
  struct Unfinished {
    WaitingTasks waiting;
    // Of an elastic job:
    bool has_begun = false;
    std::uint32_t held = 0;  ///< tasks that run, but for those that have grown
  };
  struct Queue {
    std::map<JobIndex, Unfinished> jobs;  ///< by arrival
    std::set<Place> order;                ///< in which those that claim something are to run
    std::set<Place> late;                 ///< the same, by when they are late
    std::set<JobIndex> growing;           ///< elastic jobs that would grow
    ResourceVector pending;               ///< that is claimed
    std::uint64_t pending_tasks = 0;
  };

  [[nodiscard]] TimeMs patience_of(const Job& job) const;
  [[nodiscard]] Prediction expected(const Job& job) const;
  [[nodiscard]] Place place_of(JobIndex job) const;
  [[nodiscard]] Place lateness_of(JobIndex job) const;
  /// Of its waiting tasks the first so many.
  [[nodiscard]] std::uint32_t claimed(JobIndex job, const Unfinished& unfinished) const;
  [[nodiscard]] bool would_grow(JobIndex job, const Unfinished& unfinished) const;
  /// Applies what changes the job, and keeps its tenant's queue true.
  template <class Change>
  void change(JobIndex job, Change&& apply);
  void count_claimed(JobIndex job, std::uint32_t before, std::uint32_t after);
  [[nodiscard]] WaitingRange waiting_range(JobIndex job, const Unfinished& unfinished,
                                           const WaitingTasks::Range& range, TimeMs now) const;
  /// Shows what of the job fits into the window's bounds.
  std::uint32_t show(JobIndex job, const Queue& queue, std::uint32_t most, TimeMs now,
                     DemandWindow& window) const;
  void show_growth(const Queue& queue, TimeMs now, DemandWindow& window) const;
  void show_first_late(const Queue& queue, TimeMs now, DemandWindow& window) const;

  const Cluster& cluster_;
  const Workload& workload_;
  const QueueOrder order_;
  const Predict predict_;
  const std::int64_t patience_percent_;
  const bool counts_time_;
  const bool knows_runs_;
  RunTimePredictor run_times_;  ///< where it predicts by history
  std::vector<Queue> queues_;   ///< by tenant
  std::set<TenantIndex> changed_;
  std::size_t elastic_jobs_ = 0;  ///< that have begun, and whose work is not done
};

}  // namespace fairwater::sim::inline schedulers
