// Which proposals what-if can look at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/errors.hpp"
#include "model/resources.hpp"
#include "model/tenant_nesting.hpp"

namespace fairwater::inline cli::inline sim_cli {

/// Anybody may come, change or move; but who runs jobs gets no tenants, and who has tenants keeps
/// some. `invalid_input` or `not_supported` names `tenants[I].FIELD`. `ids`: of all in `before` and
/// `after`.
[[nodiscard]] caf::error check_proposal(const std::vector<TenantSpec>& proposal,
                                        const TenantNesting& before, const TenantNesting& after,
                                        const std::map<std::string, TenantId>& ids,
                                        const ResourceCatalog& catalog);

}  // namespace fairwater::inline cli::inline sim_cli
