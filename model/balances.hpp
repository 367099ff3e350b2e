// What a ledger's balances are, as people write them.
#pragma once

#include <string_view>

#include "model/requests.hpp"

namespace fairwater {

/// `12` where the ledger counts units. Where it counts time `8core-s` or `1.5 core-h`, as listings
/// show it (`unit-s`, `unit-h` on a cluster that counts no processors), or `8000unit_ms`, as JSON
/// has it; to the nearest unit-millisecond. At least 1. `invalid_input` says what would be right.
[[nodiscard]] Expected<Units> parse_balance(std::string_view text, const LedgerMeasure& measure,
                                            const char* field);

}  // namespace fairwater
