// What a grant used of others' slots, and how that goes back when its launch failed. Pure functions
// that the allocator and the ledger share.
//
// A tenant's standing is net + deficit. A deal moves standing from tenants that place more than
// fell to them to those to whom more fell than they placed: as loans, as repayments, or as deficits
// that are settled later. An advance is such a move for one grant. Returning all advances of a
// deal's grants brings every standing to where it was without the deal, whatever was netted in
// between; the slots themselves stay dealt.
#pragma once

#include <vector>

#include "policy/allocator/deal.hpp"

namespace fairwater::inline policy::inline allocator {

/// By the grants of the deal, in its order. Guarantees use nobody's slots. What a tenant placed
/// last is what it had least for, so advances belong to its last grants first. The deal's
/// arithmetic must have been checked. O(lines + loans + grants * tenants with advances).
[[nodiscard]] std::vector<std::vector<Advance>> advances_of(const Deal& deal);

}  // namespace fairwater::inline policy::inline allocator
