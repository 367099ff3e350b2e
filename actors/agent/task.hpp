// A task, on its node: one attempt from the order to its end.
//
//   takes  StopRun      from the agent, at any time
//          RunEnded     from the agent, which has it from the host
//          TellRun      from the agent, which has it from the coordinator
//   sends  LaunchAttempt, StopAttempt, TellAttempt to the host;  AttemptOver, once and last, to
//          the agent
//   bound  a handful of messages per attempt, and one for each change of an elastic job
//
//                              StopRun
//               +--------------------------------+
//               |                                v
//   starting ---+-- launched --> running --> stopping
//      |                            |            |
//      | host's error, RunEnded     | RunEnded   | RunEnded
//      +----------------------------+------------+-----> ended (AttemptOver, quits)
//
// A stop order that comes while the host still starts the task waits for the host's answer. What a
// task is to be told goes through its actor, so that it never overtakes the launch.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/agent/task_host.hpp"
#include "actors/message.hpp"

FAIRWATER_AGENT_MESSAGE(StopRun)
FAIRWATER_AGENT_MESSAGE(RunEnded)
FAIRWATER_AGENT_MESSAGE(TellRun)
FAIRWATER_AGENT_MESSAGE(AttemptOver)

namespace fairwater::inline actors::inline agent {

struct StopRun {
  EndReason reason = EndReason::cancelled;
};
struct RunEnded {
  TaskResult result;
};
/// Which tasks of its job run now: the agent's word of that number.
struct TellRun {
  std::shared_ptr<const JobMembers> members;
  std::uint64_t number = 0;
};
/// The attempt is over. Without a result when it had run before and is forgotten: nothing was
/// started.
struct AttemptOver {
  TaskKey task;
  std::optional<TaskResult> result;
};

using TaskActor =
    caf::typed_actor<caf::reacts_to<StopRun>, caf::reacts_to<RunEnded>, caf::reacts_to<TellRun>>;
using AttemptOverSink = caf::typed_actor<caf::reacts_to<AttemptOver>>;

enum class TaskPhase : std::uint8_t { starting, running, stopping };

struct TaskActorState {
  static inline const char* name = "task";
  TaskKey task;
  TaskHostActor host;
  AttemptOverSink agent;
  TaskPhase phase = TaskPhase::starting;
  bool launched = false;
  std::optional<EndReason> stop_reason;  ///< of the first stop order
};

/// Carries out the order.
[[nodiscard]] TaskActor::behavior_type launch_task(TaskActor::stateful_pointer<TaskActorState> self,
                                                   const LaunchOrder& order,
                                                   const TaskHostActor& host,
                                                   const AttemptOverSink& agent,
                                                   std::function<WallTime()> wall_clock);
/// Takes over an attempt that an earlier agent launched and that still runs.
[[nodiscard]] TaskActor::behavior_type adopt_task(TaskActor::stateful_pointer<TaskActorState> self,
                                                  const TaskKey& task, const TaskHostActor& host,
                                                  const AttemptOverSink& agent);

}  // namespace fairwater::inline actors::inline agent
