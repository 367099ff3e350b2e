#include "policy/allocator/tenant_shares.hpp"

#include <optional>

#include "policy/allocator/share_places.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// A tenant and a group may have one number.
std::uint64_t rank_of(std::uint32_t number, bool is_group) {
  return std::uint64_t{number} * 2 + (is_group ? 1 : 0);
}

/// The rule for tenants, of what is in the group together.
bool is_below_own_min(const AllocatorQuotas::GroupBounds& group) {
  bool has_min = false;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    const Amount min = group.terms.min[r].value_or(0);
    if (min > 0 && group.used[r] >= min) return false;
    has_min = has_min || min > 0;
  }
  return has_min;
}

}  // namespace

void TenantShares::set(const TenantState& tenant, const WindowRange* next) {
  std::optional<ShareTree::Placeable> placeable;
  if (next != nullptr) placeable = {next->asks, is_below_every_min(tenant)};
  tree.set_leaf(of_tenant[tenant.rank.slot], tenant.used, placeable);
}

void TenantShares::follow_mins(const AllocatorState& state, const TenantState& tenant) {
  for (auto group = tenant.group; group != QuotaTree::kRoot;) {
    const auto bounds = state.quotas().group(group);
    tree.set_below_min(of_group[group], is_below_own_min(bounds));
    group = bounds.parent;
  }
}

TenantShares tenant_shares(const AllocatorState& state) {
  TenantShares shares{.tree = ShareTree(state.capacity()), .of_group = {}, .of_tenant = {}};
  shares.of_group.push_back(ShareTree::kRoot);
  for (QuotaTree::Group group = 1; group < state.quotas().group_count(); ++group) {
    const auto bounds = state.quotas().group(group);
    shares.of_group.push_back(shares.tree.add_group(shares.of_group[bounds.parent],
                                                    bounds.terms.place.weights(),
                                                    rank_of(bounds.id.value, true)));
    shares.tree.set_below_min(shares.of_group.back(), is_below_own_min(bounds));
  }
  shares.of_tenant.resize(state.slots());
  for (std::uint32_t slot = 0; slot < state.slots(); ++slot) {
    const TenantState& tenant = state.at(slot);
    const ShareTree::Node parent = shares.of_group[tenant.group];
    if (tenant.window.empty()) {
      if (!tenant.used.is_zero()) shares.tree.add_held(parent, tenant.used);
      continue;
    }
    shares.of_tenant[slot] = shares.tree.add_leaf(parent, place_of(tenant.terms).weights(),
                                                  rank_of(tenant.id.value, false));
    shares.set(tenant, nullptr);
  }
  return shares;
}

}  // namespace fairwater::inline policy::inline allocator
