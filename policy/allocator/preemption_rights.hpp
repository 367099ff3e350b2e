// By what right a task that waits may take the place of others. Internal to policy/allocator.
//
// By its job's word: of tasks of lower priority. By its tenant's min, or that of a group that it is
// in: of tasks of any priority, for what is guaranteed comes before what jobs say of themselves.
// (FuxiMaster knows both: preemption by priority, and by quota where a group has less than its
// min.) Either way only of what runs beyond a quota (policy/allocator/preemption.hpp).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "policy/allocator/group_sums.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

struct PreemptionRight {
  static constexpr std::int64_t kAnyPriority = std::numeric_limits<std::int64_t>::max();
  std::int64_t below_priority = 0;             ///< others' tasks have less
  QuotaTree::Group spared = QuotaTree::kRoot;  ///< its min: the end of its own would not help it
  [[nodiscard]] bool is_for_min() const { return below_priority == kAnyPriority; }
};

/// What counts towards mins: what is held, but for what has grown or is ending, with what is
/// planned.
struct TowardsMins {
  const GroupSums& groups;
  const GoneByTenant& preempted;         ///< what is to end of tenants', likewise
  const AllocatorState::Claims& served;  ///< what is to start
};

/// Of the next of these tasks: the strongest first. Empty: nobody's may end for it. `for_min`: not
/// its job's word alone counts. O(tenants with something to end * depth + log siblings).
[[nodiscard]] std::vector<PreemptionRight> preemption_rights(const AllocatorState& state,
                                                             const TenantState& tenant,
                                                             const WindowRange& entry, bool for_min,
                                                             const TowardsMins& towards);

/// Where the task goes beyond what its tenant may hold below its mark, its job's word is no right.
void keep_below_mark(std::vector<PreemptionRight>& rights, const WindowRange& entry,
                     const ResourceVector& left_below_mark);

}  // namespace fairwater::inline policy::inline allocator
