#include "policy/allocator/run_out.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/time_marks.hpp"

namespace fairwater::inline policy::inline allocator {

bool has_more_to_come(AllocatorState& state, TenantState& tenant,
                      const AllocatorQuotas::WaterMarks& marks) {
  WaitingRange next;
  next.demand = tenant.unseen.back().demand;
  next.expected_ms = std::max<std::int64_t>(tenant.claims_for_ms, 0);
  return standing(state, tenant, state.entry_of(std::move(next)), marks) !=
         AllocatorQuotas::Standing::at_quota;
}

bool awaits_window(AllocatorState& state) {
  if (state.run_out().empty()) return false;
  if (state.allocates_by_share()) return true;
  const AllocatorQuotas::WaterMarks marks = state.quotas().water_marks();
  return std::any_of(state.run_out().begin(), state.run_out().end(), [&](std::uint32_t slot) {
    return has_more_to_come(state, state.at(slot), marks);
  });
}

}  // namespace fairwater::inline policy::inline allocator
