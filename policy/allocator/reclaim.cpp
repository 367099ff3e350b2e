#include "policy/allocator/reclaim.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "policy/allocator/coming_room.hpp"
#include "policy/allocator/growth.hpp"
#include "policy/allocator/preemption.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

class Reclaiming {
 public:
  explicit Reclaiming(AllocatorState& state) : state_(state), rooms_(state) { find_victims(); }

  std::vector<Reclaim> run() {
    state_.await_no_gang();
    keep_bounds();
    for (const RankKey& key : state_.waiting()) {
      if (served_ >= kMostReclaimers) break;
      serve(state_.at(key.slot));
    }
    for (const Served& served : preempting_)
      state_.keep_made_room(served.node, {served.tenant, served.job, served.demand, 1});
    std::vector<Reclaim> reclaims;
    for (const std::size_t i : taken_) {
      const Victim& victim = victims_[i];
      state_.note_reclaim(victim.task);
      reclaims.push_back({victim.held.node, victim.task, victim.held.tenant, victim.claim.tenant,
                          victim.claim.job, !victim.has_grown});
    }
    return reclaims;
  }

 private:
  /// Room that a task will have.
  struct Served {
    TenantId tenant;
    JobId job;
    NodeId node;
    ResourceVector demand;
    std::vector<std::string> gpus;  ///< that it shares
  };

  /// Those that give back first come first.
  void find_victims() {
    std::map<TenantId, std::vector<Victim>> of_tenants;  // newest last
    for (const auto& [task, extra] : state_.extras())
      of_tenants[extra.tenant].push_back({task, extra, 0, true});
    std::vector<std::uint32_t> slots;
    for (const auto& [tenant, victims] : of_tenants)
      slots.push_back(state_.tenant(tenant).rank.slot);
    tenants_ = in_growth_order(state_, slots);
    for (auto next = tenants_.rbegin(); next != tenants_.rend(); ++next) {
      auto& victims = of_tenants.at(state_.at(next->slot).id);
      victims_.insert(victims_.end(), victims.rbegin(), victims.rend());
    }
    extras_ = victims_.size();
  }

  /// Behind those that have grown, once somebody needs them: the youngest first.
  void find_preemptible() {
    if (std::exchange(knows_preemptible_, true)) return;
    const std::vector<Victim> found = preemptible_victims(state_);
    victims_.insert(victims_.end(), found.begin(), found.end());
  }

  /// Who has more than it may have gives back the rest.
  void keep_bounds() {
    for (const TenantInOrder& next : tenants_) {
      const TenantState& tenant = state_.at(next.slot);
      if (!next.most) continue;
      Units extras = 0;
      for (const Victim& victim : victims_)
        if (victim.held.tenant == tenant.id) extras += cost_of(victim);
      for (std::size_t i = 0; i < extras_ && extras > *next.most; ++i) {
        if (victims_[i].held.tenant != tenant.id) continue;
        extras -= cost_of(victims_[i]);
        take(i, {});
      }
    }
  }

  [[nodiscard]] Units cost_of(const Victim& victim) const {
    return state_.cost(victim.held.demand);
  }

  /// Its tasks in their order, as long as they are within its quota.
  void serve(TenantState& tenant) {
    ResourceVector left = state_.quotas().quota(tenant) - tenant.held_against_quota();
    std::map<JobId, std::uint32_t> with_room;  // that others made for them before
    for (const WindowRange& entry : tenant.window) {
      if (names_devices(entry.range)) continue;  // room alone would not do
      std::uint32_t& has_room =
          with_room
              .try_emplace(entry.range.job, state_.tasks_with_made_room(tenant.id, entry.range.job))
              .first->second;
      const std::uint32_t at_once = entry.starts_at_once;
      for (std::uint32_t tasks = 0; tasks < entry.range.count; tasks += at_once) {
        if (served_ >= kMostReclaimers || !is_within(left, entry)) return;
        for (const std::size_t r : entry.asks) left[r] -= entry.asked_at_once(r);
        if (has_room > 0)
          has_room -= std::min(has_room, at_once);
        else if (!serve_at_once(tenant, entry))
          break;  // nor would the next of its kind
      }
    }
  }

