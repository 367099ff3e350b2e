// What a waiting task's tenant may hold with a claim, where the ledger counts time, in words and in
// JSON.
#pragma once

#include <string>

#include "cli/core/output.hpp"
#include "model/requests.hpp"

namespace fairwater::inline cli::inline cluster {

/// How its mark comes about, then whether its credit covers its next task. Empty without a mark.
[[nodiscard]] std::string mark_text(const Explanation& explanation);
/// Of an explanation with a mark.
[[nodiscard]] Json mark_json(const Explanation& explanation);

}  // namespace fairwater::inline cli::inline cluster
