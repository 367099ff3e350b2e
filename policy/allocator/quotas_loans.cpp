// Who may lend to whom, by the groups that tenants are in.
#include "policy/allocator/quotas.hpp"

namespace fairwater::inline policy::inline allocator {

bool AllocatorQuotas::groups_may_borrow(const TenantState& tenant) const {
  for (auto group = tenant.group; group != QuotaTree::kRoot; group = groups_[group].parent)
    if (!groups_[group].terms.rights.may_borrow) return false;
  return true;
}

bool AllocatorQuotas::is_in(const TenantState& tenant, QuotaTree::Group group) const {
  QuotaTree::Group around = tenant.group;
  while (around != group && around != QuotaTree::kRoot) around = groups_[around].parent;
  return around == group;
}

bool AllocatorQuotas::keeps_apart(const TenantState& lender, const TenantState& borrower) const {
  for (auto group = borrower.group; group != QuotaTree::kRoot; group = groups_[group].parent)
    if (!groups_[group].terms.rights.may_borrow && !is_in(lender, group)) return true;
  for (auto group = lender.group; group != QuotaTree::kRoot; group = groups_[group].parent)
    if (!groups_[group].terms.rights.may_lend && !is_in(borrower, group)) return true;
  return false;
}

LoanGroups AllocatorQuotas::loan_groups(std::span<const TenantState> tenants) const {
  LoanGroups bounded;
  // Of each group the innermost that is bounded, itself or around it.
  std::vector<LoanGroups::Number> numbers(groups_.size(), LoanGroups::kNone);
  for (QuotaTree::Group group = 1; group < groups_.size(); ++group) {
    const Group& own = groups_[group];
    numbers[group] = numbers[own.parent];
    if (own.terms.rights != LoanRights{})
      numbers[group] = bounded.add(numbers[own.parent], own.terms.rights);
  }
  if (bounded.size() == 0) return bounded;
  for (const TenantState& tenant : tenants)
    if (tenant.id && numbers[tenant.group] != LoanGroups::kNone)
      bounded.put(tenant.id, numbers[tenant.group]);
  return bounded;
}

}  // namespace fairwater::inline policy::inline allocator
