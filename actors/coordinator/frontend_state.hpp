// What the frontend's source files share. Not for others to include.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/shared_answers.hpp"
#include "actors/coordinator/visible.hpp"
#include "model/job_validation.hpp"

namespace fairwater::inline actors::inline coordinator::frontend_work {

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

/// Goes on with the job's amounts as the profile of its class tells them (frontend_profiles.cpp).
void with_profile(FrontendSelf self, AdmittedJob job,
                  caf::typed_response_promise<JobAccepted> promise,
                  std::function<void(AdmittedJob&&)> then);

// -- the calls that the frontend answers itself: frontend.cpp, frontend_jobs.cpp,
// frontend_profiles.cpp, frontend_usage.cpp

#define FAIRWATER_ANSWER(method, Request) \
  caf::result<Request::Answer> answer(FrontendSelf self, const Request& request);
FAIRWATER_FRONTEND_CALLS(FAIRWATER_ANSWER)
#undef FAIRWATER_ANSWER

}  // namespace fairwater::inline actors::inline coordinator::frontend_work
