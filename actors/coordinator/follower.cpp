#include "actors/coordinator/follower.hpp"

#include <caf/all.hpp>

namespace fairwater {
namespace {

struct FollowerState {
  static inline const char* name = "follower";
};

FrontendActor::behavior_type follower(FrontendActor::stateful_pointer<FollowerState>,
                                      std::shared_ptr<const KnownLeader> leader) {
#define FAIRWATER_REFUSE(method, Request) \
  , [leader](const Request&) -> caf::result<Request::Answer> { return leader->refusal(); }
  return {[leader](const Login&) -> caf::result<Caller> { return leader->refusal(); },
          [leader](const AgentCredential&) -> caf::result<Done> { return leader->refusal(); },
          [leader](const RegisterNode&) -> caf::result<NodeRegistered> {
            return leader->refusal();
          } FAIRWATER_CALLS(FAIRWATER_REFUSE)};
#undef FAIRWATER_REFUSE
}

}  // namespace

caf::error KnownLeader::refusal() const {
  const std::lock_guard lock(mutex_);
  if (name_.empty())
    return make_not_leader("this coordinator follows, and nobody leads at the moment", {});
  return make_not_leader("this coordinator follows; " + name_ + " leads, at " + address_, address_);
}

FrontendActor spawn_follower(caf::actor_system& system, std::shared_ptr<const KnownLeader> leader) {
  return system.spawn(follower, std::move(leader));
}

}  // namespace fairwater
