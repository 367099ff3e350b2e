// Tenants as an operator declares them, and as simulation files do.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "input/field.hpp"
#include "model/errors.hpp"
#include "model/tenant.hpp"

namespace fairwater::inline input {

/// A tenant, not validated, and the tenants within it.
struct DeclaredTenant {
  Field field;  ///< where it stands
  TenantSpec spec;
  std::vector<DeclaredTenant> tenants;
};

/// Reads the keys of a tenant that not every kind of file has.
using ReadTenantMore = std::function<void(const FieldMap&, TenantSpec&)>;

/// `fifo`, `fair`, `priority` or `shortest-first`.
[[nodiscard]] QueuePolicy read_queue(const Field& field);

/// A list of tenants, each name once in all of the tree. What one with tenants says of `queue`,
/// `repay`, `run_as` and `placement`, which are of those that run jobs, is said for all within it
/// that do not say otherwise.
[[nodiscard]] std::vector<DeclaredTenant> read_tenants(const Field& list,
                                                       const ReadTenantMore& read_more);

/// Validated tenants in the file's order. Who stands in another's `tenants` has that for its
/// parent; one at the top may name its `parent`, which may come later, or be known already. `name`
/// is how errors call the file. Errors name key and line.
[[nodiscard]] Expected<std::vector<TenantSpec>> parse_tenant_file(std::string_view text,
                                                                  const std::string& name);

}  // namespace fairwater::inline input
