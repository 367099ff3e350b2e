// What `fairwater usage` prints.
#pragma once

#include <string>
#include <vector>

#include "cli/core/json.hpp"
#include "model/usage.hpp"

namespace fairwater::inline cli::inline cluster {

/// With a line for all rows together where there are several.
[[nodiscard]] std::string usage_text(const UsageQuery& query, const std::vector<UsageRow>& rows);
[[nodiscard]] Json usage_json(const UsageQuery& query, const std::vector<UsageRow>& rows);

}  // namespace fairwater::inline cli::inline cluster
