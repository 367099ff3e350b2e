// How a debt is forgiven.
#pragma once

#include <span>
#include <vector>

#include "policy/ledger/iou_book.hpp"

namespace fairwater {

/// A part of what a tenant owes, forgiven.
struct ForgivenDebt {
  TenantId creditor;
  Units units = 0;
  friend bool operator==(const ForgivenDebt&, const ForgivenDebt&) = default;
};
/// `units` of these debts, or all when they are less: of each in proportion, so that the parts add
/// up. Without those that are nothing.
[[nodiscard]] std::vector<ForgivenDebt> parts_of_debt(std::span<const IouBook::Iou> debts,
                                                      Units units);

}  // namespace fairwater
