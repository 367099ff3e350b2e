#include "policy/allocator/time_marks.hpp"

#include <algorithm>

#include "policy/allocator/time_turns.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

using Standing = AllocatorQuotas::Standing;

/// What of its part it does not give way to this one: guarantees come before debts.
MicroUnits kept_from(const AllocatorState& state, const TenantState& debtor,
                     const TenantState& creditor) {
  MicroUnits kept = debtor.kept_for_mins.own;
  for (const KeptForMins::OfGroup& of : debtor.kept_for_mins.of_groups)
    if (!state.quotas().is_in(creditor, of.group)) kept = std::max(kept, of.kept);
  return kept;
}

/// One tenant's debt to another.
struct Debt {
  const TenantState& debtor;
  Units owed;
  MicroUnits kept;
  Debt(const AllocatorState& state, const TenantState& by, const TenantState& to, Units of)
      : debtor(by), owed(of), kept(kept_from(state, by, to)) {}
  /// What the debtor could give way if it owed nobody else: its mu of its part.
  [[nodiscard]] Wide most() const {
    const Wide repaid =
        quotient(Wide{debtor.part} * debtor.terms.repay_millionths, kMicroUnitsPerUnit);
    return std::min(repaid, Wide{debtor.part - kept});
  }
  /// What the debtor could give way to the creditor, by what it owes whom.
  [[nodiscard]] Wide due() const { return quotient(most() * owed, -debtor.net); }
  /// The same as the debtor counts it. Rounded up: else one that gives all of its part way to
  /// several would keep a millionth of a unit of it, and with that a claim to a whole task.
  [[nodiscard]] Wide due_to() const { return quotient_up(most() * owed, -debtor.net); }
};

/// What it does give way to this one.
Wide given_way(const Debt& debt, const TimeReturns& to) {
  return to.back <= 0 || to.due <= 0 ? 0 : quotient_up(debt.due_to() * to.back, to.due);
}

/// Up to so much beyond its part its credit covers, of tasks that are expected to run for so long;
/// 0: nobody knows how long.
MicroUnits covered_for(const TenantState& creditor, std::int64_t expected_ms) {
  if (expected_ms <= 0) return 0;
  const Wide covered = quotient(Wide{creditor.net} * kMicroUnitsPerUnit, expected_ms);
  return static_cast<MicroUnits>(std::min(covered, Wide{kUnlimited}));
}

/// Its quota, or its part where that is more.
MicroUnits base_of(const AllocatorState& state, const TenantState& tenant) {
  const std::size_t resource = state.accounts().time().resource();
  const AllocatorQuotas& quotas = state.quotas();
  return std::max(tenant.part,
                  quotas.micro_units_of(quotas.exact_quota(tenant, resource), resource));
}

/// What all its debtors could give way to it.
MicroUnits due_to_creditor(const AllocatorState& state, const TenantState& creditor) {
  const DueFromDebtors& known = creditor.due_from_debtors;
  if (known.round == state.debts_round()) return known.due;
  Wide due = 0;
  for (const IouBook::Iou& iou : state.accounts().book().claims_of(creditor.id.value))
    due += Debt(state, state.tenant(TenantId{iou.debtor}), creditor, iou.units).due();
  return static_cast<MicroUnits>(due);
}

/// In the amount of the resource of which time is counted, rounded up.
ResourceVector amount_of(const AllocatorState& state, MicroUnits micro) {
  ResourceVector amount;
  const std::size_t resource = state.accounts().time().resource();
  if (micro > 0)
    amount[resource] = static_cast<Amount>(
        std::min(state.quotas().least_amount(resource, micro), Wide{kUnlimited}));
  return amount;
}

/// Of what is due to a creditor, what its credit covers of its shortest tasks: its debtors give way
/// for any of them. What is due stays while only claims change.
void refresh_creditor(AllocatorState& state, TenantState& creditor) {
  refresh_due(state, creditor);
  TimeReturns& returns = creditor.returns;
  returns.due = creditor.due_from_debtors.due;
  returns.back = std::min(returns.due, covered_for(creditor, creditor.claims_for_ms));
}

