#include "cli/sim/what_if_proposal.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fairwater::inline cli::inline sim_cli {
namespace {

std::string field_of(std::size_t index, const std::string& key) {
  return fmt::format("tenants[{}].{}", index, key);
}

caf::error unsupported(std::size_t index, const std::string& key, std::string message) {
  return make_error(ErrorCode::not_supported, std::move(message), field_of(index, key));
}

bool has_tenants(const TenantNesting& nesting, TenantId id) {
  return nesting.knows(id) && nesting.has_tenants(id);
}

/// Whether its place would give tenants to one that runs jobs, or leave one without any.
caf::error check_place(std::size_t index, const TenantSpec& proposed, TenantId id,
                       const TenantNesting& before, const TenantNesting& after,
                       const std::map<std::string, TenantId>& ids) {
  const std::string now = before.knows(id) ? before.spec(id).parent : std::string{};
  if (proposed.parent == now) return {};
  const auto may_have_tenants = [&](const TenantNesting& nesting, const std::string& name) {
    return name.empty() || !before.knows(ids.at(name)) || has_tenants(nesting, ids.at(name));
  };
  if (!may_have_tenants(before, proposed.parent))
    return unsupported(index, "parent",
                       fmt::format("'{}' runs jobs, and what-if gives no tenants to those that do; "
                                   "name one that has some, or a new one",
                                   proposed.parent));
  if (!may_have_tenants(after, now))
    return unsupported(index, "parent",
                       fmt::format("'{}' leaves {} without tenants, and what-if keeps it from "
                                   "running jobs then; write {}, as it is now",
                                   proposed.parent, now, now));
  return {};
}

}  // namespace

caf::error check_proposal(const std::vector<TenantSpec>& proposal, const TenantNesting& before,
                          const TenantNesting& after, const std::map<std::string, TenantId>& ids,
                          const ResourceCatalog& catalog) {
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    if (const auto terms = terms_of(proposal[i], catalog); !terms) {
      const ErrorDetails said = details(terms.error());
      return make_error(said.code, said.message, field_of(i, said.field));
    }
    for (const auto& faults : {after.shape_faults(), after.terms_faults()})
      for (const auto& fault : faults)
        if (fault.tenant == proposal[i].name)
          return make_error(ErrorCode::invalid_input, fault.message, field_of(i, fault.key));
  }
  for (std::size_t i = 0; i < proposal.size(); ++i)
    if (auto wrong = check_place(i, proposal[i], ids.at(proposal[i].name), before, after, ids))
      return wrong;
  return {};
}

}  // namespace fairwater::inline cli::inline sim_cli
