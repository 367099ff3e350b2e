// What follows from launches that fail.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {
void end_pause(NodeSelf self, const PauseOver& over) {
  if (self->state.pauses.end(over.pause)) send_beat(self, {});
}

void count_failed_launches(NodeSelf self, const std::vector<TaskResult>& failed,
                           std::int64_t longest_backoff_ms) {
  auto& state = self->state;
  const auto pause = state.pauses.count(failed, longest_backoff_ms, state.context->wall_clock());
  const auto in_row = state.pauses.failures_in_row();
  spdlog::warn("node {} could not start what it was given, {} in a row by now: {}", name_of(state),
               in_row, failed.back().message);
  self->delayed_send(self, std::chrono::milliseconds(pause.length_ms), PauseOver{pause.number});
  send_beat(self, {});
  if (!state.pauses.must_drain() || state.record.draining || state.drains_under_way > 0) return;
  const std::string reason =
      "drained itself: " + std::to_string(in_row) +
      " launches in a row failed, the last one because: " + failed.back().message;
  const NodeDrained event{.node = state.record.id, .reason = reason, .by_itself = true};
  commit_drain(self, event, [name = name_of(state), reason](const caf::error& error) {
    if (error)
      spdlog::error("node {} should drain and cannot: {}", name, details(error).message);
    else
      spdlog::error("node {} {}", name, reason);
  });
}

}  // namespace fairwater::inline actors::inline coordinator::machine
