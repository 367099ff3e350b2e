// What the coordinator tells of the cluster.
#include "actors/coordinator/state.hpp"
#include "actors/coordinator/visible.hpp"

namespace fairwater::inline actors::inline coordinator::coordination {
namespace {

std::string why_not_granting(const CoordinatorState& state) {
  if (!state.trust.holds()) return state.trust.why_not();
  const auto& leadership = state.context->settings.leadership;
  std::string waiting = leadership ? leadership->why_waiting() : std::string{};
  if (!waiting.empty()) return waiting;
  if (!state.why_not_granting.empty()) return state.why_not_granting;
  const caf::error full = state.context->room();  // also while nobody has asked for anything
  return full ? details(full).message : std::string{};
}

/// Of one with tenants, what they have together.
TenantView view_of(const CoordinatorState& state, TenantId id) {
  TenantView sum;
  for (const TenantId leaf : state.nesting.leaves(id)) {
    const TenantView view = state.allocation->tenant(leaf);
    sum.request += view.request;
    sum.quota += view.quota;
    sum.used += view.used;
    sum.pending_tasks += view.pending_tasks;
    sum.running_tasks += view.running_tasks;
    sum.net += view.net;
    sum.deficit += view.deficit;
    sum.credit += view.credit;
    if (leaf == id) sum.advice = view.advice;
  }
  return sum;
}

TenantInfo describe(const CoordinatorState& state, TenantId id, const TenantEntry& tenant) {
  const auto& catalog = state.context->catalog;
  const auto view = view_of(state, id);
  TenantInfo info;
  info.record.id = id;
  info.record.spec = tenant.spec;
  info.record.deficit = view.deficit;
  info.record.credit = view.credit;
  info.credit_advice = view.advice;
  info.request = catalog.to_named(view.request);
  info.runtime_quota = catalog.to_named(view.quota);
  info.used = catalog.to_named(view.used);
  info.pending_tasks = view.pending_tasks;
  info.running_tasks = view.running_tasks;
  info.net = view.net;
  info.measure = state.context->measure;
  info.guaranteed = state.nesting.guaranteed(id);
  return info;
}

/// Of one that takes no tasks now: `is drained`. Of one that takes those that end before it drains
/// what it takes.
std::string why_closed(const NodeEntry& node) {
  if (node.accepts)
    return "drains from " + utc_text(node.record.planned_drain.begins) +
           " on, and takes what ends before that by its time limit";
  switch (node.state) {
    case NodeState::down:
      return "is down";
    case NodeState::draining:
      return "drains";
    case NodeState::drained:
      return "is drained";
    case NodeState::up:
      break;
  }
  return node.problem.empty() ? "is up, and takes none for a moment" : node.problem;
}

ObstacleNames names_around(const CoordinatorState& state, TenantId tenant) {
  ObstacleNames names;
  for (const ResourceKind& kind : state.context->catalog.kinds())
    names.resources.push_back(kind.name);
  const auto name_those_around = [&](TenantId inner) {
    for (const TenantId outer : state.nesting.around(inner))
      names.groups.emplace(GroupId{outer.value}, state.nesting.spec(outer).name);
  };
  name_those_around(tenant);
  // Then others come first at some level, whoever that is.
  if (state.context->settings.allocation == AllocationRule::drf)
    for (const Accounts::Member& member : state.nesting.members()) {
      names.tenants.emplace(member.tenant, state.nesting.spec(member.tenant).name);
      name_those_around(member.tenant);
    }
  for (const auto& [id, node] : state.nodes)
    if (!node.accepts || node.record.planned_drain.begins)
      names.closed.emplace(id, why_closed(node));
  return names;
}

NodeInfo describe(const CoordinatorState& state, const Caller& caller, NodeId id,
                  const NodeEntry& node) {
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
  for (const NodeDevices& kind : node.record.spec.traits.devices)
    for (const std::string& name : kind.names) {
      const auto holder = view.device_holders.find(name);
      if (holder == view.device_holders.end()) {
        info.devices.push_back({name, kind.resource, false, {}});
        continue;
      }
      for (const DeviceHolder& by : holder->second)
        info.devices.push_back({name, kind.resource, true,
                                may_see(caller, by.tenant) ? by.task : TaskKey{}, by.share});
    }
  return info;
}

/// The next of `all` after `after`, as many as one answer has; true when there are others.
template <class Id, class Entry, class Info, class Describe>
bool describe_next(const std::map<Id, Entry>& all, Id after, std::vector<Info>& shown,
                   Describe describe_one) {
  auto next = all.upper_bound(after);
  for (; next != all.end() && shown.size() < kMaxShownAtOnce; ++next)
    shown.push_back(describe_one(next->first, next->second));
  return next != all.end();
}

const NodeTotals& node_totals(CoordinatorState& state) {
  if (state.node_totals) return *state.node_totals;
  NodeTotals totals;
  for (const auto& [id, node] : state.nodes) {
    if (node.state == NodeState::down) {
      totals.down.push_back(id);
      continue;
    }
    ++totals.up;
    totals.capacity += state.allocation->node(id).capacity;
  }
  return state.node_totals.emplace(std::move(totals));
}

}  // namespace

TenantViews describe_tenants(const CoordinatorState& state, const DescribeTenants& request) {
  TenantViews views;
  if (!request.only) {
    views.more = describe_next(
        state.tenants, request.after, views.tenants,
        [&](TenantId id, const TenantEntry& tenant) { return describe(state, id, tenant); });
    return views;
  }
  const auto known = state.tenants.find(*request.only);
  if (known != state.tenants.end() && request.after < known->first)
    views.tenants.push_back(describe(state, known->first, known->second));
  return views;
}

caf::result<NodeList> answer(CoordinatorSelf self, const ListNodes& request) {
  NodeList list;
  const CoordinatorState& state = self->state;
  list.more = describe_next(
      state.nodes, request.after, list.nodes,
      [&](NodeId id, const NodeEntry& node) { return describe(state, request.caller, id, node); });
  return list;
}

ClusterStatus describe_cluster(CoordinatorState& state) {
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
  const NodeTotals& nodes = node_totals(state);
  const ClusterUse use = state.allocation->use();
  ResourceVector used = use.used;
  for (const NodeId id : nodes.down) {
    const auto view = state.allocation->node(id);
    used -= view.capacity - view.free;
  }
  status.nodes_up = nodes.up;
  status.tasks_running = use.running_tasks;
  status.tasks_pending = use.pending_tasks;
  status.capacity = state.context->catalog.to_named(nodes.capacity);
  status.used = state.context->catalog.to_named(used);
  status.storage_damage = state.context->alarm->text();
  status.history = state.context->history();
  const ClusterSettings& settings = state.context->settings;
  status.rules = {.allocation = settings.allocation,
                  .elastic = settings.growth,
                  .predict = settings.predict,
                  .preempt_after_ms = settings.preempt_after_ms,
                  .preempts_for_min = settings.preempts_for_min};
  if (const auto& leadership = settings.leadership) {
    status.leader = leadership->name();
    status.replicas = leadership->replicas();
  }
  return status;
}

WaitingDescription explain_waiting(const CoordinatorState& state, const ExplainWaiting& request) {
  WaitingDescription description;
  if (!state.nesting.is_leaf(request.tenant)) return description;
  if (auto why = why_not_granting(state); !why.empty())
    description.obstacles.push_back({"not_granting", std::move(why)});
  ObstacleNames names = names_around(state, request.tenant);
  names.tells_of_others = request.caller.role == Role::operator_role;
  auto found = state.allocation->explain_waiting(request.tenant, request.job, request.index, names);
  description.obstacles.insert(description.obstacles.end(), found.begin(), found.end());
  description.mark = state.allocation->explain_mark(request.tenant);
  description.expected_start = expected_start(state, request.tenant, request.job);
  return description;
}

WallTime expected_start(const CoordinatorState& state, TenantId tenant, JobId job) {
  if (!state.nesting.is_leaf(tenant)) return {};
  const auto left_ms = state.allocation->starts_in_ms(tenant, job);
  if (!left_ms) return {};
  return {state.context->wall_clock().microseconds + *left_ms * 1000};
}

}  // namespace fairwater::inline actors::inline coordinator::coordination
