// Positions that become loans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "policy/core/check.hpp"
#include "policy/ledger/entries.hpp"

namespace fairwater::inline policy::inline ledger {

/// A balance that becomes IOUs.
struct Position {
  TenantId tenant;
  Units balance = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

/// Who is below zero borrowed from who is above. Both sides are walked in
/// the given (ranked) order, each pair is one loan, of which `visit` is told. The balances must add
/// up to zero. Linear time.
template <class Visit>
void visit_loans(std::span<const Position> positions, Visit&& visit) {
  std::size_t lender = 0;
  Units left_to_lend = 0;
  for (const Position& borrower : positions) {
    for (Units wanted = -borrower.balance; wanted > 0;) {
      while (left_to_lend == 0) {
        FAIRWATER_CHECK(lender < positions.size(), "positions add up to zero");
        left_to_lend = std::max<Units>(positions[lender++].balance, 0);
      }
      const Units units = std::min(wanted, left_to_lend);
      visit(Loan{positions[lender - 1].tenant, borrower.tenant, units});
      wanted -= units;
      left_to_lend -= units;
    }
  }
}

/// All of them.
[[nodiscard]] std::vector<Loan> match_loans(std::span<const Position> positions);

}  // namespace fairwater::inline policy::inline ledger
