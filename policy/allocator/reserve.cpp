#include "policy/allocator/reserve.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

struct Blocked {
  const TenantState* tenant = nullptr;
  const WindowRange* task = nullptr;
};

std::optional<Reservation> reservation_of(const Blocked& blocked) {
  if (blocked.tenant == nullptr || blocked.task == nullptr) return std::nullopt;
  return Reservation{blocked.tenant->id, blocked.task->range.demand};
}

/// Of those without a task that fits.
Blocked most_due(DealProgress& deal, const TenantState* before) {
  Blocked best;
  for (const RankKey& key : deal.state.waiting()) {
    if (deal.claimants.find(key.slot)) continue;
    const TenantState& tenant = deal.state.at(key.slot);
    const bool more_is_due = best.tenant == nullptr ||
                             tenant.net + tenant.deficit > best.tenant->net + best.tenant->deficit;
    if (!more_is_due && &tenant != before) continue;
    const WindowRange* task = deal.tasks.task_to_reserve(tenant);
    if (task == nullptr) continue;
    best = {&tenant, task};
    if (&tenant == before) break;
  }
  return best;
}

}  // namespace

KeptRoom review_room(DealProgress& deal, const std::optional<Reservation>& before,
                     bool somebody_is_blocked) {
  const TenantState* holder = before ? &deal.state.tenant(before->tenant) : nullptr;
  // Where nobody's tasks fit, a reservation stays as long as its task is due.
  if (deal.claimants.empty()) {
    if (holder == nullptr) return {};
    return {.reservation = reservation_of({holder, deal.tasks.task_to_reserve(*holder)}),
            .kept_for = std::nullopt};
  }
  if (holder != nullptr)
    if (const auto index = deal.claimants.find(holder->rank.slot))
      return {.reservation = std::nullopt, .kept_for = index};
  if (!somebody_is_blocked) return {};
  return {.reservation = reservation_of(most_due(deal, holder)), .kept_for = std::nullopt};
}

}  // namespace fairwater::inline policy::inline allocator
