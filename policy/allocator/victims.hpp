// Who may have to end so that tasks that wait get room, who is told to, and what that frees.
// Internal to policy/allocator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "policy/allocator/coming_room.hpp"
#include "policy/allocator/group_sums.hpp"
#include "policy/allocator/growth.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// For whom room is made, see Reclaim.
struct RoomClaim {
  TenantId tenant;
  JobId job;
};

/// A task, or a whole gang, that may have to end.
struct Victim {
  TaskKey task;
  AllocatorState::Extra held;
  std::int32_t priority = 0;  ///< of one that has not grown
  bool has_grown = false;
  std::vector<AllocatorState::GangTask> gang{};  ///< as of AllocatorState::Preemptible
  bool is_taken = false;
  RoomClaim claim{};  ///< then

  [[nodiscard]] bool is_gang() const { return !gang.empty(); }
  [[nodiscard]] std::size_t tasks() const { return is_gang() ? gang.size() : 1; }
  /// `use(task, node, demand)` for each of its tasks.
  template <class Use>
  void for_each_task(Use use) const {
    if (!is_gang()) use(task, held.node, held.demand);
    for (const auto& part : gang) use(part.task, part.node, part.demand);
  }
  /// `use(task, demand)` for each of those on the node. O(log + those there).
  template <class Use>
  void for_each_task_on(NodeId node, Use use) const {
    if (!is_gang() && held.node == node) use(task, held.demand);
    struct ByNode {
      bool operator()(const AllocatorState::GangTask& a, NodeId b) const { return a.node < b; }
      bool operator()(NodeId a, const AllocatorState::GangTask& b) const { return a < b.node; }
    };
    const auto [from, to] = std::equal_range(gang.begin(), gang.end(), node, ByNode{});
    for (auto part = from; part != to; ++part) use(part->task, part->demand);
  }
};
/// By their places in a list: the youngest first, gangs behind the others, by their size.
using VictimNumbers = std::vector<std::size_t>;
/// How many tasks these are.
[[nodiscard]] std::size_t tasks_of(const VictimNumbers& victims, const std::vector<Victim>& all);

/// What runs, has not grown, may be preempted and has run for long enough for it, in that order.
/// O(tasks that run * log).
[[nodiscard]] std::vector<Victim> preemptible_victims(const AllocatorState& state);
/// What of the victim is on that node ends, or (`ends` false) does not.
void note_on(const ComingRooms& rooms, ComingRoom& room, NodeId node, const Victim& victim,
             bool ends);

class Victims {
 public:
  /// What has grown; those that give back first come first. O(extras + all tenants).
  explicit Victims(AllocatorState& state);

  [[nodiscard]] const std::vector<Victim>& all() const { return victims_; }
  [[nodiscard]] const Victim& operator[](std::size_t i) const { return victims_[i]; }
  /// The first so many have grown.
  [[nodiscard]] std::size_t grown() const { return grown_; }
  /// Whose they are: who grows first comes first.
  [[nodiscard]] const std::vector<TenantInOrder>& growers() const { return growers_; }
  /// Behind those that have grown, once somebody needs them: the youngest first.
  void find_preemptible();

  void take(std::size_t i, const RoomClaim& claim);
  void take_all(const VictimNumbers& victims, const RoomClaim& claim);
  /// In the order in which they were taken.
  [[nodiscard]] const std::vector<std::size_t>& taken() const { return taken_; }
  /// What was taken since so many were, stays.
  void leave(std::size_t taken_before);
  /// Notes all that were taken as told to end.
  [[nodiscard]] std::vector<Reclaim> tell();

  /// As they will be with what was taken.
  [[nodiscard]] ComingRooms& rooms() { return rooms_; }
  /// By tenant what was taken of theirs, but what has grown.
  [[nodiscard]] const GoneByTenant& preempted() const { return preempted_; }
  /// A tenant will hold so much less (negative: more) for another reason.
  void note_freed(TenantId tenant, const ResourceVector& amount);
  [[nodiscard]] const ResourceVector& freed_of(TenantId tenant) { return freed_[tenant]; }
  [[nodiscard]] const std::vector<ResourceVector>& freed_in_groups() const {
    return freed_in_groups_;
  }

 private:
  void note_everywhere(const Victim& victim, bool ends);

  AllocatorState& state_;
  std::vector<TenantInOrder> growers_;
  std::vector<Victim> victims_;
  std::size_t grown_ = 0;
  bool knows_preemptible_ = false;
  std::vector<std::size_t> taken_;
  ComingRooms rooms_;
  GoneByTenant preempted_;
  std::map<TenantId, ResourceVector> freed_;  ///< of what they hold in all
  std::vector<ResourceVector> freed_in_groups_;
};

}  // namespace fairwater::inline policy::inline allocator
