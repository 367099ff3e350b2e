#include "policy/ledger/debts.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline ledger {
namespace {

/// In each half-life so many steps: a debt is at most 0.02 % larger than it would be at the moment.
constexpr LedgerMs kStepsPerHalfLife = 4096;

/// Cuts `whole` into parts in proportion to what it is asked for, cumulatively: they add up to it
/// when it was asked for everything.
class Proportion {
 public:
  /// whole <= all
  Proportion(Units whole, Units all) : whole_(whole), all_(all) {}
  Units next(Units amount) {
    const Wide before = whole_ * sum_ / all_;
    sum_ += amount;
    return static_cast<Units>(whole_ * sum_ / all_ - before);
  }

 private:
  Wide whole_;
  Wide all_;
  Wide sum_ = 0;
};

}  // namespace

Units cap_of(const DebtTerms& terms, MicroUnits part) {
  Wide cap = kUnlimited;
  if (terms.cap_unit_ms > 0) cap = std::min<Wide>(cap, terms.cap_unit_ms);
  if (terms.cap_part_ms > 0)
    cap = std::min(cap, Wide{part} * terms.cap_part_ms / kMicroUnitsPerUnit);
  return static_cast<Units>(cap);
}

LedgerMs decay_period_ms(const DebtTerms& terms) {
  return std::max<LedgerMs>(terms.half_life_ms / kStepsPerHalfLife, 1);
}

void cap_loans(TimeSettlement& settlement, const std::function<Units(TenantId)>& room) {
  Units beyond = 0;
  Units lent = 0;
  for (TimeLine& line : settlement.lines) {
    lent += std::max<Units>(line.position, 0);
    if (line.position >= 0) continue;
    const Units excess = std::max<Units>(-line.position - room(line.tenant), 0);
    line.position += excess;
    line.beyond_cap = -excess;
    beyond += excess;
  }
  if (beyond == 0) return;
  Proportion parts(beyond, lent);
  for (TimeLine& line : settlement.lines) {
    if (line.position <= 0) continue;
    line.beyond_cap = parts.next(line.position);
    line.position -= line.beyond_cap;
  }
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
