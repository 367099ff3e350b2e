// Handles that cross the edge between the actors and the gateway, on both sides of the wire.
#pragma once

#include <string>
#include <vector>

#include <caf/typed_actor.hpp>

#include "actors/message_types.hpp"
#include "model/journal.hpp"
#include "model/node.hpp"
#include "model/requests.hpp"

namespace fairwater {

// -- in the coordinator's process -----------------------------------------------------------------

/// Orders for one agent, in the order in which they are to be carried out.
struct AgentOrders {
  std::vector<LaunchOrder> launches;
  std::vector<StopOrder> stops;
};
/// Asks an agent for a piece of a task's log.
struct ReadAgentLog {
  TaskKey task;
  bool standard_error = false;
  std::uint64_t offset = 0;
};
/// The agent has the orders.
struct OrdersTaken {};
/// One agent's connection, as the gateway serves it. Lives as long as the connection: a node actor
/// monitors it. Orders that the agent did not take before the connection ended are answered with an
/// error.
using AgentLink = caf::typed_actor<caf::replies_to<AgentOrders>::with<OrdersTaken>,
                                   caf::replies_to<ReadAgentLog>::with<LogChunk>>;

/// An agent's heartbeat goes to its node's actor and is answered when what it said is durable.
using NodePort = caf::typed_actor<caf::replies_to<AgentReport>::with<ReportReply>>;

/// An agent came: with its own credential, or for the first time with a join token.
struct RegisterNode {
  NodeSpec spec;
  AgentReport report;      ///< what runs there and what has finished
  Hash credential_hash{};  ///< of the credential it shows, or is about to get
  bool joining = false;    ///< it showed a join token, whose hash is `join_hash`
  Hash join_hash{};
  AgentLink link;
  AgentIdentity identity;
};
struct NodeRegistered {
  NodeId node;
  std::uint64_t epoch = 0;
  ReportReply reply;  ///< to `report`
  NodePort port;
  std::uint64_t session = 0;  ///< for AgentReport::session
  std::string cluster_id;
};

// -- in an agent's process ------------------------------------------------------------------------

/// The coordinator as an agent sees it; errors are `unavailable` while there is no connection.
using CoordinatorLink = caf::typed_actor<caf::replies_to<AgentReport>::with<ReportReply>>;

/// The gateway's client asks this before it registers the node.
struct DescribeNode {};
struct NodeDescription {
  NodeSpec spec;
  AgentReport report;
  AgentIdentity identity;
};
/// The node is registered; reports go to `link` from now on.
struct LinkUp {
  CoordinatorLink link;
  std::uint64_t epoch = 0;
  ReportReply reply;
  std::int64_t sent_boottime_ms =
      0;  ///< when the registration was sent: the lease counts from here
  std::string cluster_id;
};
struct LinkDown {};
/// The coordinator refuses this agent: another run with the same data holds the node.
struct FoundDuplicate {
  std::string message;
};

/// The agent actor, as the gateway's client sees it.
using AgentPort =
    caf::typed_actor<caf::replies_to<DescribeNode>::with<NodeDescription>, caf::reacts_to<LinkUp>,
                     caf::reacts_to<LinkDown>, caf::reacts_to<FoundDuplicate>,
                     caf::reacts_to<AgentOrders>, caf::replies_to<ReadAgentLog>::with<LogChunk>>;

}  // namespace fairwater
