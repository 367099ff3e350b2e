// What the coordinator's actors and the edge know of each other: an agent's connection, and how an
// agent gets one.
#pragma once

#include <caf/typed_actor.hpp>

#include "actors/message.hpp"
#include "model/node.hpp"
#include "model/requests.hpp"

FAIRWATER_COORDINATOR_MESSAGE(OrdersTaken)
FAIRWATER_COORDINATOR_MESSAGE(AgentCredential)
FAIRWATER_COORDINATOR_MESSAGE(RegisterNode)
FAIRWATER_COORDINATOR_MESSAGE(NodeRegistered)

namespace fairwater::inline actors::inline coordinator {

/// The agent has the orders.
struct OrdersTaken {};
/// One agent's connection, as the gateway serves it. Lives as long as the connection: a node actor
/// monitors it. Orders that the agent did not take before the connection ended are answered with an
/// error.
using AgentLink = caf::typed_actor<caf::replies_to<AgentOrders>::with<OrdersTaken>,
                                   caf::replies_to<ReadAgentLog>::with<LogChunk>>;

/// An agent's heartbeat goes to its node's actor and is answered when what it said is durable.
using NodePort = caf::typed_actor<caf::replies_to<AgentReport>::with<ReportReply>>;

/// What an agent shows of itself first, and whose it would be. Nothing else that it says is looked
/// at before this has been judged.
struct AgentCredential {
  std::string name;
  std::string instance;    ///< see NodeSpec
  Hash credential_hash{};  ///< of the credential it shows, or is about to get
  bool joining = false;    ///< it showed a join token, whose hash is `join_hash`
  Hash join_hash{};
};
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

}  // namespace fairwater::inline actors::inline coordinator
