#include "cli/sim/what_if_proposal.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/core/output.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr const char* kOnly = "what-if changes only tenants that run jobs";

std::string field_of(std::size_t index, const std::string& key) {
  return fmt::format("tenants[{}].{}", index, key);
}

caf::error unsupported(std::size_t index, const std::string& key, std::string message) {
  return make_error(ErrorCode::not_supported, std::move(message), field_of(index, key));
}

bool has_tenants(const TenantNesting& nesting, TenantId id) {
  return nesting.knows(id) && nesting.has_tenants(id);
}

/// In what the proposal has one that has tenants otherwise than it is.
caf::error check_terms(std::size_t index, const TenantSpec& proposed, const TenantSpec& now) {
  const auto refuse = [&](const char* key, const std::string& value, const std::string& as_it_is) {
    return unsupported(
        index, key,
        fmt::format("'{}': {} has tenants, and {}; {}, as it is now", value, proposed.name, kOnly,
                    as_it_is.empty() ? "leave it out" : "write " + as_it_is));
  };
  const auto written = [](const NamedAmounts& amounts) {
    return amounts.empty() ? std::string{} : format_amounts(amounts);
  };
  if (proposed.parent != now.parent) return refuse("parent", proposed.parent, now.parent);
  if (proposed.weight != now.weight)
    return refuse("weight", std::to_string(proposed.weight), std::to_string(now.weight));
  if (proposed.min != now.min) return refuse("min", written(proposed.min), written(now.min));
  if (proposed.max != now.max) return refuse("max", written(proposed.max), written(now.max));
  return {};
}

/// Of one that would run jobs: whether its place would make somebody have tenants, or have none.
caf::error check_place(std::size_t index, const TenantSpec& proposed, TenantId id,
                       const TenantNesting& before, const TenantNesting& after,
                       const std::map<std::string, TenantId>& ids) {
  const std::string now = before.knows(id) ? before.spec(id).parent : std::string{};
  if (proposed.parent == now) return {};
  const auto may_have_tenants = [&](const TenantNesting& nesting, const std::string& name) {
    return name.empty() || has_tenants(nesting, ids.at(name));
  };
  if (!may_have_tenants(before, proposed.parent))
    return unsupported(index, "parent",
                       fmt::format("'{}' has no tenants so far, and {}; name one that has some",
                                   proposed.parent, kOnly));
  if (!may_have_tenants(after, now))
    return unsupported(index, "parent",
                       fmt::format("'{}' leaves {} without tenants, and {}; write {}, as it is now",
                                   proposed.parent, now, kOnly, now));
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
  for (std::size_t i = 0; i < proposal.size(); ++i) {
    const TenantId id = ids.at(proposal[i].name);
    const bool had_tenants = has_tenants(before, id);
    if (had_tenants != has_tenants(after, id)) continue;  // told of where its tenants are
    if (auto wrong = had_tenants ? check_terms(i, proposal[i], before.spec(id))
                                 : check_place(i, proposal[i], id, before, after, ids))
      return wrong;
  }
  return {};
}

}  // namespace fairwater::inline cli::inline sim_cli
