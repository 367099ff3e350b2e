#include "policy/allocator/give_way.hpp"

#include <algorithm>

#include "policy/allocator/time_marks.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

bool is_for_firm_task(const TenantState& holder, const Reservation& kept, LedgerMs now_ms) {
  return std::any_of(holder.window.begin(), holder.window.end(), [&](const WindowRange& entry) {
    return entry.range.count > 0 && entry.firm_from_ms <= now_ms &&
           entry.range.demand == kept.demand;
  });
}

}  // namespace

std::optional<MicroUnits> left_beside(AllocatorState& state, TenantState& tenant, MicroUnits cost,
                                      const Reservation& kept) {
  if (kept.tenant == tenant.id) return std::nullopt;
  const TenantState& holder = state.tenant(kept.tenant);
  if (!is_for_firm_task(holder, kept, state.now_ms())) return std::nullopt;
  const std::size_t resource = state.accounts().time().resource();
  const auto micro = [&](Amount amount) { return state.quotas().micro_units_of(amount, resource); };
  const MicroUnits kept_cost = micro(kept.demand[resource]);
  const MicroUnits holder_has = state.held_in_time(holder);
  const MicroUnits of_others = micro(state.capacity()[resource]) - holder.part;
  if (cost == 0 || cost >= kept_cost || holder_has >= holder.part || of_others <= 0)
    return std::nullopt;
  const MicroUnits beyond = std::max<MicroUnits>(0, holder_has + kept_cost - holder.part);
  const auto less = static_cast<MicroUnits>(quotient(Wide{beyond} * tenant.part, of_others));
  const TimeMark mark = time_mark(state, tenant);
  return mark.part - mark.away - less;
}

bool gives_way(AllocatorState& state, TenantState& tenant, const WindowRange& entry,
               const Reservation& kept) {
  const MicroUnits cost = state.cost_in_time(entry);
  const auto left = left_beside(state, tenant, cost, kept);
  return left && time_mark(state, tenant).held + cost > *left;
}

}  // namespace fairwater::inline policy::inline allocator
