// What the frontend's source files share. Not for others to include.
#pragma once

#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/coordinator/cluster.hpp"

namespace fairwater::frontend_work {

struct FrontendState {
  static inline const char* name = "frontend";
  std::shared_ptr<const ClusterContext> context;
  CoordinatorActor coordinator;
};

using FrontendSelf = FrontendActor::stateful_pointer<FrontendState>;

/// Answers `promise` with whatever error a part of the work ended in.
template <class T>
auto fail(caf::typed_response_promise<T> promise) {
  return [promise](const caf::error& error) mutable { promise.deliver(error); };
}

inline bool may_see(const Caller& caller, TenantId tenant) {
  return caller.role == Role::operator_role || caller.tenant == tenant;
}

/// Goes on with `then(names)`, the names of tenants, nodes and resources.
template <class T, class Then>
void with_names(FrontendSelf self, caf::typed_response_promise<T> promise, Then then) {
  self->request(self->state.coordinator, caf::infinite, GetNames{})
      .then([then = std::move(then)](const Names& names) mutable { then(names.table); },
            fail(promise));
}

// -- the calls that the frontend answers itself: frontend.cpp, frontend_jobs.cpp

#define FAIRWATER_ANSWER(method, Request) \
  caf::result<Request::Answer> answer(FrontendSelf self, const Request& request);
FAIRWATER_FRONTEND_CALLS(FAIRWATER_ANSWER)
#undef FAIRWATER_ANSWER

}  // namespace fairwater::frontend_work
