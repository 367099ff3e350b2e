#include "state/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "model/tenant_nesting.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline state {

TenantTree tree_of(const std::vector<TenantRecord>& tenants, const ResourceCatalog& catalog) {
  TenantNesting::Specs specs;
  for (const TenantRecord& tenant : tenants) specs.emplace(tenant.id, tenant.spec);
  auto tree = TenantNesting(std::move(specs)).tree(catalog);
  FAIRWATER_CHECK(tree.engaged(), "stored tenants' terms");
  return *std::move(tree);
}

ClusterSnapshot::Node node_of(const NodeRecord& record, const ResourceCatalog& catalog) {
  const auto capacity = catalog.to_vector(record.spec.capacity, "capacity");
  FAIRWATER_CHECK(capacity.engaged(), "a registered node's capacity");
  return {record.id, record.spec.traits, *capacity, false};
}

HeldTask held_task(const JobRecord& job, std::uint32_t index, const TaskRecord& task,
                   const ResourceCatalog& catalog, WallTime now) {
  FAIRWATER_CHECK(task.state == TaskState::running, "a held task runs");
  const auto demand = catalog.to_vector(amounts_at(job.spec, task.memory_step), "resources");
  FAIRWATER_CHECK(demand.engaged(), "a stored job's resources");
  Grant grant;
  grant.task = run_of(job.id, index, task);
  grant.tenant = job.tenant;
  grant.cost = task.cost;
  grant.demand = *demand;
  grant.step = task.step;
  grant.beyond_quota = task.beyond_quota;
  grant.devices = task.devices;
  const std::int64_t ran_ms = (now.microseconds - task.granted_at.microseconds) / 1000;
  return {task.node,
          grant,
          {.limit_ms = job.spec.time_limit_ms,
           .ran_ms = std::max<std::int64_t>(ran_ms, 0),
           .is_service = job.spec.kind == JobKind::service},
          task.reclaimed,
          preemption_terms(job.spec),
          job.spec.user};
}

DealCycle restore(const AllocatorSettings& settings, const ClusterSnapshot& snapshot) {
  DealCycle cycle{Allocator{settings}};
  Allocator& allocator = cycle.allocator();
  allocator.set_tree(snapshot.tree, {});
  allocator.restore(snapshot.accounts);
  if (settings.accounting == Accounting::units) allocator.pass_to(snapshot.clock_ms);
  for (const auto& node : snapshot.nodes)
    cycle.set_node(node.id, node.traits, node.capacity, node.accepts);
  allocator.restore_held(snapshot.held);
  allocator.restore_last_deal(snapshot.last_deal);
  return cycle;
}

}  // namespace fairwater::inline state
