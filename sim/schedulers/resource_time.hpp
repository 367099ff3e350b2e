// `sequence` by resource-time: the measure is units times time, as Wang, Hong, Feng propose for
// tasks of known length. The next task is of the tenant with the least charge / weight (the
// minimum-ratio order, by cost instead of by slot), the first in order on a tie, among those whose
// next task fits somewhere; it is charged its units times its estimate when it starts, and the
// difference to its true length when it ends. What an idle tenant leaves counts as lent: it comes
// back with a smaller charge.
#pragma once

#include <vector>

#include "sim/engine/queues.hpp"

namespace fairwater::sim::inline schedulers {

class TimeSequenceScheduler final : public Scheduler {
 public:
  TimeSequenceScheduler(const Cluster& cluster, const Workload& workload);

  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;

 private:
  struct Tenant {
    ArrivalQueue queue;
    Wide charge = 0;  ///< unit-milliseconds
  };
  [[nodiscard]] bool comes_before(TenantIndex left, TenantIndex right) const;

  const Cluster& cluster_;
  const Workload& workload_;
  Room room_;
  std::vector<Tenant> tenants_;
};

}  // namespace fairwater::sim::inline schedulers
