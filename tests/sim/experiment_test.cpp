#include "sim/experiments/experiment.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "process/temporary_directory.hpp"
#include "sim/experiments/list.hpp"
#include "tests/sim/browser.hpp"

namespace fairwater::sim {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // ten times slower: one seed must do, and gives other numbers
#else
constexpr bool kSanitized = false;
#endif

ExperimentReport sample_report() {
  return {.title = "Orders of slots",
          .claims = {{"Wang, figure 1", "a | b < c", "0.94 slots", Verdict::holds},
                     {"", "how long it takes", "3 *ms*\n", Verdict::measured_only},
                     {"Wang, figure 2", "always first", "in 9 of 10", Verdict::holds_in_part}},
          .assumptions = {"Ties go to the first tenant."},
          .items = {Heading{"Sensitivity"}}};
}

/// The rows of a document's tables that begin with `| name |`; all rows when it is empty.
std::vector<std::string> quoted_rows(const std::string& document, const std::string& name) {
  std::vector<std::string> rows;
  std::istringstream lines{document};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name.empty() ? "| " : "| " + name + " |")) rows.push_back(line);
  return rows;
}

std::string reproduction_document() {
  std::ifstream file{std::string{FAIRWATER_SOURCE_DIR} + "/docs/reproduction.md"};
  REQUIRE(file);
  return {std::istreambuf_iterator<char>{file}, {}};
}

/// Empty where there are none.
std::string traces_folder() {
  if (const char* traces = std::getenv("FAIRWATER_TRACES"); traces != nullptr) return traces;
  const std::string beside = std::string{FAIRWATER_SOURCE_DIR} + "/../shared/traces";
  return std::filesystem::is_directory(beside) ? beside : "";
}

/// What the experiments that can be repeated here report; they run once.
const std::map<std::string, ExperimentReport>& repeated() {
  static const auto reports = [] {
    ExperimentOptions options;
    if (kSanitized) options.seeds = 1;
    options.threads = 2;
    options.traces = traces_folder();
    std::map<std::string, ExperimentReport> all;
    for (const Experiment& experiment : all_experiments()) {
      const std::string name{experiment.name};
      if (!experiment.deterministic || experiment.slow) continue;
      if (experiment.needs_traces && options.traces.empty()) {
        WARN("skipped: " << name << " needs traces");
        continue;
      }
      auto report = experiment.run(options);
      if (!report) FAIL(name << ": " << details(report.error()).message);
      all.emplace(name, std::move(*report));
    }
    return all;
  }();
  return reports;
}

}  // namespace

TEST_CASE("a report becomes a page", "[unit][experiment]") {
  const Page page = to_page(sample_report());
  CHECK(page.title == "Orders of slots");
  CHECK(page.summary == "Claims by verdict: holds: 1, holds in part: 1, measured only: 1.");
  REQUIRE(page.items.size() == 4);
  const auto& claims = std::get<Table>(page.items[0]);
  CHECK(claims.rows[0] ==
        std::vector<std::string>{"Wang, figure 1", "a | b < c", "0.94 slots", "holds"});
  CHECK(std::get<Paragraph>(page.items[2]).text == "Ties go to the first tenant.");
  CHECK(std::get<Heading>(page.items[3]).text == "Sensitivity");
}

TEST_CASE("the overview links every claim to its page", "[unit][experiment]") {
  const Page page = overview_page({{"orders", sample_report()}, {"logs", std::nullopt}});
  const auto& claims = std::get<Table>(page.items[0]);
  REQUIRE(claims.rows.size() == 4);
  CHECK(claims.links == std::vector<std::string>{"orders.html", "orders.html", "orders.html", ""});
  CHECK(claims.rows[3].back() == "skipped: needs traces");
  CHECK_THAT(render_page(page), Catch::Contains("<a href=\"orders.html\">orders</a>"));
}

TEST_CASE("claims are written as rows of Markdown", "[golden][experiment]") {
  CHECK(markdown_rows("orders", sample_report()) ==
        std::vector<std::string>{
            "| orders | Wang, figure 1: a \\| b \\< c | 0.94 slots | holds |",
            "| orders | how long it takes | 3 \\*ms\\*  | measured only |",
            "| orders | Wang, figure 2: always first | in 9 of 10 | holds in part |"});
}

