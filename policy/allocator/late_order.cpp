#include "policy/allocator/late_order.hpp"

#include <algorithm>

#include "policy/allocator/state.hpp"
#include "policy/allocator/time_turns.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {

std::int64_t kept_from_part_ms(const AllocatorState& state, const TenantState& tenant,
                               MicroUnits held) {
  const TurnPart counted = turn_part(tenant);
  if (held >= counted.part) return 0;
  const Wide kept_ms =
      counted.net <= 0 ? 0 : quotient(Wide{counted.net} * kMicroUnitsPerUnit, counted.part);
  const Wide least_ms = only_owes(state, tenant) ? 1 : 0;
  return static_cast<std::int64_t>(std::clamp(kept_ms, least_ms, Wide{kNever}));
}

LateOrder late_order(const AllocatorState& state, const TenantState& tenant,
                     const WindowRange& late, MicroUnits held) {
  LateOrder order{.is_deferrable = late.firm_from_ms > state.now_ms(),
                  .is_not_owed = true,
                  .less_kept_ms = 0,
                  .late_from_ms = late.late_from_ms};
  const std::int64_t kept_ms = kept_from_part_ms(state, tenant, held);
  if (kept_ms == 0) return order;
  const Wide takes = Wide{state.cost_in_time(late)} * late.range.expected_ms;
  if (!only_owes(state, tenant) && Wide{turn_part(tenant).net} * kMicroUnitsPerUnit < takes)
    return order;
  order.is_not_owed = false;
  order.less_kept_ms = -kept_ms;
  return order;
}

}  // namespace fairwater::inline policy::inline allocator
