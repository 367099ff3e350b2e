// What every call of a session has in common.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "gateway/connection.hpp"

namespace fairwater {

/// Words of an answer that is no list: without a hint each takes 8 KiB until it has left.
inline constexpr capnp::MessageSize kSmallAnswer{32, 0};

/// Answers with an error as data.
template <class Context>
kj::Promise<void> answer_error(Context& context, const caf::error& error) {
  encode(error, context.getResults(kSmallAnswer).initError());
  return kj::READY_NOW;
}

/// Answers a call that a bound did not admit: with an error, late (Refusals).
template <class Context>
kj::Promise<void> refuse_late(Connection& connection, Context context, const caf::error& error) {
  context.releaseParams();
  context.allowCancellation();
  return connection.refuse().then(
      [context, error]() mutable { return answer_error(context, error); });
}

/// A response without lists or texts makes a small answer.
template <class Response>
kj::Maybe<capnp::MessageSize> answer_size() {
  if (std::is_trivially_copyable_v<Response>) return kSmallAnswer;
  return nullptr;
}

template <class Request>
Expected<Request> as_expected(Request request) {
  return request;
}
template <class Request>
Expected<Request> as_expected(Expected<Request> request) {
  return request;
}

/// What to ask: `decode` itself, or what it makes of the parameters.
template <class Decode, class Params>
auto request_of(Decode& decode, Params params) {
  if constexpr (std::is_invocable_v<Decode&, Params>)
    return as_expected(decode(params));
  else
    return as_expected(std::move(decode));
}

/// Asks `receiver` the request, or what `decode(params)` makes of the parameters, and answers with
/// its error or with what `fill(response, results)` makes of the response.
template <class Response, class Context, class Receiver, class Decode, class Fill>
kj::Promise<void> carry_out(Connection& connection, Context context, const Receiver& receiver,
                            Decode decode, Fill fill, std::chrono::milliseconds timeout) {
  auto request = request_of(decode, context.getParams());
  context.releaseParams();
  if (!request) return answer_error(context, request.error());
  return connection.services()
      .bridge.template ask<Response>(receiver, std::move(*request), timeout)
      .then([context, fill = std::move(fill)](Expected<Response> response) mutable {
        if (!response) return answer_error(context, response.error());
        fill(*response, context.getResults(answer_size<Response>()));
        return kj::Promise<void>(kj::READY_NOW);
      });
}

/// An agent's call: carried out when it arrives.
template <class Response, class Context, class Receiver, class Decode, class Fill>
kj::Promise<void> answer_agent(Connection& connection, Context context, const Receiver& receiver,
                               Decode decode, Fill fill) {
  auto admission = connection.admit();
  if (!admission) return refuse_late(connection, context, admission.error());
  // A peer that goes drops the wait for the answer, not what it asked for.
  context.allowCancellation();
  return carry_out<Response>(connection, context, receiver, std::move(decode), std::move(fill),
                             kFrontendTimeout)
      .attach(kj::mv(*admission));
}

/// Whether a client's call waits for its turn, or is one that mostly waits for something else: it
/// would keep the place of those that work.
enum class CallKind { work, wait };

/// A client's call: carried out when it is its tenant's turn, decoded only then.
template <class Response, class Context, class Receiver, class Decode, class Fill>
kj::Promise<void> answer_client(Connection& connection, TenantId tenant, CallKind kind,
                                Context context, const Receiver& receiver, Decode decode, Fill fill,
                                std::chrono::milliseconds timeout) {
  auto admission = connection.admit(tenant);
  if (!admission) return refuse_late(connection, context, admission.error());
  context.allowCancellation();
  auto turn = kind == CallKind::work ? (*admission)->turn() : kj::Promise<void>(kj::READY_NOW);
  return turn
      .then([&connection, context, receiver, decode = std::move(decode), fill = std::move(fill),
             timeout]() mutable {
        return carry_out<Response>(connection, context, receiver, std::move(decode),
                                   std::move(fill), timeout);
      })
      .attach(kj::mv(*admission));
}

/// How long a call may wait for an event, and how long to wait for the frontend then.
inline std::int64_t bounded_wait_ms(std::int64_t asked_ms) {
  return std::clamp<std::int64_t>(asked_ms, 0, kMaxWaitMs);
}
inline std::chrono::milliseconds frontend_timeout_for(std::int64_t wait_ms) {
  return kFrontendTimeout + std::chrono::milliseconds(wait_ms);
}

}  // namespace fairwater