TEST_CASE("the rows of a document are found again", "[unit][experiment]") {
  std::string document = "text\n| experiment | claim |\n| ordersome | x |\n";
  for (const std::string& row : markdown_rows("orders", sample_report())) document += row + "\n";
  CHECK(quoted_rows(document, "orders") == markdown_rows("orders", sample_report()));
  CHECK(quoted_rows(document, "").size() == 5);
}

TEST_CASE("experiments have names of their own that can be files", "[unit][experiment]") {
  std::set<std::string_view> names{"all", "index"};
  for (const Experiment& experiment : all_experiments()) {
    CAPTURE(experiment.name);
    CHECK(names.insert(experiment.name).second);
    CHECK(experiment.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
          std::string_view::npos);
    CHECK(experiment.run != nullptr);
  }
}

TEST_CASE("docs/reproduction.md quotes what comes out", "[golden][experiment][long]") {
  const std::string document = reproduction_document();
  std::size_t rows = 2;  // the titles and the line under them
  for (const Experiment& experiment : all_experiments()) {
    CAPTURE(experiment.name, "mend by ./dev reproduce");
    const auto quoted = quoted_rows(document, std::string{experiment.name});
    CHECK_FALSE(quoted.empty());
    rows += quoted.size();
  }
  CHECK(quoted_rows(document, "").size() == rows);  // none of an experiment that is gone
  for (const auto& [name, report] : repeated()) {
    CAPTURE(name, "mend by ./dev reproduce");
    CHECK_FALSE(report.claims.empty());
    if (!kSanitized) CHECK(quoted_rows(document, name) == markdown_rows(name, report));
  }
}

TEST_CASE("docs/reproduction.md quotes what comes out of the smaller logs",
          "[golden][experiment][long]") {
  const auto quoted = quoted_rows(reproduction_document(), "traces");
  CHECK(quoted.size() == trace_logs().size() + 1);
  ExperimentOptions options;
  options.threads = 2;
  options.traces = traces_folder();
  if (options.traces.empty()) {
    WARN("skipped: traces needs traces");
    return;
  }
  std::vector<TraceLog> smaller;
  for (const TraceLog& log : trace_logs())
    if (log.title == "KTH SP2 by user" || (!kSanitized && log.title.starts_with("CERIT-SC")))
      smaller.push_back(log);
  const auto report = compare_on_logs(smaller, options);
  REQUIRE(report);
  const auto rows = markdown_rows("traces", *report);
  for (std::size_t i = 0; i < smaller.size(); ++i) {
    CAPTURE(rows[i], "mend by ./dev reproduce");
    CHECK(std::find(quoted.begin(), quoted.end(), rows[i]) != quoted.end());
  }
}

TEST_CASE("the pages of all experiments open without an error", "[unit][experiment][long]") {
  const TemporaryDirectory directory;
  std::map<std::string, int> charts;
  std::vector<Reproduction> reproductions{{"orders", sample_report()}};
  for (const auto& [name, report] : repeated()) reproductions.push_back({name, report});
  const auto add = [&](const std::string& name, const Page& page) {
    const std::string path = directory / (name + ".html");
    std::ofstream{path} << render_page(page);
    for (const PageItem& item : page.items) charts[path] += std::holds_alternative<Chart>(item);
  };
  add("index", overview_page(reproductions));
  for (const auto& [name, report] : reproductions) add(name, to_page(*report));
  std::vector<std::string> paths;
  for (const auto& [path, count] : charts) paths.push_back(path);
  const auto visit = visit_pages(paths);
  if (!visit) return;
  CHECK(visit->console == std::vector<std::string>{});
  for (const auto& [path, count] : charts) {
    CAPTURE(path);
    const PageFacts& facts = visit->pages.at(path);
    CHECK(facts.canvases == count);
    CHECK(facts.painted == count);
    CHECK(facts.said == (count == 0 ? -1 : count));
    CHECK(facts.width_overflow == 0);
  }
}

}  // namespace fairwater::sim
