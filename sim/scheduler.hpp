// A scheduling policy in the simulator: told what happens, asked in each cycle what to do.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "sim/workload.hpp"

namespace fairwater::sim {

struct TaskId {
  JobIndex job = 0;
  std::uint32_t index = 0;  ///< 0 .. tasks - 1
  friend constexpr auto operator<=>(const TaskId&, const TaskId&) = default;
};
struct Start {
  TaskId task;
  NodeIndex node = 0;
  Units units = 1;  ///< min_units to max_units of the job
};
struct Resize {
  TaskId task;
  Units units = 1;  ///< from now on; min_units to max_units of the job
};

/// Carried out in this order.
struct Actions {
  std::vector<Resize> shrink;
  std::vector<TaskId> kill;  ///< stopped; the scheduler may start the task anew, all work is lost
  std::vector<Start> start;
  std::vector<Resize> grow;
  [[nodiscard]] bool empty() const {
    return shrink.empty() && kill.empty() && start.empty() && grow.empty();
  }
};

/// A tenant's account with the policy; zeros where the policy keeps none.
struct Account {
  Units net = 0;       ///< ledger units, positive when others owe it
  Units lent = 0;      ///< in all so far
  Units borrowed = 0;  ///< in all so far
  Units repaid = 0;    ///< in all so far
  double credit = 0;   ///< of the elastic policies, in units
};

/// Deterministic: the same calls give the same actions. Cluster and workload outlive it.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void submit(JobIndex job) = 0;
  /// The task ended by itself: its room is free again.
  virtual void end(TaskId task, NodeIndex node) = 0;
  /// Everything that happened up to `now` has been told.
  virtual Actions cycle(TimeMs now) = 0;
  [[nodiscard]] virtual Account account(TenantIndex /*tenant*/) const { return {}; }
};

struct PolicyOptions {
  std::string name;  ///< one of policy_names()
  DealMode mode = DealMode::sized;
  std::uint32_t backups = 1;    ///< see AllocatorSettings
  TimeMs credit_period_ms = 0;  ///< of the elastic policies, see ElasticOptions
  bool resource_time = false;   ///< `sequence`: charge units times time instead of units
};
[[nodiscard]] const std::vector<std::string_view>& policy_names();
/// True for the elastic policies, which share out one pool of units and know no nodes: they run on
/// `pooled` clusters alone.
[[nodiscard]] bool needs_pool(std::string_view policy);
/// True when the policy keeps to tenants' `min` and `max`; others share out as if there were none.
[[nodiscard]] bool knows_limits(const PolicyOptions& policy);
/// `invalid_input` for an unknown name, or when the policy cannot run such a workload.
[[nodiscard]] Expected<std::unique_ptr<Scheduler>> make_scheduler(const PolicyOptions& options,
                                                                  const Cluster& cluster,
                                                                  const Workload& workload);

}  // namespace fairwater::sim
