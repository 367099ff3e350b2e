// A node actor: one machine's liveness, its lease, and what runs there.
//
//   takes  AgentReport                     from the agent, through the gateway
//          JudgeRun, Attach                from the coordinator, when the agent registers
//          SetDrain, RetireNode, ReinstateNode    from the coordinator, when an operator says
//          ReadAgentLog                    from the frontend
//          LaunchTasks                     from tenants, once their grants are durable
//          StopTasks, TellMembers          from tenants, through the coordinator
//   sends  NodeBeat, SettleFailedLaunches  to the coordinator
//          Commit                          to the ledger
//          AgentOrders                     to the agent, over its link
//          TasksEnded, TasksReturned, Reclaimed    to tenants
//   bound  one report of an agent is answered at a time; orders belong to granted tasks
//
// A node that drains on an operator's word stops its services' tasks, which would not end: they
// start elsewhere. One that drained itself runs them on. At the deadline of a drain all else that
// runs there is reclaimed (TasksReclaimed): its tenants tell it to end, and it waits again. A drain
// that is planned begins by itself; until then the coordinator gives the node what ends before.
//
//            Attach                     silent for the lease           and for the grace
//   silent ─────────> up ───────────────────────────────────> silent ───────────────────> lost
//                      ^  <──────── report or Attach ───────────┘                            │
//                      └───────────────────────── Attach ────────────────────────────────────┘
//
// "Lease" and "grace" here are those of all that runs there: a task goes back to its tenant when
// its own are over, and the node is lost with the last one. So of a lost node nothing runs any
// more.
//
// What follows from launches that fail is in launch_pauses.hpp, from connections that break in
// broken_connections.hpp, which of two agents holds the node in rivals.hpp. All of that but a drain
// and a fence is forgotten with the actor: a node in trouble shows it again.
//
// The agent counts its lease from the moment it sent its last answered report, the node from the
// later moment it got it: when the node is lost here, the agent has stopped its tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/coordinator/ledger.hpp"
#include "actors/coordinator/protocol.hpp"
#include "actors/coordinator/tenant.hpp"
#include "actors/message.hpp"

FAIRWATER_COORDINATOR_MESSAGE(JudgeRun)
FAIRWATER_COORDINATOR_MESSAGE(Attach)
FAIRWATER_COORDINATOR_MESSAGE(LaunchTasks)
FAIRWATER_COORDINATOR_MESSAGE(StopTasks)
FAIRWATER_COORDINATOR_MESSAGE(TellMembers)
FAIRWATER_COORDINATOR_MESSAGE(SetDrain)
FAIRWATER_COORDINATOR_MESSAGE(SettleFailedLaunches)
FAIRWATER_COORDINATOR_MESSAGE(FailedLaunchesSettled)
FAIRWATER_COORDINATOR_MESSAGE(RetireNode)
FAIRWATER_COORDINATOR_MESSAGE(ReinstateNode)

namespace fairwater::inline actors::inline coordinator {

/// May this run of the node's agent be let in? `already_exists`: another holds the node, this is a
/// duplicate. `unavailable`: not yet.
struct JudgeRun {
  AgentRun run;
  bool moved = false;  ///< AgentIdentity::moved
};
/// The agent has registered: this is its link, and what it runs.
struct Attach {
  NodeAdmitted admitted;
  AgentReport report;
  AgentLink link;
  std::uint64_t session = 0;  ///< reports of any other are refused from now on
};
struct LaunchTasks {
  TenantActor tenant;
  std::vector<LaunchOrder> orders;
  std::set<JobId> services = {};  ///< which of their jobs are
};
struct SetDrain {
  bool drain = true;
  std::string reason;
  std::int64_t deadline_ms = 0;  ///< from its beginning on; 0: none
  WallTime begins = {};          ///< later: until then it is planned; 0: now
};
/// The node is about to be removed: `wrong_state` while it is up and not drained or has tasks, else
/// it takes nothing any more.
struct RetireNode {};
/// The removal did not happen after all.
struct ReinstateNode {};
/// What the coordinator must know of a node: sent with every report and every change.
struct NodeBeat {
  NodeId node;
  NodeState state = NodeState::down;
  bool accepts = false;           ///< may be given tasks
  bool lost = false;              ///< its tasks were given out again
  std::vector<TaskKey> released;  ///< tasks that hold nothing any more
  WallTime last_heartbeat;
  bool draining = false;
  std::string drain_reason;
  WallTime drain_deadline;
  PlannedDrain planned_drain;
  std::string problem;                    ///< for listings; empty: none
  bool runs_lost_life = false;            ///< see ReportOutcome; false of a node that is lost
  std::vector<TaskKey> told_to_end = {};  ///< at the deadline of a drain
  /// They hold nothing any more either, and their tenants hear of it once it is durable.
  std::vector<TaskKey> unheard = {};
};
/// These grants came to nothing. Answered when that is durable, with the longest pause that one of
/// the tasks makes.
struct SettleFailedLaunches {
  NodeId node;
  std::vector<TaskResult> results;
};
struct FailedLaunchesSettled {
  std::int64_t longest_backoff_ms = 0;
  WallTime time;  ///< of the journal record
};
/// What a node actor needs of the coordinator.
using NodeBeatSink =
    caf::typed_actor<caf::reacts_to<NodeBeat>,
                     caf::replies_to<SettleFailedLaunches>::with<FailedLaunchesSettled>>;

using NodeActor = caf::typed_actor<
    caf::replies_to<AgentReport>::with<ReportReply>, caf::replies_to<ReadAgentLog>::with<LogChunk>,
    caf::replies_to<JudgeRun>::with<Done>, caf::replies_to<Attach>::with<ReportReply>,
    caf::replies_to<SetDrain>::with<Done>, caf::replies_to<RetireNode>::with<Done>,
    caf::reacts_to<ReinstateNode>, caf::reacts_to<LaunchTasks>, caf::reacts_to<StopTasks>,
    caf::reacts_to<TellMembers>>;

/// A task that was granted to the node. Its order is kept once for all of a job's tasks with the
/// same amounts and devices, which differ only in their keys: command and environment may be large
/// and the tasks many.
struct AssignedTask {
  TaskKey task;
  std::shared_ptr<const LaunchOrder> order_of_job;
  TenantActor tenant;
  JobKind kind = JobKind::batch;
  bool reclaimed = false;    ///< durable: its tenant has it stopped
  WallTime granted_at = {};  ///< about; not set: not known
};

struct ClusterContext;  // cluster.hpp

/// `assigned`: what a restart finds granted to this node and not ended.
[[nodiscard]] NodeActor spawn_node(caf::actor_system& system,
                                   std::shared_ptr<const ClusterContext> context,
                                   NodeBeatSink coordinator, NodeRecord record,
                                   std::vector<AssignedTask> assigned);

}  // namespace fairwater::inline actors::inline coordinator
