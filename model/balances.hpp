// What a ledger's balances are, as people write them.
#pragma once

#include <string>
#include <string_view>

#include "model/requests.hpp"

namespace fairwater::inline model {

/// `12` where the ledger counts units. Where it counts time `8core-s` or `1.5 core-h`, as listings
/// show it (`unit-s`, `unit-h` on a cluster that counts no processors), or `8000unit_ms`, as JSON
/// has it; to the nearest unit-millisecond. At least 1. `invalid_input` says what would be right.
[[nodiscard]] Expected<Units> parse_balance(std::string_view text, const LedgerMeasure& measure,
                                            const char* field);

/// Bounds of debts as a configuration has them: `debts: {cap: 24h, half_life: 7d}`.
struct DebtSettings {
  /// A duration: so long of its own part may a tenant owe; or a balance, `500core-h`. Empty: no
  /// cap.
  std::string cap = {};
  std::int64_t half_life_ms = 0;  ///< 0: debts stay
  friend bool operator==(const DebtSettings&, const DebtSettings&) = default;
};
/// `24h`, so long of its own part, or `500core-h`; none for an empty text. `invalid_input` naming
/// `field` for anything else.
[[nodiscard]] Expected<DebtCap> parse_cap(const std::string& text, const LedgerMeasure& measure,
                                          const char* field);
/// `invalid_input` naming `debts.cap`.
[[nodiscard]] Expected<DebtTerms> terms_of(const DebtSettings& settings,
                                           const LedgerMeasure& measure);

/// What becomes of balances in units where a ledger begins to count time.
struct BalanceConversion {
  /// Core-seconds that a unit is then, as a number's text. Empty: what is owed is forgiven.
  std::string core_seconds_per_unit = {};
};
/// As AccountingChanged has it. `invalid_input` naming `convert_balances` for a rate at which a
/// unit is no whole number of unit-milliseconds above 0.
[[nodiscard]] Expected<Units> unit_ms_of(const BalanceConversion& conversion,
                                         const LedgerMeasure& measure);

}  // namespace fairwater::inline model
