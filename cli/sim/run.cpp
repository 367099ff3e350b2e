// `fairwater sim run` and `fairwater sim compare`.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "cli/core/files.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/usage_error.hpp"
#include "cli/core/verbs.hpp"
#include "cli/sim/commands.hpp"
#include "cli/sim/file.hpp"
#include "input/document.hpp"
#include "sim/report/run_report.hpp"
#include "sim/report/run_series.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

struct SimOptions {
  std::string file;
  std::string out;
  std::vector<std::string> policies;
  std::uint32_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::uint32_t seeds = 0;  ///< 0: as the file says
};

Expected<sim::Scenario> read_scenario(const SimOptions& options) {
  const auto text = read_input(options.file, kMaxYamlBytes);
  if (!text) return text.error();
  auto scenario = parse_sim_file(*text, input_name(options.file));
  if (scenario && options.seeds > 0) scenario->seeds = options.seeds;
  return scenario;
}

Expected<sim::PolicyRuns> run_policy(const sim::Scenario& scenario, const SimOptions& options) {
  const std::string& policy = scenario.policy.name;
  ProgressLine line{"simulating " + policy};
  auto runs = sim::run_all(scenario, options.threads, [&](double done) {
    line.set(progress_bar("simulating " + policy, done));
  });
  if (!runs) return runs.error();
  return sim::PolicyRuns{policy, std::move(*runs)};
}

Expected<std::vector<sim::PolicyRuns>> run_policies(sim::Scenario& scenario,
                                                    const SimOptions& options) {
  std::vector<sim::PolicyRuns> results;
  for (const auto& policy : options.policies) {
    const auto& known = sim::policy_names();
    if (std::find(known.begin(), known.end(), policy) == known.end())
      return make_error(ErrorCode::invalid_input,
                        fmt::format("'{}' is not one of {}", policy, fmt::join(known, ", ")),
                        "policies");
  }
  for (const auto& policy : options.policies) {
    scenario.policy.name = policy;
    auto runs = run_policy(scenario, options);
    if (!runs) return runs.error();
    results.push_back(std::move(*runs));
  }
  return results;
}

/// The name of the file without its folder and its ending.
std::string title_of(const SimOptions& options) {
  return std::filesystem::path{options.file}.stem().string();
}

caf::error write_runs(const sim::Scenario& scenario, const sim::PolicyRuns& runs,
                      const std::string& folder) {
  if (auto error = make_folder(folder)) return error;
  for (std::size_t i = 0; i < runs.runs.size(); ++i) {
    const std::string base = fmt::format("{}/seed-{}", folder, i + 1);
    const auto json = sim::run_json(scenario.cluster, runs.runs[i]);
    if (auto error = write_file(base + ".json", json_text(json) + "\n")) return error;
    if (auto error = write_file(base + ".csv", sim::series_csv(scenario.cluster, runs.runs[i])))
      return error;
  }
  return {};
}

caf::error write_results(const sim::Scenario& scenario,
                         const std::vector<sim::PolicyRuns>& policies, const sim::Page& page,
                         const std::string& out) {
  if (auto error = make_folder(out)) return error;
  for (const auto& runs : policies) {
    const std::string folder = policies.size() == 1 ? out : out + "/" + runs.policy;
    if (auto error = write_runs(scenario, runs, folder)) return error;
  }
  const auto summary = json_text(sim::summary_json(scenario, policies)) + "\n";
  if (auto error = write_file(out + "/summary.json", summary)) return error;
  return write_file(out + "/index.html", sim::render_page(page));
}

std::string figures_text(const std::vector<sim::PolicyRuns>& policies) {
  const sim::Table figures = sim::figures_table(policies);
  std::vector<Column> columns{{"FIGURE", Align::left}};
  for (std::size_t i = 1; i < figures.columns.size(); ++i)
    columns.push_back({figures.columns[i], Align::right});
  Table table{std::move(columns)};
  for (const auto& row : figures.rows) table.add_row(row);
  return table.str();
}

int finish(const Context& context, const SimOptions& options, const sim::Scenario& scenario,
           const std::vector<sim::PolicyRuns>& policies, const sim::Page& page) {
  if (!options.out.empty())
    if (auto error = write_results(scenario, policies, page, options.out))
      return context.fail(error);
  if (context.json()) {
    context.print_line(json_text(sim::summary_json(scenario, policies)));
    return kExitDone;
  }
  context.out() << figures_text(policies);
  for (const auto& note : sim::notes_on(scenario, policies)) context.print_line("note: " + note);
  const auto& left_out = scenario.left_out;
  if (left_out.never_ran + left_out.fit_no_node > 0)
    context.print_line(
        fmt::format("left out of the trace: {} jobs that never ran, {} that fit no node",
                    left_out.never_ran, left_out.fit_no_node));
  if (!options.out.empty()) context.print_line("wrote " + options.out + "/index.html");
  return kExitDone;
}

int run(const Context& context, const SimOptions& options) {
  const auto scenario = read_scenario(options);
  if (!scenario) return context.fail(scenario.error());
  const auto runs = run_policy(*scenario, options);
  if (!runs) return context.fail(runs.error());
  return finish(context, options, *scenario, {*runs},
                sim::run_page(title_of(options), *scenario, *runs));
}

int compare(const Context& context, const SimOptions& options) {
  auto scenario = read_scenario(options);
  if (!scenario) return context.fail(scenario.error());
  const auto policies = run_policies(*scenario, options);
  if (!policies) return context.fail(policies.error());
  return finish(context, options, *scenario, *policies,
                sim::compare_page(title_of(options), *scenario, *policies));
}

void add_options(CLI::App& verb, const std::shared_ptr<SimOptions>& options) {
  verb.add_option("file", options->file, "simulation file (YAML), - for standard input")
      ->required();
  verb.add_option("--out", options->out, "write JSON, CSV and a page into this folder");
  verb.add_option("--threads", options->threads, "seeds that run at once")
      ->check(whole_number(1, 1024));
  verb.add_option("--seeds", options->seeds, "repetitions, instead of what the file says")
      ->check(whole_number(1, 10'000));
}

}  // namespace

void add_sim_run(CLI::App& sim, Context& context) {
  auto* verb = add_verb(sim, "run", "Run a workload in virtual time",
                        "fairwater sim run examples/sim/two-tenants.yaml --out /tmp/run");
  const auto options = std::make_shared<SimOptions>();
  add_options(*verb, options);
  on_run(verb, context, [&context, options] { return run(context, *options); });
}

void add_sim_compare(CLI::App& sim, Context& context) {
  auto* verb =
      add_verb(sim, "compare", "Run the same workload under several policies",
               "fairwater sim compare examples/sim/two-tenants.yaml --policies sequence,fifo,easy");
  const auto options = std::make_shared<SimOptions>();
  add_options(*verb, options);
  verb->add_option("--policies", options->policies, "names, with commas between them")
      ->delimiter(',')
      ->required();
  on_run(verb, context, [&context, options] { return compare(context, *options); });
}

}  // namespace fairwater::inline cli::inline sim_cli
