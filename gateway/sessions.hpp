// The capabilities that the coordinator hands out, as schema/control.capnp specifies them. Each
// call is decoded, sent to the frontend (or a node's actor) as a message, and its answer encoded.
#pragma once

#include "gateway/connection.hpp"

namespace fairwater::inline gateway {

/// The bootstrap interface: all that a peer can reach before it has shown a token.
[[nodiscard]] wire::Gateway::Client make_gateway(Connection& connection);

/// What a client with this role may do; `not_permitted` for a role that opens no session.
struct SessionPair {
  wire::TenantSession::Client session = nullptr;
  kj::Maybe<wire::OperatorSession::Client> operator_session;
};
[[nodiscard]] Expected<SessionPair> make_session(Connection& connection, const Caller& caller);

/// Reports go to the node's port; the line to the agent stays open as long as the session.
[[nodiscard]] wire::NodeSession::Client make_node_session(Connection& connection,
                                                          const NodeRegistered& node,
                                                          kj::Own<AgentLine> line);

}  // namespace fairwater::inline gateway
