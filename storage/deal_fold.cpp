#include "storage/deal_fold.hpp"

#include <algorithm>
#include <string>

#include "policy/allocator/deal_arithmetic.hpp"

namespace fairwater::inline storage {
namespace {

std::string name(TenantId tenant) { return "tenant " + std::to_string(tenant.value); }

TenantRecord& tenant_of(State& state, TenantId id) {
  TenantRecord* tenant = state.tenants.edit(key_of(id));
  if (!tenant) refuse(name(id) + " does not exist");
  return *tenant;
}

}  // namespace

void apply_accounts(State& state, const Deal& deal) {
  if (const auto problem = arithmetic_problem(deal)) refuse(*problem);
  if (deal.keeps_accounts)
    if (const auto refusal = state.accounts.apply(transaction_of(deal))) refuse(*refusal);
  for (const Grant& grant : deal.grants)
    tenant_of(state, grant.tenant).granted_units_total += grant.cost;
  for (const Loan& loan : deal.loans) {
    tenant_of(state, loan.lender).lent_total += loan.units;
    tenant_of(state, loan.borrower).borrowed_total += loan.units;
  }
}

void take_back(State& state, TenantId borrower, Units cost, const std::vector<Advance>& advances) {
  TenantRecord& from = tenant_of(state, borrower);
  from.granted_units_total -= cost;
  Units left = cost;
  for (const Advance& advance : advances) {
    if (advance.units <= 0 || advance.units > left || advance.lender == borrower)
      refuse(name(advance.lender) + " gets back " + std::to_string(advance.units) + " units of " +
             std::to_string(left) + " that a grant of " + name(borrower) + " cost");
    left -= advance.units;
  }
  for (const auto& [lender, loan] : state.accounts.take_back(borrower, advances)) {
    TenantRecord& to = tenant_of(state, lender);
    // Totals count loans; what was advanced as a repayment never was one.
    from.borrowed_total -= std::min(loan, from.borrowed_total);
    to.lent_total -= std::min(loan, to.lent_total);
  }
}

}  // namespace fairwater::inline storage