const TimeReturns& refresh(AllocatorState& state, TenantState& tenant);

/// Creditors that wait for nothing take nothing back: it looks at those that wait, or at its own
/// where they are fewer.
void refresh_debtor(AllocatorState& state, TenantState& debtor) {
  const IouBook& book = state.accounts().book();
  Wide away = 0;
  Wide most = 0;
  const auto give_way = [&](TenantState& creditor, Units owed) {
    const Debt debt(state, debtor, creditor, owed);
    away += given_way(debt, refresh(state, creditor));
    most = std::max(most, debt.most());
  };
  if (book.count(debtor.id.value) <= state.waiting().size()) {
    for (const IouBook::Iou& iou : book.debts_of(debtor.id.value))
      give_way(state.tenant(TenantId{iou.creditor}), iou.units);
  } else {
    const auto look_at = [&](std::uint32_t slot) {
      TenantState& creditor = state.at(slot);
      if (creditor.net <= 0) return;
      if (const Units owed = book.owed(debtor.id.value, creditor.id.value); owed > 0)
        give_way(creditor, owed);
    };
    for (const RankKey& key : state.waiting()) look_at(key.slot);
    for (const std::uint32_t slot : state.run_out())
      if (state.at(slot).window.empty()) look_at(slot);
  }
  debtor.returns.away = static_cast<MicroUnits>(std::min(away, most));
}

/// A debtor looks at its creditors, and they at nobody's returns: nobody is both.
const TimeReturns& refresh(AllocatorState& state, TenantState& tenant) {
  if (tenant.returns.round == state.claims_round()) return tenant.returns;
  tenant.returns = {.round = state.claims_round()};
  if (tenant.net > 0 && tenant.claims_for_ms >= 0) refresh_creditor(state, tenant);
  if (tenant.net < 0) refresh_debtor(state, tenant);
  return tenant.returns;
}

/// What a creditor whose mark moves up by `back`, of `due`, has of that from this debtor.
MarkMove move_from(const AllocatorState& state, const Debt& debt, MicroUnits due, MicroUnits back) {
  MarkMove move{.other = {},
                .owed = debt.owed,
                .debtor_owes = -debt.debtor.net,
                .debtor_part = state.accounts().time().part(debt.debtor.id),
                .repay_millionths = debt.debtor.terms.repay_millionths,
                .kept_for_min = debt.kept,
                .due = static_cast<MicroUnits>(debt.due()),
                .moved = 0};
  if (back > 0) move.moved = static_cast<MicroUnits>(Wide{move.due} * back / due);
  return move;
}

/// The same as the debtor counts it, which gives way no more than `left`.
MarkMove move_to(AllocatorState& state, const Debt& debt, TenantState& creditor, Wide left) {
  const TimeReturns& returns = refresh(state, creditor);
  MarkMove move = move_from(state, debt, returns.due, returns.back);
  const Wide due = debt.due_to();
  const Wide way = given_way(debt, returns);
  move.moved = static_cast<MicroUnits>(std::min(way, left));
  move.due = way == due ? move.moved : static_cast<MicroUnits>(due);
  return move;
}

/// Of one without debts. Quotas are whole amounts: who only owes, and so is never in credit, would
/// have nothing of a part that is less than one.
Standing standing_by_part(AllocatorState& state, const TenantState& tenant,
                          const WindowRange& range, Standing by_quota,
                          const AllocatorQuotas::WaterMarks& marks) {
  if (by_quota != Standing::at_quota || !only_owes(state, tenant)) return by_quota;
  state.refresh_parts();
  const std::size_t resource = state.accounts().time().resource();
  if (state.cost_in_time(range) == 0 || state.held_in_time(tenant) >= tenant.part) return by_quota;
  for (const std::size_t r : range.asks)
    if (r != resource &&
        !state.quotas().quota_is_at_least(tenant, r, tenant.holdings[r].counted + 1, marks))
      return by_quota;
  return Standing::straddling;
}

