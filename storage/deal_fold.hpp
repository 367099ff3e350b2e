// What a deal does to the accounts and to tenants' totals.
#pragma once

#include <vector>

#include "policy/allocator/deal.hpp"
#include "state/contradiction.hpp"
#include "storage/state.hpp"

namespace fairwater::inline storage {

/// The deal's arithmetic, what it does to the accounts, and tenants' totals. Throws Contradiction.
void apply_accounts(State& state, const Deal& deal);

/// A grant that cost `cost` came to nothing: it is no use of the borrower's any more, and what
/// others advanced for it goes back (Accounts::take_back). Throws Contradiction.
void take_back(State& state, TenantId borrower, Units cost, const std::vector<Advance>& advances);

}  // namespace fairwater::inline storage
