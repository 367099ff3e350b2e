// Positions that become loans.
#pragma once

#include <span>
#include <vector>

#include "policy/ledger/entries.hpp"

namespace fairwater::inline policy::inline ledger {

/// A balance that becomes IOUs.
struct Position {
  TenantId tenant;
  Units balance = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

/// Who is below zero borrowed from who is above. Both sides are walked in
/// the given (ranked) order, each pair is one loan. The balances must add up to zero. Linear time.
[[nodiscard]] std::vector<Loan> match_loans(std::span<const Position> positions);

}  // namespace fairwater::inline policy::inline ledger
