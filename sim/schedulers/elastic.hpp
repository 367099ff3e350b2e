// Drives a policy for elastic jobs (policy/elastic/elastic.hpp) in the simulator.
//
// The cluster is one pool of ledger units on one node: `min over resources of capacity in
// granules`. Every task is a job of the policy with `min_units` to `max_units` times what a unit
// costs. A tenant's quota is SimTenant::quota, or its weight's part of the pool in whole units, by
// largest remainder. A job that is killed waits at the head of its tenant's queue and starts anew.
//
// A round of the policy adds to the credits what tenants earned and paid. How long a round lasts is
// left open by the paper: ElasticOptions::credit_period_ms.
//
// A cycle looks at what runs and at no more of the queues than could start: O(running + started +
// tenants * distinct sizes) and the policy's own cost.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "policy/elastic/rebalance.hpp"
#include "sim/engine/scheduler.hpp"

namespace fairwater::sim::inline schedulers {

struct ElasticOptions {
  std::string policy = "qrea";  ///< a name that make_elastic_policy knows
  /// 0: every round counts the same, however soon the next follows. Else what a round earns counts
  /// by the time until the next, once per this period.
  TimeMs credit_period_ms = 0;
  RebalanceOptions rebalance = {};  ///< of the policy `qrea-rebalance`
};

/// Whole units that add up to `units`, by largest remainder (the first on a tie); a weight is 1 or
/// more. O(n log n).
[[nodiscard]] std::vector<Units> share_by_weight(Units units, const std::vector<Weight>& weights);

class ElasticScheduler final : public Scheduler {
 public:
  /// `invalid_input` for an unknown policy, several nodes, an elastic job whose unit does not cost
  /// 1, and a job that could never start.
  [[nodiscard]] static Expected<std::unique_ptr<Scheduler>> make(const ElasticOptions& options,
                                                                 const Cluster& cluster,
                                                                 const Workload& workload);

  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;
  [[nodiscard]] Account account(TenantIndex tenant) const override;

  /// What the tenant may use of.
  [[nodiscard]] Units quota(TenantIndex tenant) const { return cluster_.users[tenant].quota; }

 private:
  struct Waiting {
    std::int64_t place = 0;  ///< in the tenant's queue; smaller comes first
    TaskId task;
  };
  struct Tenant {
    std::map<Units, std::deque<Waiting>> queue;  ///< by `min` in ledger units, each by place
    Units used = 0;                              ///< sum of the `min`s of what runs
    Units held = 0;
    Credit gain;  ///< of the last round
  };

  ElasticScheduler(const ElasticOptions& options, const Cluster& cluster, const Workload& workload,
                   std::unique_ptr<ElasticPolicy> policy, Units units);

  [[nodiscard]] Tenant& tenant_of(TaskId task) { return tenants_[workload_.jobs[task.job].tenant]; }
  [[nodiscard]] std::vector<RunningJob>& running_beside(TaskId task);
  [[nodiscard]] Units min_of(TaskId task) const;
  [[nodiscard]] Units max_of(TaskId task) const;
  [[nodiscard]] Units room_for_starts(TenantIndex tenant) const;
  [[nodiscard]] std::vector<QueuedJob> window_of(TenantIndex tenant) const;
  void earn(TimeMs now);
  void settle(const std::vector<Credit>& credits);
  Resize resize(const JobUnits& job, Units sign);
  Start start(const JobUnits& job);
  void stop(TaskId task);

  const Workload& workload_;
  const std::unique_ptr<ElasticPolicy> policy_;
  const bool within_quota_;  ///< the policy starts nothing beyond a quota
  const TimeMs credit_period_ms_;
  std::vector<Units> cost_;  ///< of a unit of each job
  std::vector<Tenant> tenants_;
  /// By TenantIndex: quota, credit and what runs; the queues are filled in for each round.
  ElasticCluster cluster_;
  std::int64_t next_place_ = 0;
  std::int64_t first_place_ = 0;
  TimeMs last_round_ms_ = 0;
};

}  // namespace fairwater::sim::inline schedulers