  /// A single task, or all of a gang.
  bool serve_at_once(TenantState& tenant, const WindowRange& entry) {
    ++served_;
    served_now_.clear();
    preempts_now_ = false;
    const std::size_t taken_before = taken_.size();
    for (std::uint32_t i = 0; i < entry.starts_at_once; ++i)
      if (!serve_task(tenant, entry)) {
        undo(taken_before);
        return false;
      }
    if (entry.is_gang() && !state_.counts_time()) {
      std::set<NodeId> nodes;
      for (const Served& served : served_now_) nodes.insert(served.node);
      state_.await_gang_on(std::move(nodes));
    }
    if (preempts_now_ && state_.counts_time())
      preempting_.insert(preempting_.end(), served_now_.begin(), served_now_.end());
    return true;
  }

  [[nodiscard]] static bool is_within(const ResourceVector& left, const WindowRange& entry) {
    for (const std::size_t r : entry.asks)
      if (entry.asked_at_once(r) > left[r]) return false;
    return true;
  }

  bool serve_task(TenantState& tenant, const WindowRange& entry) {
    if (!make_room_in_max(tenant, entry)) return false;
    auto node = with_room(tenant, entry.range);
    if (!node) node = make_room(tenant, entry.range);
    if (!node && entry.range.preemption.preempts) node = preempt(tenant, entry);
    if (!node) return false;
    ComingRoom& room = rooms_.on(*node);
    Served served{tenant.id, entry.range.job, *node, entry.range.demand,
                  rooms_.gpus_for(*node, entry.range, room)};
    rooms_.note(room, *node, served.demand, served.gpus, false);
    freed_[tenant.id] -= served.demand;
    served_now_.push_back(std::move(served));
    return true;
  }

  /// What was taken back and given since then stays where it was.
  void undo(std::size_t taken_before) {
    for (const Served& served : served_now_) {
      rooms_.note(rooms_.on(served.node), served.node, served.demand, served.gpus, true);
      freed_[served.tenant] += served.demand;
    }
    for (; taken_.size() > taken_before; taken_.pop_back()) {
      Victim& victim = victims_[taken_.back()];
      victim.is_taken = false;
      note(rooms_.on(victim.held.node), victim, false);
      freed_[victim.held.tenant] -= victim.held.demand;
      if (!victim.has_grown) preempted_[victim.held.tenant] -= victim.held.demand;
    }
  }

  /// Takes the tenant's own back until its max has room for the task, with what ends already.
  bool make_room_in_max(const TenantState& tenant, const WindowRange& entry) {
    const auto is_kept_back = [&] {
      const ResourceVector freed = freed_[tenant.id] + tenant.ending + tenant.ending_grown;
      for (const std::size_t r : entry.asks)
        if (!state_.quotas().has_room(tenant, r, entry.range.demand[r] - freed[r])) return true;
      return false;
    };
    for (std::size_t i = 0; i < extras_ && is_kept_back(); ++i)
      if (!victims_[i].is_taken && victims_[i].held.tenant == tenant.id)
        take(i, {tenant.id, entry.range.job});
    return !is_kept_back();
  }

  /// A node with room that is free, or coming.
  [[nodiscard]] std::optional<NodeId> with_room(const TenantState& tenant,
                                                const WaitingRange& task) {
    const auto will_do = [&](NodeId id) {
      return may_use(id, tenant, task) && rooms_.has_room(id, task, rooms_.on(id));
    };
    for (const auto& [id, room] : rooms_.looked_at())
      if (will_do(id)) return id;
    for (const NodeId id : state_.ending_on())
      if (will_do(id)) return id;
    NodeId from;
    for (std::size_t looks = 0; looks < kMaxNodesTriedInVain; ++looks) {
      const auto id = state_.next_with_room(from, task.demand);
      if (!id) break;
      if (will_do(*id)) return id;
      from = NodeId{id->value + 1};
    }
    return std::nullopt;
  }

