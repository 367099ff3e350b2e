// The tenant file: YAML in, validated tenants out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "model/tenant.hpp"

namespace fairwater {

/// Tenants in the file's order, parents before their children. `name` is how errors call the file.
/// Errors name key and line.
[[nodiscard]] Expected<std::vector<TenantSpec>> parse_tenant_file(std::string_view text,
                                                                  const std::string& name);

}  // namespace fairwater
