// For actors that stand for the far end of a connection: requests leave through the outbox under a
// number, and come back as an Answered message. CAF leaves a promise that its actor takes into the
// grave unanswered, so such an actor fails them when it is told to exit (fail_on_exit).
#pragma once

#include <cstdint>
#include <map>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/system_messages.hpp>
#include <caf/typed_response_promise.hpp>

#include "model/errors.hpp"

namespace fairwater::inline rpc {

template <class Response>
struct Answered {
  std::uint64_t request = 0;
  Expected<Response> answer;
};

template <class Response>
class OpenRequests {
 public:
  std::uint64_t add(caf::typed_response_promise<Response> promise) {
    promises_.emplace(next_, std::move(promise));
    return next_++;
  }
  void settle(Answered<Response>& answered) {
    const auto found = promises_.find(answered.request);
    if (found == promises_.end()) return;
    if (answered.answer)
      found->second.deliver(std::move(*answered.answer));
    else
      found->second.deliver(answered.answer.error());
    promises_.erase(found);
  }
  void fail_all(const caf::error& error) {
    for (auto& [request, promise] : promises_) promise.deliver(error);
    promises_.clear();
  }

 private:
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, caf::typed_response_promise<Response>> promises_;
};

/// Installs an exit handler that fails `requests(state)` with `unavailable`, then ends the actor.
template <class Self, class Requests>
void fail_on_exit(Self* self, Requests requests) {
  self->set_exit_handler([self, requests](caf::exit_msg& exit) {
    requests(self->state)
        .fail_all(
            make_error(ErrorCode::unavailable, "the connection closed before the answer came"));
    self->quit(exit.reason);
  });
}

}  // namespace fairwater::inline rpc

template <class Response>
struct caf::allowed_unsafe_message_type<fairwater::Answered<Response>> : std::true_type {};