  /// The first node that has room once so many give back, in their order.
  [[nodiscard]] std::optional<NodeId> make_room(const TenantState& tenant,
                                                const WaitingRange& task) {
    std::map<NodeId, ComingRoom> gathered;
    for (std::size_t i = 0; i < extras_; ++i) {
      const Victim& victim = victims_[i];
      const NodeId id = victim.held.node;
      if (victim.is_taken || !may_use(id, tenant, task)) continue;
      ComingRoom& room = gathered.try_emplace(id, rooms_.on(id)).first->second;
      note(room, victim, true);
      if (!rooms_.has_room(id, task, room)) continue;
      VictimNumbers victims;
      for (std::size_t other = 0; other <= i; ++other)
        if (!victims_[other].is_taken && victims_[other].held.node == id) victims.push_back(other);
      // Who gives back first is left out first, where a later one must go anyway.
      std::reverse(victims.begin(), victims.end());
      leave_out_needless(victims, victims_, rooms_, id, room, task);
      std::reverse(victims.begin(), victims.end());
      take_all(victims, {tenant.id, task.job});
      return id;
    }
    return std::nullopt;
  }

  /// The node where fewest must end, if there is one.
  [[nodiscard]] std::optional<NodeId> preempt(const TenantState& tenant, const WindowRange& entry) {
    find_preemptible();
    const auto fewest = Preemption(state_, rooms_, victims_, preempted_, tenant, entry).fewest();
    if (!fewest) return std::nullopt;
    take_all(fewest->victims, {tenant.id, entry.range.job});
    preempts_now_ = true;
    return fewest->node;
  }

  void take_all(const VictimNumbers& victims, const RoomClaim& claim) {
    for (const std::size_t i : victims) {
      if (!victims_[i].has_grown) preempted_[victims_[i].held.tenant] += victims_[i].held.demand;
      take(i, claim);
    }
  }

  void take(std::size_t i, const RoomClaim& claim) {
    Victim& victim = victims_[i];
    victim.is_taken = true;
    victim.claim = claim;
    note(rooms_.on(victim.held.node), victim, true);
    freed_[victim.held.tenant] += victim.held.demand;
    taken_.push_back(i);
  }

  void note(ComingRoom& room, const Victim& victim, bool ends) const {
    const NodeId node = victim.held.node;
    rooms_.note(room, node, victim.held.demand, rooms_.gpus_of(node, victim.task), ends);
  }

  [[nodiscard]] bool may_use(NodeId id, const TenantState& tenant, const WaitingRange& task) const {
    const NodeRoom& node = state_.node(id);
    return node.accepts && state_.may_use_room(node, tenant, task);
  }

  AllocatorState& state_;
  std::vector<TenantInOrder> tenants_;  ///< that have grown
  std::vector<Victim> victims_;         ///< first those that have grown
  std::size_t extras_ = 0;              ///< so many
  bool knows_preemptible_ = false;
  std::map<TenantId, ResourceVector> preempted_;
  ComingRooms rooms_;
  std::map<TenantId, ResourceVector> freed_;  ///< of what they hold in all
  std::vector<std::size_t> taken_;            ///< of the victims
  std::vector<Served> served_now_;            ///< tasks of the gang that is being served
  bool preempts_now_ = false;                 ///< for one of them
  std::vector<Served> preempting_;            ///< whose room is kept for them
  std::size_t served_ = 0;
};

}  // namespace

std::vector<Reclaim> reclaim(AllocatorState& state) {
  if (state.extras().empty() && state.preempting().empty()) return {};
  return Reclaiming(state).run();
}

}  // namespace fairwater::inline policy::inline allocator
