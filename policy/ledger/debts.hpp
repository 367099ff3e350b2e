// What bounds debts where the ledger counts time, and how a debt is forgiven.
#pragma once

#include <span>
#include <vector>

#include "policy/ledger/entries.hpp"
#include "policy/ledger/iou_book.hpp"

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

/// A tenant's own bound of debts or claims. No bound by default; of two the smaller counts.
struct DebtCap {
  LedgerMs part_ms = 0;  ///< so long of its own part. 0: no cap
  Units unit_ms = 0;     ///< 0: no cap
  friend bool operator==(const DebtCap&, const DebtCap&) = default;
};
struct LoanCaps {
  DebtCap lend;    ///< what others may owe it
  DebtCap borrow;  ///< what it may owe
  friend bool operator==(const LoanCaps&, const LoanCaps&) = default;
};

/// How much that is for a tenant with this part; kUnlimited without a cap.
[[nodiscard]] Units cap_of(const DebtCap& cap, MicroUnits part);
/// What a tenant with this part may owe; kUnlimited without a cap.
[[nodiscard]] Units cap_of(const DebtTerms& terms, MicroUnits part);
/// IOUs shrink no more often than this: each time costs a look at all of them.
[[nodiscard]] LedgerMs decay_period_ms(const DebtTerms& terms);

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
