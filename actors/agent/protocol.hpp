// What the agent and its connection to the coordinator know of each other.
#pragma once

#include <cstdint>
#include <string>

#include <caf/typed_actor.hpp>

#include "actors/message.hpp"
#include "model/node.hpp"
#include "model/requests.hpp"

FAIRWATER_AGENT_MESSAGE(DescribeNode)
FAIRWATER_AGENT_MESSAGE(NodeDescription)
FAIRWATER_AGENT_MESSAGE(LinkUp)
FAIRWATER_AGENT_MESSAGE(LinkDown)
FAIRWATER_AGENT_MESSAGE(FoundDuplicate)

namespace fairwater::inline actors::inline agent {

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

}  // namespace fairwater::inline actors::inline agent
