// `fairwater policy NAME`: the allocation algorithms as commands over JSON (docs/policies.md). Each
// reads its input strictly, runs the code that the runtime runs, and returns its output.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/core/json.hpp"
#include "input/field.hpp"

namespace fairwater::inline cli::inline policy_cli {

/// Throws InputError for input that the caller must change.
using PolicyFunction = std::function<Json(const Field& input)>;

struct PolicyCommand {
  std::string_view name;
  std::string_view summary;
  PolicyFunction run;
};

/// All commands, by name.
[[nodiscard]] const std::vector<PolicyCommand>& policy_commands();

[[nodiscard]] Json run_drf(const Field& input);
[[nodiscard]] Json run_gdrf(const Field& input);
[[nodiscard]] Json run_qrea(const Field& input);
[[nodiscard]] Json run_saturation(const Field& input);
[[nodiscard]] Json run_saturation_advice(const Field& input);
[[nodiscard]] Json run_sequence(const Field& input);
[[nodiscard]] Json run_sized(const Field& input);
[[nodiscard]] Json run_ledger(const Field& input);
[[nodiscard]] Json run_water_fill(const Field& input);

/// The command of that name, or null.
[[nodiscard]] const PolicyCommand* find_policy(std::string_view name);

/// Runs policy `name` on the JSON in `text` and prints one JSON object on `out`. An unknown name or
/// bad input: one line on `err`, nothing on `out`, and 2. Otherwise 0.
int policy_command(std::string_view name, std::string_view text, bool pretty, std::ostream& out,
                   std::ostream& err);

}  // namespace fairwater::inline cli::inline policy_cli
