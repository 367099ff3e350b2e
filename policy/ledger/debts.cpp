#include "policy/ledger/debts.hpp"

#include <algorithm>
#include <cstdlib>

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

void cap_loans(TimeSettlement& settlement, const std::function<LoanRoom(TenantId)>& room) {
  Units lent = 0;
  Units borrowed = 0;
  for (TimeLine& line : settlement.lines) {
    if (line.position == 0) continue;
    const LoanRoom most = room(line.tenant);
    const Units allowed = std::clamp(line.position, -most.borrow, most.lend);
    line.beyond_cap = line.position - allowed;
    line.position = allowed;
    (allowed > 0 ? lent : borrowed) += std::abs(allowed);
  }
  const Units excess = lent - borrowed;
  if (excess == 0) return;
  Proportion parts(std::abs(excess), std::max(lent, borrowed));
  for (TimeLine& line : settlement.lines) {
    if (line.position == 0 || (line.position > 0) != (excess > 0)) continue;
    const Units part = parts.next(std::abs(line.position)) * (excess > 0 ? 1 : -1);
    line.position -= part;
    line.beyond_cap += part;
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
