// How a ledger that counts time gives back: a tenant's mark is how much it may hold with a claim.
// Without debts that is its quota, or its part where that is more. A creditor with work may hold,
// beyond that,
//   back = sum over its debtors j of mu_j * part_j * debt_ij / debt_j,
// and each debtor's mark falls by the same: one with work keeps (1 - mu) of its part, and its min,
// and to those outside a group with a min its share of that: guarantees come before debts, and who
// waited for what they keep would have others give way for nothing. Only as far as its credit
// covers what its next task would hold there:
//   (units beyond its part) * (expected time) <= credit.
// Otherwise a credit of a second would take a slot for an hour. Where the credit does not cover all
// that is due, each debtor gives way in proportion. A task of which nobody knows how long it may
// run is not covered. Each task that waits has what is covered of it; debtors give way for the one
// of which that is most, since a task in front of others may not be able to start.
//
// Of several resources time is counted of the scarcest: the one of which most is used, as a part of
// the capacity, looked at anew with each settlement. Nobody is kept from what nobody lacks, and
// what is held of it, and the parts of it, add up to the capacity when it is full. A task that does
// not ask for it has no claim beyond its tenant's quota.
//
// A task may straddle a mark, as it may a quota; those who straddle come by what they are owed. So
// what is held stays within one task of the mark, and over time parts smaller than a task are held
// and given back as whole tasks in turns.
//
// A mark says who comes first, not what stays idle: room that nobody with a claim can use goes to
// whoever can. First to debtors below their quotas: a creditor at its max, or whose tasks are
// larger than any node, would else keep its debtor from its own, and others would have it.
//
// Internal to policy/allocator.
#pragma once

#include "policy/allocator/quotas.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

struct TimeMark {
  MicroUnits held = 0;
  MicroUnits part = 0;
  MicroUnits base = 0;     ///< its quota, or its part where that is more
  MicroUnits due = 0;      ///< as creditor: what its debtors could give way
  MicroUnits back = 0;     ///< as creditor: it may hold so much more with its next task
  MicroUnits covered = 0;  ///< as creditor: up to so much beyond its part, likewise
  MicroUnits away = 0;     ///< as debtor: so much less
};

/// Zeros where the ledger counts units. O(IOUs of the tenant and of its creditors) after a change
/// of debts, parts or of who waits, else O(log siblings).
[[nodiscard]] TimeMark time_mark(AllocatorState& state, TenantState& tenant);

/// The mark's arithmetic, where the ledger counts time. As time_mark.
[[nodiscard]] ExplainedMark explain_mark(AllocatorState& state, TenantState& tenant);

/// How much more than its quota the tenant may hold for what others owe it, whether it waits or
/// not: what they could give way. Zeros where the ledger counts units. O(IOUs of the tenant), or
/// O(1) where debts are as at its last refresh_due().
[[nodiscard]] ResourceVector owed_beyond_quota(const AllocatorState& state,
                                               const TenantState& tenant);
void refresh_due(AllocatorState& state, TenantState& creditor);

/// How much of its quota it leaves to those whom it owes. Likewise; as time_mark.
[[nodiscard]] ResourceVector given_way_below_quota(AllocatorState& state, TenantState& tenant);

/// Where it would stand with a task of `range`, whatever the ledger counts.
[[nodiscard]] AllocatorQuotas::Standing standing(AllocatorState& state, TenantState& tenant,
                                                 const WindowRange& range,
                                                 const AllocatorQuotas::WaterMarks& marks);

/// The same where it counts time, when its quota says `by_quota`.
[[nodiscard]] AllocatorQuotas::Standing standing_in_time(AllocatorState& state, TenantState& tenant,
                                                         const WindowRange& range,
                                                         AllocatorQuotas::Standing by_quota,
                                                         const AllocatorQuotas::WaterMarks& marks);

/// True only when it is at its quota with a task of `range`, and nothing that it is owed gives it a
/// claim, wherever the water stands among those that share its group's quota, up to `highest`, and
/// whatever anybody else claims. O(1).
[[nodiscard]] bool is_surely_without_claim(const AllocatorState& state, const TenantState& tenant,
                                           const WindowRange& range,
                                           const AllocatorQuotas::WaterMarks& highest);

}  // namespace fairwater::inline policy::inline allocator
