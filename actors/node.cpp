#include "actors/node.hpp"

#include <chrono>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/cluster.hpp"
#include "actors/node_book.hpp"

namespace fairwater {

struct LeaseCheck {};
/// Orders that do not reach the agent: their tasks are to run elsewhere.
struct ReturnUndelivered {
  std::vector<TaskKey> tasks;
};

}  // namespace fairwater

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::LeaseCheck)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::ReturnUndelivered)

namespace fairwater {
namespace {

using NodeBase = NodeActor::extend<caf::reacts_to<LeaseCheck>, caf::reacts_to<ReturnUndelivered>>;
using Clock = caf::actor_clock::clock_type;

/// Connections in a row that may end before the agent took its orders: a network that comes and
/// goes does that, but hardly this often. Reconnecting takes an agent some seconds then, less than
/// any lease.
constexpr std::uint32_t kMaxBrokenConnections = 5;

enum class Liveness : std::uint8_t { up, silent, lost };

struct NodeActorState {
  static inline const char* name = "node";
  std::shared_ptr<const ClusterContext> context;
  NodeBeatSink coordinator;
  NodeRecord record;
  NodeBook book{{}};
  AgentLink link;  ///< null while the agent is not connected
  Liveness liveness = Liveness::silent;
  Clock::time_point last_heard;
  WallTime last_heartbeat;
  bool giving_up = false;                ///< the commit that declares the node lost is under way
  std::uint32_t broken_connections = 0;  ///< in a row that ended before the agent took its orders
  caf::actor_addr last_broken;
  Clock::time_point broken_at;
};

using NodeSelf = NodeBase::stateful_pointer<NodeActorState>;

NodeState shown_state(const NodeActorState& state) {
  if (state.liveness != Liveness::up) return NodeState::down;
  if (!state.record.draining) return NodeState::up;
  return state.book.size() == 0 ? NodeState::drained : NodeState::draining;
}

bool takes_no_orders(const NodeActorState& state) {
  return state.broken_connections >= kMaxBrokenConnections;
}

void send_beat(NodeSelf self, std::vector<TaskKey> released) {
  auto& state = self->state;
  const bool accepts = state.liveness == Liveness::up && state.link && !state.record.draining &&
                       !takes_no_orders(state);
  self->send(
      state.coordinator,
      NodeBeat{state.record.id, shown_state(state), accepts, state.liveness == Liveness::lost,
               state.record.spec.capacity, std::move(released), state.last_heartbeat});
}

/// The connection ended before the agent took its orders; one counts once.
void connection_broke(NodeSelf self, const caf::actor_addr& link) {
  auto& state = self->state;
  if (std::exchange(state.last_broken, link) == link) return;
  ++state.broken_connections;
  state.broken_at = self->clock().now();
}

void send_orders(NodeSelf self, std::vector<LaunchOrder> launches, std::vector<StopOrder> stops) {
  auto& state = self->state;
  if (!state.link || (launches.empty() && stops.empty())) return;
  for (auto& order : launches) order.epoch = state.context->epoch;
  for (auto& order : stops) order.epoch = state.context->epoch;
  const auto link = state.link.address();
  self->request(state.link, caf::infinite, AgentOrders{std::move(launches), std::move(stops)})
      .then([self](const OrdersTaken&) { self->state.broken_connections = 0; },
            [self, link](const caf::error&) { connection_broke(self, link); });
}

ReportReply make_reply(const NodeActorState& state, std::vector<TaskKey> acknowledged) {
  return {std::move(acknowledged), state.context->committed_cycle(),
          state.context->settings.lease_ms, state.context->settings.heartbeat_interval_ms};
}

template <class OfTask>
std::vector<TaskKey> keys_of(const std::vector<OfTask>& items) {
  std::vector<TaskKey> keys;
  keys.reserve(items.size());
  for (const auto& item : items) keys.push_back(item.task);
  return keys;
}

void tell_tenants(NodeSelf self, std::vector<TenantTasks> groups) {
  for (auto& group : groups) {
    if (!group.results.empty()) self->send(group.tenant, TasksEnded{std::move(group.results)});
    if (!group.keys.empty()) self->send(group.tenant, TasksReturned{std::move(group.keys)});
  }
}

/// Gives tasks back to their tenants, once that is durable. `more` is committed with it.
void requeue(NodeSelf self, std::vector<TaskKey> keys, const std::string& reason,
             std::vector<JournalBody> more, std::function<void()> then,
             std::function<void(const caf::error&)> failed) {
  auto& state = self->state;
  std::vector<JournalBody> bodies = std::move(more);
  if (!keys.empty()) bodies.emplace_back(TasksRequeued{state.record.id, keys, reason});
  self->request(state.context->ledger, caf::infinite, Commit{std::move(bodies), 0})
      .then(
          [self, keys, then = std::move(then)](const Committed&) {
            tell_tenants(self, self->state.book.take_back(keys));
            send_beat(self, keys);
            then();
          },
          [failed = std::move(failed)](const caf::error& error) { failed(error); });
}

// -- the lease ------------------------------------------------------------------------------------

void schedule_check(NodeSelf self, Clock::duration delay) {
  self->delayed_send(self, std::chrono::ceil<std::chrono::milliseconds>(delay), LeaseCheck{});
}

void declare_lost(NodeSelf self) {
  auto& state = self->state;
  if (std::exchange(state.giving_up, true)) return;
  NodeRecord record = state.record;
  record.lost = true;
  const auto keys = state.book.unsettled();
  requeue(
      self, keys, "node " + record.spec.traits.name + " was silent beyond its lease",
      {NodeChanged{record}},
      [self] {
        self->state.giving_up = false;
        self->state.liveness = Liveness::lost;
        self->state.record.lost = true;
        send_beat(self, {});
      },
      [self](const caf::error&) {
        self->state.giving_up = false;
        schedule_check(self, std::chrono::seconds(1));  // the disk may have room again
      });
}

void check_lease(NodeSelf self) {
  auto& state = self->state;
  if (state.liveness == Liveness::lost) return;
  const auto lease = std::chrono::milliseconds(state.context->settings.lease_ms);
  const auto grace = std::chrono::milliseconds(state.context->settings.grace_ms);
  const auto silence = self->clock().now() - state.last_heard;
  if (silence < lease) {
    schedule_check(self, lease - silence);
    return;
  }
  if (std::exchange(state.liveness, Liveness::silent) == Liveness::up) send_beat(self, {});
  if (silence < lease + grace) {
    schedule_check(self, lease + grace - silence);
    return;
  }
  declare_lost(self);
}

/// The agent was heard: its lease starts anew. Returns whether it had been silent or lost.
bool heard(NodeSelf self) {
  auto& state = self->state;
  state.last_heard = self->clock().now();
  state.last_heartbeat = state.context->wall_clock();
  const auto before = std::exchange(state.liveness, Liveness::up);
  if (before == Liveness::lost) {
    schedule_check(self, std::chrono::milliseconds(state.context->settings.lease_ms));
    state.record.lost = false;
  }
  return before != Liveness::up;
}

// -- reports --------------------------------------------------------------------------------------

/// Every connection broke on these orders, so the next would, and with it the leases of all that
/// runs there. Who registers without naming a task never got its order, so it may run elsewhere.
void return_undelivered(NodeSelf self, const std::vector<TaskKey>& tasks) {
  const auto& name = self->state.record.spec.traits.name;
  self->state.book.begin_return(tasks);
  requeue(
      self, tasks, "node " + name + " did not take the order", {},
      [name, count = tasks.size()] {
        spdlog::warn("node {}: {} connections in a row ended on its orders; {} tasks go elsewhere",
                     name, kMaxBrokenConnections, count);
      },
      [self, tasks](const caf::error&) {  // the disk may have room again
        self->delayed_send(self, std::chrono::seconds(1), ReturnUndelivered{tasks});
      });
}

/// What the report leaves to be ordered, unless the agent has shown that it cannot take it: then it
/// is spared new tasks for as long as a lease.
void send_orders_after_report(NodeSelf self, ReportOutcome& outcome, bool registering) {
  auto& state = self->state;
  const auto pause = std::chrono::milliseconds(state.context->settings.lease_ms);
  if (takes_no_orders(state) && self->clock().now() - state.broken_at >= pause)
    state.broken_connections = 0;
  if (registering && takes_no_orders(state) && !outcome.launches.empty()) {
    return_undelivered(self, keys_of(outcome.launches));
    outcome.launches.clear();
  }
  send_orders(self, std::move(outcome.launches), std::move(outcome.stops));
}

/// Makes the report's results durable and answers it then; orders and the beat go out at once.
caf::result<ReportReply> take_report(NodeSelf self, const AgentReport& report, bool registering) {
  auto& state = self->state;
  if (state.giving_up)
    return make_error(ErrorCode::unavailable, "the node is being given up; register again");
  const bool was_lost = state.liveness == Liveness::lost;
  const bool was_away = heard(self);
  auto outcome = state.book.take_report(report, registering || was_away);
  send_orders_after_report(self, outcome, registering);
  send_beat(self, keys_of(outcome.settle));

  std::vector<JournalBody> bodies;
  if (was_lost) bodies.emplace_back(NodeChanged{state.record});
  if (!outcome.settle.empty()) bodies.emplace_back(TasksFinished{state.record.id, outcome.settle});
  if (bodies.empty()) return make_reply(state, std::move(outcome.acknowledge));

  auto promise = self->make_response_promise<ReportReply>();
  self->request(state.context->ledger, caf::infinite, Commit{std::move(bodies), 0})
      .then(
          [self, promise, outcome](const Committed&) mutable {
            tell_tenants(self, self->state.book.settled(outcome.settle));
            if (self->state.record.draining) send_beat(self, {});
            auto acknowledged = std::move(outcome.acknowledge);
            for (const auto& key : keys_of(outcome.settle)) acknowledged.push_back(key);
            promise.deliver(make_reply(self->state, std::move(acknowledged)));
          },
          [self, promise, outcome](const caf::error& error) mutable {
            self->state.book.not_settled(outcome.settle);
            promise.deliver(error);
          });
  return promise;
}

caf::result<ReportReply> attach(NodeSelf self, Attach& request) {
  auto& state = self->state;
  state.record = std::move(request.record);
  state.link = request.link;
  self->monitor(state.link);
  return take_report(self, request.report, true);
}

void launch(NodeSelf self, const LaunchTasks& request) {
  auto& state = self->state;
  std::vector<TaskKey> keys;
  for (const auto& order : request.orders) {
    state.book.assign(request.tenant, order);
    keys.push_back(order.task);
  }
  if (state.liveness != Liveness::lost) {
    send_orders(self, request.orders, {});
    return;
  }
  requeue(
      self, keys, "the node was lost before the order was sent", {}, [] {},
      [self](const caf::error&) { declare_lost(self); });
}

void stop(NodeSelf self, const StopTasks& request) {
  std::vector<StopOrder> stops;
  for (const auto& task : request.tasks)
    if (self->state.book.request_stop(task)) stops.push_back({task, 0});
  send_orders(self, {}, std::move(stops));
}

caf::result<Done> set_drain(NodeSelf self, const SetDrain& request) {
  NodeRecord record = self->state.record;
  record.draining = request.drain;
  record.drain_reason = request.drain ? request.reason : "";
  auto promise = self->make_response_promise<Done>();
  self->request(self->state.context->ledger, caf::infinite, Commit{{NodeChanged{record}}, 0})
      .then(
          [self, promise, record](const Committed&) mutable {
            self->state.record.draining = record.draining;
            self->state.record.drain_reason = record.drain_reason;
            send_beat(self, {});
            promise.deliver(Done{});
          },
          [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

NodeBase::behavior_type node_behavior(NodeSelf self, std::shared_ptr<const ClusterContext> context,
                                      NodeBeatSink coordinator, NodeRecord record,
                                      std::vector<AssignedTask> assigned) {
  auto& state = self->state;
  state.context = std::move(context);
  state.coordinator = std::move(coordinator);
  state.record = std::move(record);
  // A lost node with tasks still assigned: the commit that gave them back did not happen. Give up
  // anew.
  state.liveness = state.record.lost && assigned.empty() ? Liveness::lost : Liveness::silent;
  state.book = NodeBook{std::move(assigned)};
  state.last_heard =
      self->clock().now();  // after a restart every node has a whole lease to come back
  self->set_down_handler([self](const caf::down_msg& message) {
    if (!self->state.link || message.source != self->state.link.address()) return;
    self->state.link = nullptr;
    send_beat(self, {});
  });
  schedule_check(self, std::chrono::milliseconds(state.context->settings.lease_ms));
  return {
      [self](const AgentReport& report) { return take_report(self, report, false); },
      [self](const ReadAgentLog& request) -> caf::result<LogChunk> {
        if (!self->state.link)
          return make_error(ErrorCode::unavailable,
                            "node " + self->state.record.spec.traits.name + " is not connected");
        return self->delegate(self->state.link, request);
      },
      [self](Attach& request) { return attach(self, request); },
      [self](const SetDrain& request) { return set_drain(self, request); },
      [self](const LaunchTasks& request) { launch(self, request); },
      [self](const StopTasks& request) { stop(self, request); },
      [self](const LeaseCheck&) { check_lease(self); },
      [self](const ReturnUndelivered& undelivered) { return_undelivered(self, undelivered.tasks); },
  };
}

}  // namespace

NodeActor spawn_node(caf::actor_system& system, std::shared_ptr<const ClusterContext> context,
                     NodeBeatSink coordinator, NodeRecord record,
                     std::vector<AssignedTask> assigned) {
  return system.spawn(node_behavior, std::move(context), std::move(coordinator), std::move(record),
                      std::move(assigned));
}

}  // namespace fairwater
