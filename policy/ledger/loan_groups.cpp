#include "policy/ledger/loan_groups.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline ledger {

LoanGroups::Number LoanGroups::add(Number around, const LoanRights& rights) {
  FAIRWATER_CHECK(around == kNone || around < groups_.size(),
                  "a group is added after the one that it is in");
  groups_.push_back({around, rights});
  return groups_.size() - 1;
}

LoanGroups::Number LoanGroups::innermost(TenantId tenant) const {
  const auto found = innermost_.find(tenant);
  return found == innermost_.end() ? kNone : found->second;
}

bool LoanGroups::is_in(TenantId tenant, Number group) const {
  Number around = innermost(tenant);
  while (around != group && around != kNone) around = groups_[around].around;
  return around == group;
}

namespace {

/// As much as there is on both sides, in the given order.
void match_some(const std::vector<Position*>& positions, std::vector<Loan>& loans) {
  auto lender = positions.begin();
  for (Position* borrower : positions) {
    while (borrower->balance < 0) {
      while (lender != positions.end() && (*lender)->balance <= 0) ++lender;
      if (lender == positions.end()) return;
      const Units units = std::min(-borrower->balance, (*lender)->balance);
      loans.push_back({(*lender)->tenant, borrower->tenant, units});
      borrower->balance += units;
      (*lender)->balance -= units;
    }
  }
}

}  // namespace

std::vector<Loan> match_loans(std::vector<Position> positions, const LoanGroups& groups) {
  if (groups.size() == 0) return match_loans(positions);
  std::vector<Loan> loans;
  for (LoanGroups::Number group = groups.size(); group-- > 0;) {
    std::vector<Position*> members;
    for (Position& position : positions)
      if (groups.is_in(position.tenant, group)) members.push_back(&position);
    match_some(members, loans);
  }
  const std::vector<Loan> others = match_loans(positions);
  loans.insert(loans.end(), others.begin(), others.end());
  return loans;
}

}  // namespace fairwater::inline policy::inline ledger
