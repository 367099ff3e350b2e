// The simulation file: YAML in, a scenario out (docs/simulator.md describes every key).
#pragma once

#include <string>
#include <string_view>

#include "model/errors.hpp"
#include "sim/report/scenario.hpp"

namespace fairwater::inline cli::inline sim_cli {

/// Reads the file and the trace that it names, which is looked for beside it. `name` is the file's
/// path; errors name key and line, or the trace's line.
[[nodiscard]] Expected<sim::Scenario> parse_sim_file(std::string_view text,
                                                     const std::string& name);

}  // namespace fairwater::inline cli::inline sim_cli
