#include "actors/coordinator/node.hpp"

#include <map>
#include <utility>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace machine {

// -- what the others hear -------------------------------------------------------------------------

namespace {

NodeState shown_state(const NodeActorState& state) {
  if (state.liveness != Liveness::up) return NodeState::down;
  if (!state.record.draining) return NodeState::up;
  return state.tasks.size() == 0 ? NodeState::drained : NodeState::draining;
}

std::string shown_problem(NodeSelf self) {
  auto& state = self->state;
  std::string problem = state.rivals.problem(self->clock().now());
  const std::string pause = state.record.draining ? std::string{} : state.pauses.problem();
  return problem + (problem.empty() || pause.empty() ? "" : "; ") + pause;
}

}  // namespace

void send_beat(NodeSelf self, BeatTasks tasks) {
  auto& state = self->state;
  const auto& record = state.record;
  const bool accepts = state.liveness == Liveness::up && state.link && !record.draining &&
                       !state.pauses.is_paused() && !state.retired &&
                       !state.broken_connections.are_too_many();
  self->send(state.coordinator,
             NodeBeat{record.id, shown_state(state), accepts, state.liveness == Liveness::lost,
                      std::move(tasks.released), state.last_heartbeat, record.draining,
                      record.drain_reason, record.drain_deadline, record.planned_drain,
                      shown_problem(self), state.runs_lost_life && state.liveness != Liveness::lost,
                      std::move(tasks.told_to_end), std::move(tasks.unheard)});
}

void send_orders(NodeSelf self, std::vector<LaunchOrder> launches, std::vector<StopOrder> stops,
                 std::vector<JobMembers> members) {
  auto& state = self->state;
  if (!state.link || (launches.empty() && stops.empty() && members.empty())) return;
  for (auto& job : members) job.epoch = state.context->epoch;
  for (auto& order : launches) order.epoch = state.context->epoch;
  for (auto& order : stops) order.epoch = state.context->epoch;
  self->request(state.link, caf::infinite,
                AgentOrders{std::move(launches), std::move(stops), std::move(members)})
      .then([self](const OrdersTaken&) { self->state.broken_connections.took_orders(); },
            [self, session = state.session](const caf::error&) {
              self->state.broken_connections.broke(session, self->clock().now());
            });
}

void tell_members_again(NodeSelf self) {
  send_orders(self, {}, {}, self->state.tasks.kept_members());
}

void tell_tenants(NodeSelf self, std::vector<TenantTasks> groups, WallTime time, bool lost) {
  for (auto& group : groups) {
    if (!group.results.empty())
      self->send(group.tenant,
                 TasksEnded{std::move(group.results), std::move(group.made_room), time});
    if (!group.keys.empty())
      self->send(group.tenant, TasksReturned{std::move(group.keys), lost, time});
  }
}

void close_link(NodeActorState& state) {
  if (!state.link) return;
  caf::anon_send_exit(state.link, caf::exit_reason::user_shutdown);
  state.link = nullptr;
}

caf::error being_removed(const NodeActorState& state) {
  return make_error(ErrorCode::unavailable, "node " + name_of(state) + " is being removed");
}

