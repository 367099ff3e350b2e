// Room that was made by preemption.
#include <algorithm>
#include <utility>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

bool is_for(const MadeRoom& room, TenantId tenant, JobId job) {
  return room.tenant == tenant && room.job == job;
}

/// Without those of which there are more tasks than before.
bool are_fewer(const std::vector<MadeRoom>& now, const std::vector<MadeRoom>& before) {
  std::map<JobId, std::int64_t> more;
  for (const MadeRoom& room : now) more[room.job] += room.tasks;
  for (const MadeRoom& room : before) more[room.job] -= room.tasks;
  return std::any_of(more.begin(), more.end(), [](const auto& job) { return job.second < 0; });
}

}  // namespace

ResourceVector NodeRoom::made() const {
  ResourceVector made;
  for (const MadeRoom& room : made_rooms) made += room.demand * Amount{room.tasks};
  return made;
}

ResourceVector NodeRoom::free_beside_made() const {
  ResourceVector free = capacity - used;
  const ResourceVector made = this->made();
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (free[r] > 0) free[r] = std::max<Amount>(0, free[r] - made[r]);
  return free;
}

void AllocatorState::keep_made_room(NodeId id, const MadeRoom& room) {
  NodeRoom& keeper = node(id);
  const auto known =
      std::find_if(keeper.made_rooms.begin(), keeper.made_rooms.end(), [&](const MadeRoom& other) {
        return is_for(other, room.tenant, room.job) && other.demand == room.demand;
      });
  if (known == keeper.made_rooms.end())
    keeper.made_rooms.push_back(room);
  else
    known->tasks += room.tasks;
  made_on_.insert(id);
  refresh_room(keeper);
}

std::vector<MadeRoom> AllocatorState::lift_made_rooms(NodeRoom& keeper) {
  if (keeper.made_rooms.empty()) return {};
  std::vector<MadeRoom> lifted = std::exchange(keeper.made_rooms, {});
  made_on_.erase(keeper.id);
  site_rooms_.raise(keeper.traits.site, keeper.free());
  gangs_without_room_.clear();
  refresh_room(keeper);
  return lifted;
}

std::vector<std::pair<NodeId, MadeRoom>> AllocatorState::lift_made_rooms_of(TenantId tenant,
                                                                            JobId job) {
  std::vector<std::pair<NodeId, MadeRoom>> lifted;
  for (const NodeId id : std::set<NodeId>(made_on_))
    for (const MadeRoom& room : lift_made_rooms(node(id))) {
      if (is_for(room, tenant, job))
        lifted.emplace_back(id, room);
      else
        keep_made_room(id, room);
    }
  return lifted;
}

void AllocatorState::forget_made_rooms(NodeRoom& keeper) {
  for (const MadeRoom& room : lift_made_rooms(keeper))
    if (!lift_made_rooms_of(room.tenant, room.job).empty()) note_freed_made_rooms();
}

std::uint32_t AllocatorState::tasks_with_made_room(TenantId tenant, JobId job) const {
  std::uint32_t tasks = 0;
  for (const NodeId id : made_on_)
    for (const MadeRoom& room : node(id).made_rooms)
      if (is_for(room, tenant, job)) tasks += room.tasks;
  return tasks;
}

std::optional<NodeId> AllocatorState::node_with_made_room(TenantId tenant, JobId job) const {
  for (const NodeId id : made_on_)
    for (const MadeRoom& room : node(id).made_rooms)
      if (is_for(room, tenant, job)) return id;
  return std::nullopt;
}

bool AllocatorState::made_room_is_coming(TenantId tenant, JobId job) const {
  return std::any_of(made_on_.begin(), made_on_.end(), [&](NodeId id) {
    const NodeRoom& keeper = node(id);
    return keeper.ending_tasks > 0 &&
           std::any_of(keeper.made_rooms.begin(), keeper.made_rooms.end(),
                       [&](const MadeRoom& room) { return is_for(room, tenant, job); });
  });
}

void AllocatorState::trim_made_rooms(TenantId tenant_id) {
  std::map<JobId, std::uint32_t> waiting;
  if (!made_on_.empty())
    for (const WindowRange& entry : tenant(tenant_id).window)
      waiting[entry.range.job] += entry.range.count;
  const auto is_its = [&](const MadeRoom& room) { return room.tenant == tenant_id; };
  for (const NodeId id : std::set<NodeId>(made_on_)) {
    const auto& rooms = node(id).made_rooms;
    if (std::none_of(rooms.begin(), rooms.end(), is_its)) continue;
    for (MadeRoom room : lift_made_rooms(node(id))) {
      if (is_its(room)) {
        std::uint32_t& left = waiting[room.job];
        if (room.tasks > left) note_freed_made_rooms();
        room.tasks = std::min(room.tasks, left);
        left -= room.tasks;
      }
      if (room.tasks > 0) keep_made_room(id, room);
    }
  }
}

void AllocatorState::promise_below_maxes(std::vector<MadeRoom> promises) {
  if (promises.empty() && promises_.empty()) return;
  if (are_fewer(promises, promises_)) note_freed_made_rooms();
  promises_.swap(promises);
  for (const MadeRoom& before : promises) note_contender(tenant(before.tenant));
  refresh_promises();
}

void AllocatorState::refresh_promises() {
  quotas_.forget_promises();
  for (const MadeRoom& room : promises_) {
    const TenantState& claimant = tenant(room.tenant);
    quotas_.promise(claimant, room.demand * Amount{room.tasks});
    note_contender(claimant);
  }
}

void AllocatorState::use_promise(JobId job) {
  const auto is_its = [&](const MadeRoom& room) { return room.job == job; };
  const auto used = std::find_if(promises_.begin(), promises_.end(), is_its);
  if (used == promises_.end()) return;
  const TenantState& claimant = tenant(used->tenant);
  if (--used->tasks == 0) promises_.erase(used);
  note_contender(claimant);
  refresh_promises();
}

void AllocatorState::trim_promises(TenantId tenant_id) {
  if (promises_.empty()) return;
  std::map<JobId, std::uint32_t> waiting;
  for (const WindowRange& entry : tenant(tenant_id).window)
    waiting[entry.range.job] += entry.range.count;
  std::vector<MadeRoom> left = promises_;
  for (MadeRoom& room : left) {
    if (room.tenant != tenant_id) continue;
    std::uint32_t& tasks = waiting[room.job];
    room.tasks = std::min(room.tasks, tasks);
    tasks -= room.tasks;
  }
  std::erase_if(left, [](const MadeRoom& room) { return room.tasks == 0; });
  promise_below_maxes(std::move(left));
}

}  // namespace fairwater::inline policy::inline allocator
