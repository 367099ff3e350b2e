// From KJ's thread to an actor and back: a request becomes a message, the answer a KJ promise.
//
//   handler (KJ) --message--> relay actor --request--> receiver
//   handler (KJ) <--outbox--- relay actor <--answer---
//
// The relay is an event-based actor; nothing blocks on either side.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <kj/async.h>

#include "model/errors.hpp"
#include "rpc/outbox.hpp"

namespace fairwater {

/// Something that the relay actor is to do.
struct RelayTask {
  std::function<void(caf::event_based_actor*)> run;
};

/// Errors of CAF's own in words for callers: who is gone or silent is `unavailable`.
[[nodiscard]] caf::error translate_actor_error(const caf::error& error);

class Bridge {
 public:
  /// Made, used and destroyed on the loop's thread; `outbox` is drained there.
  Bridge(caf::actor_system& system, std::shared_ptr<Outbox> outbox);
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  ~Bridge();

  /// Sends `request` and promises the answer or its error; `unavailable` after `timeout`, which may
  /// be caf::infinite. Dropping the promise drops the answer, not the request.
  template <class Response, class Receiver, class Request, class Timeout>
  kj::Promise<Expected<Response>> ask(const Receiver& receiver, Request request, Timeout timeout) {
    const std::uint64_t id = next_id_++;
    auto answer = kj::newAdaptedPromise<Expected<Response>, Answer<Response>>(*this, id);
    // Posted tasks run only while the loop does, and the bridge lives longer than that.
    auto deliver = [bridge = this, outbox = outbox_, id](Expected<Response> value) {
      outbox->post([bridge, id, value = std::move(value)]() mutable {
        bridge->deliver(id, std::move(value));
      });
    };
    send_to_relay({[receiver, request = std::move(request), timeout,
                    deliver](caf::event_based_actor* self) mutable {
      self->request(receiver, timeout, std::move(request))
          .then([deliver](Response& response) { deliver(std::move(response)); },
                [deliver](caf::error& error) { deliver(translate_actor_error(error)); });
    }});
    return answer;
  }

  [[nodiscard]] const std::shared_ptr<Outbox>& outbox() const { return outbox_; }

 private:
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void fail(const caf::error& error) = 0;
  };

  template <class Response>
  class Answer final : public Pending {
   public:
    Answer(kj::PromiseFulfiller<Expected<Response>>& fulfiller, Bridge& bridge, std::uint64_t id)
        : fulfiller_(fulfiller), bridge_(bridge), id_(id) {
      bridge_.pending_[id_] = this;
    }
    ~Answer() override { bridge_.pending_.erase(id_); }
    void fulfill(Expected<Response> value) { fulfiller_.fulfill(kj::mv(value)); }
    void fail(const caf::error& error) override { fulfill(error); }

   private:
    kj::PromiseFulfiller<Expected<Response>>& fulfiller_;
    Bridge& bridge_;
    const std::uint64_t id_;
  };

  template <class Response>
  void deliver(std::uint64_t id, Expected<Response> value) {
    const auto found = pending_.find(id);
    if (found != pending_.end())
      static_cast<Answer<Response>*>(found->second)->fulfill(std::move(value));
  }
  void send_to_relay(RelayTask task);
  /// No answer will come any more: what waits is told so.
  void relay_ended();

  std::shared_ptr<Outbox> outbox_;
  caf::actor relay_;
  bool relay_alive_ = true;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Pending*> pending_;  ///< borrowed from the promises that wait
};

}  // namespace fairwater

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::RelayTask)
