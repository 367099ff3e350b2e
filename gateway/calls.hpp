// What every call of a session has in common.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "gateway/connection.hpp"

namespace fairwater::inline gateway {

/// Words of an answer that is no list: without a hint each takes 8 KiB until it has left.
inline constexpr capnp::MessageSize kSmallAnswer{32, 0};
/// Of a list of them.
inline constexpr std::uint64_t kWordsPerTaskKey = 4;

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

/// What an answer is going to take, where that is known: a response without lists or texts is
/// small.
template <class Response>
kj::Maybe<capnp::MessageSize> answer_size(const Response&) {
  if (std::is_trivially_copyable_v<Response>) return kSmallAnswer;
  return nullptr;
}
inline kj::Maybe<capnp::MessageSize> answer_size(const ReportReply& reply) {
  return capnp::MessageSize{kSmallAnswer.wordCount + kWordsPerTaskKey * reply.acknowledged.size(),
                            0};
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

/// Asks the request, or what `decode(params)` makes of the parameters, and answers with the error
/// or with what `fill(response, results)` makes of the response. `ask(request)` promises either.
template <class Context, class Decode, class Ask, class Fill>
kj::Promise<void> carry_out(Context context, Decode decode, Ask ask, Fill fill) {
  auto request = request_of(decode, context.getParams());
  context.releaseParams();
  if (!request) return answer_error(context, request.error());
  return ask(std::move(*request)).then([context, fill = std::move(fill)](auto&& response) mutable {
    if (!response) return answer_error(context, response.error());
    const auto size = answer_size(*response);
    fill(std::move(*response), context.getResults(size));
    return kj::Promise<void>(kj::READY_NOW);
  });
}

/// An agent's call: carried out when it arrives.
template <class Context, class Decode, class Ask, class Fill>
kj::Promise<void> answer_agent(Connection& connection, Context context, Decode decode, Ask ask,
                               Fill fill) {
  auto admission = connection.admit();
  if (!admission) return refuse_late(connection, context, admission.error());
  // A peer that goes drops the wait for the answer, not what it asked for.
  context.allowCancellation();
  return carry_out(context, std::move(decode), std::move(ask), std::move(fill))
      .attach(kj::mv(*admission));
}

/// Whether a client's call waits for its turn, or is one that mostly waits for something else: it
/// would keep the place of those that work.
enum class CallKind { work, wait };

/// A client's call: carried out when it is its tenant's turn, decoded only then. `ask(request,
/// place)` keeps the place until the actors have answered.
template <class Context, class Decode, class Ask, class Fill>
kj::Promise<void> answer_client(Connection& connection, TenantId tenant, CallKind kind,
                                Context context, Decode decode, Ask ask, Fill fill) {
  auto admission = connection.admit(tenant);
  if (!admission) return refuse_late(connection, context, admission.error());
  context.allowCancellation();
  auto turn = kind == CallKind::work ? (*admission)->turn() : kj::Promise<void>(kj::READY_NOW);
  return turn
      .then([context, decode = std::move(decode), ask = std::move(ask), fill = std::move(fill),
             place = (*admission)->place()]() mutable {
        auto ask_in_place = [ask = std::move(ask), place = kj::mv(place)](auto request) mutable {
          return ask(std::move(request), kj::mv(place));
        };
        return carry_out(context, std::move(decode), std::move(ask_in_place), std::move(fill));
      })
      .attach(kj::mv(*admission));
}

/// How long a call may wait for an event.
inline std::int64_t bounded_wait_ms(std::int64_t asked_ms) {
  return std::clamp<std::int64_t>(asked_ms, 0, kMaxWaitMs);
}

}  // namespace fairwater::inline gateway
