#include "policy/allocator/group_sums.hpp"

namespace fairwater::inline policy::inline allocator {

GroupSums::GroupSums(const AllocatorState& state) : sums_(state.quotas().group_count()) {
  if (sums_.size() == 1) return;  // the root alone
  for (std::uint32_t slot = 0; slot < state.slots(); ++slot) {
    const TenantState& tenant = state.at(slot);
    for (auto group = tenant.group; group != QuotaTree::kRoot;
         group = state.quotas().group(group).parent) {
      sums_[group].used += tenant.used;
      sums_[group].ending += tenant.ending;
      sums_[group].ending_grown += tenant.ending_grown;
    }
  }
}

bool is_in_group(const AllocatorState& state, const TenantState& tenant, QuotaTree::Group group) {
  auto around = tenant.group;
  while (around != QuotaTree::kRoot && around != group)
    around = state.quotas().group(around).parent;
  return around == group;
}

ResourceVector gone_of(const AllocatorState& state, QuotaTree::Group group,
                       std::initializer_list<const GoneByTenant*> gone) {
  ResourceVector sum;
  for (const GoneByTenant* by_tenant : gone)
    for (const auto& [tenant, amounts] : *by_tenant)
      if (is_in_group(state, state.tenant(tenant), group)) sum += amounts;
  return sum;
}

void add_in_groups(const AllocatorState& state, std::vector<ResourceVector>& sums, TenantId tenant,
                   const ResourceVector& amount) {
  for (auto group = state.tenant(tenant).group; group != QuotaTree::kRoot;
       group = state.quotas().group(group).parent)
    sums[group] += amount;
}

}  // namespace fairwater::inline policy::inline allocator
