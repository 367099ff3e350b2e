#include "policy/allocator/expected_room.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace fairwater::inline policy::inline allocator {
namespace {

/// Of what may never end.
constexpr std::int64_t kForeverMs = kNever / 4;

const WindowRange* waiting_task_of(const TenantState& tenant, JobId job) {
  const auto found = std::find_if(tenant.window.begin(), tenant.window.end(),
                                  [&](const WindowRange& entry) { return entry.range.job == job; });
  return found == tenant.window.end() ? nullptr : &*found;
}

}  // namespace

std::int64_t duration_of(const WaitingRange& task, Predict predict) {
  const std::int64_t planned_ms = planned_run_ms(predict, {task.limit_ms, task.expected_ms, 0}, 0);
  return planned_ms > 0 ? std::min(planned_ms, kForeverMs) : kForeverMs;
}

RoomProfile expected_room(const NodeRoom& node, LedgerMs now_ms, Predict predict) {
  RoomProfile profile(node.free());
  profile.pass_to(now_ms);
  std::vector<std::pair<LedgerMs, const ResourceVector*>> ends;
  ends.reserve(node.ends.size());
  for (const auto& [end, task] : node.ends) {
    const LedgerMs at_ms = predict == Predict::limits ? task.limit_ends_ms : end.at_ms;
    if (at_ms != kNever) ends.emplace_back(std::max(at_ms, now_ms + 1), &task.demand);
  }
  // They are in the order in which they are expected, which need not be that of limits.
  const auto is_earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(ends.begin(), ends.end(), is_earlier))
    std::stable_sort(ends.begin(), ends.end(), is_earlier);
  for (const auto& [at_ms, demand] : ends) profile.grow(at_ms, *demand);
  return profile;
}

std::optional<RoomProfile> room_beside_places(const AllocatorState& state, const NodeRoom& node,
                                              JobId gang, Predict predict) {
  RoomProfile profile = expected_room(node, state.now_ms(), predict);
  const auto take = [&](const TenantState& tenant, JobId job, LedgerMs from_ms, Amount tasks) {
    const WindowRange* waiting = waiting_task_of(tenant, job);
    if (waiting == nullptr) return;
    profile.take(from_ms, moment_in(from_ms, duration_of(waiting->range, predict)),
                 waiting->range.demand * tasks);
  };
  for (const std::uint32_t slot : node.places_of) {
    const TenantState& tenant = state.at(slot);
    for (const KeptPlace& place : tenant.kept) {
      if (place.node != node.id) continue;
      if (place.from_ms == kNever) return std::nullopt;
      take(tenant, place.job, place.from_ms, 1);
    }
  }
  if (const GangPlan* plan = state.gang_plan_on(node); plan != nullptr && plan->job != gang) {
    if (plan->from_ms == kNever) return std::nullopt;
    take(state.at(plan->tenant_slot), plan->job, plan->from_ms, node.kept_for_gang->tasks);
  }
  return profile;
}

}  // namespace fairwater::inline policy::inline allocator
