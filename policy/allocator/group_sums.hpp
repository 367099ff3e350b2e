// What the tenants in each group hold together of what counts towards its min, and what of theirs
// ends. Good until any of that changes. Internal to policy/allocator.
#pragma once

#include <initializer_list>
#include <map>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

struct GroupSum {
  ResourceVector used;          ///< without what has grown
  ResourceVector ending;        ///< of that
  ResourceVector ending_grown;  ///< of what has grown
};

class GroupSums {
 public:
  /// O(tenants * depth); nothing where there are no groups.
  explicit GroupSums(const AllocatorState& state);
  [[nodiscard]] const GroupSum& of(QuotaTree::Group group) const { return sums_[group]; }

 private:
  std::vector<GroupSum> sums_;
};

/// By tenant what will have ended of theirs, but what has grown and what is ending.
using GoneByTenant = std::map<TenantId, ResourceVector>;

/// What is in any of `gone` of the group's tenants.
[[nodiscard]] ResourceVector gone_of(const AllocatorState& state, QuotaTree::Group group,
                                     std::initializer_list<const GoneByTenant*> gone);

[[nodiscard]] bool is_in_group(const AllocatorState& state, const TenantState& tenant,
                               QuotaTree::Group group);

/// `amount` to the sums of all groups around the tenant.
void add_in_groups(const AllocatorState& state, std::vector<ResourceVector>& sums, TenantId tenant,
                   const ResourceVector& amount);

}  // namespace fairwater::inline policy::inline allocator
