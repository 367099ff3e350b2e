#include "policy/allocator/time_turns.hpp"

#include <algorithm>
#include <cmath>

#include "policy/allocator/state.hpp"
#include "policy/core/wide.hpp"
#include "policy/ledger/debts.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

constexpr Wide kMost = Wide{1} << 60;
/// Far more than the rounding of the few operations below.
constexpr double kRounding = 0x1p-40;

/// Whether others come to owe the tenant, which owes nothing, for what it is kept from.
bool is_owed_for_waiting(const AllocatorState& state, const TenantState& tenant) {
  for (auto group = tenant.group; group != QuotaTree::kRoot;
       group = state.quotas().group(group).parent)
    if (!state.quotas().group(group).terms.rights.may_lend) return false;
  return tenant.terms.may_lend && tenant.net < cap_of(tenant.terms.caps.lend, tenant.part);
}

/// Whether it comes to owe all that its next task takes beyond its part.
bool owes_what_it_takes(const AllocatorState& state, const TenantState& tenant) {
  if (!tenant.may_exceed_quota()) return false;
  for (auto group = tenant.group; group != QuotaTree::kRoot;
       group = state.quotas().group(group).parent)
    if (state.quotas().group(group).terms.rights.caps.borrow != DebtCap{}) return false;
  const Units most = std::min(cap_of(tenant.terms.caps.borrow, tenant.part),
                              cap_of(state.settings.debts, tenant.part));
  if (most == kUnlimited) return true;
  if (tenant.window.empty()) return false;
  const WindowRange& next = tenant.window.front();
  const Wide beyond = std::max<Wide>(state.cost_in_time(next) - tenant.part, 0);
  return next.range.expected_ms > 0 &&
         beyond * next.range.expected_ms <= (Wide{most} + tenant.net) * kMicroUnitsPerUnit;
}

}  // namespace

bool only_owes(const AllocatorState& state, const TenantState& tenant) {
  return tenant.net >= 0 && !is_owed_for_waiting(state, tenant) &&
         owes_what_it_takes(state, tenant);
}

TurnPart turn_part(const TenantState& tenant) {
  return tenant.group == QuotaTree::kRoot ? TurnPart{tenant.part, tenant.net} : tenant.turn;
}

TurnTerms turn_terms(const AllocatorState& state, const TenantState& tenant,
                     const WindowRange& next) {
  const MicroUnits held = state.held_in_time(tenant);
  const MicroUnits cost = only_owes(state, tenant) ? 0 : state.cost_in_time(next);
  const TurnPart counted = turn_part(tenant);
  return {.held = held + cost,
          .owed = Wide{cost} * next.range.expected_ms - Wide{counted.net} * kMicroUnitsPerUnit,
          .per = std::max<MicroUnits>(counted.part, 1)};
}

Turn turn_of(const TurnTerms& terms, TurnClass of, std::int64_t memory_ms) {
  const Wide value = terms.held + quotient(terms.owed, memory_ms);
  return {.first = static_cast<Units>(of),
          .second = static_cast<Units>(std::clamp(value, -kMost, kMost)),
          .per = terms.per};
}

double least_value(const TurnTerms& terms, std::int64_t least_memory_ms,
                   std::int64_t most_memory_ms) {
  const auto held = static_cast<double>(terms.held);
  const auto owed = static_cast<double>(terms.owed);
  const double most_apart = std::abs(owed) / static_cast<double>(least_memory_ms);
  const double value = held + std::min(owed / static_cast<double>(least_memory_ms),
                                       owed / static_cast<double>(most_memory_ms));
  const double rounded = value - 1 - kRounding * (held + most_apart);
  return std::min(rounded, static_cast<double>(kMost) * (1 - kRounding)) /
         static_cast<double>(terms.per);
}

bool is_surely_before(const Turn& turn, double value) {
  const double at = static_cast<double>(turn.second) / static_cast<double>(turn.per);
  return at + kRounding * std::abs(at) < value - kRounding * std::abs(value);
}

}  // namespace fairwater::inline policy::inline allocator
