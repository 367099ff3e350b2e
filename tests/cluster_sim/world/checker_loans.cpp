// What a tenant, and all that are in one, may lend, borrow and owe.
#include <algorithm>
#include <cstdlib>

#include "tests/cluster_sim/world/checker.hpp"

namespace fairwater::cluster_sim {

void Checker::apply(const TimeSettled& body) {
  Units sum = 0;
  Units decayed = 0;
  for (const auto& line : body.settlement.lines) {
    sum += line.position;
    decayed += line.decayed;
    Units& net = net_[line.tenant];
    const NetChange change{net - line.decayed, net - line.decayed + line.position};
    net = change.after;
    if (nets_ == NetsState::moved_otherwise) continue;
    // What rounding leaves is below a unit.
    check_loans(line.tenant, change, 1);
  }
  if (sum != 0) stage_.broken("a settlement of time lends {} more than it borrows", sum);
  if (decayed != 0) stage_.broken("of claims decay {} more than of debts", decayed);
  if (nets_ != NetsState::moved_otherwise) check_loans_of_groups(body.settlement);
  nets_ = std::max(nets_, NetsState::moved_by_deals);
}

/// Whatever is lent beyond what its tenants owed. What rounding leaves of each is below a unit.
void Checker::check_loans_of_groups(const TimeSettlement& settlement) {
  struct Sum {
    Units lent = 0;
    Units debts = 0;
    Units claims = 0;
    Units doubt = 0;
  };
  std::map<TenantId, Sum> sums;
  for (const auto& line : settlement.lines)
    for (const TenantId group : nesting_.around(line.tenant)) {
      Sum& sum = sums[group];
      const Units before = net_[line.tenant] - line.position;
      sum.lent += line.position;
      (before < 0 ? sum.debts : sum.claims) += std::abs(before);
      ++sum.doubt;
    }
  for (const auto& [group, sum] : sums) {
    Units after = 0;
    for (const TenantId tenant : nesting_.leaves(group)) after += net_[tenant];
    const Units before = after - sum.lent;
    check_loans(group, {before, after - std::clamp(sum.lent, -sum.claims, sum.debts)}, sum.doubt);
  }
}

/// Of caps that are so much; how much is so long of a part, records do not say. Debts are paid back
/// and claims taken back by all.
void Checker::check_loans(TenantId tenant, const NetChange& net, Units doubt) {
  const TenantSpec& spec = specs_[tenant];
  const LoanCaps caps = terms_of(spec, catalog_)->caps;
  const auto bound = [&](bool may, Units cap) { return may ? (cap > 0 ? cap : kUnlimited) : 0; };
  if (const Units cap = bound(spec.may_borrow, caps.borrow.unit_ms);
      net.after < std::min(net.before, -cap) - doubt)
    stage_.broken("tenant {} owes {}, and may owe {}", tenant.value, -net.after, cap);
  if (const Units cap = bound(spec.may_lend, caps.lend.unit_ms);
      net.after > std::max(net.before, cap) + doubt)
    stage_.broken("tenant {} is owed {}, and may be owed {}", tenant.value, net.after, cap);
}

void Checker::check_loan(const Loan& loan) {
  if (specs_[loan.borrower].leaving)
    stage_.broken("tenant {} leaves, and borrows {} units", loan.borrower.value, loan.units);
  const std::vector<TenantId> around_lender = nesting_.around(loan.lender);
  const std::vector<TenantId> around_borrower = nesting_.around(loan.borrower);
  const auto is_in = [](TenantId group, const std::vector<TenantId>& around) {
    return std::ranges::find(around, group) != around.end();
  };
  for (const TenantId group : around_lender)
    if (!specs_[group].may_lend && !is_in(group, around_borrower))
      stage_.broken("tenant {} may not lend, and {} in it does so", group.value, loan.lender.value);
  for (const TenantId group : around_borrower)
    if (!specs_[group].may_borrow && !is_in(group, around_lender))
      stage_.broken("tenant {} may not borrow, and {} in it does so", group.value,
                    loan.borrower.value);
}

}  // namespace fairwater::cluster_sim
