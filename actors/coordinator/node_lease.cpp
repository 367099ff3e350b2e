// How long a silent node keeps its tasks.
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {

void schedule_check(NodeSelf self, Clock::duration delay) {
  self->delayed_send(self, std::chrono::ceil<std::chrono::milliseconds>(delay),
                     LeaseCheck{++self->state.lease_checks});
}

void check_lease(NodeSelf self) {
  auto& state = self->state;
  if (state.retired) return;
  if (state.liveness == Liveness::lost) {
    give_back_late(self);
    return;
  }
  const auto lease = std::chrono::milliseconds(state.context->settings.lease_ms);
  const auto grace = std::chrono::milliseconds(state.context->settings.grace_ms);
  const auto now = self->clock().now();
  const auto silence = now - state.last_heard;
  if (silence < lease) {
    schedule_check(self, lease - silence);
    return;
  }
  if (std::exchange(state.liveness, Liveness::silent) == Liveness::up) {
    spdlog::warn("node {} is down: no word for longer than its lease", name_of(state));
    send_beat(self, {});
  }
  // What an earlier coordinator granted for longer, the agent may hold on to.
  const auto lost_at = std::max(state.last_heard + lease + grace, state.older_leases_until);
  if (now < lost_at)
    schedule_check(self, lost_at - now);
  else
    declare_lost(self);
}

bool heard(NodeSelf self) {
  auto& state = self->state;
  state.last_heard = self->clock().now();
  state.last_heartbeat = state.context->wall_clock();
  const auto before = std::exchange(state.liveness, Liveness::up);
  if (before == Liveness::lost)
    schedule_check(self, std::chrono::milliseconds(state.context->settings.lease_ms));
  return before != Liveness::up;
}

}  // namespace fairwater::inline actors::inline coordinator::machine
