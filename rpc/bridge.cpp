#include "rpc/bridge.hpp"

#include <caf/all.hpp>

#include "policy/core/check.hpp"

namespace fairwater {
namespace {

caf::behavior relay(caf::event_based_actor* self) {
  return {[self](RelayTask& task) { task.run(self); }};
}

}  // namespace

caf::error translate_actor_error(const caf::error& error) {
  if (error == caf::sec::request_timeout)
    return make_error(ErrorCode::unavailable, "the coordinator did not answer in time");
  if (error == caf::sec::request_receiver_down || error.category() == caf::atom("exit"))
    return make_error(ErrorCode::unavailable, "the part that would answer has ended");
  const ErrorDetails parts = details(error);
  return make_error(parts.code, parts.message, parts.field);
}

Bridge::Bridge(caf::actor_system& system, std::shared_ptr<Outbox> outbox)
    : outbox_(std::move(outbox)), relay_(system.spawn(relay)) {
  relay_->attach_functor([this, outbox = outbox_] { outbox->post([this] { relay_ended(); }); });
}

Bridge::~Bridge() {
  FAIRWATER_CHECK(pending_.empty(), "a call outlived the bridge that it waits on");
  caf::anon_send_exit(relay_, caf::exit_reason::user_shutdown);
}

void Bridge::send_to_relay(RelayTask task) {
  if (relay_alive_)
    caf::anon_send(relay_, std::move(task));
  else
    outbox_->post([this] { relay_ended(); });
}

void Bridge::relay_ended() {
  relay_alive_ = false;
  // Failing one may drop others, so the table is not iterated.
  const std::uint64_t end = next_id_;
  for (auto next = pending_.begin(); next != pending_.end() && next->first < end;) {
    const std::uint64_t id = next->first;
    next->second->fail(make_error(ErrorCode::unavailable, "the gateway is stopping"));
    next = pending_.upper_bound(id);
  }
}

}  // namespace fairwater
