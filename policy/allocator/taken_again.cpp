#include "policy/allocator/taken_again.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/give_way.hpp"
#include "policy/allocator/late_order.hpp"
#include "policy/allocator/time_marks.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// What of a tenant's window comes before the late task whenever the tenant is below its mark.
struct ComesFirst {
  MicroUnits least_cost = 0;  ///< of one of its tasks, or gangs
  Wide run_ms = 0;            ///< all of them, one after another
};

bool is_late_here(const AllocatorState& state, const NodeRoom& node, const WindowRange& entry) {
  return entry.range.count > 0 && entry.late_from_ms <= state.now_ms() &&
         entry.range.demand.fits(node.free_one_day()) && state.is_allowed_on(node, entry.range);
}

void add(ComesFirst& first, const AllocatorState& state, const WindowRange& entry,
         std::uint32_t tasks) {
  const MicroUnits cost = state.cost_in_time(entry);
  first.least_cost = first.run_ms == 0 ? cost : std::min(first.least_cost, cost);
  first.run_ms +=
      Wide{duration_of(entry.range, Predict::limits)} * std::max(1U, tasks / entry.starts_at_once);
}

ComesFirst comes_first(const AllocatorState& state, const TenantState& other, const LateOrder& late,
                       const NodeRoom& node) {
  ComesFirst first;
  if (other.first_late_ms > state.now_ms() || !other.may_exceed_quota()) return first;
  const MicroUnits held = state.held_in_time(other);
  for (const WindowRange& entry : other.window)
    if (is_late_here(state, node, entry) && late_order(state, other, entry, held) < late)
      add(first, state, entry, entry.range.count);
  return first;
}

/// The same of the late task's own tenant, which is owed: what comes once the task has started.
ComesFirst comes_next(const AllocatorState& state, const TenantState& tenant,
                      const WindowRange& late, const NodeRoom& node) {
  ComesFirst next;
  for (const WindowRange& entry : tenant.window) {
    if (!is_late_here(state, node, entry)) continue;
    const std::uint32_t others = entry.range.count - (&entry == &late ? 1 : 0);
    if (others > 0) add(next, state, entry, others);
  }
  return next;
}

/// A tenant with tasks there.
struct Holder {
  ComesFirst first;
  MicroUnits held = 0;  ///< once those have ended that end earlier
  MicroUnits mark = 0;
  std::vector<std::size_t> rooms = {};  ///< that its next tasks take, in what is taken again
};

Holder look_at(AllocatorState& state, TenantState& other, const ComesFirst& first,
               const Reservation& kept) {
  if (first.run_ms == 0) return {.first = first};
  const TimeMark mark = time_mark(state, other);
  Holder holder{first, mark.held, mark.base + mark.back - mark.away};
  if (const auto left = left_beside(state, other, first.least_cost, kept))
    holder.mark = std::min(holder.mark, *left - first.least_cost + 1);
  return holder;
}

/// By when the tasks there must end.
std::vector<std::pair<LedgerMs, const EndingTask*>> ends_of(const NodeRoom& node, LedgerMs now_ms) {
  std::vector<std::pair<LedgerMs, const EndingTask*>> ends;
  for (const auto& [end, task] : node.ends)
    if (task.limit_ends_ms != kNever && task.holder)
      ends.emplace_back(std::max(task.limit_ends_ms, now_ms + 1), &task);
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return ends;
}

}  // namespace

std::vector<TakenAgain> taken_again(AllocatorState& state, const NodeRoom& node,
                                    const TenantState& tenant, const WindowRange& late) {
  const std::size_t resource = state.accounts().time().resource();
  const Reservation kept{tenant.id, late.range.demand};
  const LateOrder order = late_order(state, tenant, late, state.held_in_time(tenant));
  std::vector<TakenAgain> taken;
  std::map<std::uint32_t, Holder> holders;
  for (const auto& [at_ms, task] : ends_of(node, state.now_ms())) {
    auto known = holders.find(*task->holder);
    if (known == holders.end()) {
      TenantState& other = state.at(*task->holder);
      ComesFirst first;
      if (&other != &tenant)
        first = comes_first(state, other, order, node);
      else if (!order.is_not_owed)
        first = comes_next(state, tenant, late, node);
      known = holders.emplace(other.rank.slot, look_at(state, other, first, kept)).first;
    }
    Holder& holder = known->second;
    if (holder.first.run_ms == 0) continue;
    const MicroUnits after =
        holder.held - state.quotas().micro_units_of(task->demand[resource], resource);
    if (after >= holder.mark) {
      holder.held = after;
      continue;
    }
    holder.rooms.push_back(taken.size());
    taken.push_back({at_ms, kNever, task, *task->holder == tenant.rank.slot});
  }
  // Its tasks that wait share the room that they take.
  for (const auto& [slot, holder] : holders)
    for (const std::size_t room : holder.rooms) {
      const Wide run_ms = holder.first.run_ms / static_cast<std::int64_t>(holder.rooms.size()) + 1;
      taken[room].until_ms =
          moment_in(taken[room].from_ms, static_cast<std::int64_t>(std::min(run_ms, Wide{kNever})));
    }
  return taken;
}

}  // namespace fairwater::inline policy::inline allocator
