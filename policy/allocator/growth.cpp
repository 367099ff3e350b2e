#include "policy/allocator/growth.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater {
namespace {

/// Nodes that one range of tasks is tried on in vain. Bounds the work where rules rule most out.
constexpr std::size_t kMaxNodesLookedAt = 1024;

struct InOrder {
  std::uint32_t slot = 0;
  Units order = 0;
  std::optional<Units> most;  ///< see most_extras
};

/// Who grows first comes first.
template <class Slots>
std::vector<InOrder> in_order(const AllocatorState& state, const Slots& slots) {
  const GrowthTotals totals = state.growth_totals();
  std::vector<InOrder> tenants;
  for (const std::uint32_t slot : slots) {
    const GrowthStanding standing = state.growth_standing(state.at(slot));
    const GrowthRule rule = state.settings.growth;
    tenants.push_back({slot, growth_order(rule, standing), most_extras(rule, standing, totals)});
  }
  std::stable_sort(tenants.begin(), tenants.end(),
                   [](const InOrder& a, const InOrder& b) { return a.order < b.order; });
  return tenants;
}

bool fits_max(const AllocatorState& state, const TenantState& tenant, const WindowRange& entry) {
  for (const std::size_t r : entry.asks)
    if (!state.quotas().has_room(tenant, r, entry.range.demand[r])) return false;
  return true;
}

/// Room there is nobody's, and will not be somebody's.
bool is_idle(const AllocatorState& state, const NodeRoom& node, const TenantState& tenant,
             const WaitingRange& task) {
  return node.accepts && node.ending_tasks == 0 && !node.reservation && node.places_of.empty() &&
         state.gang_plan_on(node) == nullptr && state.may_use(node, tenant, task);
}

// -- growing --------------------------------------------------------------------------------------

class Growing {
 public:
  Growing(AllocatorState& state, std::size_t max_deals, std::size_t max_entries)
      : state_(state), max_deals_(max_deals), max_entries_(max_entries) {}

  std::vector<Deal> run() {
    std::vector<std::uint32_t> slots;
    for (const RankKey& key : state_.growing()) slots.push_back(key.slot);
    for (const InOrder& next : in_order(state_, slots)) {
      TenantState& tenant = state_.at(next.slot);
      for (WindowRange& entry : tenant.growth) grow(tenant, entry, next.most);
      state_.forget_granted(tenant);
    }
    return std::move(deals_);
  }

 private:
  [[nodiscard]] bool is_full() const {
    return deals_.size() >= max_deals_ || entries_ >= max_entries_;
  }

  void grow(TenantState& tenant, WindowRange& entry, const std::optional<Units>& most) {
    std::size_t in_vain = 0;
    NodeId from;
    while (entry.range.count > 0 && !is_full() && in_vain < kMaxNodesLookedAt) {
      const auto id = state_.next_with_room(from, entry.range.demand);
      if (!id) return;
      from = NodeId{id->value + 1};
      NodeRoom& node = state_.node(*id);
      Deal deal;
      while (may_place(node, tenant, entry, most) && entries_ + deal.grants.size() < max_entries_)
        deal.grants.push_back(place(node, tenant, entry));
      if (deal.grants.empty()) {
        ++in_vain;
        continue;
      }
      deal.node = node.id;
      deal.keeps_accounts = false;
      entries_ += deal.entries();
      state_.record(deal);
      state_.refresh_room(node);
      deals_.push_back(std::move(deal));
    }
  }

  [[nodiscard]] bool may_place(const NodeRoom& node, const TenantState& tenant,
                               const WindowRange& entry, const std::optional<Units>& most) const {
    if (entry.range.count == 0 || !entry.range.demand.fits(node.free())) return false;
    if (most && tenant.extras + entry.task_cost() > *most) return false;
    return is_idle(state_, node, tenant, entry.range) && fits_max(state_, tenant, entry);
  }

  Grant place(NodeRoom& node, TenantState& tenant, WindowRange& entry) {
    WaitingRange& range = entry.range;
    const Grant grant{.task = {.job = range.job,
                               .index = range.first_index,
                               .attempt = range.attempt,
                               .incarnation = state_.settings.incarnation},
                      .tenant = tenant.id,
                      .cost = entry.task_cost(),
                      .demand = range.demand,
                      .step = GrantStep::growth,
                      .beyond_quota = true};
    ++range.first_index;
    --range.count;
    state_.place_extra(node, tenant, grant, {range.limit_ms, range.expected_ms, 0, false});
    return grant;
  }

