#include "policy/ledger/loans.hpp"

namespace fairwater::inline policy::inline ledger {

std::vector<Loan> match_loans(std::span<const Position> positions) {
  std::vector<Loan> loans;
  visit_loans(positions, [&](const Loan& loan) { loans.push_back(loan); });
  return loans;
}

}  // namespace fairwater::inline policy::inline ledger
