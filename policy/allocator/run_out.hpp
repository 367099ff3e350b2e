// Windows that have run out. Internal to policy/allocator.
//
// A window shows a tenant's next tasks, and no more than so many. Where more room is free at once,
// at first or when much ends together, all that it shows may be granted while the tenant waits with
// more, which nobody here knows. So does a window run out that still shows tasks which have room
// nowhere, where another like the last that was granted has room, and waits. To deal on would give
// others what is its: a tenant with jobs of one task beside one with a job of thousands would hold
// as many tasks as its window has, whatever its weight. So while one whose window has run out holds
// less than its quota, nobody gets anything beyond its own: the deal leaves the rest of the room,
// and no other node is dealt until the next window has come, which follows on the grants as soon as
// they are durable. Who has its quota is not waited for.
#pragma once

#include "policy/allocator/quotas.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// Whether a tenant that has run out holds less than its quota, by another task as the last that
/// was granted to it. `marks`: as they are now. O(IOUs of the tenant) at most.
[[nodiscard]] bool has_more_to_come(AllocatorState& state, TenantState& tenant,
                                    const AllocatorQuotas::WaterMarks& marks);

/// Whether there is one of whom that is true. Where dominant shares decide every one counts: who
/// has run out was the last to be served, and so had the least. O(tenants that have run out).
[[nodiscard]] bool awaits_window(AllocatorState& state);

}  // namespace fairwater::inline policy::inline allocator
