// Amounts of the ledger's currency as people read them.
#pragma once

#include <string>
#include <string_view>

#include "cli/core/output.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// A balance: in units; where time is counted, in core-seconds or core-hours, or without processors
/// in units' seconds or hours.
[[nodiscard]] std::string balance_text(Units balance, const LedgerMeasure& measure);
/// The same with its sign, a plus too.
[[nodiscard]] std::string signed_balance_text(Units balance, const LedgerMeasure& measure);
/// What is held, or may be: so many processors' worth, or units without processors.
[[nodiscard]] double cores_of(MicroUnits held, const LedgerMeasure& measure);
/// What cores_of() counts of a resource: of others than cpu, as many units as a core has.
[[nodiscard]] const char* cores_name(const LedgerMeasure& measure, std::string_view resource);
/// Names the currency of an answer's balances.
void put_measure(Json& json, const LedgerMeasure& measure);

}  // namespace fairwater::inline cli::inline cluster
