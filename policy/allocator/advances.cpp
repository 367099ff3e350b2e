#include "policy/allocator/advances.hpp"

#include <algorithm>
#include <map>

#include "policy/allocator/deal_steps.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// What each borrower got from whom, in the order in which it is used up.
std::map<TenantId, std::vector<Advance>> advances_by_borrower(const Deal& deal) {
  std::vector<Position> positions;
  for (const TenantLine& line : deal.lines)
    positions.push_back({line.tenant, line.granted - line.passed_on + line.passed_to -
                                          line.rolled_back - line.placed});
  std::map<TenantId, std::vector<Advance>> by_borrower;
  for (const Loan& loan : match_loans(positions))
    by_borrower[loan.borrower].push_back({loan.lender, loan.units});
  return by_borrower;
}

/// Takes up to `cost` units off the end of what is left.
std::vector<Advance> take_last(std::vector<Advance>& left, Units cost) {
  std::vector<Advance> taken;
  while (cost > 0 && !left.empty()) {
    const Units units = std::min(cost, left.back().units);
    taken.push_back({left.back().lender, units});
    cost -= units;
    left.back().units -= units;
    if (left.back().units == 0) left.pop_back();
  }
  return taken;
}

}  // namespace

std::vector<std::vector<Advance>> advances_of(const Deal& deal) {
  auto by_borrower = advances_by_borrower(deal);
  std::vector<std::vector<Advance>> advances(deal.grants.size());
  for (std::size_t i = deal.grants.size(); i-- > 0;) {
    const Grant& grant = deal.grants[i];
    const auto found = by_borrower.find(grant.tenant);
    if (grant.step != GrantStep::guarantee && found != by_borrower.end())
      advances[i] = take_last(found->second, grant.cost);
  }
  return advances;
}

}  // namespace fairwater::inline policy::inline allocator
