#include "policy/allocator/entitle.hpp"

#include <algorithm>
#include <array>

#include "policy/core/ranked_list.hpp"

namespace fairwater::inline policy::inline allocator {

Entitlement EntitleStage::run(Units units) {
  Entitlement entitlement;
  deal_.draw(units);
  settle_debts(entitlement);
  pass_on_at_quota(entitlement);
  pool();
  return entitlement;
}

std::vector<TenantId> EntitleStage::creditors_with_work() const {
  const AllocatorState& state = deal_.state;
  std::vector<RankKey> ranks;
  for (const std::uint32_t slot : state.creditors())
    if (deal_.has_work(slot)) ranks.push_back(state.at(slot).rank);
  std::sort(ranks.begin(), ranks.end());
  std::vector<TenantId> creditors;
  creditors.reserve(ranks.size());
  for (const RankKey& rank : ranks) creditors.push_back(TenantId{rank.id});
  return creditors;
}

void EntitleStage::settle_debts(Entitlement& entitlement) {
  Claimants& claimants = deal_.claimants;
  std::vector<ClaimantIndex> debtors;
  for (const ClaimantIndex index : claimants.ranked())
    if (claimants[index].sum_of(EntryReason::granted) != 0 && claimants[index].tenant->net < 0)
      debtors.push_back(index);
  if (debtors.empty()) return;
  const std::vector<TenantId> creditors = creditors_with_work();
  if (creditors.empty()) return;
  const IouBook& book = deal_.state.accounts().book();
  for (const ClaimantIndex index : debtors) {
    const TenantState& tenant = *claimants[index].tenant;
    const RepaymentBudget budget = repayment_budget(
        claimants[index].sum_of(EntryReason::granted), tenant.terms.repay_millionths,
        claimants[index].has_work, tenant.repay_remainder_millionths);
    claimants[index].repay_remainder_millionths = budget.remainder_millionths;
    for (const Repayment& repayment : settle(book, tenant.id, budget.units, creditors)) {
      claimants.post(index, EntryReason::paid, -repayment.units);
      claimants.post(claimants.of(deal_.state.tenant(repayment.creditor)), EntryReason::received,
                     repayment.units);
      entitlement.repayments.push_back(repayment);
    }
  }
  deal_.note_work();
  claimants.sort();
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
  deal_.take_all_in();
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

/// It is granted all that its window shows and has room, and the node has room for more like the
/// last of that, which it has: what of its allowance the tasks leave is for these.
bool EntitleStage::is_to_run_out(const TenantState& tenant) {
  if (std::none_of(tenant.window.begin(), tenant.window.end(),
                   [](const WindowRange& entry) { return entry.range.hides_alike; }))
    return false;
  std::array<Wide, kMaxResources> taken{};
  const WindowRange* last = nullptr;
  for (const WindowRange& entry : tenant.window) {
    if (entry.range.count == 0) continue;
    if (!deal_.tasks.fits_now(tenant, entry)) {
      if (deal_.state.may_have_room(tenant, entry)) return false;
      continue;
    }
    last = &entry;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      taken[r] += Wide{entry.range.demand[r]} * entry.range.count;
  }
  if (last == nullptr || !last->range.hides_alike) return false;
  const ResourceVector& free = deal_.tasks.free();
  for (const std::size_t r : last->asks)
    if (taken[r] + last->range.demand[r] > free[r]) return false;
  return true;
}

bool EntitleStage::give_allowances() {
  Claimants& claimants = deal_.claimants;
  const std::vector<ClaimantIndex>& ranked = claimants.ranked();
  members_.resize(ranked.size());
  deal_.with_allowance = ranked.size();
  somebody_leaves_ = false;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    Claimant& claimant = claimants[ranked[i]];
    claimant.allowance = std::max<Units>(0, claimant.credit);
    members_[i] = {.weight = claimant.tenant->rank.weight,
                   .allowance = claimant.allowance,
                   .demand = deal_.tasks.waiting_cost(claimant, deal_.dealt)};
    if (members_[i].allowance > members_[i].demand && is_to_run_out(*claimant.tenant))
      members_[i].demand = members_[i].allowance;
    somebody_leaves_ = somebody_leaves_ || members_[i].allowance > members_[i].demand;
  }
  return somebody_leaves_;
}

void EntitleStage::pool() {
  Claimants& claimants = deal_.claimants;
  // Who does not take part so far has no allowance that its next task does not use up; but after
  // guarantees that task may have no room any more.
  if (!deal_.grants.empty()) deal_.take_all_in();
  if (give_allowances() && deal_.looks_at_few) {
    deal_.take_all_in();
    (void)give_allowances();
  }
  if (!somebody_leaves_) return;
  const std::vector<ClaimantIndex>& ranked = claimants.ranked();
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
