// What bounds debts where the ledger counts time, and how a debt is forgiven.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "policy/ledger/iou_book.hpp"
#include "policy/ledger/time_accounts.hpp"

namespace fairwater::inline policy::inline ledger {

/// No bound by default.
struct DebtTerms {
  /// So long of its own part is the most that a tenant may owe. 0: no cap.
  LedgerMs cap_part_ms = 0;
  /// The most that a tenant may owe. 0: no cap. Of two caps the smaller counts.
  Units cap_unit_ms = 0;
  /// In which what is owed becomes half. 0: it stays.
  LedgerMs half_life_ms = 0;
  friend bool operator==(const DebtTerms&, const DebtTerms&) = default;
};

/// What a tenant with this part may owe; kUnlimited without a cap.
[[nodiscard]] Units cap_of(const DebtTerms& terms, MicroUnits part);
/// IOUs shrink no more often than this: each time costs a look at all of them.
[[nodiscard]] LedgerMs decay_period_ms(const DebtTerms& terms);

/// Nobody borrows more than `room` says: what goes beyond it is taken off its position, and off
/// those of all lenders in proportion. It stands in TimeLine::beyond_cap.
void cap_loans(TimeSettlement& settlement, const std::function<Units(TenantId)>& room);

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

}  // namespace fairwater::inline policy::inline ledger
