#include "policy/allocator/reclaim.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "policy/allocator/growth.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

class Reclaiming {
 public:
  explicit Reclaiming(AllocatorState& state) : state_(state) { find_victims(); }

  std::vector<Reclaim> run() {
    keep_bounds();
    for (const RankKey& key : state_.waiting()) {
      if (served_ >= kMostReclaimers) break;
      serve(state_.at(key.slot));
    }
    std::vector<Reclaim> reclaims;
    for (const std::size_t i : taken_) {
      const Victim& victim = victims_[i];
      state_.note_reclaim(victim.task);
      reclaims.push_back({victim.held.node, victim.task, victim.held.tenant, victim.claim.tenant,
                          victim.claim.job, !has_grown(i)});
    }
    return reclaims;
  }

 private:
  /// For whom, see Reclaim.
  struct Claim {
    TenantId tenant;
    JobId job;
  };
  struct Victim {
    TaskKey task;
    AllocatorState::Extra held;
    std::int32_t priority = 0;  ///< of one that has not grown
    bool is_taken = false;
    Claim claim{};  ///< then
  };
  /// What of a node nobody holds, or will hold.
  struct Room {
    ResourceVector free;
    DeviceUses uses;  ///< of shared GPUs that somebody holds, or will hold
  };
  /// What of one node would have to end for a task that preempts.
  struct Trial {
    Room room;
    std::map<TenantId, ResourceVector> preempted;
    std::vector<std::size_t> victims;
    bool is_enough = false;
  };
  /// Room that a task will have.
  struct Served {
    TenantId tenant;
    NodeId node;
    TaskKey task;
    ResourceVector demand;
  };

