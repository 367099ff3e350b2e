#include "policy/allocator/by_share.hpp"

#include <algorithm>

#include "policy/allocator/by_share_tree.hpp"
#include "policy/allocator/share_places.hpp"
#include "policy/allocator/state.hpp"
#include "policy/dominant/weighted_share.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

struct ShareTurn {
  bool is_below_min = false;  ///< comes before those that are not
  WeightedShare share;
  TenantState* tenant = nullptr;
  std::uint32_t cursor = 0;
};

/// For a heap with the first one on top.
struct ShareComesAfter {
  bool operator()(const ShareTurn& a, const ShareTurn& b) const {
    if (a.is_below_min != b.is_below_min) return b.is_below_min;
    const auto order = compare(a.share, b.share);
    return order != 0 ? order > 0 : a.tenant->id > b.tenant->id;
  }
};

class ShareFilling {
 public:
  explicit ShareFilling(AllocatorState& state) : state_(state), places_(state) {}

  SharedDeals run(std::size_t max_deals, std::size_t max_entries) {
    for (const RankKey& key : state_.waiting()) {
      TenantState& tenant = state_.at(key.slot);
      std::uint32_t cursor = 0;
      if (skip_taken(tenant, cursor)) push(tenant, cursor);
    }
    std::size_t entries = 0;
    while (!turns_.empty() && !has_run_out_ && places_.deals() < max_deals && entries < max_entries)
      entries += take_turn();
    return {places_.take_deals(), !turns_.empty() || has_run_out_};
  }

 private:
  void push(TenantState& tenant, std::uint32_t cursor) {
    turns_.push_back(
        {is_below_every_min(tenant),
         weighted_share(tenant.used, state_.capacity(), place_of(tenant.terms).weights()), &tenant,
         cursor});
    std::push_heap(turns_.begin(), turns_.end(), ShareComesAfter{});
  }

  /// Places what comes first, or lets it pass. How many tasks were placed.
  std::size_t take_turn() {
    std::pop_heap(turns_.begin(), turns_.end(), ShareComesAfter{});
    ShareTurn turn = turns_.back();
    turns_.pop_back();
    TenantState& tenant = *turn.tenant;
    const std::uint32_t range = turn.cursor;
    std::size_t placed = 0;
    if (const auto place = places_.find(tenant, tenant.window[range])) {
      const GrantStep step = turn.is_below_min ? GrantStep::guarantee : GrantStep::allowance;
      placed = places_.start(tenant, range, *place, step);
      has_run_out_ = tenant.has_run_out();
    } else {
      ++turn.cursor;
    }
    if (skip_taken(tenant, turn.cursor)) push(tenant, turn.cursor);
    return placed;
  }

  AllocatorState& state_;
  SharePlaces places_;
  std::vector<ShareTurn> turns_;
  bool has_run_out_ = false;  ///< a window: see run_out.hpp
};

}  // namespace

SharedDeals deal_by_share(AllocatorState& state, std::size_t max_deals, std::size_t max_entries) {
  const bool has_groups = state.quotas().group_count() > 1;
  return has_groups ? deal_by_share_in_tree(state, max_deals, max_entries)
                    : ShareFilling{state}.run(max_deals, max_entries);
}

}  // namespace fairwater::inline policy::inline allocator
