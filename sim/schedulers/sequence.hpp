// `sequence`: the coordinator's own way, with its allocator, its ledger and its cycle
// (policy/allocator/deal_cycle.hpp). Tenants show their waiting tasks in windows, first come first
// served, as the tenant actor does. First the nodes are dealt where tasks ended. Then tenants show
// what changed in their queues, also by those deals, and every node is dealt, be it for the windows
// or at its next heartbeat, until nobody can use any room: the heartbeats take no time here.
// tests/actors/simulator_equality_test.cpp holds it against the actors. Where its ledger counts
// time, it is settled each second as a coordinator's is. Elastic jobs grow and give back by the
// coordinator's rule, each second too.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "policy/allocator/deal_cycle.hpp"
#include "sim/engine/initial_state.hpp"
#include "sim/engine/queues.hpp"
#include "sim/schedulers/list.hpp"

namespace fairwater::sim::inline schedulers {

/// Bounds of a tenant's window, as a coordinator has them by default.
inline constexpr std::size_t kWindowRanges = 64;
inline constexpr std::uint32_t kWindowTasks = 1024;

class SequenceScheduler final : public Scheduler {
 public:
  SequenceScheduler(const PolicyOptions& options, const Cluster& cluster, const Workload& workload,
                    const InitialState& initial = {});

  void pass_to(TimeMs now) override;
  void submit(JobIndex job) override;
  void done(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;
  /// As long as anything has grown what must end is looked for each second, as a coordinator does.
  [[nodiscard]] std::optional<TimeMs> wakes_at() const override;
  void finish() override { settle(); }
  [[nodiscard]] Account account(TenantIndex tenant) const override;

  /// The deals of the last cycle.
  [[nodiscard]] const std::vector<Deal>& deals() const { return deals_; }
  /// What the last cycle told to end.
  [[nodiscard]] const std::vector<Reclaim>& reclaims() const { return reclaims_; }
  [[nodiscard]] const Allocator& allocator() const { return cycle_.allocator(); }

 private:
  /// Smaller first; by arrival where equal.
  using Place = std::pair<TimeMs, JobIndex>;
  struct Queue {
    std::map<JobIndex, WaitingTasks> jobs;    ///< by arrival
    std::set<Place> order;                    ///< in which they are to run
    std::set<Place> late;                     ///< by when they are late
    std::map<JobIndex, WaitingTasks> growth;  ///< of elastic jobs that have their least
    ResourceVector pending;
    std::uint64_t pending_tasks = 0;
  };
  /// How long each task of the job is expected to run.
  [[nodiscard]] Prediction expected(const Job& job) const;
  [[nodiscard]] Place place_of(JobIndex job) const;
  [[nodiscard]] Place lateness_of(JobIndex job) const;
  [[nodiscard]] WaitingRange waiting_range(JobIndex job, const WaitingTasks::Range& range) const;
  void show_first_late(JobIndex job, const Queue& queue, DemandWindow& window) const;
  /// Shows what of the job fits into the window's bounds.
  std::uint32_t show(JobIndex job, const Queue& queue, std::uint32_t most,
                     DemandWindow& window) const;
  [[nodiscard]] DemandWindow window(TenantIndex tenant) const;
  void grant(const Deal& deal, Actions& actions);
  void start_waiting(const Grant& grant, Queue& queue);
  /// Tells to end what the allocator takes back.
  void take_back(Actions& actions);
  /// The attempt that ended. What was told to end waits again, unless its job is done.
  std::uint32_t end_attempt(TaskId task);
  void wait_again(TaskId task, std::uint32_t attempt);
  void add_waiting(JobIndex job, std::uint32_t first, std::uint32_t count, std::uint32_t attempt);
  /// Where it counts time: everything up to now.
  void pass_time_to(TimeMs now);
  /// Credits for growth, each second.
  void settle_credits(TimeMs now);
  /// Brings the accounts up to now, where it counts time.
  void settle();
  /// False when nothing came of it.
  bool deal_due_nodes(TimeMs now, Actions& actions);
  [[nodiscard]] bool something_would_grow() const;
  /// Makes due what the next heartbeats of all nodes would.
  void hear_all_nodes();

  const Cluster& cluster_;
  const Workload& workload_;
  DealCycle cycle_;
  const bool counts_time_;
  const QueueOrder order_;
  const Predict predict_;
  /// It goes on from what a cluster has come to: estimates are what its history says of each task.
  const bool knows_runs_;
  const std::int64_t patience_percent_;
  const LedgerMs began_ms_;                             ///< time 0, as the ledger has it
  std::map<JobIndex, std::uint32_t> running_at_start_;  ///< the first so many tasks of a job
  RunTimePredictor run_times_;                          ///< where it predicts by history
  std::vector<Queue> queues_;
  std::vector<Account> accounts_;                ///< but for what the ledger knows
  std::vector<TimeAccounts::Integrals> before_;  ///< of stretches that were settled before time 0
  std::set<TenantIndex> changed_;                ///< whose windows are to be shown anew
  std::vector<Deal> deals_;
  std::vector<Reclaim> reclaims_;             ///< of the last cycle
  std::set<TaskId> told_;                     ///< to end, and have not ended
  std::map<TaskId, std::uint32_t> attempts_;  ///< of tasks that run, but for those with 1
  /// While anything has grown: since when credits are to be settled.
  std::optional<TimeMs> credits_since_ms_;
};

}  // namespace fairwater::sim::inline schedulers
