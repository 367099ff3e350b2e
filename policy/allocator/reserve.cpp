// Reservations: room that a node keeps for a task that is due and does not fit yet.
//
// Why: a freed slot is as large as the task that ended. Where tasks differ in size, a larger one
// would never meet room of its size, while smaller ones take every gap, beyond their tenants'
// quotas too: its tenant would lend its whole part and hold nothing.
//
// Rule: a tenant waits, none of its next tasks fits what is free here, but one would fit the empty
// node and, beside what the tenant holds and what is reserved for it, its runtime quota. Then the
// node keeps its room for that task: nothing but guarantees is placed there until it fits, and then
// it is placed first. Of several such tenants the node keeps to the one that it chose before, else
// takes the one to which most is due, the first in ranked order on a tie.
//
// What stays idle so is less than the task, and all such tasks of a tenant are within its quota
// together: the room that others wait for is that tenant's part. Looked at anew in each deal of the
// node. (YARN's schedulers know the same as a reserved container.)

#include "policy/allocator/node_deal.hpp"

namespace fairwater {

const WindowRange* NodeDeal::task_to_reserve(const TenantState& tenant) {
  std::uint32_t skipped = 0;
  for (const WindowRange& entry : tenant.window) {
    if (!fits(tenant, entry, node_->capacity)) {
      if (entry.range.count > 0 && ++skipped > kMaxLookPast) break;
      continue;
    }
    if (!marks_) marks_ = state_.quotas().water_marks();
    return state_.quotas().may_reserve(tenant, entry, *marks_) ? &entry : nullptr;
  }
  return nullptr;
}

NodeDeal::Blocked NodeDeal::most_due(std::optional<std::uint32_t> slot_before) {
  Blocked best;
  for (const RankKey& key : state_.waiting()) {
    if (part_at_[key.slot] >= 0) continue;
    TenantState& tenant = state_.at(key.slot);
    const bool more_is_due =
        !best.tenant || tenant.net + tenant.carry > best.tenant->net + best.tenant->carry;
    if (!more_is_due && key.slot != slot_before) continue;
    const WindowRange* task = task_to_reserve(tenant);
    if (!task) continue;
    best = {&tenant, task};
    if (key.slot == slot_before) break;
  }
  return best;
}

/// True when the node's room is to be left alone.
bool NodeDeal::keep_room() {
  NodeRoom& node = state_.node(node_id_);
  std::optional<std::uint32_t> slot_before;
  if (node.reservation) slot_before = node.reservation->tenant_slot;
  state_.cancel_reservation(node);
  if (slot_before && part_at_[*slot_before] >= 0) {
    first_ = static_cast<Index>(part_at_[*slot_before]);
    return false;
  }
  if (!somebody_is_blocked_) return false;
  const Blocked blocked = most_due(slot_before);
  if (!blocked.tenant) return false;
  state_.reserve(node, *blocked.tenant, blocked.task->range.demand);
  return true;
}

/// Where nobody's tasks fit, a reservation stays as long as its task is due.
void NodeDeal::review_reservation() {
  NodeRoom& node = state_.node(node_id_);
  if (!node.reservation) return;
  TenantState& tenant = state_.at(node.reservation->tenant_slot);
  state_.cancel_reservation(node);
  if (const WindowRange* task = task_to_reserve(tenant))
    state_.reserve(node, tenant, task->range.demand);
}

void NodeDeal::place_first() {
  if (!first_) return;
  Part& part = parts_[*first_];
  if (claim(part) != Claim::none) place(*first_, part.cursor.next, GrantStep::reserved);
}

}  // namespace fairwater
