// How long a silent node keeps its tasks.
#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/coordinator/node_state.hpp"

namespace fairwater::inline actors::inline coordinator::machine {

void schedule_check(NodeSelf self, Clock::duration delay) {
  self->delayed_send(self, std::chrono::ceil<std::chrono::milliseconds>(delay),
                     LeaseCheck{++self->state.lease_checks});
}

Clock::time_point over_at(const NodeActorState& state, std::int64_t own_lease_ms) {
  const auto lease = std::chrono::milliseconds(state.context->leases.silence_of(own_lease_ms));
  const auto grace = std::chrono::milliseconds(state.context->settings.grace_ms);
  // What an earlier coordinator granted for longer, the agent may hold on to.
  const auto older = own_lease_ms > 0 ? state.older_longest_until : state.older_leases_until;
  return std::max(state.last_heard + lease + grace, older);
}

namespace {

/// Each task goes when its own lease is over, and the node with the last of them.
void give_up_what_is_over(NodeSelf self) {
  auto& state = self->state;
  const auto now = self->clock().now();
  std::vector<TaskKey> over;
  auto next = Clock::time_point::max();
  for (const auto& task : state.tasks.unsettled()) {
    const auto at = over_at(state, state.tasks.own_lease_ms(task));
    if (at <= now)
      over.push_back(task);
    else
      next = std::min(next, at);
  }
  if (next == Clock::time_point::max()) return declare_lost(self);
  schedule_check(self, next - now);
  if (!over.empty()) give_back_early(self, std::move(over));
}

}  // namespace

void check_lease(NodeSelf self) {
  auto& state = self->state;
  if (state.retired) return;
  if (state.liveness == Liveness::lost) {
    give_back_late(self);
    return;
  }
  const auto lease = std::chrono::milliseconds(state.context->leases.ordinary_ms);
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
  const auto first_at = over_at(state);
  if (now < first_at)
    schedule_check(self, first_at - now);
  else
    give_up_what_is_over(self);
}

bool heard(NodeSelf self) {
  auto& state = self->state;
  state.last_heard = self->clock().now();
  state.last_heartbeat = state.context->wall_clock();
  const auto before = std::exchange(state.liveness, Liveness::up);
  if (before == Liveness::lost)
    schedule_check(self, std::chrono::milliseconds(state.context->leases.ordinary_ms));
  return before != Liveness::up;
}

}  // namespace fairwater::inline actors::inline coordinator::machine
