// What a node's actor owns, shared by its source files. Not for others to include.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <caf/all.hpp>

#include "actors/coordinator/broken_connections.hpp"
#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/launch_pauses.hpp"
#include "actors/coordinator/node.hpp"
#include "actors/coordinator/node_tasks.hpp"
#include "actors/coordinator/rivals.hpp"
#include "state/node.hpp"

FAIRWATER_COORDINATOR_MESSAGE(LeaseCheck)
FAIRWATER_COORDINATOR_MESSAGE(ReturnTasks)
FAIRWATER_COORDINATOR_MESSAGE(PauseOver)
FAIRWATER_COORDINATOR_MESSAGE(DrainBegins)
FAIRWATER_COORDINATOR_MESSAGE(DrainDeadline)

namespace fairwater::inline actors::inline coordinator {

struct LeaseCheck {
  std::uint64_t number = 0;
};
/// Tasks that the agent does not have are to run anew, here or elsewhere.
struct ReturnTasks {
  std::vector<TaskKey> tasks;
  std::string reason;
};
struct PauseOver {
  std::uint64_t pause = 0;
};
/// What was planned, also when it could not be made durable.
struct DrainBegins {
  std::uint64_t drain = 0;
};
/// Also: reclaim again what could not be.
struct DrainDeadline {
  std::uint64_t drain = 0;
};

}  // namespace fairwater::inline actors::inline coordinator

