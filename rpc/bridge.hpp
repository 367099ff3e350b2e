// From KJ's thread to an actor and back: a request becomes a message, the answer a KJ promise.
//
//   handler (KJ) --request--> receiver (CAF's pool)
//   handler (KJ) <--outbox--- answer
//
// Requests are sent by an actor that lives on the loop's thread: what is sent to it comes to the
// outbox, not to CAF's pool. Nothing blocks on either side.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include <caf/actor_system.hpp>
#include <caf/behavior.hpp>
#include <caf/extend.hpp>
#include <caf/mixin/behavior_changer.hpp>
#include <caf/mixin/requester.hpp>
#include <caf/mixin/sender.hpp>
#include <caf/scheduled_actor.hpp>
#include <kj/async.h>
#include <kj/refcount.h>
#include <kj/timer.h>

#include "model/errors.hpp"
#include "rpc/outbox.hpp"

namespace fairwater::inline rpc {
class LoopActor;
}  // namespace fairwater::inline rpc

template <>
class caf::behavior_type_of<fairwater::LoopActor> {
 public:
  using type = caf::behavior;
};

namespace fairwater::inline rpc {

/// Errors of CAF's own in words for callers: who is gone or silent is `unavailable`.
[[nodiscard]] caf::error translate_actor_error(const caf::error& error);

/// An actor that no scheduler runs: messages to it are handled on the thread that drains the
/// outbox.
class LoopActor final
    : public caf::extend<caf::scheduled_actor, LoopActor>::with<
          caf::mixin::sender, caf::mixin::requester, caf::mixin::behavior_changer> {
 public:
  using signatures = caf::none_t;
  using behavior_type = caf::behavior;

  LoopActor(caf::actor_config& config, std::shared_ptr<Outbox> outbox);

  /// From any thread.
  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit*) override;
  void enqueue(caf::strong_actor_ptr source, caf::message_id id, caf::message content,
               caf::execution_unit* unit) override;
  void launch(caf::execution_unit*, bool, bool) override {}
  /// What comes from now on is dropped. On the loop's thread.
  void end();

 private:
  void handle(caf::mailbox_element& element);

  const std::shared_ptr<Outbox> outbox_;
  bool ended_ = false;
};

class Bridge {
 public:
  /// Made, used and destroyed on the loop's thread; `outbox` is drained there.
  Bridge(caf::actor_system& system, std::shared_ptr<Outbox> outbox, kj::Timer& timer);
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  ~Bridge();

  /// Without a timeout.
  static constexpr std::nullopt_t kNever = std::nullopt;
  using Timeout = std::optional<std::chrono::milliseconds>;

  /// What is given back when the receiver has answered, whether or not anybody still waits for
  /// that: a place among those who ask.
  using Kept = kj::Own<kj::Refcounted>;
  /// At the latest then: an actor that ends takes what it has not answered with it (CAF 0.17).
  static constexpr auto kKeptAtMost = 10 * kj::MINUTES;

  /// Sends `request` and promises the answer or its error; `unavailable` after `timeout`, or up to
  /// kTimeoutPrecision later. Dropping the promise drops the answer, not the request.
  template <class Response, class Receiver, class Request>
  kj::Promise<Expected<Response>> ask(const Receiver& receiver, Request request, Timeout timeout,
                                      Kept kept = {}) {
    const std::uint64_t id = next_id_++;
    if (kept.get() != nullptr) keep(id, kj::mv(kept));
    auto answer = kj::newAdaptedPromise<Expected<Response>, Answer<Response>>(*this, id,
                                                                              deadline_of(timeout));
    actor_->request(receiver, caf::infinite, std::move(request))
        .then(
            [this, id](Response& response) { deliver<Response>(id, std::move(response)); },
            [this, id](caf::error& error) { deliver<Response>(id, translate_actor_error(error)); });
    return answer;
  }

  [[nodiscard]] const std::shared_ptr<Outbox>& outbox() const { return outbox_; }

 private:
  using Deadline = kj::Maybe<kj::TimePoint>;

  class Pending {
   public:
    explicit Pending(Deadline deadline) : deadline_(deadline) {}
    virtual ~Pending() = default;
    virtual void fail(const caf::error& error) = 0;
    [[nodiscard]] bool is_late(kj::TimePoint now) const {
      KJ_IF_MAYBE (deadline, deadline_) return *deadline <= now;
      return false;
    }

   private:
    const Deadline deadline_;
  };

  template <class Response>
  class Answer final : public Pending {
   public:
    Answer(kj::PromiseFulfiller<Expected<Response>>& fulfiller, Bridge& bridge, std::uint64_t id,
           Deadline deadline)
        : Pending(deadline), fulfiller_(fulfiller), bridge_(bridge), id_(id) {
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
    kept_.erase(id);
  }
  void keep(std::uint64_t id, Kept kept);
  [[nodiscard]] Deadline deadline_of(Timeout timeout);
  [[nodiscard]] kj::Promise<void> sweep();

  std::shared_ptr<Outbox> outbox_;
  kj::Timer& timer_;
  caf::actor owner_;  ///< of actor_
  LoopActor* actor_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Pending*> pending_;  ///< borrowed from the promises that wait
  struct KeptUntil {
    Kept kept;
    kj::TimePoint end;
  };
  std::map<std::uint64_t, KeptUntil> kept_;  ///< of requests that are not answered
  bool sweeping_ = false;
  kj::Promise<void> sweep_ = nullptr;  ///< last: it refers to the rest
};

}  // namespace fairwater::inline rpc
