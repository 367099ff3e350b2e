#include "sim/schedulers/resource_time.hpp"

namespace fairwater::sim::inline schedulers {

TimeSequenceScheduler::TimeSequenceScheduler(const Cluster& cluster, const Workload& workload)
    : cluster_(cluster), workload_(workload), room_(cluster), tenants_(cluster.tenants.size()) {}

void TimeSequenceScheduler::submit(JobIndex index) {
  const Job& job = workload_.jobs[index];
  tenants_[job.tenant].queue.add(index, job.tasks);
}

void TimeSequenceScheduler::end(TaskId task, NodeIndex node) {
  const Job& job = workload_.jobs[task.job];
  room_.give_back(job, node);
  tenants_[job.tenant].charge +=
      Wide{cost_of(cluster_, job)} * (run_ms_of(job, task.index) - job.estimate_ms);
}

bool TimeSequenceScheduler::comes_before(TenantIndex left, TenantIndex right) const {
  return tenants_[left].charge * cluster_.tenants[right].terms.weight <
         tenants_[right].charge * cluster_.tenants[left].terms.weight;
}

Actions TimeSequenceScheduler::cycle(TimeMs /*now*/) {
  Actions actions;
  std::vector<TenantIndex> asking;
  for (TenantIndex i = 0; i < tenants_.size(); ++i)
    if (!tenants_[i].queue.empty()) asking.push_back(i);
  while (!asking.empty()) {
    auto next = asking.begin();
    for (auto other = next + 1; other != asking.end(); ++other)
      if (comes_before(*other, *next)) next = other;
    Tenant& tenant = tenants_[*next];
    const Job& job = workload_.jobs[tenant.queue.task(0).job];
    const std::vector<NodeIndex> nodes = room_.first_fit_of_all(job);
    if (nodes.empty()) {
      asking.erase(next);
      continue;
    }
    for (const NodeIndex node : nodes) room_.take(job, node);
    tenant.charge += Wide{cost_of(cluster_, job)} * job.estimate_ms * starts_at_once(job);
    tenant.queue.start(0, nodes, actions);
    if (tenant.queue.empty()) asking.erase(next);
  }
  return actions;
}

}  // namespace fairwater::sim::inline schedulers
