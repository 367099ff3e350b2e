#include "policy/ledger/debts.hpp"

#include <algorithm>

#include "policy/core/check.hpp"
#include "policy/ledger/proportion.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

/// In each half-life so many steps: a debt is at most 0.02 % larger than it would be at the moment.
constexpr LedgerMs kStepsPerHalfLife = 4096;

}  // namespace

Units cap_of(const DebtCap& cap, MicroUnits part) {
  Wide most = kUnlimited;
  if (cap.unit_ms > 0) most = std::min<Wide>(most, cap.unit_ms);
  if (cap.part_ms > 0) most = std::min(most, Wide{part} * cap.part_ms / kMicroUnitsPerUnit);
  return static_cast<Units>(most);
}

Units cap_of(const DebtTerms& terms, MicroUnits part) {
  return cap_of(DebtCap{terms.cap_part_ms, terms.cap_unit_ms}, part);
}

LedgerMs decay_period_ms(const DebtTerms& terms) {
  return std::max<LedgerMs>(terms.half_life_ms / kStepsPerHalfLife, 1);
}

std::vector<ForgivenDebt> parts_of_debt(std::span<const IouBook::Iou> debts, Units units) {
  FAIRWATER_CHECK(units > 0, "what is forgiven is positive");
  Units all = 0;
  for (const IouBook::Iou& debt : debts) all += debt.units;
  Proportion parts(std::min(units, all), all);
  std::vector<ForgivenDebt> forgiven;
  for (const IouBook::Iou& debt : debts)
    if (const Units part = parts.next(debt.units); part > 0)
      forgiven.push_back({TenantId{debt.creditor}, part});
  return forgiven;
}

}  // namespace fairwater::inline policy::inline ledger