namespace fairwater::inline actors::inline coordinator::machine {

using NodeBase = NodeActor::extend<caf::reacts_to<LeaseCheck>, caf::reacts_to<ReturnTasks>,
                                   caf::reacts_to<PauseOver>, caf::reacts_to<DrainBegins>,
                                   caf::reacts_to<DrainDeadline>>;
using Clock = caf::actor_clock::clock_type;

enum class Liveness : std::uint8_t { up, silent, lost };

struct NodeActorState {
  static inline const char* name = "node";
  std::shared_ptr<const ClusterContext> context;
  NodeBeatSink coordinator;
  NodeRecord record;  ///< but for registrations and a fence, which say so first: what is durable
  NodeTasks tasks{{}};
  AgentLink link;             ///< null while the agent is not connected
  std::uint64_t session = 0;  ///< whose reports are taken; 0: nobody's
  Liveness liveness = Liveness::silent;
  Clock::time_point last_heard;
  std::uint64_t lease_checks = 0;  ///< number of the newest; earlier ones are void
  WallTime last_heartbeat;
  bool giving_up = false;  ///< the commit that gives tasks back is under way: no report is taken
  Clock::time_point older_leases_until;   ///< of earlier coordinators, grace included
  Clock::time_point older_longest_until;  ///< likewise, of tasks with a lease of their own
  bool runs_lost_life = false;            ///< as the newest report said: see ReportOutcome
  bool keeps_results = true;              ///< false while the ledger takes none: said once
  bool retired = false;                   ///< see RetireNode
  BrokenConnections broken_connections;
  std::vector<TaskKey> withheld;  ///< from an agent that registered and takes no orders
  LaunchPauses pauses;
  std::uint32_t drains_under_way = 0;   ///< to the ledger, or ends of such
  std::uint64_t drains = 0;             ///< number of the drain, or plan of one, that counts
  bool is_past_drain_deadline = false;  ///< of that number
  Rivals rivals;
  std::optional<NodeSuperseded> fence_to_write;  ///< decided, and not durable yet
};

using NodeSelf = NodeBase::stateful_pointer<NodeActorState>;

inline constexpr std::string_view kLostBeforeOrder = "the node was lost before the order was sent";
inline constexpr auto kRetryGivingBack = std::chrono::seconds(1);  // the disk may have room again

template <class OfTask>
std::vector<TaskKey> keys_of(const std::vector<OfTask>& items) {
  std::vector<TaskKey> keys;
  keys.reserve(items.size());
  for (const auto& item : items) keys.push_back(item.task);
  return keys;
}

inline const std::string& name_of(const NodeActorState& state) {
  return state.record.spec.traits.name;
}

// -- node.cpp -------------------------------------------------------------------------------------

/// See NodeBeat.
struct BeatTasks {
  std::vector<TaskKey> released = {};
  std::vector<TaskKey> told_to_end = {};
  std::vector<TaskKey> unheard = {};
};
/// Tells the coordinator how the node is, and what has become of its tasks.
void send_beat(NodeSelf self, BeatTasks tasks);
void send_orders(NodeSelf self, std::vector<LaunchOrder> launches, std::vector<StopOrder> stops,
                 std::vector<JobMembers> members = {});
/// The newest word on each elastic job with tasks here, for an agent that has just registered.
void tell_members_again(NodeSelf self);
/// What the journal record of that moment made of their tasks. `lost`: the keys' tasks had been
/// ordered, and nobody knows what became of them.
void tell_tenants(NodeSelf self, std::vector<TenantTasks> groups, WallTime time, bool lost = false);
/// The connection closes with it.
void close_link(NodeActorState& state);
caf::error being_removed(const NodeActorState& state);

// -- node_returns.cpp -----------------------------------------------------------------------------

/// Gives these tasks back to their tenants; tries again until that is durable.
void return_tasks(NodeSelf self, const ReturnTasks& back);
/// The same for tasks of a silent node whose leases are over, while others' go on.
void give_back_early(NodeSelf self, std::vector<TaskKey> tasks);
/// The same for all tasks of a node that is lost, of which the first time tells the ledger.
void declare_lost(NodeSelf self);
/// Tasks that a lost node still has: granted before it was known to be lost, or not given back
/// durably yet.
void give_back_late(NodeSelf self);

// -- node_lease.cpp -------------------------------------------------------------------------------

void schedule_check(NodeSelf self, Clock::duration delay);
void check_lease(NodeSelf self);
/// From when on no process of the task is left on the silent node, if it stays silent.
/// `own_lease_ms` 0: of any task without a lease of its own.
Clock::time_point over_at(const NodeActorState& state, std::int64_t own_lease_ms = 0);
/// The agent was heard: its lease starts anew. Returns whether it had been silent or lost.
bool heard(NodeSelf self);

// -- node_drain.cpp -------------------------------------------------------------------------------

/// Of a node that drains on somebody's word: its services' tasks that were not stopped yet.
std::vector<StopOrder> stops_of_services(NodeActorState& state);
/// Makes the drain, its plan or its end durable and then true; services are stopped. `then` hears
/// of the error, if any.
void commit_drain(NodeSelf self, const NodeDrained& event,
                  std::function<void(const caf::error&)> then);
caf::result<Done> set_drain(NodeSelf self, const SetDrain& request);
/// The record's drain is another than before, or the actor is new: when the moment of its plan or
/// its deadline comes, begin_planned_drain() or end_drain_time() is called; at once, when it has
/// passed.
void await_drain(NodeSelf self);
void begin_planned_drain(NodeSelf self, const DrainBegins& plan);
void end_drain_time(NodeSelf self, const DrainDeadline& deadline);
/// After the deadline of a drain: makes it durable that what runs here and is no service's is
/// reclaimed, and tells its tenants; tries again until it is.
void reclaim_overdue(NodeSelf self);

// -- node_launches.cpp ----------------------------------------------------------------------------

/// The failures are durable: a pause follows, and a drain where there were too many in a row.
void count_failed_launches(NodeSelf self, const std::vector<TaskResult>& failed,
                           std::int64_t longest_backoff_ms);
void end_pause(NodeSelf self, const PauseOver& over);

// -- node_runs.cpp --------------------------------------------------------------------------------

caf::result<Done> judge_run(NodeSelf self, const JudgeRun& request);
/// Whether a report proves that two runs of the agent live.
bool is_contested(NodeSelf self);
/// Shuts the present run out for good: it is never answered again, so its lease runs out.
caf::error fence(NodeSelf self);
/// What a run that was shut out is told.
caf::error refuse_fenced(const NodeActorState& state);

// -- node_reports.cpp -----------------------------------------------------------------------------

/// Makes the report's results durable and answers it then; orders and the beat go out at once.
caf::result<ReportReply> take_report(NodeSelf self, const AgentReport& report, bool registering);

}  // namespace fairwater::inline actors::inline coordinator::machine
