// Elastic jobs in a live cluster: step 10 of a heartbeat's life, and what takes it back (Liu et al.
// 2018, "QREA"; policy/elastic/growth.hpp has the rules). Internal to policy/allocator.
//
// Grow. Room that nobody's tasks can use goes to elastic jobs: tenants in the rule's order, of each
// the oldest job first, each as far as it can go. No quota counts it and no IOU comes of it:
// credits pay (policy/ledger/credits.hpp). It counts against the tenant's max, and its groups'. A
// node that keeps room for a task that waits, or where tasks have been told to end, is left alone.
//
// Reclaim. A task that waits, is within its tenant's quota and has no room anywhere takes the place
// of what has grown: of tenants in the rule's order the last first, of each the newest job first,
// and of all nodes the first that has room for the task then; no more than it needs, and nothing
// where it would not help. So does one that its tenant's max keeps back, of its own. A gang does
// for all of its tasks or for none. Room that is coming already counts first. Tasks that wait
// beyond their quota take nothing back: the quotas share out the whole cluster, whatever has grown.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater {

/// See Allocator::grow.
[[nodiscard]] std::vector<Deal> grow(AllocatorState& state, std::size_t max_deals,
                                     std::size_t max_entries);

/// See Allocator::reclaim. O(extras * log, and for each task that takes some back), at most
/// kMostReclaimers of those.
[[nodiscard]] std::vector<Reclaim> reclaim(AllocatorState& state);

/// Tasks for which one call takes room back: a bound of its work. Those behind have the next.
inline constexpr std::size_t kMostReclaimers = 256;

}  // namespace fairwater
