// The policies for several resources, task by task as room appears. What a tenant holds now counts.
// A gang is placed where there is room for all of it, each of its tasks by the policy's rule.
//
// `drf`: the tenant with the least dominant share / weight is next (Ghodsi et al., NSDI 2011), the
//   first in order on a tie; its next task goes to the first node with room. A tenant whose next
//   task fits nowhere waits for the next cycle.
// `drfh-best-fit`: the same order, and the node whose room is most alike to the demand (Wang, Li,
//   Liang 2014; policy/dominant/gdrf.hpp says how that is measured).
// `gdrf`: Xue, Hu, Xu 2016 (policy/dominant/gdrf.hpp), read for tasks that come and go: a round has
// as many
//   places as there are tenants that wait; each goes to the tenant with the least amount of
//   resources held (summed over resources, counting the places given in this round); the round is
//   served by the largest gdrs of the next task, then gdrw, then order; a task goes to a node of
//   its type with room, else to any, there to the one with the largest f. A tenant whose next task
//   fits nowhere waits for the next cycle.
#pragma once

#include "policy/dominant/machine_load.hpp"
#include "sim/engine/queues.hpp"

namespace fairwater::sim::inline schedulers {

enum class DominantPolicy : std::uint8_t { drf = 0, drfh_best_fit = 1, gdrf = 2 };

class DominantScheduler final : public Scheduler {
 public:
  DominantScheduler(DominantPolicy policy, const Cluster& cluster, const Workload& workload);
  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;

 private:
  struct Tenant {
    ArrivalQueue queue;
    ResourceVector held;
  };
  [[nodiscard]] const Job& next_job(TenantIndex tenant) const;
  [[nodiscard]] bool has_less(TenantIndex left, TenantIndex right) const;
  [[nodiscard]] std::vector<TenantIndex> next_round(const std::vector<TenantIndex>& asking) const;
  [[nodiscard]] PlacedUser placed_user(const Job& job) const;
  [[nodiscard]] std::optional<NodeIndex> best_fit(const Job& job) const;
  [[nodiscard]] std::optional<NodeIndex> largest_f(const Job& job) const;
  [[nodiscard]] std::optional<NodeIndex> choose_node(const Job& job) const;
  /// False when the tenant's next task fits nowhere.
  bool place_next(TenantIndex tenant, Actions& actions);
  void fill_by_share(std::vector<TenantIndex> asking, Actions& actions);
  void fill_by_rounds(std::vector<TenantIndex> asking, Actions& actions);

  DominantPolicy policy_;
  const Cluster& cluster_;
  const Workload& workload_;
  ResourceVector total_;
  GdrsScale scale_;
  Room room_;
  std::vector<Tenant> tenants_;
  std::vector<MachineLoad> loads_;  ///< by node
  std::vector<std::size_t> types_;  ///< of nodes
};

}  // namespace fairwater::sim::inline schedulers
