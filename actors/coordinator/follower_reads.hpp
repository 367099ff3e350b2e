// What a coordinator that follows shows of its ledger: a leader's actors know more, but not its
// followers.
#pragma once

#include <optional>
#include <string>

#include "model/requests.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline actors::inline coordinator {

// All throw StorageFault.

/// All but who leads and what the other replicas hold. Nodes are up unless they are lost. O(jobs
/// that have not ended).
[[nodiscard]] ClusterStatus read_status(const Ledger& ledger);

/// Of all tenants, nodes and resources, as they are now.
[[nodiscard]] NameTable read_names(const Ledger& ledger);

[[nodiscard]] std::optional<TenantId> find_tenant(const Ledger& ledger, const std::string& name);

}  // namespace fairwater::inline actors::inline coordinator
