// `allocation: drf`: a cycle by dominant shares, in place of quotas, sequence and ledger.
//
// Progressive filling (Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, algorithm 1): the
// next task is of the tenant with the smallest weighted dominant share (policy/dominant/
// weighted_share.hpp) that has one with room on some node; of several alike the lowest id. What it
// holds counts, of all that accepting nodes have and others hold. Tasks come in the tenant's own
// order; one that has no room, or would exceed a max, is looked past. Tenants that hold less than
// their `min` of every resource of which they have one come before all others. Where tenants are
// within others the order is by siblings: policy/allocator/by_share_tree.hpp.
//
// The node is the task's own while that has room, then the one that its placement rule chooses
// (policy/allocator/node_choice.hpp), else the first by id at the first of its sites. A gang's
// tasks are placed at once.
//
// There are no loans, no debts, no kept room, no growth of elastic jobs and no preemption: a task
// that is larger than the room that becomes free at a time waits while smaller ones of others take
// it. What is owed from a time of `sequence` stays as it is. Deals have grants alone
// (Deal::keeps_accounts).
//
// Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/allocator/allocator.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorState;

/// Deals the room of all nodes until nobody has a task that fits, or until that many deals are made
/// or have that many entries together. O(tenants that wait + tasks placed * log(tenants, nodes)),
/// and more in a tree of tenants.
[[nodiscard]] SharedDeals deal_by_share(AllocatorState& state, std::size_t max_deals,
                                        std::size_t max_entries);

}  // namespace fairwater::inline policy::inline allocator
