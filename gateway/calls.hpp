// What every call of a session has in common.
#pragma once

#include <algorithm>
#include <utility>

#include "gateway/connection.hpp"

namespace fairwater {

/// Answers with an error as data.
template <class Context>
kj::Promise<void> answer_error(Context& context, const caf::error& error) {
  encode(error, context.getResults().initError());
  return kj::READY_NOW;
}

/// Asks `receiver` and answers with its error, or with what `fill(response, results)` makes of the
/// response.
template <class Response, class Context, class Receiver, class Request, class Fill>
kj::Promise<void> answer_call(Connection& connection, Context context, const Receiver& receiver,
                              Expected<Request> request, Fill fill,
                              std::chrono::milliseconds timeout = kDeskTimeout) {
  if (!request) return answer_error(context, request.error());
  auto admission = connection.admit();
  if (!admission) return answer_error(context, admission.error());
  context.releaseParams();
  // A peer that goes drops the wait for the answer, not what it asked for.
  context.allowCancellation();
  return connection.services()
      .bridge.template ask<Response>(receiver, std::move(*request), timeout)
      .then([context, fill = std::move(fill)](Expected<Response> response) mutable {
        if (!response) return answer_error(context, response.error());
        fill(*response, context.getResults());
        return kj::Promise<void>(kj::READY_NOW);
      })
      .attach(kj::mv(*admission));
}

/// How long a call may wait for an event, and how long to wait for the desk then.
inline std::int64_t bounded_wait_ms(std::int64_t asked_ms) {
  return std::clamp<std::int64_t>(asked_ms, 0, kMaxWaitMs);
}
inline std::chrono::milliseconds desk_timeout_for(std::int64_t wait_ms) {
  return kDeskTimeout + std::chrono::milliseconds(wait_ms);
}

}  // namespace fairwater
