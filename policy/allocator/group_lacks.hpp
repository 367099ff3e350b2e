// What is missing below the max of a group for a task of a tenant in it to start. Internal to
// policy/allocator.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/group_sums.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

class GroupLacks {
 public:
  /// Nothing is.
  GroupLacks() = default;
  /// For so much once what is ending has ended. `freed`: by group what will have ended besides,
  /// less what others will have taken; empty: they will have taken what is promised to them.
  /// O(depth).
  GroupLacks(const AllocatorState& state, const GroupSums& groups, const TenantState& tenant,
             const ResourceVector& asked, std::span<const ResourceVector> freed = {});

  /// Nothing is missing any more.
  [[nodiscard]] bool are_covered() const;
  struct Missing {
    QuotaTree::Group group;
    std::size_t resource;
  };
  /// Of the innermost group that has too little. None once they are covered.
  [[nodiscard]] std::optional<Missing> first() const;
  /// Whether the end of what the tenant holds by `demand` gives some of it.
  [[nodiscard]] bool are_eased_by(const AllocatorState& state, const TenantState& holder,
                                  const ResourceVector& demand) const;
  /// That ends, or does not after all.
  void note(const AllocatorState& state, const TenantState& holder, const ResourceVector& demand,
            bool ends);

 private:
  struct Lack {
    QuotaTree::Group group;
    ResourceVector amount;  ///< above 0: so much is missing
  };
  std::vector<Lack> lacks_;  ///< innermost first; of groups that had too little at first
};

}  // namespace fairwater::inline policy::inline allocator
