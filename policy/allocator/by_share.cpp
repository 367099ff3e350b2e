#include "policy/allocator/by_share.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "policy/allocator/claimants.hpp"
#include "policy/allocator/gangs.hpp"
#include "policy/allocator/state.hpp"
#include "policy/dominant/weighted_share.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Ranges of a window without room that are looked past in a cycle, as in a deal.
constexpr std::uint32_t kMostLooksPast = 64;

struct ShareTurn {
  bool is_below_min = false;  ///< comes before those that are not
  WeightedShare share;
  TenantState* tenant = nullptr;
  Cursor cursor;
};

/// For a heap with the first one on top.
struct ShareComesAfter {
  bool operator()(const ShareTurn& a, const ShareTurn& b) const {
    if (a.is_below_min != b.is_below_min) return b.is_below_min;
    const auto order = compare(a.share, b.share);
    return order != 0 ? order > 0 : a.tenant->id > b.tenant->id;
  }
};

/// Where what starts at once goes, and by which rule.
struct Place {
  std::vector<GangShare> shares;
  Placement placement = Placement::unset;
};

class ShareFilling {
 public:
  explicit ShareFilling(AllocatorState& state) : state_(state) {}

  SharedDeals run(std::size_t max_deals, std::size_t max_entries) {
    for (const RankKey& key : state_.waiting()) {
      TenantState& tenant = state_.at(key.slot);
      Cursor cursor;
      if (skip_taken(tenant, cursor)) push(tenant, cursor);
    }
    std::size_t entries = 0;
    while (!turns_.empty() && deals_.size() < max_deals && entries < max_entries)
      entries += take_turn();
    for (const Deal& deal : deals_) state_.record(deal);
    for (const std::uint32_t slot : granted_) state_.forget_granted(state_.at(slot));
    return {std::move(deals_), !turns_.empty()};
  }

 private:
  /// The cursor stands at a range with tasks.
  static bool skip_taken(const TenantState& tenant, Cursor& cursor) {
    while (cursor.next < tenant.window.size() && tenant.window[cursor.next].range.count == 0)
      ++cursor.next;
    return cursor.next < tenant.window.size();
  }

  [[nodiscard]] static bool is_below_min(const TenantState& tenant) {
    const ResourceVector& min = tenant.terms.min;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (min[r] > 0 && tenant.used[r] >= min[r]) return false;
    return tenant.has_min;
  }

  void push(TenantState& tenant, const Cursor& cursor) {
    turns_.push_back({is_below_min(tenant),
                      weighted_share(tenant.used, state_.capacity(), tenant.terms.weight), &tenant,
                      cursor});
    std::push_heap(turns_.begin(), turns_.end(), ShareComesAfter{});
  }

  /// Places what comes first, or lets it pass. How many tasks were placed.
  std::size_t take_turn() {
    std::pop_heap(turns_.begin(), turns_.end(), ShareComesAfter{});
    ShareTurn turn = turns_.back();
    turns_.pop_back();
    TenantState& tenant = *turn.tenant;
    const std::uint32_t range = turn.cursor.next;
    std::size_t placed = 0;
    if (const auto place = find_place(tenant, tenant.window[range])) {
      const GrantStep step = turn.is_below_min ? GrantStep::guarantee : GrantStep::allowance;
      for (const GangShare& share : place->shares)
        for (std::uint32_t i = 0; i < share.tasks; ++i, ++placed)
          give(tenant, range, share, step, place->placement);
    } else {
      ++turn.cursor.next;
      if (++turn.cursor.skipped > kMostLooksPast) return 0;
    }
    if (skip_taken(tenant, turn.cursor)) push(tenant, turn.cursor);
    return placed;
  }

