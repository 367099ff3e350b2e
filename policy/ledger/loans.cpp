#include "policy/ledger/loans.hpp"

#include <algorithm>
#include <cstddef>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline ledger {

std::vector<Loan> match_loans(std::span<const Position> positions) {
  std::vector<Loan> loans;
  std::size_t lender = 0;
  Units left_to_lend = 0;
  for (const Position& borrower : positions) {
    for (Units wanted = -borrower.balance; wanted > 0;) {
      while (left_to_lend == 0) {
        FAIRWATER_CHECK(lender < positions.size(), "positions add up to zero");
        left_to_lend = std::max<Units>(positions[lender++].balance, 0);
      }
      const Units units = std::min(wanted, left_to_lend);
      loans.push_back({positions[lender - 1].tenant, borrower.tenant, units});
      wanted -= units;
      left_to_lend -= units;
    }
  }
  return loans;
}

}  // namespace fairwater::inline policy::inline ledger
