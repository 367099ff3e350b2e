// What follows from launches that fail, and how a node drains.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::machine {
namespace {

/// Makes the drain, or its end, durable and then true. `then` hears of the error, if any.
void commit_drain(NodeSelf self, bool drain, const std::string& reason,
                  std::function<void(const caf::error&)> then) {
  const NodeDrained event{self->state.record.id, drain, drain ? reason : ""};
  self->request(self->state.context->ledger, caf::infinite, Commit{{event}, 0})
      .then(
          [self, event, then](const Committed&) {
            auto& state = self->state;
            apply(state.record, event);
            state.pauses.decided();
            send_beat(self, {});
            then({});
          },
          [then](const caf::error& error) { then(error); });
}

}  // namespace

void end_pause(NodeSelf self, const PauseOver& over) {
  if (self->state.pauses.end(over.pause)) send_beat(self, {});
}

void count_failed_launches(NodeSelf self, const std::vector<TaskResult>& failed,
                           std::int64_t longest_backoff_ms) {
  auto& state = self->state;
  const auto pause = state.pauses.count(failed.size(), longest_backoff_ms);
  const auto in_row = state.pauses.failures_in_row();
  spdlog::warn("node {} could not start what it was given, {} in a row by now: {}", name_of(state),
               in_row, failed.back().message);
  self->delayed_send(self, std::chrono::milliseconds(pause.length_ms), PauseOver{pause.number});
  if (!state.pauses.must_drain() || state.record.draining) return;
  const std::string reason =
      "drained itself: " + std::to_string(in_row) +
      " launches in a row failed, the last one because: " + failed.back().message;
  commit_drain(self, true, reason, [name = name_of(state), reason](const caf::error& error) {
    if (error)
      spdlog::error("node {} should drain and cannot: {}", name, details(error).message);
    else
      spdlog::error("node {} {}", name, reason);
  });
}

caf::result<Done> set_drain(NodeSelf self, const SetDrain& request) {
  if (self->state.retired) return being_removed(self->state);
  auto promise = self->make_response_promise<Done>();
  commit_drain(self, request.drain, request.reason, [promise](const caf::error& error) mutable {
    if (error)
      promise.deliver(error);
    else
      promise.deliver(Done{});
  });
  return promise;
}

}  // namespace fairwater::machine