/// Whether the credit covers one that costs so much, or it needs none.
bool is_covered(const TimeMark& mark, MicroUnits cost) {
  return mark.held + cost <= std::max(mark.base, mark.part + mark.covered);
}

NextTask next_task(AllocatorState& state, const TenantState& tenant, const TimeMark& mark) {
  const WindowRange& next = tenant.window.front();
  const WaitingRange& range = next.range;
  const MicroUnits cost = state.cost_in_time(next);
  return {.job = range.job,
          .index = range.first_index,
          .cost = cost,
          .expected_ms = range.expected_ms,
          .expected_from = range.expected_from,
          .is_covered = is_covered(mark, cost)};
}

}  // namespace

void refresh_due(AllocatorState& state, TenantState& creditor) {
  creditor.due_from_debtors = {state.debts_round(), due_to_creditor(state, creditor)};
}

ResourceVector owed_beyond_quota(const AllocatorState& state, const TenantState& tenant) {
  if (!state.counts_time() || tenant.net <= 0) return {};
  return amount_of(state, due_to_creditor(state, tenant));
}

ResourceVector given_way_below_quota(AllocatorState& state, TenantState& tenant) {
  if (!state.counts_time() || tenant.net >= 0) return {};
  const TimeMark mark = time_mark(state, tenant);
  const std::size_t resource = state.accounts().time().resource();
  const AllocatorQuotas& quotas = state.quotas();
  const MicroUnits quota = quotas.micro_units_of(quotas.exact_quota(tenant, resource), resource);
  return amount_of(state, quota - (mark.base - mark.away));
}

TimeMark time_mark(AllocatorState& state, TenantState& tenant) {
  if (!state.counts_time()) return {};
  state.refresh_parts();
  const TimeReturns& returns = refresh(state, tenant);
  const TimeAccounts& time = state.accounts().time();
  const MicroUnits covered = tenant.net > 0 && !tenant.window.empty()
                                 ? covered_for(tenant, tenant.window.front().range.expected_ms)
                                 : 0;
  return {.held = time.held(tenant.id),
          .part = tenant.part,
          .base = base_of(state, tenant),
          .due = returns.due,
          .back = std::min(returns.due, covered),
          .covered = covered,
          .away = returns.away};
}

ExplainedMark explain_mark(AllocatorState& state, TenantState& tenant) {
  const TimeMark mark = time_mark(state, tenant);
  ExplainedMark explained{
      .resource = static_cast<std::uint32_t>(state.accounts().time().resource()),
      .held = mark.held,
      .part = mark.part,
      .base = mark.base,
      .mark = mark.base + mark.back - mark.away,
      .net = tenant.net,
      .moves = {},
      .next = std::nullopt};
  const IouBook& book = state.accounts().book();
  const auto add = [&](IouBook::Member other, MarkMove move) {
    move.other = TenantId{other};
    explained.moves.push_back(move);
  };
  for (const IouBook::Iou& iou : book.claims_of(tenant.id.value))
    add(iou.debtor,
        move_from(state, Debt(state, state.tenant(TenantId{iou.debtor}), tenant, iou.units),
                  mark.due, mark.back));
  Wide left = 0;
  for (const IouBook::Iou& iou : book.debts_of(tenant.id.value))
    left =
        std::max(left, Debt(state, tenant, state.tenant(TenantId{iou.creditor}), iou.units).most());
  for (const IouBook::Iou& iou : book.debts_of(tenant.id.value)) {
    TenantState& creditor = state.tenant(TenantId{iou.creditor});
    const MarkMove move = move_to(state, Debt(state, tenant, creditor, iou.units), creditor, left);
    left -= move.moved;
    add(iou.creditor, move);
  }
  std::stable_sort(explained.moves.begin(), explained.moves.end(),
                   [](const MarkMove& a, const MarkMove& b) { return a.moved > b.moved; });
  if (!tenant.window.empty()) explained.next = next_task(state, tenant, mark);
  return explained;
}

