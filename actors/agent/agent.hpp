// The agent: one node as its coordinator sees it. Keeps the coordinator informed, carries out its
// orders, and stops everything when it has not been heard of for longer than the lease.
//
//   takes  DescribeNode, LinkUp, LinkDown, FoundDuplicate, AgentOrders, ReadAgentLog
//                                  from the connection's client (rpc/agent)
//          AttemptsEnded           from the task host
//          AttemptOver             from its tasks
//   sends  AgentReport             to the coordinator's link: every heartbeat interval, and at once
//                                  when a task ended. At most one is under way; what gathers
//                                  meanwhile goes with the next
//          orders                  to tasks
//          the lease, and what may be forgotten or must be remembered    to the task host
//          the end                 to a link whose coordinator a newer one has deposed
//   bound  orders come over one connection whose peer waits for reports; a node's tasks are bounded
//          by its capacity; of logs kMaxLogReads pieces are read at once
//
//                                             LinkUp: reports flow
//   scanning -- host's inventory --> unlinked ----------------------> linked
//                                       ^                               |
//                                       +----- LinkDown, link dies -----+
//
// In either state, when the lease is over, every task is stopped but those with a longer one of
// their own, which go on until that is over; the agent stays and waits.
//
// An agent that is told that it is a duplicate (its data were copied) has no link, so it is given
// no orders and nothing extends its lease: what it runs ends with that. Orders may come before the
// LinkUp of the connection that let it in; those of a newer coordinator wait for it.
//
// The highest epoch that a coordinator told is durable before anything else is done of what that
// coordinator says, and is known over restarts. A coordinator of a lower one was deposed: its link
// is left, its replies extend no lease and acknowledge no result, its orders are not carried out.
// Epochs count within an incarnation of the ledger.
//
// The lease is counted from the sending of the report that was answered, on a clock that runs on
// while the machine sleeps. The supervisors keep it by themselves too, so it holds when the agent
// is dead.
#pragma once

#include <cstdint>
#include <functional>

#include <caf/actor_system.hpp>

#include "actors/agent/protocol.hpp"
#include "actors/agent/task_host.hpp"
#include "model/node.hpp"
#include "process/process_identity.hpp"

namespace fairwater::inline actors::inline agent {

/// Waiting for the host: more are refused `overloaded`. Each becomes a megabyte at most.
inline constexpr std::uint32_t kMaxLogReads = 64;

struct AgentSettings {
  NodeSpec spec;
  AgentIdentity identity;  ///< as found in its AgentDirectory
  /// CLOCK_BOOTTIME in milliseconds; virtual in tests.
  std::function<std::int64_t()> boottime_ms = fairwater::boottime_ms;
  std::function<WallTime()> wall_clock = wall_time_now;
  std::int64_t heartbeat_interval_ms = 1000;  ///< until the coordinator names another
  std::int64_t report_timeout_ms = 10'000;    ///< then the next heartbeat reports anew
};

/// The agent and its host end together: it quits with the host's error when the host dies or cannot
/// take stock.
[[nodiscard]] AgentPort spawn_agent(caf::actor_system& system, AgentSettings settings,
                                    TaskHostActor host);

}  // namespace fairwater::inline actors::inline agent