  AllocatorState& state_;
  std::size_t max_deals_;
  std::size_t max_entries_;
  std::size_t entries_ = 0;
  std::vector<Deal> deals_;
};

// -- taking back ----------------------------------------------------------------------------------

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
    for (const std::size_t taken : taken_) {
      const auto& [task, extra, is_taken, claimant] = victims_[taken];
      state_.note_reclaim(task);
      reclaims.push_back({extra.node, task, extra.tenant, claimant});
    }
    return reclaims;
  }

 private:
  struct Victim {
    TaskKey task;
    AllocatorState::Extra extra;
    bool is_taken = false;
    TenantId claimant;  ///< then, see Reclaim
  };
  /// Room that a task will have.
  struct Served {
    TenantId tenant;
    NodeId node;
    ResourceVector demand;
  };

  /// Those that give back first come first.
  void find_victims() {
    std::map<TenantId, std::vector<Victim>> of_tenants;  // newest last
    for (const auto& [task, extra] : state_.extras())
      of_tenants[extra.tenant].push_back({task, extra, false, {}});
    std::vector<std::uint32_t> slots;
    for (const auto& [tenant, victims] : of_tenants)
      slots.push_back(state_.tenant(tenant).rank.slot);
    tenants_ = in_order(state_, slots);
    for (auto next = tenants_.rbegin(); next != tenants_.rend(); ++next) {
      auto& victims = of_tenants.at(state_.at(next->slot).id);
      victims_.insert(victims_.end(), victims.rbegin(), victims.rend());
    }
  }

  /// Who has more than it may have gives back the rest.
  void keep_bounds() {
    for (const InOrder& next : tenants_) {
      const TenantState& tenant = state_.at(next.slot);
      if (!next.most) continue;
      Units extras = 0;
      for (const Victim& victim : victims_)
        if (victim.extra.tenant == tenant.id) extras += cost_of(victim);
      for (Victim& victim : victims_) {
        if (extras <= *next.most) break;
        if (victim.extra.tenant != tenant.id) continue;
        extras -= cost_of(victim);
        take(victim, {});
      }
    }
  }

  [[nodiscard]] Units cost_of(const Victim& victim) const {
    return state_.cost(victim.extra.demand);
  }

  /// Its tasks in their order, as long as they are within its quota.
  void serve(TenantState& tenant) {
    ResourceVector left = state_.quotas().quota(tenant) - tenant.held_against_quota();
    for (const WindowRange& entry : tenant.window) {
      const std::uint32_t at_once = entry.starts_at_once;
      for (std::uint32_t tasks = 0; tasks < entry.range.count; tasks += at_once) {
        if (served_ >= kMostReclaimers || !is_within(left, entry)) return;
        for (const std::size_t r : entry.asks) left[r] -= entry.asked_at_once(r);
        ++served_;
        served_now_.clear();
        const std::size_t taken_before = taken_.size();
        bool all = true;
        for (std::uint32_t i = 0; i < at_once && all; ++i) all = serve_task(tenant, entry);
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

  bool serve_task(TenantState& tenant, const WindowRange& entry) {
    if (!make_room_in_max(tenant, entry)) return false;
    auto node = with_room(tenant, entry.range);
    if (!node) node = make_room(tenant, entry.range);
    if (!node) return false;
    room_on(*node) -= entry.range.demand;
    freed_[tenant.id] -= entry.range.demand;
    served_now_.push_back({tenant.id, *node, entry.range.demand});
    return true;
  }

  /// What was taken back and given since then stays where it was.
  void undo(std::size_t taken_before) {
    for (const Served& served : served_now_) {
      room_on(served.node) += served.demand;
      freed_[served.tenant] += served.demand;
    }
    for (; taken_.size() > taken_before; taken_.pop_back()) {
      Victim& victim = victims_[taken_.back()];
      victim.is_taken = false;
      room_on(victim.extra.node) -= victim.extra.demand;
      freed_[victim.extra.tenant] -= victim.extra.demand;
    }
  }

  /// Takes the tenant's own back until its max has room for the task.
  bool make_room_in_max(const TenantState& tenant, const WindowRange& entry) {
    const auto is_kept_back = [&] {
      const ResourceVector& freed = freed_[tenant.id];
      for (const std::size_t r : entry.asks)
        if (!state_.quotas().has_room(tenant, r, entry.range.demand[r] - freed[r])) return true;
      return false;
    };
    for (Victim& victim : victims_) {
      if (!is_kept_back()) return true;
      if (!victim.is_taken && victim.extra.tenant == tenant.id) take(victim, tenant.id);
    }
    return !is_kept_back();
  }

  /// A node with room that is free, or coming.
  [[nodiscard]] std::optional<NodeId> with_room(const TenantState& tenant,
                                                const WaitingRange& task) {
    const auto has_room = [&](NodeId id) {
      return may_use(id, tenant, task) && task.demand.fits(room_on(id));
    };
    for (const auto& [id, room] : rooms_)
      if (has_room(id)) return id;
    for (const NodeId id : state_.ending_on())
      if (has_room(id)) return id;
    NodeId from;
    for (std::size_t looks = 0; looks < kMaxNodesLookedAt; ++looks) {
      const auto id = state_.next_with_room(from, task.demand);
      if (!id) break;
      if (has_room(*id)) return id;
      from = NodeId{id->value + 1};
    }
    return std::nullopt;
  }

  /// The first node that has room once so many give back, in their order.
  [[nodiscard]] std::optional<NodeId> make_room(const TenantState& tenant,
                                                const WaitingRange& task) {
    std::map<NodeId, ResourceVector> gathered;
    for (const Victim& victim : victims_) {
      const NodeId id = victim.extra.node;
      if (victim.is_taken || !may_use(id, tenant, task)) continue;
      const auto room = gathered.emplace(id, room_on(id)).first;
      room->second += victim.extra.demand;
      if (!task.demand.fits(room->second)) continue;
      take_least(id, room->second, task.demand, victim.task, tenant.id);
      return id;
    }
    return std::nullopt;
  }

  /// Of the node's victims up to `last`, but those without which the task has room as well.
  void take_least(NodeId id, ResourceVector room, const ResourceVector& demand, const TaskKey& last,
                  TenantId claimant) {
    for (Victim& victim : victims_) {
      if (victim.is_taken || victim.extra.node != id) continue;
      if (const ResourceVector without = room - victim.extra.demand; demand.fits(without))
        room = without;
      else
        take(victim, claimant);
      if (victim.task == last) return;
    }
  }

  void take(Victim& victim, TenantId claimant) {
    victim.is_taken = true;
    room_on(victim.extra.node) += victim.extra.demand;
    freed_[victim.extra.tenant] += victim.extra.demand;
    victim.claimant = claimant;
    taken_.push_back(static_cast<std::size_t>(&victim - victims_.data()));
  }

  [[nodiscard]] bool may_use(NodeId id, const TenantState& tenant, const WaitingRange& task) const {
    const NodeRoom& node = state_.node(id);
    return node.accepts && state_.may_use(node, tenant, task);
  }

  /// What of the node nobody holds, or will hold.
  ResourceVector& room_on(NodeId id) {
    const auto [known, is_new] = rooms_.emplace(id, ResourceVector{});
    if (is_new) {
      const NodeRoom& node = state_.node(id);
      known->second = node.free() + node.coming;
    }
    return known->second;
  }

  AllocatorState& state_;
  std::vector<InOrder> tenants_;  ///< that have grown
  std::vector<Victim> victims_;
  std::map<NodeId, ResourceVector> rooms_;    ///< of the nodes that were looked at
  std::map<TenantId, ResourceVector> freed_;  ///< of what they hold in all
  std::vector<std::size_t> taken_;            ///< of the victims
  std::vector<Served> served_now_;            ///< tasks of the gang that is being served
  std::size_t served_ = 0;
};

}  // namespace

std::vector<Deal> grow(AllocatorState& state, std::size_t max_deals, std::size_t max_entries) {
  if (state.growing().empty()) return {};
  return Growing(state, max_deals, max_entries).run();
}

std::vector<Reclaim> reclaim(AllocatorState& state) {
  if (state.extras().empty()) return {};
  return Reclaiming(state).run();
}

}  // namespace fairwater
