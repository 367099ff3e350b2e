// A cycle by dominant shares where tenants are within others: policy/allocator/by_share.hpp with
// another order, that of policy/dominant/share_tree.hpp (H-DRF). From the top down the next task is
// of the smallest share by weight among siblings that have one which can be placed, so that what
// one leaves idle is for its siblings first.
//
// That a tenant has a task which can be placed is known before each turn, and not found at its own:
// the shares of the groups around it follow from it. Within a cycle room and what is left of maxes
// only shrink. So tasks that ask for the same have a node in mind where they have room, together,
// and look for another when something was placed there that leaves them none; tenants are looked at
// again when these find none, or when a max around them may be reached. The order follows from what
// is held and waits alone: a cycle that is cut goes on in the next as if it had not been.
//
// A group that holds less than its own `min` of every resource of which it has one comes first
// among its siblings, as a tenant does, and so does one with somebody in it who comes first.
//
// Internal to policy/allocator.
#pragma once

#include <cstddef>

#include "policy/allocator/allocator.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorState;

/// As deal_by_share. O(tenants * depth + (tenants that wait + tasks placed) * (log nodes + depth *
/// log siblings)); and per task O(1) for each other demand that has the same node in mind, for each
/// tenant below a max that is nearly reached, and a look for nodes for each gang on them.
[[nodiscard]] SharedDeals deal_by_share_in_tree(AllocatorState& state, std::size_t max_deals,
                                                std::size_t max_entries);

}  // namespace fairwater::inline policy::inline allocator