  [[nodiscard]] std::optional<Place> find_place(const TenantState& tenant,
                                                const WindowRange& entry) {
    for (const std::size_t r : entry.asks)
      if (entry.asked_at_once(r) > tenant.holdings[r].left &&
          !state_.quotas().has_room(tenant, r, entry.asked_at_once(r)))
        return std::nullopt;
    if (entry.is_gang()) return place_of_gang(tenant, entry);
    const WaitingRange& task = entry.range;
    if (task.home && state_.node_has_room(task.home, tenant, task))
      return Place{{{task.home, 1}}, Placement::unset};
    if (const auto chosen = state_.choose_node(tenant, task))
      return Place{{{*chosen, 1}}, told_rule(task.placement)};
    const auto node = first_node(tenant, task);
    if (!node) return std::nullopt;
    return Place{{{*node, 1}}, Placement::unset};
  }

  /// At the first of its sites that has room; where many have room that may not be used, the first
  /// ones tell.
  [[nodiscard]] std::optional<NodeId> first_node(const TenantState& tenant,
                                                 const WaitingRange& task) const {
    const auto sites = task.rule == nullptr ? std::span<const std::string>{}
                                            : std::span<const std::string>{task.rule->sites};
    std::optional<NodeId> first;
    auto best = sites.end();
    std::uint32_t looks = 0;
    for (auto id = state_.next_with_room(NodeId{}, task.demand);
         id && looks < SiteRooms::kMaxNodesLookedAt;
         id = state_.next_with_room(NodeId{id->value + 1}, task.demand), ++looks) {
      if (!state_.node_has_room(*id, tenant, task)) continue;
      const auto site = std::find(sites.begin(), best, state_.node(*id).traits.site);
      if (!first || site < best) first = *id;
      best = std::min(best, site);
      if (best == sites.begin()) break;
    }
    return first;
  }

  [[nodiscard]] std::optional<Place> place_of_gang(const TenantState& tenant,
                                                   const WindowRange& gang) {
    const auto node = first_node(tenant, gang.range);
    if (!node) return std::nullopt;
    const NodeRoom& here = state_.node(*node);
    auto shares = gang_start(state_, tenant, gang, {&here, here.free(), nullptr}, Predict::limits,
                             OtherPlaces::count);
    if (!shares) return std::nullopt;
    return Place{*std::move(shares), Placement::unset};
  }

  void give(TenantState& tenant, std::uint32_t index, const GangShare& share, GrantStep step,
            Placement placement) {
    WindowRange& entry = tenant.window[index];
    WaitingRange& range = entry.range;
    Grant grant{.task = {.job = range.job,
                         .index = range.first_index,
                         .attempt = range.attempt,
                         .incarnation = state_.settings.incarnation},
                .tenant = tenant.id,
                .cost = entry.task_cost(),
                .demand = range.demand,
                .step = step};
    grant.placement = placement;
    ++range.first_index;
    --range.count;
    NodeRoom& node = state_.node(share.node);
    grant.devices = state_.devices_of_placed(node, range, range.is_gang ? &share.gpus : nullptr);
    state_.place(node, tenant, grant, {range.limit_ms, range.expected_ms, 0, range.is_service},
                 range.preemption, range.user);
    state_.refresh_room(node);
    granted_.insert(tenant.rank.slot);
    const auto [found, is_new] = deal_of_.try_emplace(share.node, deals_.size());
    if (is_new) {
      Deal& deal = deals_.emplace_back();
      deal.node = share.node;
      deal.keeps_accounts = false;
    }
    deals_[found->second].grants.push_back(std::move(grant));
  }

  AllocatorState& state_;
  std::vector<ShareTurn> turns_;
  std::vector<Deal> deals_;
  std::map<NodeId, std::size_t> deal_of_;
  std::set<std::uint32_t> granted_;  ///< tenants' slots
};

}  // namespace

SharedDeals deal_by_share(AllocatorState& state, std::size_t max_deals, std::size_t max_entries) {
  return ShareFilling{state}.run(max_deals, max_entries);
}

}  // namespace fairwater::inline policy::inline allocator
