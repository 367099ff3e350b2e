// A node actor: one machine's liveness, its lease, and what runs there.
//
//   takes  AgentReport                     from the agent, through the gateway
//          Attach, SetDrain                from the coordinator, when the agent registers or an operator says
//          LaunchTasks                     from tenants, once their grants are durable
//          StopTasks                       from tenants, through the coordinator
//   sends  NodeBeat                        to the coordinator
//          Commit                          to the ledger
//          AgentOrders                     to the agent, over its link
//          TasksEnded, TasksReturned       to tenants
//   bound  one report of an agent is answered at a time; orders belong to granted tasks
//
//            Attach                     silent for the lease           and for the grace
//   silent ─────────> up ───────────────────────────────────> silent ───────────────────> lost
//                      ^  <──────── report or Attach ───────────┘                            │
//                      └───────────────────────── Attach ────────────────────────────────────┘
//
// The agent counts its lease from the moment it sent its last answered report, the node from the later moment
// it got it: when the node is lost here, the agent has stopped its tasks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/handles.hpp"
#include "actors/ledger.hpp"
#include "actors/tenant.hpp"

namespace fairwater {

/// The agent has registered: this is its link, and what it runs.
struct Attach {
  NodeRecord record;
  AgentReport report;
  AgentLink link;
};
struct LaunchTasks {
  TenantActor tenant;
  std::vector<LaunchOrder> orders;
};
struct StopTasks {
  NodeId node;
  std::vector<TaskKey> tasks;
};
struct SetDrain {
  bool drain = true;
  std::string reason;
};

using NodeActor =
    caf::typed_actor<caf::replies_to<AgentReport>::with<ReportReply>,
                     caf::replies_to<ReadAgentLog>::with<LogChunk>,
                     caf::replies_to<Attach>::with<ReportReply>,
                     caf::replies_to<SetDrain>::with<Done>, caf::reacts_to<LaunchTasks>,
                     caf::reacts_to<StopTasks>>;

/// A task that was granted to the node before a restart.
struct AssignedTask {
  LaunchOrder order;
  TenantActor tenant;
};

}  // namespace fairwater
