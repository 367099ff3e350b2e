#include "actors/agent/task.hpp"

#include <utility>

#include <caf/all.hpp>

namespace fairwater::inline actors::inline agent {
namespace {

using TaskSelf = TaskActor::stateful_pointer<TaskActorState>;

void end(TaskSelf self, std::optional<TaskResult> result) {
  self->send(self->state.agent, AttemptOver{self->state.task, std::move(result)});
  self->quit();
}

void order_stop(TaskSelf self) {
  auto& state = self->state;
  self->send<caf::message_priority::high>(state.host, StopAttempt{state.task, *state.stop_reason});
}

void on_launched(TaskSelf self) {
  auto& state = self->state;
  state.launched = true;
  if (state.phase == TaskPhase::starting) state.phase = TaskPhase::running;
  if (state.phase == TaskPhase::stopping) order_stop(self);
}

/// What the host could not start at all: the node's fault, unless the order itself was wrong.
void on_launch_failed(TaskSelf self, const caf::error& error, WallTime now) {
  const ErrorDetails why = details(error);
  if (why.code == ErrorCode::already_exists) return end(self, std::nullopt);
  TaskResult result;
  result.task = self->state.task;
  result.reason =
      why.code == ErrorCode::invalid_input ? EndReason::could_not_start : EndReason::launch_failed;
  result.exit_code = 126;
  result.finished_at = now;
  result.message = why.message;
  end(self, std::move(result));
}

TaskActor::behavior_type behavior(TaskSelf self) {
  return {
      [self](const StopRun& stop) {
        auto& state = self->state;
        if (!state.stop_reason) state.stop_reason = stop.reason;
        state.phase = TaskPhase::stopping;
        if (state.launched) order_stop(self);
      },
      [self](RunEnded& ended) { end(self, std::move(ended.result)); },
      [self](const TellRun& told) {
        self->send(self->state.host, TellAttempt{self->state.task, told.members, told.number});
      },
  };
}

void set_up(TaskSelf self, const TaskKey& task, const TaskHostActor& host,
            const AttemptOverSink& agent) {
  self->state.task = task;
  self->state.host = host;
  self->state.agent = agent;
}

}  // namespace

TaskActor::behavior_type launch_task(TaskSelf self, const LaunchOrder& order,
                                     const TaskHostActor& host, const AttemptOverSink& agent,
                                     std::function<WallTime()> wall_clock) {
  set_up(self, order.task, host, agent);
  // No timeout: behind a burst of launches the answer takes its time, and to give up on it would
  // leave open whether the task runs. A host that dies takes the agent with it.
  self->request(host, caf::infinite, LaunchAttempt{order})
      .then([self](const AttemptLaunched&) { on_launched(self); },
            [self, wall_clock = std::move(wall_clock)](const caf::error& error) {
              on_launch_failed(self, error, wall_clock());
            });
  return behavior(self);
}

TaskActor::behavior_type adopt_task(TaskSelf self, const TaskKey& task, const TaskHostActor& host,
                                    const AttemptOverSink& agent) {
  set_up(self, task, host, agent);
  self->state.launched = true;
  self->state.phase = TaskPhase::running;
  return behavior(self);
}

}  // namespace fairwater::inline actors::inline agent
