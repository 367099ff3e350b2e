#include "state/snapshot.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater {

ClusterSnapshot::Tenant tenant_of(const TenantRecord& record, const ResourceCatalog& catalog) {
  const auto terms = terms_of(record.spec, catalog);
  FAIRWATER_CHECK(terms.engaged(), "a stored tenant's terms");
  return {record.id, *terms};
}

ClusterSnapshot::Node node_of(const NodeRecord& record, const ResourceCatalog& catalog) {
  const auto capacity = catalog.to_vector(record.spec.capacity, "capacity");
  FAIRWATER_CHECK(capacity.engaged(), "a registered node's capacity");
  return {record.id, record.spec.traits, *capacity, false};
}

HeldTask held_task(const JobRecord& job, std::uint32_t index, const TaskRecord& task,
                   const ResourceCatalog& catalog, WallTime now) {
  FAIRWATER_CHECK(task.state == TaskState::running, "a held task runs");
  const auto demand = catalog.to_vector(job.spec.resources, "resources");
  FAIRWATER_CHECK(demand.engaged(), "a stored job's resources");
  Grant grant;
  grant.task = run_of(job.id, index, task);
  grant.tenant = job.tenant;
  grant.cost = task.cost;
  grant.demand = *demand;
  grant.step = task.step;
  grant.beyond_quota = task.beyond_quota;
  const std::int64_t ran_ms = (now.microseconds - task.granted_at.microseconds) / 1000;
  return {task.node,
          grant,
          {.limit_ms = job.spec.time_limit_ms,
           .ran_ms = std::max<std::int64_t>(ran_ms, 0),
           .is_service = job.spec.kind == JobKind::service}};
}

DealCycle restore(const AllocatorSettings& settings, const ClusterSnapshot& snapshot) {
  DealCycle cycle{Allocator{settings}};
  Allocator& allocator = cycle.allocator();
  for (std::uint32_t i = 0; i < snapshot.groups.size(); ++i)
    allocator.set_group(GroupId{i + 1}, snapshot.groups[i]);
  for (const auto& tenant : snapshot.tenants) allocator.set_tenant(tenant.id, tenant.terms);
  allocator.restore(snapshot.accounts);
  for (const auto& node : snapshot.nodes)
    cycle.set_node(node.id, node.traits, node.capacity, node.accepts);
  allocator.restore_held(snapshot.held);
  allocator.restore_last_deal(snapshot.last_deal);
  return cycle;
}

}  // namespace fairwater
