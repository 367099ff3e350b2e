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
#pragma once

#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

struct TakenAgain {
  LedgerMs from_ms = 0;
  LedgerMs until_ms = kNever;
  const EndingTask* task = nullptr;  ///< whose room it is
};

/// Of the node, before the late task, which is no gang, has it. By limits. O(tasks there * log, and
/// for each of the tenants with late tasks that hold some of it its window and what time_mark()
/// costs).
[[nodiscard]] std::vector<TakenAgain> taken_again(AllocatorState& state, const NodeRoom& node,
                                                  const TenantState& tenant,
                                                  const WindowRange& late);

}  // namespace fairwater::inline policy::inline allocator