namespace {

// -- what the node hears --------------------------------------------------------------------------

caf::result<ReportReply> take_heartbeat(NodeSelf self, const AgentReport& report) {
  auto& state = self->state;
  if (state.rivals.is_fenced()) return refuse_fenced(state);
  if (report.session != state.session)
    return make_error(ErrorCode::unavailable, "a newer connection of this agent replaced this one");
  if (is_contested(self)) return fence(self);
  return take_report(self, report, false);
}

caf::result<ReportReply> attach(NodeSelf self, const Attach& request) {
  auto& state = self->state;
  close_link(state);
  apply(state.record, request.admitted);
  state.link = request.link;
  state.session = request.session;
  state.pauses.agent_started();
  state.rivals.settle();
  self->monitor(state.link);
  return take_report(self, request.report, true);
}

void launch(NodeSelf self, LaunchTasks& request) {
  auto& state = self->state;
  const WallTime now = state.context->wall_clock();
  for (const auto& order : request.orders) {
    const bool is_service = request.services.contains(order.task.job);
    state.tasks.assign(request.tenant, order, is_service ? JobKind::service : JobKind::batch, now);
  }
  if (state.liveness == Liveness::lost)
    give_back_late(self);
  else if (state.liveness == Liveness::silent && self->clock().now() >= over_at(state))
    return_tasks(self, {keys_of(request.orders), std::string(kLostBeforeOrder)});
  else
    send_orders(self, std::move(request.orders), stops_of_services(state));
  reclaim_overdue(self);
}

void stop(NodeSelf self, const StopTasks& request) {
  std::vector<StopOrder> stops;
  for (const auto& task : request.tasks)
    if (self->state.tasks.request_stop(task)) stops.push_back({task, 0});
  send_orders(self, {}, std::move(stops));
}

void tell_members(NodeSelf self, const TellMembers& request) {
  self->state.tasks.keep_members(request.members);
  send_orders(self, {}, {}, {request.members});
}

caf::result<LogChunk> read_log(NodeSelf self, const ReadAgentLog& request) {
  if (!self->state.link)
    return make_error(ErrorCode::unavailable, "node " + name_of(self->state) + " is not connected");
  return self->delegate(self->state.link, request);
}

// -- leaving --------------------------------------------------------------------------------------

caf::result<Done> retire(NodeActorState& state) {
  const auto& name = name_of(state);
  if (state.giving_up)
    return make_error(ErrorCode::unavailable, "node " + name + " is just being given up");
  if (state.tasks.size() > 0)
    return make_error(ErrorCode::wrong_state,
                      "node " + name + " has " + std::to_string(state.tasks.size()) +
                          " tasks; drain it, or wait until they were given out again");
  if (state.liveness == Liveness::up && !state.record.draining)
    return make_error(ErrorCode::wrong_state, "node " + name +
                                                  " is up; drain it first (fairwater node drain), "
                                                  "or stop its agent and wait for its lease");
  state.retired = true;
  return Done{};
}

void reinstate(NodeSelf self) {
  self->state.retired = false;
  schedule_check(self, std::chrono::milliseconds(self->state.context->leases.ordinary_ms));
  if (self->state.drains_under_way == 0) await_drain(self);
  send_beat(self, {});
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
  state.tasks = NodeTasks{std::move(assigned)};
  state.last_heard =
      self->clock().now();  // after a restart every node has a whole lease to come back
  const OlderLeases& older = state.context->older_leases;
  state.older_leases_until = state.last_heard + std::chrono::milliseconds(older.ordinary_ms);
  state.older_longest_until = state.last_heard + std::chrono::milliseconds(older.longest_ms);
  self->set_down_handler([self](const caf::down_msg& message) {
    if (!self->state.link || message.source != self->state.link.address()) return;
    self->state.link = nullptr;
    send_beat(self, {});
  });
  schedule_check(self, std::chrono::milliseconds(state.context->leases.ordinary_ms));
  await_drain(self);
  return {
      [self](const AgentReport& report) { return take_heartbeat(self, report); },
      [self](const ReadAgentLog& request) { return read_log(self, request); },
      [self](const JudgeRun& request) { return judge_run(self, request); },
      [self](const Attach& request) { return attach(self, request); },
      [self](const SetDrain& request) { return set_drain(self, request); },
      [self](const RetireNode&) { return retire(self->state); },
      [self](const ReinstateNode&) { reinstate(self); },
      [self](LaunchTasks& request) { launch(self, request); },
      [self](const StopTasks& request) { stop(self, request); },
      [self](const TellMembers& request) { tell_members(self, request); },
      [self](const LeaseCheck& check) {
        if (check.number == self->state.lease_checks) check_lease(self);
      },
      [self](const ReturnTasks& back) { return_tasks(self, back); },
      [self](const PauseOver& over) { end_pause(self, over); },
      [self](const DrainBegins& plan) { begin_planned_drain(self, plan); },
      [self](const DrainDeadline& deadline) { end_drain_time(self, deadline); },
  };
}

}  // namespace
}  // namespace machine

NodeActor spawn_node(caf::actor_system& system, std::shared_ptr<const ClusterContext> context,
                     NodeBeatSink coordinator, NodeRecord record,
                     std::vector<AssignedTask> assigned) {
  return system.spawn(machine::node_behavior, std::move(context), std::move(coordinator),
                      std::move(record), std::move(assigned));
}

}  // namespace fairwater::inline actors::inline coordinator
