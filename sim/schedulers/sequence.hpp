// `sequence`: the coordinator's own way, with its allocator, its ledger and its cycle
// (policy/allocator/deal_cycle.hpp). Tenants show their waiting tasks in windows, first come first
// served, as the tenant actor does. First the nodes are dealt where tasks ended. Then tenants show
// what changed in their queues, also by those deals, and every node is dealt, be it for the windows
// or at its next heartbeat, until nobody can use any room: the heartbeats take no time here.
// tests/actors/simulator_equality_test.cpp holds it against the actors. Where its ledger counts
// time, it is settled each second as a coordinator's is. Elastic jobs grow and give back, and tasks
// are preempted, by the coordinator's rules, each second too.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "policy/allocator/deal_cycle.hpp"
#include "sim/engine/initial_state.hpp"
#include "sim/schedulers/list.hpp"
#include "sim/schedulers/work_queues.hpp"

namespace fairwater::sim::inline schedulers {

class SequenceScheduler final : public Scheduler {
 public:
  SequenceScheduler(const PolicyOptions& options, const Cluster& cluster, const Workload& workload,
                    const InitialState& initial = {});

  void pass_to(TimeMs now) override;
  void submit(JobIndex job) override;
  void done(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  void start_over(TaskId task) override;
  Actions cycle(TimeMs now) override;
  /// As long as anything has grown or would preempt, what must end is looked for each second, as a
  /// coordinator does.
  [[nodiscard]] std::optional<TimeMs> wakes_at() const override;
  [[nodiscard]] std::optional<TimeMs> changes_at() const override;
  void finish() override { settle(); }
  [[nodiscard]] Account account(TenantIndex tenant) const override;

  /// The deals of the last cycle.
  [[nodiscard]] const std::vector<Deal>& deals() const { return deals_; }
  /// What the last cycle told to end.
  [[nodiscard]] const std::vector<Reclaim>& reclaims() const { return reclaims_; }
  [[nodiscard]] const Allocator& allocator() const { return cycle_.allocator(); }

 private:
  void grant(const Deal& deal, Actions& actions);
  /// Tells to end what the allocator takes back, or preempts.
  void take_back(Actions& actions);
  /// What it waits for, and of which ends it has heard.
  [[nodiscard]] DemandWindow window(TenantIndex tenant, TimeMs now);
  /// The attempt that ended. What was told to end waits again, unless its job is done.
  std::uint32_t end_attempt(TaskId task);
  /// A drain begins, or is over.
  struct DrainTurn {
    TimeMs at_ms = 0;
    NodeIndex node = 0;
    bool accepts = false;
    friend auto operator<=>(const DrainTurn&, const DrainTurn&) = default;
  };
  void plan_drains(const InitialState& initial);
  void take(const DrainTurn& turn);
  void pass_without_turns_to(TimeMs now);
  /// Where it counts time: everything up to now.
  void pass_time_to(TimeMs now);
  /// Credits for growth, each second.
  void settle_credits(TimeMs now);
  [[nodiscard]] std::optional<TimeMs> credits_due_at() const;
  /// Brings the accounts up to now, where it counts time.
  void settle();
  /// False when nothing came of it.
  bool deal_due_nodes(TimeMs now, Actions& actions);
  /// What must end is looked for, or something may grow.
  [[nodiscard]] bool looks_for_room() const;
  /// Makes due what the next heartbeats of all nodes would.
  void hear_all_nodes();

  const Cluster& cluster_;
  const Workload& workload_;
  DealCycle cycle_;
  const bool counts_time_;
  const LedgerMs began_ms_;             ///< time 0, as the ledger has it
  std::vector<DrainTurn> drain_turns_;  ///< that are to come, the last first
  std::map<JobIndex, WorkQueues::AtStart> at_start_;
  WorkQueues queues_;
  std::vector<Account> accounts_;                ///< but for what the ledger knows
  std::vector<TimeAccounts::Integrals> before_;  ///< of stretches that were settled before time 0
  std::vector<Deal> deals_;
  std::vector<Reclaim> reclaims_;                      ///< of the last cycle
  std::map<TenantIndex, std::vector<TaskKey>> ended_;  ///< and its windows have not named them yet
  std::set<TaskId> told_;                              ///< to end, and have not ended
  std::set<TaskId> grown_;                             ///< that run
  std::map<TaskId, std::uint32_t> attempts_;           ///< of tasks that run, but for those with 1
  std::uint64_t number_ = 0;                           ///< of cycles that had room to deal
  /// While anything has grown or would preempt: since when credits are to be settled.
  std::optional<TimeMs> credits_since_ms_;
};

}  // namespace fairwater::sim::inline schedulers