  /// Those that give back first come first.
  void find_victims() {
    std::map<TenantId, std::vector<Victim>> of_tenants;  // newest last
    for (const auto& [task, extra] : state_.extras())
      of_tenants[extra.tenant].push_back({task, extra, 0, false, {}});
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
  [[nodiscard]] bool has_grown(std::size_t victim) const { return victim < extras_; }

  /// Behind those that have grown, once somebody needs them: the youngest first.
  void find_preemptible() {
    if (std::exchange(knows_preemptible_, true)) return;
    std::vector<AllocatorState::Preemptible> found = state_.preemptible();
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.ran_ms < b.ran_ms; });
    for (const auto& [task, held, priority, ran_ms] : found)
      if (ran_ms >= state_.settings.preempt_after_ms)
        victims_.push_back({task, held, priority, false, {}});
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
    for (const WindowRange& entry : tenant.window) {
      if (names_devices(entry.range)) continue;  // room alone would not do
      const std::uint32_t at_once = entry.starts_at_once;
      for (std::uint32_t tasks = 0; tasks < entry.range.count; tasks += at_once) {
        if (served_ >= kMostReclaimers || !is_within(left, entry)) return;
        for (const std::size_t r : entry.asks) left[r] -= entry.asked_at_once(r);
        ++served_;
        served_now_.clear();
        const std::size_t taken_before = taken_.size();
        bool all = true;
        for (std::uint32_t i = 0; i < at_once && all; ++i)
          all = serve_task(tenant, entry, tasks + i);
        if (all) continue;
        undo(taken_before);
        break;  // nor would the next of its kind
      }
    }
  }

  [[nodiscard]] static bool is_within(const ResourceVector& left, const WindowRange& entry) {
    for (const std::size_t r : entry.asks)
      if (entry.asked_at_once(r) > left[r]) return false;
    return true;
  }

  /// The one of its range.
  bool serve_task(TenantState& tenant, const WindowRange& entry, std::uint32_t number) {
    if (!make_room_in_max(tenant, entry)) return false;
    auto node = with_room(tenant, entry.range);
    if (!node) node = make_room(tenant, entry.range);
    if (!node && entry.range.preemption.preempts) node = preempt(tenant, entry);
    if (!node) return false;
    const WaitingRange& range = entry.range;
    const TaskKey task{range.job, range.first_index + number, range.attempt};
    Room& room = room_on(*node);
    if (const auto gpus = gpus_for(*node, range, room))
      room.uses.insert_or_assign(task, DeviceUse{range.demand, gpus->names});
    room.free -= range.demand;
    freed_[tenant.id] -= range.demand;
    served_now_.push_back({tenant.id, *node, task, range.demand});
    return true;
  }

  /// What was taken back and given since then stays where it was.
  void undo(std::size_t taken_before) {
    for (const Served& served : served_now_) {
      room_on(served.node).free += served.demand;
      room_on(served.node).uses.erase(served.task);
      freed_[served.tenant] += served.demand;
    }
    for (; taken_.size() > taken_before; taken_.pop_back()) {
      Victim& victim = victims_[taken_.back()];
      victim.is_taken = false;
      put_back(room_on(victim.held.node), victim);
      freed_[victim.held.tenant] -= victim.held.demand;
      if (!has_grown(taken_.back())) preempted_[victim.held.tenant] -= victim.held.demand;
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
      return may_use(id, tenant, task) && has_room(id, task, room_on(id));
    };
    for (const auto& [id, room] : rooms_)
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
    std::map<NodeId, Room> gathered;
    for (std::size_t i = 0; i < extras_; ++i) {
      const Victim& victim = victims_[i];
      const NodeId id = victim.held.node;
      if (victim.is_taken || !may_use(id, tenant, task)) continue;
      Room& room = gathered.try_emplace(id, room_on(id)).first->second;
      vacate(room, victim);
      if (!has_room(id, task, room)) continue;
      std::vector<std::size_t> victims;
      for (std::size_t other = 0; other <= i; ++other)
        if (!victims_[other].is_taken && victims_[other].held.node == id) victims.push_back(other);
      // Who gives back first is left out first, where a later one must go anyway.
      std::reverse(victims.begin(), victims.end());
      leave_out_needless(victims, room, task);
      std::reverse(victims.begin(), victims.end());
      take_all(victims, {tenant.id, task.job});
      return id;
    }
    return std::nullopt;
  }

  /// The node where fewest must end, if there is one.
  [[nodiscard]] std::optional<NodeId> preempt(const TenantState& tenant, const WindowRange& entry) {
    find_preemptible();
    std::map<NodeId, Trial> trials;
    for (std::size_t i = 0; i < victims_.size(); ++i) add_to_trial(trials, i, tenant, entry);
    const std::pair<const NodeId, Trial>* fewest = nullptr;
    for (const auto& trial : trials)
      if (trial.second.is_enough &&
          (fewest == nullptr || trial.second.victims.size() < fewest->second.victims.size()))
        fewest = &trial;
    if (fewest == nullptr) return std::nullopt;
    take_all(fewest->second.victims, {tenant.id, entry.range.job});
    return fewest->first;
  }

  void add_to_trial(std::map<NodeId, Trial>& trials, std::size_t i, const TenantState& tenant,
                    const WindowRange& entry) {
    const Victim& victim = victims_[i];
    const NodeId id = victim.held.node;
    if (victim.is_taken || !may_use(id, tenant, entry.range)) return;
    const auto [found, is_new] = trials.try_emplace(id);
    Trial& trial = found->second;
    if (is_new) trial.room = room_on(id);
    ResourceVector& preempted = trial.preempted[victim.held.tenant];
    if (trial.is_enough || !(has_grown(i) || may_preempt(victim, tenant, entry, preempted))) return;
    if (!has_grown(i)) preempted += victim.held.demand;
    vacate(trial.room, victim);
    trial.victims.push_back(i);
    trial.is_enough = has_room(id, entry.range, trial.room);
    if (trial.is_enough) leave_out_needless(trial.victims, trial.room, entry.range);
  }

  /// Whether it runs beyond its tenant's quota of something that is asked for, and not within its
  /// min. `preempted`: of that tenant in this trial.
  [[nodiscard]] bool may_preempt(const Victim& victim, const TenantState& claimant,
                                 const WindowRange& entry, const ResourceVector& preempted) {
    const TenantState& holder = state_.tenant(victim.held.tenant);
    if (holder.id == claimant.id || victim.priority >= entry.range.preemption.priority)
      return false;
    const ResourceVector gone = preempted + preempted_[holder.id] + holder.ending;
    const ResourceVector& demand = victim.held.demand;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (demand[r] > 0 && holder.used[r] - gone[r] - demand[r] < holder.terms.min[r]) return false;
    const ResourceVector counted = holder.held_against_quota() - gone;
    for (const std::size_t r : entry.asks)
      if (demand[r] > 0 && counted[r] > state_.quotas().exact_quota(holder, r)) return true;
    return false;
  }

  /// Of `victims`, all of one node, without whom there is so much room, those that may stay: the
  /// last first.
  void leave_out_needless(std::vector<std::size_t>& victims, Room room,
                          const WaitingRange& task) const {
    for (std::size_t i = victims.size(); i-- > 0;) {
      const Victim& victim = victims_[victims[i]];
      Room without = room;
      put_back(without, victim);
      if (!has_room(victim.held.node, task, without)) continue;
      room = std::move(without);
      victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void take_all(const std::vector<std::size_t>& victims, const Claim& claim) {
    for (const std::size_t i : victims) {
      if (!has_grown(i)) preempted_[victims_[i].held.tenant] += victims_[i].held.demand;
      take(i, claim);
    }
  }

  void take(std::size_t i, const Claim& claim) {
    Victim& victim = victims_[i];
    victim.is_taken = true;
    victim.claim = claim;
    vacate(room_on(victim.held.node), victim);
    freed_[victim.held.tenant] += victim.held.demand;
    taken_.push_back(i);
  }

  [[nodiscard]] bool may_use(NodeId id, const TenantState& tenant, const WaitingRange& task) const {
    const NodeRoom& node = state_.node(id);
    return node.accepts && state_.may_use_room(node, tenant, task);
  }

  Room& room_on(NodeId id) {
    const auto [known, is_new] = rooms_.try_emplace(id);
    Room& room = known->second;
    if (!is_new) return room;
    const NodeRoom& node = state_.node(id);
    room.free = node.free() + node.coming;
    for (const auto& [task, use] : node.device_uses)
      if (!use.is_ending && state_.takes_shares(use.demand)) room.uses.emplace(task, use);
    return room;
  }

  static void vacate(Room& room, const Victim& victim) {
    room.free += victim.held.demand;
    room.uses.erase(victim.task);
  }

  void put_back(Room& room, const Victim& victim) const {
    room.free -= victim.held.demand;
    if (!state_.takes_shares(victim.held.demand)) return;
    const DeviceUses& held = state_.node(victim.held.node).device_uses;
    room.uses.insert_or_assign(victim.task, held.at(victim.task));
  }

  /// Of GPUs that tasks share those that it would get; none: it takes none, or has no room.
  [[nodiscard]] std::optional<ChosenShares> gpus_for(NodeId id, const WaitingRange& task,
                                                     const Room& room) const {
    if (!state_.takes_shares(task.demand)) return std::nullopt;
    const NodeRoom& node = state_.node(id);
    return state_.shares_beside(node, task.demand, task.rule.get(), room.uses,
                                state_.kept_from(node, task));
  }

  [[nodiscard]] bool has_room(NodeId id, const WaitingRange& task, const Room& room) const {
    return task.demand.fits(room.free) &&
           (!state_.takes_shares(task.demand) || gpus_for(id, task, room).has_value());
  }

  AllocatorState& state_;
  std::vector<TenantInOrder> tenants_;  ///< that have grown
  std::vector<Victim> victims_;         ///< first those that have grown
  std::size_t extras_ = 0;              ///< so many
  bool knows_preemptible_ = false;
  std::map<TenantId, ResourceVector> preempted_;
  std::map<NodeId, Room> rooms_;              ///< of the nodes that were looked at
  std::map<TenantId, ResourceVector> freed_;  ///< of what they hold in all
  std::vector<std::size_t> taken_;            ///< of the victims
  std::vector<Served> served_now_;            ///< tasks of the gang that is being served
  std::size_t served_ = 0;
};

}  // namespace

std::vector<Reclaim> reclaim(AllocatorState& state) {
  if (state.extras().empty() && state.preempting().empty()) return {};
  return Reclaiming(state).run();
}

}  // namespace fairwater::inline policy::inline allocator
