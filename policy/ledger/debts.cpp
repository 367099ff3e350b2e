#include "policy/ledger/debts.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater {

std::vector<ForgivenDebt> parts_of_debt(std::span<const IouBook::Iou> debts, Units units) {
  FAIRWATER_CHECK(units > 0, "what is forgiven is positive");
  Wide all = 0;
  for (const IouBook::Iou& debt : debts) all += debt.units;
  const Wide whole = std::min<Wide>(units, all);
  std::vector<ForgivenDebt> forgiven;
  Wide before = 0;
  for (const IouBook::Iou& debt : debts) {
    const Wide until = before + debt.units;
    const auto part = static_cast<Units>(whole * until / all - whole * before / all);
    before = until;
    if (part > 0) forgiven.push_back({TenantId{debt.creditor}, part});
  }
  return forgiven;
}

}  // namespace fairwater
