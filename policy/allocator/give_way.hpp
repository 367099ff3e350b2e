// Whether a tenant leaves room for a late task that is larger than its own, where the ledger counts
// time. Internal to policy/allocator.
//
// A late task that has no room has the node's place, and waits until enough of it is free at once.
// Smaller ones of a tenant below its mark that are late longer come before it, and fit into each
// gap: a long queue of them would keep it out for as long as it lasts, while the room that is kept
// for it stands idle. So when it has been late for as long as one is deferred, and while its tenant
// holds less than its part, the others have what it leaves of the cluster, in proportion to their
// parts: who would hold more than that with a smaller late task is deferred as one at its mark is
// (by_time.hpp). What the task's tenant then holds beyond its part it owes.
//
// Only then: sooner the longest wait of a real log would grow by 70 % (KTH SP2 by group).
//
// Whose small tasks stand beside large ones of several others that fill the node therefore gets one
// whenever one is firm, and no more, however much it is owed (docs/fairness.md). If who was kept
// from its part for longer did not give way, one that holds its part and is owed more than the
// larger task's tenant would never do so: what is kept for the larger one would stand idle for
// good, and as nobody borrows idle room neither would be owed less (tests/policy/kept_out_test.cpp,
// its first cluster).
#pragma once

#include <optional>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// How much the tenant may hold with a late task, or gang, of that cost beside what the node keeps;
/// none: as if it kept nothing. As gives_way.
[[nodiscard]] std::optional<MicroUnits> left_beside(AllocatorState& state, TenantState& tenant,
                                                    MicroUnits cost, const Reservation& kept);

/// With one more task, or gang, of `entry`. `kept`: for whom the node has kept its room since its
/// last deal. O(ranges of that tenant's window, and what time_mark() costs).
[[nodiscard]] bool gives_way(AllocatorState& state, TenantState& tenant, const WindowRange& entry,
                             const Reservation& kept);

}  // namespace fairwater::inline policy::inline allocator
