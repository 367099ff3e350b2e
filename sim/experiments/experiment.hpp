// An experiment: a paper's claim, what was assumed where the paper is silent, what came out, and
// whether the claim holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "sim/report/page.hpp"

namespace fairwater::sim::inline experiments {

enum class Verdict : std::uint8_t {
  holds = 0,
  holds_in_part = 1,
  does_not_hold = 2,
  measured_only = 3,  ///< nothing was claimed: a figure of ours, or one that depends on the machine
};
[[nodiscard]] std::string_view to_string(Verdict verdict);

struct Claim {
  std::string paper;      ///< short name and place, as in "Wang, Hong, Feng, figure 1"
  std::string statement;  ///< what the paper says
  std::string measured;   ///< what came out, with its numbers; quoted by docs/reproduction.md
  Verdict verdict = Verdict::measured_only;
};

struct ExperimentReport {
  std::string title;
  std::vector<Claim> claims;
  std::vector<std::string> assumptions;  ///< where the paper is silent
  std::vector<PageItem> items;           ///< tables, charts, sensitivity to the assumptions
};

struct ExperimentOptions {
  std::uint32_t seeds = 10;  ///< repetitions of what is random; seed numbers are 1..seeds
  std::uint32_t threads = 1;
  std::string traces;  ///< the folder of workload traces; empty: there is none
  std::function<void(double)> progress = [](double) {};  ///< done, from 0 to 1; one call at a time
};

struct Experiment {
  std::string_view name;  ///< as in `fairwater sim reproduce NAME`
  /// True when the same options give the same report on every machine and run: no timings in it.
  bool deterministic = true;
  bool needs_traces = false;
  Expected<ExperimentReport> (*run)(const ExperimentOptions& options);
  bool slow = false;  ///< takes more than 20 s with one thread: the tests do not repeat it
};

/// All of them, in the order in which `all` runs them.
[[nodiscard]] const std::vector<Experiment>& all_experiments();

[[nodiscard]] Page to_page(const ExperimentReport& report);

/// What became of one experiment.
struct Reproduction {
  std::string name;
  std::optional<ExperimentReport> report;  ///< none: it needs traces, and there are none
};

/// The claims of all, each with a link to its experiment's page, NAME.html.
[[nodiscard]] Page overview_page(const std::vector<Reproduction>& reproductions);
/// The claims as rows of a Markdown table: experiment, claim, measured, verdict.
[[nodiscard]] std::vector<std::string> markdown_rows(std::string_view name,
                                                     const ExperimentReport& report);

}  // namespace fairwater::sim::inline experiments
