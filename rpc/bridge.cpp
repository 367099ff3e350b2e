#include "rpc/bridge.hpp"

#include <caf/all.hpp>

#include "policy/core/check.hpp"

namespace fairwater::inline rpc {
namespace {

/// How often late answers are looked for, all at once: a timer for each call would cost more than
/// many a call.
constexpr auto kTimeoutPrecision = 250 * kj::MILLISECONDS;

}  // namespace

caf::error translate_actor_error(const caf::error& error) {
  if (error == caf::sec::request_timeout)
    return make_error(ErrorCode::unavailable, "the coordinator did not answer in time");
  if (error == caf::sec::request_receiver_down || error.category() == caf::atom("exit"))
    return make_error(ErrorCode::unavailable, "the part that would answer has ended");
  const ErrorDetails parts = details(error);
  if (parts.code == ErrorCode::not_leader) return make_not_leader(parts.message, parts.leader);
  return make_error(parts.code, parts.message, parts.field);
}

LoopActor::LoopActor(caf::actor_config& config, std::shared_ptr<Outbox> outbox)
    : extended_base(config), outbox_(std::move(outbox)) {
  become(caf::behavior{[](caf::unit_t) {}});  // without a behaviour it ends; it only gets answers
}

void LoopActor::enqueue(caf::mailbox_element_ptr element, caf::execution_unit*) {
  // A task is copyable; the element is not.
  outbox_->post([self = caf::strong_actor_ptr(ctrl()), this,
                 shared = std::shared_ptr<caf::mailbox_element>(std::move(element))] {
    if (!ended_) handle(*shared);
  });
}

void LoopActor::enqueue(caf::strong_actor_ptr source, caf::message_id id, caf::message content,
                        caf::execution_unit* unit) {
  enqueue(caf::make_mailbox_element(std::move(source), id, {}, std::move(content)), unit);
}

void LoopActor::handle(caf::mailbox_element& element) {
  const auto result = activate(context(), element);
  FAIRWATER_CHECK(result != activation_result::terminated, "the actor of an event loop ended");
}

void LoopActor::end() {
  ended_ = true;
  cleanup(caf::make_error(caf::exit_reason::user_shutdown), context());
}

Bridge::Bridge(caf::actor_system& system, std::shared_ptr<Outbox> outbox, kj::Timer& timer)
    : outbox_(std::move(outbox)),
      timer_(timer),
      owner_(system.spawn<LoopActor>(outbox_)),
      actor_(static_cast<LoopActor*>(caf::actor_cast<caf::abstract_actor*>(owner_))) {}

Bridge::~Bridge() {
  FAIRWATER_CHECK(pending_.empty(), "a call outlived the bridge that it waits on");
  actor_->end();
}

void Bridge::keep(std::uint64_t id, Kept kept) {
  kept_.emplace(id, KeptUntil{kj::mv(kept), timer_.now() + kKeptAtMost});
}

Bridge::Deadline Bridge::deadline_of(Timeout timeout) {
  if (!timeout) return nullptr;
  if (!std::exchange(sweeping_, true)) sweep_ = sweep().eagerlyEvaluate(nullptr);
  return timer_.now() + timeout->count() * kj::MILLISECONDS;
}

kj::Promise<void> Bridge::sweep() {
  return timer_.afterDelay(kTimeoutPrecision).then([this] {
    // Failing one may drop others, so the table is not iterated.
    const auto now = timer_.now();
    const std::uint64_t end = next_id_;
    for (auto next = pending_.begin(); next != pending_.end() && next->first < end;) {
      const std::uint64_t id = next->first;
      if (next->second->is_late(now))
        next->second->fail(translate_actor_error(caf::sec::request_timeout));
      next = pending_.upper_bound(id);
    }
    while (!kept_.empty() && kept_.begin()->second.end <= now) kept_.erase(kept_.begin());
    return sweep();
  });
}

}  // namespace fairwater::inline rpc
