#include "policy/allocator/expected_room.hpp"

#include <algorithm>
#include <set>
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

void take(RoomProfile& profile, const TenantState& tenant, JobId job, LedgerMs from_ms,
          Amount tasks, Predict predict) {
  const WindowRange* waiting = waiting_task_of(tenant, job);
  if (waiting == nullptr) return;
  profile.take(from_ms, moment_in(from_ms, duration_of(waiting->range, predict)),
               waiting->range.demand * tasks);
}

/// By when the gang has run that the plan is for.
LedgerMs end_of(const AllocatorState& state, const GangPlan& plan) {
  const WindowRange* gang = waiting_task_of(state.at(plan.tenant_slot), plan.job);
  return gang == nullptr ? plan.from_ms
                         : moment_in(plan.from_ms, duration_of(gang->range, plan.predict));
}

/// False: all is kept for one of them.
bool take_for_gangs(RoomProfile& profile, const AllocatorState& state, const NodeRoom& node,
                    JobId gang, Predict predict, LedgerMs late_by_ms) {
  for (const NodeRoom::KeptForGang& kept : node.kept_for_gangs) {
    const GangPlan& plan = state.gang_plans()[kept.plan];
    if (plan.job == gang || plan.late_from_ms > late_by_ms) continue;
    if (plan.from_ms == kNever) return false;
    take(profile, state.at(plan.tenant_slot), plan.job, plan.from_ms, kept.tasks, predict);
  }
  return true;
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

std::vector<ExpectedGpus> expected_gpus(const AllocatorState& state, const NodeRoom& node,
                                        JobId job, Predict predict,
                                        const AllocatorState::KeptFor& whose) {
  if (!node.gpu_room) return {};
  const NodeDevices& kind = *state.shared_devices(node);
  const LedgerMs now_ms = state.now_ms();
  std::vector<ExpectedEnd> ends;
  for (const auto& [end, ending] : node.ends) {
    const LedgerMs at_ms = predict == Predict::limits ? ending.limit_ends_ms : end.at_ms;
    if (at_ms != kNever && state.takes_shares(ending.demand))
      ends.push_back({std::max(at_ms, now_ms + 1), end.task});
  }
  std::sort(ends.begin(), ends.end());
  std::vector<std::pair<LedgerMs, const GangShare*>> kept;
  std::set<LedgerMs> moments{now_ms};
  for (const ExpectedEnd& end : ends) moments.insert(end.at_ms);
  state.visit_gangs_gpus(node, job, whose, [&](const GangPlan& plan, const GangShare& share) {
    kept.emplace_back(end_of(state, plan), &share);
    moments.insert(kept.back().first);
  });
  GpuNode room = *node.gpu_room;
  std::vector<ExpectedGpus> expected;
  auto next = ends.begin();
  for (const LedgerMs moment : moments) {
    for (; next != ends.end() && next->at_ms <= moment; ++next) {
      const DeviceUse& use = node.device_uses.at(next->task);
      give_shares(room, kind, use.names,
                  std::min(use.demand[state.shared_resource()], kMilliPerGpu));
    }
    std::set<std::string> names;
    for (const auto& [until_ms, share] : kept)
      if (until_ms > moment) names.insert(share->gpus.begin(), share->gpus.end());
    expected.push_back({moment, without_gpus(room, kind, names)});
  }
  return expected;
}

std::optional<ExpectedShares> expected_shares(const AllocatorState& state, const NodeRoom& node,
                                              const WaitingRange& task, Predict predict) {
  std::set<std::string> kept_for_others;
  for (const NodeRoom::KeptDevices& kept : node.kept_devices)
    if (kept.job != task.job) kept_for_others.insert(kept.names.begin(), kept.names.end());
  for (const auto& [from_ms, room] : expected_gpus(state, node, task.job, predict, {}))
    if (auto shares = state.shares_of(node, room, task.demand, task.rule.get(), kept_for_others))
      return ExpectedShares{from_ms, std::move(shares->names)};
  return std::nullopt;
}

bool keeps_for_late(const AllocatorState& state, const NodeRoom& node) {
  const LedgerMs now_ms = state.now_ms();
  const auto is_late_here = [&](const KeptPlace& place) {
    return place.node == node.id && place.late_from_ms <= now_ms;
  };
  return std::any_of(node.kept_for_gangs.begin(), node.kept_for_gangs.end(),
                     [&](const NodeRoom::KeptForGang& kept) {
                       return state.gang_plans()[kept.plan].late_from_ms <= now_ms;
                     }) ||
         std::any_of(node.places_of.begin(), node.places_of.end(), [&](std::uint32_t slot) {
           const std::vector<KeptPlace>& places = state.at(slot).kept;
           return std::any_of(places.begin(), places.end(), is_late_here);
         });
}

std::optional<RoomProfile> room_beside_gangs(const AllocatorState& state, const NodeRoom& node,
                                             JobId gang, Predict predict, LedgerMs late_by_ms) {
  RoomProfile profile = expected_room(node, state.now_ms(), predict);
  if (!take_for_gangs(profile, state, node, gang, predict, late_by_ms)) return std::nullopt;
  return profile;
}

std::optional<RoomProfile> room_beside_places(const AllocatorState& state, const NodeRoom& node,
                                              JobId gang, Predict predict, LedgerMs late_by_ms) {
  auto profile = room_beside_gangs(state, node, gang, predict, late_by_ms);
  if (!profile) return std::nullopt;
  for (const std::uint32_t slot : node.places_of) {
    const TenantState& tenant = state.at(slot);
    for (const KeptPlace& place : tenant.kept) {
      if (place.node != node.id || place.late_from_ms > late_by_ms) continue;
      if (place.from_ms == kNever) return std::nullopt;
      take(*profile, tenant, place.job, place.from_ms, 1, predict);
    }
  }
  return profile;
}

}  // namespace fairwater::inline policy::inline allocator
