// How a node drains.
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {

std::vector<StopOrder> stops_of_services(NodeActorState& state) {
  std::vector<StopOrder> stops;
  if (!state.record.draining || state.record.drained_itself) return stops;
  for (const auto& task : state.tasks.request_stop_of_services()) stops.push_back({task, 0});
  if (!stops.empty())
    spdlog::info("node {} drains: {} tasks of services are stopped there, to start elsewhere",
                 name_of(state), stops.size());
  return stops;
}

namespace {

/// What came due of a drain, or of its plan, is not acted upon any more.
void forget_drain_times(NodeActorState& state) {
  ++state.drains;
  state.is_past_drain_deadline = false;
}

void end_of_drain_commit(NodeSelf self) {
  if (--self->state.drains_under_way == 0) await_drain(self);
}

/// A wall clock that was set makes no moment later than any may be.
std::chrono::milliseconds time_until(const NodeActorState& state, WallTime moment) {
  const auto left_ms =
      (moment.microseconds - state.context->wall_clock().microseconds + 999) / 1000;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(left_ms, 0, kMaxDrainDeadline_ms));
}

}  // namespace

void commit_drain(NodeSelf self, const NodeDrained& event,
                  std::function<void(const caf::error&)> then) {
  // Else what an earlier drain reclaims, or a plan begins, could stand in the journal behind the
  // end of that.
  ++self->state.drains_under_way;
  forget_drain_times(self->state);
  self->request(self->state.context->ledger, caf::infinite, Commit{{event}, 0})
      .then(
          [self, event, then](const Committed&) {
            auto& state = self->state;
            apply(state.record, event);
            if (!event.begins) state.pauses.decided();
            end_of_drain_commit(self);
            send_beat(self, {});
            send_orders(self, {}, stops_of_services(state));
            then({});
          },
          [self, then](const caf::error& error) {
            end_of_drain_commit(self);
            then(error);
          });
}

void await_drain(NodeSelf self) {
  auto& state = self->state;
  forget_drain_times(state);
  const NodeRecord& record = state.record;
  if (record.planned_drain.begins)
    self->delayed_send(self, time_until(state, record.planned_drain.begins),
                       DrainBegins{state.drains});
  if (record.drain_deadline)
    self->delayed_send(self, time_until(state, record.drain_deadline), DrainDeadline{state.drains});
}

void begin_planned_drain(NodeSelf self, const DrainBegins& plan) {
  auto& state = self->state;
  // A node that is being removed drains no more: its removal may be in the journal already.
  if (plan.drain != state.drains || state.retired) return;
  const PlannedDrain& planned = state.record.planned_drain;
  const NodeDrained event{
      .node = state.record.id, .reason = planned.reason, .deadline = planned.deadline};
  commit_drain(self, event, [self](const caf::error& error) {
    auto& state = self->state;
    if (!error) return;
    spdlog::error("node {} is to drain by now and cannot: {}", name_of(state),
                  details(error).message);
    if (state.drains_under_way > 0) return;
    // Else it would be tried again at once, since its time has come.
    forget_drain_times(state);
    self->delayed_send(self, kRetryGivingBack, DrainBegins{state.drains});
  });
}

void end_drain_time(NodeSelf self, const DrainDeadline& deadline) {
  auto& state = self->state;
  if (deadline.drain != state.drains) return;
  state.is_past_drain_deadline = true;
  reclaim_overdue(self);
}

void reclaim_overdue(NodeSelf self) {
  auto& state = self->state;
  if (!state.is_past_drain_deadline) return;
  const auto overdue = state.tasks.reclaim_batch();
  if (overdue.empty()) return;
  TasksReclaimed event{.tasks = {}, .for_drain = true};
  for (const AssignedTask& task : overdue)
    event.tasks.push_back({state.record.id, task.task, task.order_of_job->tenant, {}, {}});
  self->request(state.context->ledger, caf::infinite, Commit{{std::move(event)}, 0})
      .then(
          [self, overdue](const Committed&) {
            spdlog::warn("node {}: the deadline of its drain has come; {} tasks are stopped there",
                         name_of(self->state), overdue.size());
            std::map<TenantActor, Reclaimed> by_tenant;
            std::vector<TaskKey> told_to_end;
            for (const AssignedTask& task : overdue) {
              by_tenant[task.tenant].tasks.push_back(task.task);
              told_to_end.push_back(task.task);
            }
            send_beat(self, {.told_to_end = std::move(told_to_end)});
            for (auto& [tenant, reclaimed] : by_tenant) self->send(tenant, std::move(reclaimed));
          },
          [self, overdue, drain = state.drains](const caf::error& error) {
            self->state.tasks.not_reclaimed(overdue);
            spdlog::error("node {} is past the deadline of its drain and cannot stop its tasks: {}",
                          name_of(self->state), details(error).message);
            self->delayed_send(self, kRetryGivingBack, DrainDeadline{drain});
          });
}

caf::result<Done> set_drain(NodeSelf self, const SetDrain& request) {
  auto& state = self->state;
  if (state.retired) return being_removed(state);
  if (request.begins && state.record.draining)
    return make_error(ErrorCode::wrong_state,
                      "node " + name_of(state) + " drains already (" + state.record.drain_reason +
                          "): plan it after fairwater node undrain " + name_of(state),
                      "name");
  auto promise = self->make_response_promise<Done>();
  NodeDrained event{.node = state.record.id,
                    .draining = request.drain,
                    .reason = request.drain ? request.reason : "",
                    .begins = request.begins};
  const WallTime begins = request.begins ? request.begins : state.context->wall_clock();
  if (request.drain && request.deadline_ms > 0)
    event.deadline = {begins.microseconds + request.deadline_ms * 1000};
  commit_drain(self, event, [promise](const caf::error& error) mutable {
    if (error)
      promise.deliver(error);
    else
      promise.deliver(Done{});
  });
  return promise;
}

}  // namespace fairwater::inline actors::inline coordinator::machine
