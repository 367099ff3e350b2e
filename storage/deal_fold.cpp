#include "storage/deal_fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "policy/allocator/advances.hpp"
#include "policy/allocator/deal_steps.hpp"

namespace fairwater {
namespace {

std::string name(TenantId tenant) { return "tenant " + std::to_string(tenant.value); }

/// What repayments and loans say of one tenant.
struct Movements {
  Units paid = 0;
  Units received = 0;
  Units lent = 0;
  Units borrowed = 0;
};

std::map<TenantId, Movements> movements_of(const Deal& deal) {
  std::map<TenantId, Movements> movements;
  for (const Repayment& repayment : deal.repayments) {
    if (repayment.units <= 0 || repayment.debtor == repayment.creditor)
      refuse(name(repayment.debtor) + " repays " + std::to_string(repayment.units) + " units to " +
             name(repayment.creditor));
    movements[repayment.debtor].paid += repayment.units;
    movements[repayment.creditor].received += repayment.units;
  }
  for (const Loan& loan : deal.loans) {
    if (loan.units <= 0 || loan.lender == loan.borrower)
      refuse(name(loan.lender) + " lends " + std::to_string(loan.units) + " units to " +
             name(loan.borrower));
    movements[loan.lender].lent += loan.units;
    movements[loan.borrower].borrowed += loan.units;
  }
  return movements;
}

void check_line(const TenantLine& line, const Movements& moved) {
  if (moved.paid != line.paid || moved.received != line.received)
    refuse("the repayments of " + name(line.tenant) + " do not add up to its line");
  if (line.carry + moved.lent - moved.borrowed != closing_balance(line))
    refuse("the closing equation of " + name(line.tenant) + " does not hold: carry " +
           std::to_string(line.carry) + " + lent " + std::to_string(moved.lent) + " - borrowed " +
           std::to_string(moved.borrowed) + " is not " + std::to_string(closing_balance(line)));
}

TenantRecord& tenant_of(State& state, TenantId id) {
  TenantRecord* tenant = state.tenants.edit(key_of(id));
  if (!tenant) refuse(name(id) + " does not exist");
  return *tenant;
}

}  // namespace

void check_arithmetic(const Deal& deal) {
  std::map<TenantId, Movements> movements = movements_of(deal);
  std::map<TenantId, Units> placed;
  for (const Grant& grant : deal.grants) placed[grant.tenant] += grant.cost;
  Units added_sum = 0;
  for (const TenantLine& line : deal.lines) {
    check_line(line, movements[line.tenant]);
    if (placed[line.tenant] != line.guaranteed + line.placed)
      refuse("the grants of " + name(line.tenant) + " cost " + std::to_string(placed[line.tenant]) +
             " units, its line says " + std::to_string(line.guaranteed + line.placed));
    added_sum += closing_balance(line) - line.carried;
    movements.erase(line.tenant);
    placed.erase(line.tenant);
  }
  if (!movements.empty() || !placed.empty())
    refuse(name(movements.empty() ? placed.begin()->first : movements.begin()->first) +
           " takes part without a line");
  if (added_sum != 0)
    refuse("the deal adds " + std::to_string(added_sum) + " units to the balances instead of none");
}

void store_book_changes(State& state) {
  std::vector<IouBook::Iou> changes = state.book.take_changes();
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.age < b.age; });
  for (const IouBook::Iou& iou : changes) {
    const std::string key = balance_key(iou.debtor, iou.creditor);
    if (iou.units == 0) {
      state.balances.erase(key);
      state.book_ages.erase({iou.debtor, iou.creditor});
      continue;
    }
    std::uint64_t& book_age = state.book_ages[{iou.debtor, iou.creditor}];
    if (std::exchange(book_age, iou.age) == iou.age)
      state.balances.edit(key)->units = iou.units;
    else
      state.balances.put(key, {iou.units, state.meta.next_iou_age++});
  }
}

Units forgive_carry(State& state, TenantId leaver, const std::vector<TenantId>& ranked_others) {
  Units left = std::exchange(tenant_of(state, leaver).carry, 0);
  const Units forgiven = std::abs(left);
  for (const TenantId id : ranked_others) {
    const TenantRecord* other = state.tenants.find(key_of(id));
    if (left == 0 || !other || (other->carry > 0) == (left > 0)) continue;
    const Units part = left > 0 ? std::max(-left, other->carry) : std::min(-left, other->carry);
    tenant_of(state, id).carry -= part;
    left += part;
  }
  if (left != 0) refuse("the carries of all tenants do not add up to zero");
  return forgiven;
}

void apply_accounts(State& state, const Deal& deal) {
  if (deal.position_before != state.meta.position)
    refuse("a deal begins at position " + std::to_string(deal.position_before) +
           " of the sequence, which is at " + std::to_string(state.meta.position));
  for (const TenantLine& line : deal.lines) {
    TenantRecord& tenant = tenant_of(state, line.tenant);
    if (tenant.carry != line.carried)
      refuse(name(line.tenant) + " carries " + std::to_string(tenant.carry) + " units, not " +
             std::to_string(line.carried));
    tenant.carry = line.carry;
    tenant.granted_units_total += line.guaranteed + line.placed;
  }
  for (const Repayment& repayment : deal.repayments) {
    if (!state.book.repay(repayment.debtor.value, repayment.creditor.value, repayment.units))
      refuse(name(repayment.debtor) + " repays more than it owes " + name(repayment.creditor));
    store_book_changes(state);
  }
  for (const Loan& loan : deal.loans) {
    state.book.lend(loan.lender.value, loan.borrower.value, loan.units);
    store_book_changes(state);
    tenant_of(state, loan.lender).lent_total += loan.units;
    tenant_of(state, loan.borrower).borrowed_total += loan.units;
  }
  if (deal.position_after != 0 &&
      deal.position_after >= static_cast<std::uint64_t>(state.weight_sum))
    refuse("position " + std::to_string(deal.position_after) +
           " is not within the sequence's period of " + std::to_string(state.weight_sum));
  state.meta.position = deal.position_after;
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
    TenantRecord* to = state.tenants.edit(key_of(advance.lender));
    if (!to) continue;  // it left, and its claims were spread
    const AdvanceReturn back = return_of(advance.units, from.carry, to->carry);
    from.carry += back.carry;
    to->carry -= back.carry;
    if (back.loan == 0) continue;
    state.book.lend(borrower.value, advance.lender.value, back.loan);
    store_book_changes(state);
    // Totals count loans; what was advanced as a repayment never was one.
    from.borrowed_total -= std::min(back.loan, from.borrowed_total);
    to->lent_total -= std::min(back.loan, to->lent_total);
  }
}

}  // namespace fairwater
