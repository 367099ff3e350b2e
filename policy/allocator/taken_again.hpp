// Room that is taken again as soon as it is free, where the ledger counts time. Internal to
// policy/allocator.
//
// A late task has its place when enough of what runs must have ended. But of a tenant that holds
// its mark, and of which tasks wait that are late longer, the next starts whenever one ends: then
// it is below its mark, and they are no longer deferred (by_time.hpp). A place that counted on such
// room would be no promise. It would come, and be gone again, for as long as that queue lasts,
// while those who hold more than their marks run beside the place: of what they hold nothing would
// be waited for, and what the late task's tenant is owed would count for nothing. So of such
// tenants only what they hold beyond their marks counts as room that becomes free; but all of it
// where that is not enough when all has ended that runs.
//
// So it is with the late task's own tenant where that is owed, holds less than its part, and has
// more late tasks. When a task of its ends the next one starts there, and it holds as much as
// before: a place on that room never adds to what it holds, while nothing is kept for it elsewhere.
// Such room counts, but a place on another node that does not count on any is better, however much
// later it is, if it is known when.
#pragma once

#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

struct TakenAgain {
  LedgerMs from_ms = 0;
  LedgerMs until_ms = kNever;
  const EndingTask* task = nullptr;  ///< whose room it is
  bool is_own = false;               ///< by the late task's tenant
};

/// Of the node, before the late task, which is no gang and in the tenant's window, has it. By
/// limits. O(tasks there * log, and for each of the tenants with late tasks that hold some of it
/// its window and what time_mark() costs).
[[nodiscard]] std::vector<TakenAgain> taken_again(AllocatorState& state, const NodeRoom& node,
                                                  const TenantState& tenant,
                                                  const WindowRange& late);

}  // namespace fairwater::inline policy::inline allocator
