#include "sim/sequence_scheduler.hpp"

#include <limits>
#include <utility>

namespace fairwater::sim {
namespace {

TenantId tenant_id(TenantIndex tenant) { return {tenant + 1}; }
NodeId node_id(NodeIndex node) { return {node + 1}; }
JobId job_id(JobIndex job) { return {std::uint64_t{job} + 1}; }

DealCycle make_cycle(const PolicyOptions& options, const Cluster& cluster) {
  AllocatorSettings settings = cluster.settings;
  settings.mode = options.mode;
  settings.backups = options.backups;
  DealCycle cycle{Allocator{settings}};
  for (TenantIndex i = 0; i < cluster.tenants.size(); ++i)
    cycle.allocator().set_tenant(tenant_id(i), cluster.tenants[i].terms);
  for (NodeIndex i = 0; i < cluster.nodes.size(); ++i)
    cycle.set_node(node_id(i), cluster.nodes[i].traits, cluster.nodes[i].capacity, true);
  return cycle;
}

}  // namespace

SequenceScheduler::SequenceScheduler(const PolicyOptions& options, const Cluster& cluster,
                                     const Workload& workload)
    : workload_(workload),
      cycle_(make_cycle(options, cluster)),
      queues_(cluster.tenants.size()),
      accounts_(cluster.tenants.size()) {}

void SequenceScheduler::submit(JobIndex index) {
  const Job& job = workload_.jobs[index];
  Queue& queue = queues_[job.tenant];
  queue.jobs[index].add(0, job.tasks, 1);
  for (std::size_t r = 0; r < kMaxResources; ++r)
    queue.pending[r] += job.demand[r] * Amount{job.tasks};
  queue.pending_tasks += job.tasks;
  changed_.insert(job.tenant);
}

void SequenceScheduler::end(TaskId task, NodeIndex node) {
  cycle_.allocator().release({job_id(task.job), task.index, 1});
  cycle_.beat(node_id(node));
}

DemandWindow SequenceScheduler::window(TenantIndex tenant) {
  Queue& queue = queues_[tenant];
  DemandWindow window;
  window.tenant = tenant_id(tenant);
  window.pending = queue.pending;
  window.pending_tasks = queue.pending_tasks;
  window.seen_deal = cycle_.allocator().last_deal();
  std::uint64_t shown = 0;
  for (const auto& [index, waiting] : queue.jobs) {
    if (window.next.size() >= kWindowRanges || shown >= kWindowTasks) break;
    const Job& job = workload_.jobs[index];
    for (const auto& range : waiting.ranges(kWindowRanges - window.next.size())) {
      window.next.push_back(
          {job_id(index), range.first, range.count, range.attempt, job.demand, job.rule});
      shown += range.count;
    }
  }
  queue.truncated = shown < queue.pending_tasks;
  return window;
}

void SequenceScheduler::grant(const Deal& deal, Actions& actions) {
  for (const auto& grant : deal.grants) {
    const auto job = static_cast<JobIndex>(grant.task.job.value - 1);
    const TenantIndex tenant = grant.tenant.value - 1;
    Queue& queue = queues_[tenant];
    const auto found = queue.jobs.find(job);
    found->second.take(grant.task.index, grant.task.attempt);
    if (found->second.empty()) queue.jobs.erase(found);
    queue.pending -= grant.demand;
    --queue.pending_tasks;
    if (queue.truncated) changed_.insert(tenant);
    actions.start.push_back({{job, grant.task.index}, deal.node.value - 1, 1});
  }
  for (const auto& loan : deal.loans) {
    accounts_[loan.lender.value - 1].lent += loan.units;
    accounts_[loan.borrower.value - 1].borrowed += loan.units;
  }
  for (const auto& repayment : deal.repayments)
    accounts_[repayment.debtor.value - 1].repaid += repayment.units;
}

Actions SequenceScheduler::cycle(TimeMs /*now*/) {
  Actions actions;
  deals_.clear();
  do {
    for (const TenantIndex tenant : std::exchange(changed_, {})) cycle_.take_window(window(tenant));
    auto deals = cycle_.run(std::numeric_limits<std::size_t>::max());
    for (auto& deal : deals) {
      grant(deal, actions);
      deals_.push_back(std::move(deal));
    }
  } while (!changed_.empty());
  return actions;
}

Account SequenceScheduler::account(TenantIndex tenant) const {
  Account account = accounts_[tenant];
  account.net = cycle_.allocator().book().net(tenant_id(tenant).value);
  return account;
}

// -- by resource-time ----------------------------------------------------------------------------

TimeSequenceScheduler::TimeSequenceScheduler(const Cluster& cluster, const Workload& workload)
    : cluster_(cluster), workload_(workload), room_(cluster), tenants_(cluster.tenants.size()) {}

void TimeSequenceScheduler::submit(JobIndex index) {
  const Job& job = workload_.jobs[index];
  tenants_[job.tenant].queue.add(index, job.tasks);
}

void TimeSequenceScheduler::end(TaskId task, NodeIndex node) {
  const Job& job = workload_.jobs[task.job];
  room_.give_back(job, node);
  tenants_[job.tenant].charge += Wide{cost_of(cluster_, job)} * (job.run_ms - job.estimate_ms);
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
    const TaskId task = tenant.queue.task(0);
    const Job& job = workload_.jobs[task.job];
    const auto node = room_.first_fit(job);
    if (!node) {
      asking.erase(next);
      continue;
    }
    room_.take(job, *node);
    tenant.charge += Wide{cost_of(cluster_, job)} * job.estimate_ms;
    tenant.queue.take(0);
    actions.start.push_back({task, *node, 1});
    if (tenant.queue.empty()) asking.erase(next);
  }
  return actions;
}

}  // namespace fairwater::sim
