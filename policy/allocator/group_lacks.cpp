#include "policy/allocator/group_lacks.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {
namespace {

/// The first resource of which some is missing.
std::optional<std::size_t> missing_of(const ResourceVector& amount) {
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (amount[r] > 0) return r;
  return std::nullopt;
}

}  // namespace

GroupLacks::GroupLacks(const AllocatorState& state, const GroupSums& groups,
                       const TenantState& tenant, const ResourceVector& asked,
                       std::span<const ResourceVector> freed) {
  for (auto group = tenant.group; group != QuotaTree::kRoot;
       group = state.quotas().group(group).parent) {
    const auto bounds = state.quotas().group(group);
    ResourceVector held = bounds.used - groups.of(group).ending - groups.of(group).ending_grown;
    if (freed.empty())
      held += state.quotas().promised_to_others(tenant, group);
    else
      held -= freed[group];
    ResourceVector amount;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (asked[r] > 0) amount[r] = held[r] + asked[r] - bounds.terms.max[r];
    if (missing_of(amount)) lacks_.push_back({group, amount});
  }
}

bool GroupLacks::are_covered() const { return !first(); }

std::optional<GroupLacks::Missing> GroupLacks::first() const {
  for (const Lack& lack : lacks_)
    if (const auto resource = missing_of(lack.amount)) return Missing{lack.group, *resource};
  return std::nullopt;
}

bool GroupLacks::are_eased_by(const AllocatorState& state, const TenantState& holder,
                              const ResourceVector& demand) const {
  return std::any_of(lacks_.begin(), lacks_.end(), [&](const Lack& lack) {
    if (!is_in_group(state, holder, lack.group)) return false;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (lack.amount[r] > 0 && demand[r] > 0) return true;
    return false;
  });
}

void GroupLacks::note(const AllocatorState& state, const TenantState& holder,
                      const ResourceVector& demand, bool ends) {
  for (Lack& lack : lacks_) {
    if (!is_in_group(state, holder, lack.group)) continue;
    if (ends)
      lack.amount -= demand;
    else
      lack.amount += demand;
  }
}

}  // namespace fairwater::inline policy::inline allocator
