// Tasks start in the room that preemption made for their jobs, before anybody else is asked.
// Internal to policy/allocator.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "policy/allocator/deal_progress.hpp"

namespace fairwater::inline policy::inline allocator {

/// Starts the next task of that range in the tenant's window, or all of its gang. False: it has no
/// room, or may not.
using StartInMadeRoom = std::function<bool(TenantState&, std::uint32_t range)>;

/// `rooms`: of the deal's node, lifted for it. What nobody starts in is kept again while more is
/// coming; else others may have it. O(rooms * tasks of their jobs * ranges of a window).
void start_in_made_rooms(DealProgress& deal, const std::vector<MadeRoom>& rooms,
                         const StartInMadeRoom& start);

}  // namespace fairwater::inline policy::inline allocator
