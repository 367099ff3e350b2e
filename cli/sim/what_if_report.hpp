// What `sim what-if` prints and the summary of its page.
#pragma once

#include <string>

#include "cli/core/output.hpp"
#include "cli/sim/what_if.hpp"

namespace fairwater::inline cli::inline sim_cli {

/// What was asked, for the report.
struct WhatIfSource {
  std::string file;         ///< the tenant file
  std::uint64_t cycle = 0;  ///< the newest journal record that was read
  WallTime now;
};

/// What was simulated from what, in sentences.
[[nodiscard]] std::string what_if_summary(const sim::WhatIfReport& report, const WhatIfFacts& facts,
                                          const WhatIfSource& source);
[[nodiscard]] std::string what_if_text(const sim::WhatIfReport& report, const WhatIfFacts& facts,
                                       const WhatIfSource& source);
/// Tenants that would come have a `before` of null.
[[nodiscard]] Json what_if_json(const sim::WhatIfReport& report, const WhatIfFacts& facts,
                                const WhatIfSource& source);

}  // namespace fairwater::inline cli::inline sim_cli
