// Runs experiments and writes down what came out: a page and a JSON file for each, an overview, and
// the table of docs/reproduction.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/core/context.hpp"
#include "cli/core/output.hpp"
#include "sim/experiments/experiment.hpp"

namespace fairwater::inline cli::inline sim_cli {

struct ReproduceOptions {
  std::string name;                  ///< an experiment's, or `all`
  std::string out = "reproduction";  ///< the folder for what is written; made when it is absent
  std::uint32_t seeds = sim::ExperimentOptions{}.seeds;
  std::uint32_t threads = 1;
  std::string traces{};      ///< a folder; empty: there is none
  std::string table_file{};  ///< a Markdown file whose table of claims is replaced; empty: none
};

/// Writes OUT/NAME.html and OUT/NAME.json for each experiment chosen, and OUT/index.html over them;
/// prints one line per claim. Of `all`, those that need traces are skipped where there are none.
/// Stops at the first failure. Returns the exit status.
[[nodiscard]] int reproduce(const Context& context, const std::vector<sim::Experiment>& experiments,
                            const ReproduceOptions& options);

/// Everything that the report holds.
[[nodiscard]] Json report_json(const sim::ExperimentReport& report);

/// The lines between which a document's table of claims stands.
inline constexpr std::string_view kTableBegin = "<!-- claims: written by ./dev reproduce -->\n";
inline constexpr std::string_view kTableEnd = "<!-- end of claims -->\n";
/// The document with another table. `invalid_input` when it has no such lines.
[[nodiscard]] Expected<std::string> replace_table(const std::string& document,
                                                  const std::vector<std::string>& rows);

}  // namespace fairwater::inline cli::inline sim_cli
