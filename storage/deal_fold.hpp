// What a deal does to the state, and the arithmetic it must satisfy to be written.
#pragma once

#include <vector>

#include "policy/allocator/deal.hpp"
#include "state/contradiction.hpp"
#include "storage/state.hpp"

namespace fairwater {

/// Checks a deal's arithmetic, which needs no state: closing equations, sums, and loans and
/// repayments against the lines. Throws Contradiction.
void check_arithmetic(const Deal& deal);

/// Repayments, loans, tenants' totals and carries, the sequence's position. Throws Contradiction.
void apply_accounts(State& state, const Deal& deal);

/// A grant that cost `cost` came to nothing: it is no use of the borrower's any more, and what
/// others advanced for it goes back. As the allocator's take_back. Throws Contradiction.
void take_back(State& state, TenantId borrower, Units cost, const std::vector<Advance>& advances);

/// The leaver's carry, less than a task, is forgiven: it comes off the carries on the other side,
/// in ranked order. Returns the units forgiven. As the allocator's remove_tenant. Throws
/// Contradiction.
Units forgive_carry(State& state, TenantId leaver, const std::vector<TenantId>& ranked_others);

/// Writes what an operation on the book changed to the balances. An IOU that grows keeps its age;
/// one that was paid off and comes again is new. Call it after each operation.
void store_book_changes(State& state);

}  // namespace fairwater
