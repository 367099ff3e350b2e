// sim what-if --tenant-file FILE
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "cli/core/progress.hpp"
#include "cli/core/session.hpp"
#include "cli/core/verbs.hpp"
#include "cli/sim/commands.hpp"
#include "cli/sim/what_if_report.hpp"
#include "input/document.hpp"
#include "input/tenants.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr std::uint32_t kWhatIfPage = 1000;  ///< journal records that are asked for at once

struct WhatIfOptions {
  std::string tenant_file;
  std::string horizon = "24h";
  bool no_arrivals = false;
  std::string out;
};

Expected<std::int64_t> horizon_of(const WhatIfOptions& options) {
  const auto horizon_ms = parse_duration_ms(options.horizon);
  if (!horizon_ms)
    return make_error(ErrorCode::invalid_input, details(horizon_ms.error()).message, "horizon");
  if (*horizon_ms < kMinWhatIfHorizon_ms || *horizon_ms > kMaxWhatIfHorizon_ms)
    return make_error(ErrorCode::invalid_input,
                      fmt::format("{} is not between {} and {}", options.horizon,
                                  format_duration_ms(kMinWhatIfHorizon_ms),
                                  format_duration_ms(kMaxWhatIfHorizon_ms)),
                      "horizon");
  return *horizon_ms;
}

Expected<std::vector<TenantSpec>> read_proposal(const std::string& path) {
  const auto text = read_input(path, kMaxYamlBytes);
  if (!text) return text.error();
  return parse_tenant_file(*text, input_name(path));
}

/// Up to record `newest`: the cluster goes on meanwhile.
caf::error read_whole_journal(Session& session, ProgressLine& progress, std::uint64_t newest,
                              JournalState& journal) {
  while (journal.records() < newest) {
    const auto page = session.ask(
        [&](Client& client) { return client.journal(journal.records() + 1, kWhatIfPage, 0); });
    if (!page) return page.error();
    if (page->records.empty())
      return make_error(
          ErrorCode::internal,
          fmt::format("the journal ends at record {} instead of {}", journal.records(), newest));
    for (const auto& record : page->records) {
      if (record.number > newest) break;
      if (auto error = journal.add(record)) return error;
    }
    progress.set(fmt::format("what if: read {} of {} journal records", journal.records(), newest));
  }
  return {};
}

/// Only asks: nothing on the cluster changes.
Expected<WhatIfQuestion> read_question(const Context& context, ProgressLine& progress,
                                       const std::vector<TenantSpec>& proposal, WhatIfRules rules,
                                       WhatIfSource& source) {
  Session session{context};
  if (auto error = session.connect()) return error;
  const auto status = session.ask([](Client& client) { return client.status(); });
  if (!status) return status.error();
  JournalState journal;
  if (auto error = read_whole_journal(session, progress, status->cycle, journal)) return error;
  const auto nodes = session.ask([](Client& client) { return client.list_nodes(); });
  if (!nodes) return nodes.error();
  rules.dealing = status->rules;
  source.cycle = journal.records();
  source.now = rules.now = std::max(wall_time_now(), journal.newest());
  return what_if_question(journal.state(), *nodes, proposal, rules);
}

caf::error save_page(const std::string& folder, const sim::Page& page) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return make_error(ErrorCode::storage_failed, "cannot be made: " + problem.message(), folder);
  const std::string path = folder + "/what-if.html";
  std::ofstream file{path, std::ios::binary};
  file << sim::render_page(page);
  file.close();
  if (file) return {};
  return make_error(ErrorCode::storage_failed,
                    "cannot be written: " + std::string{std::strerror(errno)}, path);
}

struct WhatIfAnswer {
  sim::WhatIfReport report;
  WhatIfFacts facts;
  WhatIfSource source;
};

Expected<WhatIfAnswer> find_answer(const Context& context, const WhatIfOptions& options) {
  const auto horizon_ms = horizon_of(options);
  if (!horizon_ms) return horizon_ms.error();
  const auto proposal = read_proposal(options.tenant_file);
  if (!proposal) return proposal.error();
  WhatIfRules rules;
  rules.horizon_ms = *horizon_ms;
  rules.arrivals = !options.no_arrivals;

  ProgressLine progress{"what if: reading the journal"};
  WhatIfAnswer answer;
  answer.source.file = input_name(options.tenant_file);
  const auto question = read_question(context, progress, *proposal, rules, answer.source);
  if (!question) return question.error();
  progress.set("what if: simulating the cluster twice");
  answer.report = sim::compare(question->what_if);
  answer.facts = question->facts;
  return answer;
}

int what_if(const Context& context, const WhatIfOptions& options) {
  const auto answer = find_answer(context, options);
  if (!answer) return context.fail(answer.error());
  const auto& [report, facts, source] = *answer;
  if (!options.out.empty())
    if (auto error =
            save_page(options.out, to_page(report, what_if_summary(report, facts, source))))
      return context.fail(error);
  if (context.json())
    context.print_json(what_if_json(report, facts, source));
  else
    context.out() << what_if_text(report, facts, source);
  return kExitDone;
}

}  // namespace

void add_sim_what_if(CLI::App& sim, Context& context) {
  auto* verb = add_verb(
      sim, "what-if", "What another tenant file would do to a running cluster; changes nothing",
      "  fairwater sim what-if --tenant-file tenants.yaml\n"
      "  fairwater sim what-if --tenant-file tenants.yaml --horizon 7d --out pages\n"
      "  fairwater sim what-if --tenant-file tenants.yaml --no-arrivals --json");
  auto options = std::make_shared<WhatIfOptions>();
  verb->add_option("--tenant-file", options->tenant_file,
                   "the tenants as they would be; those that it does not name stay")
      ->required();
  verb->add_option("--horizon", options->horizon,
                   "how far to look ahead, and back for jobs that come again: 1s to 90d "
                   "(default 24h)");
  verb->add_flag("--no-arrivals", options->no_arrivals,
                 "no further job arrives: only what runs and waits now");
  verb->add_option("--out", options->out,
                   "a folder for what-if.html, a page with the shares over time");
  on_run(verb, context, [&context, options] { return what_if(context, *options); });
}

}  // namespace fairwater::inline cli::inline sim_cli
