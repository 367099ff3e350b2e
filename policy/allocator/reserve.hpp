// Reservations: room that a node keeps for a task that is due and does not fit yet.
//
// Why: a freed slot is as large as the task that ended. Where tasks differ in size, a larger one
// would never meet room of its size, while smaller ones take every gap, beyond their tenants'
// quotas too: its tenant would lend its whole part and hold nothing.
//
// Rule: a tenant waits, none of its next tasks fits what is free here, but one would fit the empty
// node and, beside what the tenant holds and what is reserved for it, its runtime quota. Then the
// node keeps its room for that task: nothing but guarantees is placed there until it fits, and then
// it is placed first. Of several such tenants the node keeps to the one that it chose before, else
// takes the one to which most is due, the first in ranked order on a tie.
//
// What stays idle so is less than the task, and all such tasks of a tenant are within its quota
// together: the room that others wait for is that tenant's part. Looked at anew in each deal of the
// node. (YARN's schedulers know the same as a reserved container.)
//
// A node's reservation is in the accounts (policy/ledger/accounts.hpp), and so in the journal.
// While the node takes no tasks it counts for nothing; it is looked at again when the node does.
//
// Internal to policy/allocator.
#pragma once

#include <optional>

#include "policy/allocator/deal_progress.hpp"

namespace fairwater::inline policy::inline allocator {

/// What a deal decides of its node's room before anything is dealt.
struct KeptRoom {
  std::optional<Reservation> reservation;  ///< from now on
  std::optional<ClaimantIndex> kept_for;   ///< the node's room is large enough for it now
};

/// `before`: the node's reservation so far, which counts for nothing meanwhile.
[[nodiscard]] KeptRoom review_room(DealProgress& deal, const std::optional<Reservation>& before,
                                   bool somebody_is_blocked);

}  // namespace fairwater::inline policy::inline allocator
