#include "daemon/accounting.hpp"

#include <spdlog/spdlog.h>

namespace fairwater::inline daemon {

caf::error change_accounting(Ledger& ledger, const CoordinatorConfig& config) {
  const ClusterCreated cluster = ledger.cluster();
  if (cluster.accounting == Accounting::time || config.accounting != Accounting::time ||
      !config.convert_balances)
    return {};
  const auto unit_ms = unit_ms_of(*config.convert_balances, measure_of(cluster));
  if (!unit_ms) return unit_ms.error();
  auto changed = ledger.append({AccountingChanged{*unit_ms}});
  if (!changed) return changed.error();
  if (*unit_ms == 0)
    spdlog::warn("the ledger counts time from here on; what was owed in units is forgiven");
  else
    spdlog::warn(
        "the ledger counts time from here on; each unit that was owed is {} unit-milliseconds now",
        *unit_ms);
  return {};
}

}  // namespace fairwater::inline daemon
