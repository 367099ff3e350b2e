// The frontend: carries out what clients ask. It checks that the caller may, asks the coordinator,
// the tenants, the nodes and the ledger, and puts the answer together; it owns no state of the
// cluster.
//
//   takes  the calls of model/calls.hpp, Login, AgentCredential, RegisterNode    from the gateway
//   sends  their parts                                                   to the other actors
//   bound  the gateway admits a limited number of calls at a time (gateway/server.hpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/typed_actor.hpp>

#include "actors/coordinator/protocol.hpp"
#include "actors/message.hpp"
#include "model/calls.hpp"

FAIRWATER_COORDINATOR_MESSAGE(Login)

namespace fairwater::inline actors::inline coordinator {

/// Who does this token (its hash) belong to? `unauthenticated` when nobody's.
struct Login {
  Hash token_hash{};
  bool accepts_follower = false;  ///< answers of a coordinator that follows will do
};

#define FAIRWATER_REPLY(method, Request) , caf::replies_to<Request>::with<Request::Answer>
using FrontendActor = caf::typed_actor<
    caf::replies_to<Login>::with<Caller>, caf::replies_to<AgentCredential>::with<Done>,
    caf::replies_to<RegisterNode>::with<NodeRegistered> FAIRWATER_CALLS(FAIRWATER_REPLY)>;
#undef FAIRWATER_REPLY

}  // namespace fairwater::inline actors::inline coordinator
