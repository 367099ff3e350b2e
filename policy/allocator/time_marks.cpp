#include "policy/allocator/time_marks.hpp"

#include <algorithm>

namespace fairwater {
namespace {

using Standing = AllocatorQuotas::Standing;

/// What the debtor could give way to this creditor: its mu of its part, by what it owes whom.
Wide due_from(AllocatorState& state, const TenantState& debtor, Units owed) {
  const Wide all = Wide{state.accounts().time().part(debtor.id)} * debtor.terms.repay_millionths /
                   kMicroUnitsPerUnit;
  return all * owed / -debtor.net;
}

/// Of what is due to a creditor, what its credit covers.
void refresh_creditor(AllocatorState& state, TenantState& creditor) {
  Wide due = 0;
  for (const IouBook::Iou& iou : state.accounts().book().claims_of(creditor.id.value))
    due += due_from(state, state.tenant(TenantId{iou.debtor}), iou.units);
  Wide covered = 0;
  if (creditor.claims_for_ms > 0)
    covered = Wide{creditor.net} * kMicroUnitsPerUnit / creditor.claims_for_ms;
  creditor.returns.due = static_cast<MicroUnits>(due);
  creditor.returns.covered = static_cast<MicroUnits>(std::min(covered, Wide{kUnlimited}));
  creditor.returns.back = static_cast<MicroUnits>(std::min(due, covered));
}

const TimeReturns& refresh(AllocatorState& state, TenantState& tenant);

void refresh_debtor(AllocatorState& state, TenantState& debtor) {
  Wide away = 0;
  for (const IouBook::Iou& iou : state.accounts().book().debts_of(debtor.id.value)) {
    const TimeReturns& creditor = refresh(state, state.tenant(TenantId{iou.creditor}));
    if (creditor.back > 0)
      away += due_from(state, debtor, iou.units) * creditor.back / creditor.due;
  }
  debtor.returns.away = static_cast<MicroUnits>(away);
}

/// A debtor looks at its creditors, and they at nobody's returns: nobody is both.
const TimeReturns& refresh(AllocatorState& state, TenantState& tenant) {
  if (tenant.returns.round == state.claims_round()) return tenant.returns;
  tenant.returns = {.round = state.claims_round()};
  if (tenant.net > 0 && tenant.claims_for_ms >= 0) refresh_creditor(state, tenant);
  if (tenant.net < 0) refresh_debtor(state, tenant);
  return tenant.returns;
}

}  // namespace

TimeMark time_mark(AllocatorState& state, TenantState& tenant) {
  if (!state.counts_time()) return {};
  state.refresh_parts();
  const TimeReturns& returns = refresh(state, tenant);
  const TimeAccounts& time = state.accounts().time();
  const MicroUnits part = time.part(tenant.id);
  const std::size_t resource = time.resource();
  const MicroUnits quota =
      state.quotas().micro_units_of(state.quotas().quota(tenant)[resource], resource);
  return {.held = time.held(tenant.id),
          .part = part,
          .base = std::max(part, quota),
          .back = returns.back,
          .covered = returns.covered,
          .away = returns.away};
}

Standing standing_in_time(AllocatorState& state, TenantState& tenant, const WindowRange& range,
                          Standing by_quota) {
  if (tenant.net == 0 || (tenant.net > 0 && by_quota == Standing::within)) return by_quota;
  state.refresh_parts();
  const TimeReturns& returns = refresh(state, tenant);
  if (returns.back == 0 && returns.away == 0) return by_quota;
  const TimeMark mark = time_mark(state, tenant);
  const std::size_t resource = state.accounts().time().resource();
  const MicroUnits cost = state.quotas().micro_units_of(range.range.demand[resource], resource);
  if (cost == 0) return by_quota;
  const MicroUnits after = mark.held + cost;
  if (mark.back > 0) {
    const bool is_covered = after <= std::max(mark.base, mark.part + mark.covered);
    if (!is_covered || mark.held >= mark.base + mark.back) return by_quota;
    return after <= mark.base + mark.back ? Standing::within : Standing::straddling;
  }
  const MicroUnits lowered = mark.base - mark.away;
  if (mark.held >= lowered) return Standing::at_quota;
  return after > lowered ? std::max(by_quota, Standing::straddling) : by_quota;
}

}  // namespace fairwater
