// A task host over a simulated machine: the actor that an agent takes for its own.
#pragma once

#include "actors/agent/task_host.hpp"
#include "tests/cluster_sim/world/machine.hpp"

namespace fairwater::cluster_sim {

/// Marks a launch order as a late copy of a coordinator's that the agent knows to be gone.
inline constexpr const char* kGhostMark = "ghost";

/// Runs in `process`; ends with it.
[[nodiscard]] TaskHostActor spawn_fake_host(ActorProcess& process, Stage& stage, Machine& machine);

}  // namespace fairwater::cluster_sim
