// The policies that the simulator has, by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "model/tenant.hpp"
#include "policy/prediction/patience.hpp"
#include "sim/engine/scheduler.hpp"

namespace fairwater::sim::inline schedulers {

/// What `sequence` counts.
enum class SequenceAccounting : std::uint8_t {
  units = 0,          ///< in the coordinator's ledger, units granted
  time = 1,           ///< in the coordinator's ledger, unit-milliseconds held; not in slots mode
  resource_time = 2,  ///< without a ledger, units times time, at the estimate when a task starts
};

struct PolicyOptions {
  std::string name;  ///< one of policy_names()
  DealMode mode = DealMode::sized;
  std::uint32_t backups = 1;    ///< see AllocatorSettings
  TimeMs credit_period_ms = 0;  ///< of the elastic policies, see ElasticOptions
  SequenceAccounting accounting = SequenceAccounting::units;
  DebtTerms debts{};  ///< where time is counted
  /// Of `sequence`: in which order tenants that name none want their own jobs; the shortest by its
  /// estimate.
  QueuePolicy order = QueuePolicy::fifo;
  Predict predict = Predict::limits;  ///< where time is counted; limits are estimates
  AllocationRule allocation = AllocationRule::sequence;  ///< of `sequence`
  GrowthRule growth = GrowthRule::qrea;                  ///< of `sequence`
  std::int64_t patience_percent = kPatiencePercent;      ///< of the estimate; where time is counted
  std::int64_t deferral_patiences = kDeferralPatiences;  ///< see policy/allocator/by_time.hpp
  /// Of `sequence`: so long a task has run before it is preempted.
  TimeMs preempt_after_ms = AllocatorSettings{}.preempt_after_ms;
  /// Of `sequence`: tasks within a tenant's min preempt.
  bool preempts_for_min = AllocatorSettings{}.preempts_for_min;
};
[[nodiscard]] const std::vector<std::string_view>& policy_names();
/// True for the elastic policies, which share out one pool of units and know no nodes: they run on
/// `pooled` clusters alone.
[[nodiscard]] bool needs_pool(std::string_view policy);
/// True when tenants' weights count.
[[nodiscard]] bool knows_weights(std::string_view policy);
/// True when the policy keeps to tenants' `min` and `max` and to the tree; others share out as if
/// there were none, or by each tenant's part of the tree.
[[nodiscard]] bool knows_limits(const PolicyOptions& policy);
/// False when it starts the tasks of gangs one by one: it is to be given none.
[[nodiscard]] bool knows_gangs(std::string_view policy);
/// True where elastic jobs grow over nodes, by the coordinator's rule; false: they keep their least
/// there. On a pool they always grow.
[[nodiscard]] bool grows_over_nodes(const PolicyOptions& policy);
/// True where jobs that preempt do so, by the coordinator's rule; elsewhere they wait as any other.
[[nodiscard]] bool knows_preemption(const PolicyOptions& policy);
/// True where a service has no end to plan with, and is not stopped for others; elsewhere it is a
/// task that runs until the simulation's end.
[[nodiscard]] bool knows_services(const PolicyOptions& policy);
/// True where nodes that are to drain take only what ends before, and then nothing; elsewhere they
/// take what others do.
[[nodiscard]] bool knows_drains(const PolicyOptions& policy);
/// True where each tenant's jobs come in the order that it wants; elsewhere the policy says.
[[nodiscard]] bool knows_queues(const PolicyOptions& policy);
/// `invalid_input` for an unknown name, or when the policy cannot run such a workload.
[[nodiscard]] Expected<std::unique_ptr<Scheduler>> make_scheduler(const PolicyOptions& options,
                                                                  const Cluster& cluster,
                                                                  const Workload& workload);

}  // namespace fairwater::sim::inline schedulers
