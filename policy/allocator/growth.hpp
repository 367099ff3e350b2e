// Elastic jobs in a live cluster: step 10 of a heartbeat's life (Liu et al. 2018, "QREA";
// policy/elastic/growth.hpp has the rules). Internal to policy/allocator.
//
// Room that nobody's tasks can use goes to elastic jobs: tenants in the rule's order, of each the
// oldest job first, each as far as it can go. No quota counts it and no IOU comes of it: credits
// pay (policy/ledger/credits.hpp). It counts against the tenant's max, and its groups'. A node that
// keeps room for a task that waits, or where tasks have been told to end, is left alone, and so is
// one where a gang will have room with what ends elsewhere. What takes it back is
// policy/allocator/reclaim.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// Nodes that one range of tasks is tried on in vain. Bounds the work where rules rule most out.
inline constexpr std::size_t kMaxNodesTriedInVain = 1024;

struct TenantInOrder {
  std::uint32_t slot = 0;
  Units order = 0;
  std::optional<Units> most;  ///< see most_extras
};
/// Who grows first comes first, and gives back last. O(all tenants).
[[nodiscard]] std::vector<TenantInOrder> in_growth_order(const AllocatorState& state,
                                                         const std::vector<std::uint32_t>& slots);

/// See Allocator::grow.
[[nodiscard]] std::vector<Deal> grow(AllocatorState& state, std::size_t max_deals,
                                     std::size_t max_entries);

}  // namespace fairwater::inline policy::inline allocator
