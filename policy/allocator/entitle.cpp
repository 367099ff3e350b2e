#include "policy/allocator/entitle.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {

Entitlement EntitleStage::run(Units units) {
  Entitlement entitlement;
  deal_.draw(units);
  settle_debts(entitlement);
  pass_on_at_quota(entitlement);
  pool();
  return entitlement;
}

void EntitleStage::settle_debts(Entitlement& entitlement) {
  Claimants& claimants = deal_.claimants;
  std::vector<TenantId> creditors;
  for (const ClaimantIndex index : claimants.ranked()) {
    const Claimant& claimant = claimants[index];
    if (claimant.has_work && claimant.tenant->net > 0) creditors.push_back(claimant.tenant->id);
  }
  if (creditors.empty()) return;
  const IouBook& book = deal_.state.accounts().book();
  for (const ClaimantIndex index : claimants.ranked()) {
    Claimant& debtor = claimants[index];
    const TenantState& tenant = *debtor.tenant;
    const Units fell = debtor.sum_of(EntryReason::granted);
    if (fell == 0 || tenant.net >= 0) continue;
    const RepaymentBudget budget = repayment_budget(
        fell, tenant.terms.repay_millionths, debtor.has_work, tenant.repay_remainder_millionths);
    debtor.repay_remainder_millionths = budget.remainder_millionths;
    for (const Repayment& repayment : settle(book, tenant.id, budget.units, creditors)) {
      claimants.post(index, EntryReason::paid, -repayment.units);
      claimants.post(claimants.of(deal_.state.tenant(repayment.creditor)), EntryReason::received,
                     repayment.units);
      entitlement.repayments.push_back(repayment);
    }
  }
}

void EntitleStage::pass_on_at_quota(Entitlement& entitlement) {
  Claimants& claimants = deal_.claimants;
  std::vector<ClaimantIndex> givers;
  for (const ClaimantIndex index : claimants.ranked()) {
    Claimant& claimant = claimants[index];
    if (claimant.has_work && claimant.credit > deal_.deficit_limit && !claimant.is_owed() &&
        deal_.tasks.is_at_quota(claimant))
      givers.push_back(index);
  }
  if (givers.empty()) return;
  for (const ClaimantIndex index : claimants.ranked())
    if (claimants[index].has_work && !deal_.tasks.is_at_quota(claimants[index]))
      entitlement.receivers.push_back(index);
  if (entitlement.receivers.empty()) return;
  for (const ClaimantIndex index : givers)
    claimants.post(index, EntryReason::passed_on, deal_.deficit_limit - claimants[index].credit);
  share_passed_on(entitlement);
}

void EntitleStage::share_passed_on(const Entitlement& entitlement) {
  Claimants& claimants = deal_.claimants;
  Units total = 0;
  for (const Claimant& claimant : claimants.all()) total -= claimant.sum_of(EntryReason::passed_on);
  std::vector<Vessel> vessels;
  for (const ClaimantIndex index : entitlement.receivers)
    vessels.push_back({.weight = claimants[index].tenant->terms.weight, .room = kMaxDealUnits});
  const std::vector<Units> shares = pour(total, vessels, filler_);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ClaimantIndex index = entitlement.receivers[i];
    claimants.post(index, EntryReason::passed_to,
                   shares[i] - claimants[index].sum_of(EntryReason::passed_to));
  }
}

void EntitleStage::pool() {
  Claimants& claimants = deal_.claimants;
  const std::vector<ClaimantIndex>& ranked = claimants.ranked();
  members_.resize(ranked.size());
  bool somebody_leaves = false;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    Claimant& claimant = claimants[ranked[i]];
    claimant.allowance = std::max<Units>(0, claimant.credit);
    members_[i] = {.weight = claimant.tenant->rank.weight,
                   .allowance = claimant.allowance,
                   .demand = deal_.tasks.waiting_cost(claimant, deal_.dealt)};
    somebody_leaves = somebody_leaves || members_[i].allowance > members_[i].demand;
  }
  if (!somebody_leaves) return;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    Claimant& claimant = claimants[ranked[i]];
    members_[i].takes = claimant.has_work && !deal_.tasks.is_at_quota(claimant);
  }
  const std::vector<Units> changes = pool_changes(members_, filler_);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    Claimant& claimant = claimants[ranked[i]];
    claimant.pooled = changes[i];
    claimant.allowance += changes[i];
  }
}

}  // namespace fairwater::inline policy::inline allocator
