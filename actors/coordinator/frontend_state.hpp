// What the frontend's source files share. Not for others to include.
#pragma once

#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/shared_answers.hpp"

namespace fairwater::frontend_work {

struct FrontendState {
  static inline const char* name = "frontend";
  std::shared_ptr<const ClusterContext> context;
  CoordinatorActor coordinator;
  SharedAnswers<ClusterStatus> status;
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

// -- the calls that the frontend answers itself: frontend.cpp, frontend_jobs.cpp

#define FAIRWATER_ANSWER(method, Request) \
  caf::result<Request::Answer> answer(FrontendSelf self, const Request& request);
FAIRWATER_FRONTEND_CALLS(FAIRWATER_ANSWER)
#undef FAIRWATER_ANSWER

}  // namespace fairwater::frontend_work