Standing standing(AllocatorState& state, TenantState& tenant, const WindowRange& range,
                  const AllocatorQuotas::WaterMarks& marks) {
  const Standing by_quota = state.quotas().standing(tenant, range, marks);
  return state.counts_time() ? standing_in_time(state, tenant, range, by_quota, marks) : by_quota;
}

Standing standing_in_time(AllocatorState& state, TenantState& tenant, const WindowRange& range,
                          Standing by_quota, const AllocatorQuotas::WaterMarks& marks) {
  if (tenant.net == 0) return standing_by_part(state, tenant, range, by_quota, marks);
  if (tenant.net > 0 && by_quota == Standing::within) return by_quota;
  state.refresh_parts();
  const std::size_t resource = state.accounts().time().resource();
  const MicroUnits cost = state.cost_in_time(range);
  if (cost == 0) return by_quota;
  const MicroUnits held = state.held_in_time(tenant);
  const MicroUnits after = held + cost;
  // Its quota, or its part where that is more: only whether it is so much is asked.
  const auto base_is_at_least = [&](MicroUnits amount) {
    return tenant.part >= amount ||
           state.quotas().quota_is_at_least_micro(tenant, resource, amount, marks);
  };
  // What its credit covers, or how much gives way at most, is known at once and tells mostly.
  if (tenant.net > 0) {
    const MicroUnits covered = covered_for(tenant, range.range.expected_ms);
    if (covered == 0) return by_quota;
    if (after > tenant.part + covered && !base_is_at_least(after)) return by_quota;
    const MicroUnits back = std::min(refresh(state, tenant).due, covered);
    if (!base_is_at_least(held - back + 1)) return by_quota;
    return base_is_at_least(after - back) ? Standing::within : Standing::straddling;
  }
  const auto most_away = static_cast<MicroUnits>(
      quotient(Wide{tenant.part} * tenant.terms.repay_millionths, kMicroUnitsPerUnit));
  if (after <= tenant.part - most_away) return by_quota;
  if (!base_is_at_least(held + 1) || base_is_at_least(after + most_away)) return by_quota;
  const MicroUnits away = refresh(state, tenant).away;
  if (!base_is_at_least(held + away + 1)) return std::max(by_quota, Standing::owing);
  return base_is_at_least(after + away) ? by_quota : std::max(by_quota, Standing::straddling);
}

/// As standing_in_time: what a tenant owes moves it further from a claim, and what it is owed gives
/// it one only where its credit covers the task, or it is below its quota with it. One that only
/// owes has one below its part.
bool is_surely_without_claim(const AllocatorState& state, const TenantState& tenant,
                             const WindowRange& range, const AllocatorQuotas::WaterMarks& highest) {
  const AllocatorQuotas& quotas = state.quotas();
  bool is_at_quota = false;
  for (const std::size_t r : range.asks)
    is_at_quota = is_at_quota ||
                  quotas.quota_is_surely_less(tenant, r, tenant.holdings[r].counted + 1, highest);
  if (!is_at_quota) return false;
  if (tenant.net < 0) return true;
  if (tenant.net == 0)
    return state.held_in_time(tenant) >= tenant.part || !only_owes(state, tenant);
  const MicroUnits covered = covered_for(tenant, range.range.expected_ms);
  if (covered == 0) return true;
  const std::size_t resource = state.accounts().time().resource();
  const MicroUnits cost = state.cost_in_time(range);
  if (cost == 0) return true;
  const MicroUnits after = state.held_in_time(tenant) + cost;
  return after > tenant.part + covered &&
         quotas.quota_is_surely_less_micro(tenant, resource, after, highest);
}

}  // namespace fairwater::inline policy::inline allocator
