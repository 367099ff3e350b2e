// Why a task waits, or how its grant came about, in words and in JSON.
#pragma once

#include <string>

#include "cli/core/output.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// For a pending task what keeps it waiting first, then everything else that would; for a granted
/// one the arithmetic of the deal that placed it. Several lines.
[[nodiscard]] std::string explain_text(const Explanation& explanation);
[[nodiscard]] Json explain_json(const Explanation& explanation);

}  // namespace fairwater::inline cli::inline cluster
