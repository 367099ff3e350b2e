// How a ledger that counts units begins to count time (docs/ledger.md).
#pragma once

#include "daemon/config.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline daemon {

/// Carries the change out where the configuration asks for it, once; nothing otherwise.
/// check_against() found nothing wrong before.
[[nodiscard]] caf::error change_accounting(Ledger& ledger, const CoordinatorConfig& config);

}  // namespace fairwater::inline daemon
