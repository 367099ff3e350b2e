#include "policy/allocator/victims.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/time_marks.hpp"

namespace fairwater::inline policy::inline allocator {

std::vector<Victim> preemptible_victims(const AllocatorState& state) {
  std::vector<AllocatorState::Preemptible> found = state.preemptible();
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a.gang.size(), a.ran_ms) < std::pair(b.gang.size(), b.ran_ms);
  });
  std::vector<Victim> victims;
  for (auto& [task, held, priority, ran_ms, gang] : found)
    if (ran_ms >= state.settings.preempt_after_ms)
      victims.push_back({task, held, priority, false, std::move(gang)});
  return victims;
}

std::size_t tasks_of(const VictimNumbers& victims, const std::vector<Victim>& all) {
  std::size_t tasks = 0;
  for (const std::size_t i : victims) tasks += all[i].tasks();
  return tasks;
}

void note_on(const ComingRooms& rooms, ComingRoom& room, NodeId node, const Victim& victim,
             bool ends) {
  victim.for_each_task_on(node, [&](const TaskKey& task, const ResourceVector& demand) {
    rooms.note(room, node, demand, rooms.gpus_of(node, task), ends);
  });
}

Victims::Victims(AllocatorState& state)
    : state_(state), rooms_(state), freed_in_groups_(state.quotas().group_count()) {
  std::map<TenantId, std::vector<Victim>> of_tenants;  // newest last
  for (const auto& [task, extra] : state_.extras())
    of_tenants[extra.tenant].push_back({task, extra, 0, true});
  std::vector<std::uint32_t> slots;
  for (const auto& [tenant, victims] : of_tenants) slots.push_back(state_.tenant(tenant).rank.slot);
  growers_ = in_growth_order(state_, slots);
  for (auto next = growers_.rbegin(); next != growers_.rend(); ++next) {
    auto& victims = of_tenants.at(state_.at(next->slot).id);
    victims_.insert(victims_.end(), victims.rbegin(), victims.rend());
  }
  grown_ = victims_.size();
}

void Victims::find_preemptible() {
  if (std::exchange(knows_preemptible_, true)) return;
  const std::vector<Victim> found = preemptible_victims(state_);
  for (const Victim& victim : found)
    if (TenantState& holder = state_.tenant(victim.held.tenant);
        state_.counts_time() && holder.net > 0)
      refresh_due(state_, holder);
  victims_.insert(victims_.end(), found.begin(), found.end());
}

void Victims::take(std::size_t i, const RoomClaim& claim) {
  Victim& victim = victims_[i];
  victim.is_taken = true;
  victim.claim = claim;
  note_everywhere(victim, true);
  note_freed(victim.held.tenant, victim.held.demand);
  if (!victim.has_grown) preempted_[victim.held.tenant] += victim.held.demand;
  taken_.push_back(i);
}

void Victims::take_all(const VictimNumbers& victims, const RoomClaim& claim) {
  for (const std::size_t i : victims) take(i, claim);
}

void Victims::leave(std::size_t taken_before) {
  for (; taken_.size() > taken_before; taken_.pop_back()) {
    Victim& victim = victims_[taken_.back()];
    victim.is_taken = false;
    note_everywhere(victim, false);
    note_freed(victim.held.tenant, ResourceVector{} - victim.held.demand);
    if (!victim.has_grown) preempted_[victim.held.tenant] -= victim.held.demand;
  }
}

std::vector<Reclaim> Victims::tell() {
  std::vector<Reclaim> reclaims;
  for (const std::size_t i : taken_) {
    const Victim& victim = victims_[i];
    victim.for_each_task([&](const TaskKey& task, NodeId node, const ResourceVector&) {
      state_.note_reclaim(task);
      reclaims.push_back({node, task, victim.held.tenant, victim.claim.tenant, victim.claim.job,
                          !victim.has_grown});
    });
  }
  return reclaims;
}

void Victims::note_freed(TenantId tenant, const ResourceVector& amount) {
  freed_[tenant] += amount;
  add_in_groups(state_, freed_in_groups_, tenant, amount);
}

void Victims::note_everywhere(const Victim& victim, bool ends) {
  victim.for_each_task([&](const TaskKey& task, NodeId node, const ResourceVector& demand) {
    rooms_.note(rooms_.on(node), node, demand, rooms_.gpus_of(node, task), ends);
  });
}

}  // namespace fairwater::inline policy::inline allocator
