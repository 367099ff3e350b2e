#include "policy/allocator/growth.hpp"

#include <algorithm>
#include <utility>

namespace fairwater::inline policy::inline allocator {

std::vector<TenantInOrder> in_growth_order(const AllocatorState& state,
                                           const std::vector<std::uint32_t>& slots) {
  const GrowthTotals totals = state.growth_totals();
  std::vector<TenantInOrder> tenants;
  for (const std::uint32_t slot : slots) {
    const GrowthStanding standing = state.growth_standing(state.at(slot));
    // By dominant shares nothing grows.
    const GrowthRule rule = state.allocates_by_share() ? GrowthRule::bra : state.settings.growth;
    tenants.push_back({slot, growth_order(rule, standing), most_extras(rule, standing, totals)});
  }
  std::stable_sort(tenants.begin(), tenants.end(),
                   [](const auto& a, const auto& b) { return a.order < b.order; });
  return tenants;
}

namespace {

/// Beside what is claimed below it.
bool fits_max(const AllocatorState& state, const TenantState& tenant, const WindowRange& entry) {
  const ResourceVector with_claims = tenant.held_in_all() + state.claimed_by(tenant.id);
  for (const std::size_t r : entry.asks)
    if (with_claims[r] + entry.range.demand[r] > tenant.terms.max[r]) return false;
  for (auto number = tenant.group; number != QuotaTree::kRoot;
       number = state.quotas().group(number).parent) {
    const auto group = state.quotas().group(number);
    const ResourceVector claimed = group.used + state.claimed_in_group(number);
    for (const std::size_t r : entry.asks)
      if (claimed[r] + entry.range.demand[r] > group.terms.max[r]) return false;
  }
  return true;
}

/// Room there is nobody's, and will not be somebody's.
bool is_idle(const AllocatorState& state, const NodeRoom& node, const TenantState& tenant,
             const WaitingRange& task) {
  return node.accepts && node.ending_tasks == 0 && !node.reservation && node.places_of.empty() &&
         node.kept_for_gangs.empty() && !state.awaits_gang_on(node.id) &&
         state.may_use(node, tenant, task);
}

class Growing {
 public:
  Growing(AllocatorState& state, std::size_t max_deals, std::size_t max_entries)
      : state_(state), max_deals_(max_deals), max_entries_(max_entries) {}

  std::vector<Deal> run() {
    std::vector<std::uint32_t> slots;
    for (const RankKey& key : state_.growing()) slots.push_back(key.slot);
    for (const TenantInOrder& next : in_growth_order(state_, slots)) {
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
    while (entry.range.count > 0 && !is_full() && in_vain < kMaxNodesTriedInVain) {
      const std::optional<NodeId> chosen = state_.choose_node(tenant, entry.range);
      const auto id = chosen ? chosen : state_.next_with_room(from, entry.range);
      if (!id) return;
      if (!chosen) from = NodeId{id->value + 1};
      NodeRoom& node = state_.node(*id);
      Deal deal;
      while (may_place(node, tenant, entry, most) && entries_ + deal.grants.size() < max_entries_) {
        deal.grants.push_back(place(node, tenant, entry));
        if (!chosen) continue;
        deal.grants.back().placement = told_rule(entry.range.placement);
        break;
      }
      if (deal.grants.empty()) {
        if (chosen) state_.choices().refuse(node.id, entry.range);
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
    const ResourceVector idle = node.free() - state_.unheard_ends().on(node.id);
    for (const std::size_t r : entry.asks)
      if (entry.range.demand[r] > idle[r]) return false;
    if (most && tenant.extras + entry.task_cost() > *most) return false;
    return is_idle(state_, node, tenant, entry.range) && fits_max(state_, tenant, entry);
  }

  Grant place(NodeRoom& node, TenantState& tenant, WindowRange& entry) {
    WaitingRange& range = entry.range;
    Grant grant{.task = {.job = range.job,
                         .index = range.first_index,
                         .attempt = range.attempt,
                         .incarnation = state_.settings.incarnation},
                .tenant = tenant.id,
                .cost = entry.task_cost(),
                .demand = range.demand,
                .step = GrantStep::growth,
                .beyond_quota = true};
    grant.devices = state_.devices_of_placed(node, range);
    ++range.first_index;
    --range.count;
    state_.place_extra(node, tenant, grant, {range.limit_ms, range.expected_ms, 0, false},
                       range.preemption, range.user);
    return grant;
  }

  AllocatorState& state_;
  std::size_t max_deals_;
  std::size_t max_entries_;
  std::size_t entries_ = 0;
  std::vector<Deal> deals_;
};

}  // namespace

std::vector<Deal> grow(AllocatorState& state, std::size_t max_deals, std::size_t max_entries) {
  if (state.growing().empty()) return {};
  return Growing(state, max_deals, max_entries).run();
}

}  // namespace fairwater::inline policy::inline allocator
