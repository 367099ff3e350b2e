#include "cli/sim/reproduce.hpp"

#include <fmt/format.h>

#include "cli/core/files.hpp"
#include "cli/core/progress.hpp"
#include "cli/core/verbs.hpp"
#include "sim/report/page_data.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr std::size_t kMaxDocumentBytes = 16U << 20;

struct ItemJson {
  Json operator()(const sim::Heading& heading) const { return {{"heading", heading.text}}; }
  Json operator()(const sim::Paragraph& paragraph) const { return {{"paragraph", paragraph.text}}; }
  Json operator()(const sim::Table& table) const {
    return {{"table", {{"title", table.title}, {"columns", table.columns}, {"rows", table.rows}}}};
  }
  Json operator()(const sim::Chart& chart) const {
    return {{"chart", Json::parse(sim::chart_json(chart))}};
  }
};

Json claims_json(const std::vector<sim::Claim>& claims) {
  Json result = Json::array();
  for (const sim::Claim& claim : claims)
    result.push_back({{"paper", claim.paper},
                      {"statement", claim.statement},
                      {"measured", claim.measured},
                      {"verdict", to_string(claim.verdict)}});
  return result;
}

Expected<std::vector<sim::Experiment>> choose(const std::vector<sim::Experiment>& experiments,
                                              const ReproduceOptions& options) {
  if (options.name == "all") return experiments;
  std::string names;
  for (const sim::Experiment& experiment : experiments) {
    if (experiment.name == options.name) {
      if (experiment.needs_traces && options.traces.empty())
        return make_error(ErrorCode::invalid_input,
                          "needs traces: give --traces or set FAIRWATER_TRACES", options.name);
      return std::vector{experiment};
    }
    names += std::string{experiment.name} + ", ";
  }
  return make_error(
      ErrorCode::invalid_input,
      fmt::format("no experiment is called '{}'; there are {}all", options.name, names));
}

Expected<sim::ExperimentReport> run_experiment(const sim::Experiment& experiment,
                                               const ReproduceOptions& options) {
  ProgressLine line{progress_bar(std::string{experiment.name}, 0)};
  sim::ExperimentOptions run;
  run.seeds = options.seeds;
  run.threads = options.threads;
  run.traces = options.traces;
  run.progress = [&](double done) { line.set(progress_bar(std::string{experiment.name}, done)); };
  return experiment.run(run);
}

caf::error write_report(const std::string& name, const sim::ExperimentReport& report,
                        const ReproduceOptions& options) {
  const std::string base = options.out + "/" + name;
  if (auto error = write_file(base + ".html", render_page(to_page(report)))) return error;
  Json fields{{"version", 1}, {"name", name}, {"seeds", options.seeds}};
  fields.update(report_json(report));
  return write_file(base + ".json", json_text(fields) + "\n");
}

void print_claims(const Context& context, const sim::Reproduction& done) {
  if (context.json()) return;
  if (!done.report) {
    context.print_line(done.name + ": skipped: needs traces (--traces or FAIRWATER_TRACES)");
    return;
  }
  for (const sim::Claim& claim : done.report->claims)
    context.print_line(
        printable(fmt::format("{}: {}: {}", done.name, to_string(claim.verdict), claim.measured)));
}

/// The document with the table, which can be filled once the experiments have run. Before they do.
Expected<std::string> document_to_fill(const std::vector<sim::Experiment>& chosen,
                                       const ReproduceOptions& options) {
  for (const sim::Experiment& experiment : chosen)
    if (experiment.needs_traces && options.traces.empty())
      return make_error(ErrorCode::invalid_input, "the table needs all experiments, and '" +
                                                      std::string{experiment.name} +
                                                      "' needs traces: give --traces");
  auto document = read_input(options.table_file, kMaxDocumentBytes);
  if (!document) return document.error();
  if (const auto filled = replace_table(*document, {}); !filled)
    return make_error(ErrorCode::invalid_input, details(filled.error()).message,
                      options.table_file);
  return document;
}

caf::error write_table(const std::string& path, const std::string& document,
                       const std::vector<sim::Reproduction>& all) {
  std::vector<std::string> rows;
  for (const auto& [name, report] : all)
    for (std::string& row : markdown_rows(name, *report)) rows.push_back(std::move(row));
  const auto changed = replace_table(document, rows);
  if (!changed) return changed.error();
  return write_file(path, *changed);
}

Json summary_json(const std::vector<sim::Reproduction>& all, const ReproduceOptions& options) {
  Json experiments = Json::array();
  for (const auto& [name, report] : all) {
    Json entry{{"name", name}, {"skipped", !report.has_value()}};
    if (report) {
      entry["title"] = report->title;
      entry["page"] = options.out + "/" + name + ".html";
      entry["claims"] = claims_json(report->claims);
    }
    experiments.push_back(std::move(entry));
  }
  return {{"seeds", options.seeds}, {"experiments", std::move(experiments)}};
}

Expected<std::vector<sim::Reproduction>> reproduce_all(
    const Context& context, const std::vector<sim::Experiment>& experiments,
    const ReproduceOptions& options) {
  const auto chosen = choose(experiments, options);
  if (!chosen) return chosen.error();
  Expected<std::string> document = std::string{};
  if (!options.table_file.empty()) document = document_to_fill(*chosen, options);
  if (!document) return document.error();
  if (auto error = make_folder(options.out)) return error;
  std::vector<sim::Reproduction> all;
  for (const sim::Experiment& experiment : *chosen) {
    sim::Reproduction& done = all.emplace_back();
    done.name = experiment.name;
    if (!experiment.needs_traces || !options.traces.empty()) {
      auto report = run_experiment(experiment, options);
      if (!report) return report.error();
      done.report = std::move(*report);
      if (auto error = write_report(done.name, *done.report, options)) return error;
    }
    print_claims(context, done);
  }
  const std::string index = render_page(overview_page(all));
  if (auto error = write_file(options.out + "/index.html", index)) return error;
  if (!options.table_file.empty())
    if (auto error = write_table(options.table_file, *document, all)) return error;
  return all;
}

}  // namespace

Json report_json(const sim::ExperimentReport& report) {
  Json items = Json::array();
  for (const sim::PageItem& item : report.items) items.push_back(std::visit(ItemJson{}, item));
  return {{"title", report.title},
          {"claims", claims_json(report.claims)},
          {"assumptions", report.assumptions},
          {"items", std::move(items)}};
}

Expected<std::string> replace_table(const std::string& document,
                                    const std::vector<std::string>& rows) {
  const auto begin = document.find(kTableBegin);
  const auto end = document.find(kTableEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return make_error(ErrorCode::invalid_input, "has no lines that mark the table of claims");
  std::string table = "| experiment | claim | measured | verdict |\n| --- | --- | --- | --- |\n";
  for (const std::string& row : rows) table += row + "\n";
  return document.substr(0, begin + kTableBegin.size()) + table + document.substr(end);
}

int reproduce(const Context& context, const std::vector<sim::Experiment>& experiments,
              const ReproduceOptions& options) {
  const auto all = reproduce_all(context, experiments, options);
  if (!all) return context.fail(all.error());
  if (context.json())
    context.print_json(summary_json(*all, options));
  else
    context.print_line("wrote " + options.out + "/index.html");
  return kExitDone;
}

}  // namespace fairwater::inline cli::inline sim_cli
