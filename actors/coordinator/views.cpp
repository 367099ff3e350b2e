// What the coordinator tells of the cluster.
#include "actors/coordinator/state.hpp"

namespace fairwater::coordination {
namespace {

std::string why_not_granting(const CoordinatorState& state) {
  return state.trust.holds() ? state.why_not_granting : state.trust.why_not();
}

}  // namespace

TenantViews describe_tenants(const CoordinatorState& state) {
  TenantViews views;
  const auto& catalog = state.context->catalog;
  for (const auto& [id, tenant] : state.tenants) {
    const auto view = state.allocation->tenant(id);
    TenantInfo info;
    info.record.id = id;
    info.record.spec = tenant.spec;
    info.record.carry = view.carry;
    info.request = catalog.to_named(view.request);
    info.runtime_quota = catalog.to_named(view.quota);
    info.used = catalog.to_named(view.used);
    info.pending_tasks = view.pending_tasks;
    info.running_tasks = view.running_tasks;
    info.net = view.net;
    info.measure = state.context->measure;
    views.tenants.push_back(std::move(info));
  }
  return views;
}

caf::result<NodeList> answer(CoordinatorSelf self, const ListNodes&) {
  const auto& state = self->state;
  NodeList list;
  for (const auto& [id, node] : state.nodes) {
    const auto view = state.allocation->node(id);
    NodeInfo info;
    info.record = node.record;
    info.record.credential_hash = {};  // no client's business
    info.state = node.state;
    info.capacity = node.record.spec.capacity;
    info.free = state.context->catalog.to_named(view.free);
    info.running_tasks = view.running_tasks;
    info.last_heartbeat = node.last_heartbeat;
    info.problem = node.problem;
    list.nodes.push_back(std::move(info));
  }
  return list;
}

caf::result<ClusterStatus> answer(CoordinatorSelf self, const GetStatus&) {
  const auto& state = self->state;
  ClusterStatus status;
  status.cluster_id = state.context->cluster_id;
  status.version = state.context->settings.version;
  status.epoch = state.context->epoch;
  status.cycle = state.context->ledger_end().mark.number;
  status.position = state.allocation->position();
  status.why_not_granting = why_not_granting(state);
  status.granting = status.why_not_granting.empty();
  status.tenants = static_cast<std::uint32_t>(state.tenants.size());
  status.nodes = static_cast<std::uint32_t>(state.nodes.size());
  ResourceVector capacity;
  ResourceVector used;
  for (const auto& [id, node] : state.nodes) {
    const auto view = state.allocation->node(id);
    if (node.state == NodeState::down) continue;
    ++status.nodes_up;
    capacity += view.capacity;
    used += view.capacity - view.free;
  }
  for (const auto& [id, tenant] : state.tenants) {
    const auto view = state.allocation->tenant(id);
    status.tasks_running += view.running_tasks;
    status.tasks_pending += view.pending_tasks;
  }
  status.capacity = state.context->catalog.to_named(capacity);
  status.used = state.context->catalog.to_named(used);
  status.storage_damage = state.context->alarm->text();
  return status;
}

Names names(const CoordinatorState& state) {
  Names result;
  for (const auto& [id, tenant] : state.tenants) result.table.tenants[id] = tenant.spec.name;
  for (const auto& [id, node] : state.nodes) result.table.nodes[id] = node.record.spec.traits.name;
  for (const auto& kind : state.context->catalog.kinds())
    result.table.resources.push_back(kind.name);
  return result;
}

WaitingDescription explain_waiting(const CoordinatorState& state, const ExplainWaiting& request) {
  WaitingDescription description;
  if (!state.tenants.contains(request.tenant)) return description;
  if (auto why = why_not_granting(state); !why.empty())
    description.obstacles.push_back({"not_granting", std::move(why)});
  auto found = state.allocation->explain_waiting(request.tenant, request.job, request.index);
  description.obstacles.insert(description.obstacles.end(), found.begin(), found.end());
  description.mark = state.allocation->explain_mark(request.tenant);
  description.expected_start = expected_start(state, request.tenant, request.job);
  return description;
}

WallTime expected_start(const CoordinatorState& state, TenantId tenant, JobId job) {
  if (!state.tenants.contains(tenant)) return {};
  const auto left_ms = state.allocation->starts_in_ms(tenant, job);
  if (!left_ms) return {};
  return {state.context->wall_clock().microseconds + *left_ms * 1000};
}

}  // namespace fairwater::coordination
