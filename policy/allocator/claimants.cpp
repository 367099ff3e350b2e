#include "policy/allocator/claimants.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {

void Claimants::forget() {
  for (const Claimant& claimant : claimants_) at_slot_[claimant.tenant->rank.slot] = -1;
  claimants_.clear();
  ranked_.clear();
  sorted_ = 0;
  sum_of_entries_ = 0;
}

std::optional<ClaimantIndex> Claimants::find(std::uint32_t slot) const {
  if (at_slot_[slot] < 0) return std::nullopt;
  return static_cast<ClaimantIndex>(at_slot_[slot]);
}

ClaimantIndex Claimants::add(TenantState& tenant) {
  const auto index = static_cast<ClaimantIndex>(claimants_.size());
  Claimant& claimant = claimants_.emplace_back();
  claimant.tenant = &tenant;
  claimant.is_creditor = nets_are_units_ && tenant.net > 0;
  claimant.opening = claimant.credit = tenant.deficit;
  claimant.repay_remainder_millionths = tenant.repay_remainder_millionths;
  at_slot_[tenant.rank.slot] = static_cast<std::int32_t>(index);
  ranked_.push_back(index);
  return index;
}

ClaimantIndex Claimants::of(TenantState& tenant) {
  const std::int32_t index = at_slot_[tenant.rank.slot];
  return index >= 0 ? static_cast<ClaimantIndex>(index) : add(tenant);
}

/// From the last backwards.
void Claimants::sort() {
  if (sorted_ == ranked_.size()) return;
  const auto before = [&](ClaimantIndex a, ClaimantIndex b) {
    return claimants_[a].tenant->rank < claimants_[b].tenant->rank;
  };
  auto old_end = ranked_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(old_end, ranked_.end(), before);
  added_.assign(old_end, ranked_.end());
  auto end = ranked_.end();
  for (auto index = added_.rbegin(); index != added_.rend(); ++index) {
    const auto place = std::upper_bound(ranked_.begin(), old_end, *index, before);
    end = std::move_backward(place, old_end, end);
    *--end = *index;
    old_end = place;
  }
  sorted_ = ranked_.size();
}

void Claimants::strike_entries() {
  for (Claimant& claimant : claimants_) {
    claimant.entries.fill(0);
    claimant.credit = claimant.opening;
    claimant.has_entries = false;
    claimant.pooled = claimant.allowance = 0;
    claimant.repay_remainder_millionths = claimant.tenant->repay_remainder_millionths;
  }
  sum_of_entries_ = 0;
}

TenantBalance balance_of(const Claimant& claimant) {
  TenantBalance balance;
  balance.deficit_before = claimant.opening;
  balance.granted = claimant.sum_of(EntryReason::granted);
  balance.passed_on = -claimant.sum_of(EntryReason::passed_on);
  balance.passed_to = claimant.sum_of(EntryReason::passed_to);
  balance.paid = -claimant.sum_of(EntryReason::paid);
  balance.received = claimant.sum_of(EntryReason::received);
  balance.pooled = claimant.pooled;
  balance.allowance = claimant.allowance;
  balance.guaranteed = claimant.guaranteed;
  balance.placed = -claimant.sum_of(EntryReason::placed);
  balance.rolled_back = -claimant.sum_of(EntryReason::rolled_back);
  balance.deficit_after = claimant.credit;
  return balance;
}

}  // namespace fairwater::inline policy::inline allocator
