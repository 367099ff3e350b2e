// The tenants of a tree as a tree of dominant shares (policy/dominant/share_tree.hpp): what each
// holds, with the weights among those with the same parent. Of two alike the lower number comes
// first, as everywhere: the one that is older. Internal to policy/allocator.
#pragma once

#include <vector>

#include "policy/allocator/state.hpp"
#include "policy/dominant/share_tree.hpp"

namespace fairwater::inline policy::inline allocator {

struct TenantShares {
  ShareTree tree;
  std::vector<ShareTree::Node> of_group;   ///< by its number in the quotas
  std::vector<ShareTree::Node> of_tenant;  ///< by slot, of those who wait
  /// What the tenant waits for with something placeable; null: nothing.
  void set(const TenantState& tenant, const WindowRange* next);
  /// Whether groups around the tenant are below their own min, after a change of what it holds.
  /// Before set().
  void follow_mins(const AllocatorState& state, const TenantState& tenant);
};

/// With nothing placeable so far. O(tenants * depth).
[[nodiscard]] TenantShares tenant_shares(const AllocatorState& state);

}  // namespace fairwater::inline policy::inline allocator
