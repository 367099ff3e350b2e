// `patience`: the share of its limit for which a task waits before it is late, over a range.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/experiments/list.hpp"
#include "sim/experiments/trace_logs.hpp"
#include "sim/report/run_report.hpp"

namespace fairwater::sim::inline experiments {
namespace {

const std::vector<std::int64_t> kPercents{25, kPatiencePercent, 75, 100, 200};
/// One node, and many.
const std::vector<std::string> kLogs{"KTH SP2 by user", "CERIT-SC by user, with memory"};

struct Waits {
  double mean_s = 0;
  double longest_s = 0;
};

Expected<Waits> waits_under(const PolicyOptions& policy, const Scenario& scenario) {
  Scenario mine = scenario;
  mine.policy = policy;
  const auto run = run_once(mine, 1);
  if (!run) return run.error();
  Waits waits;
  for (const auto& figure : figures_of({*run})) {
    if (figure.key == "mean_wait_s") waits.mean_s = figure.estimate.mean;
    if (figure.key == "max_wait_s") waits.longest_s = figure.estimate.mean;
  }
  return waits;
}

/// The first is easy's, the others by kPercents.
std::vector<PolicyOptions> policies() {
  std::vector<PolicyOptions> all{{.name = "easy"}};
  for (const std::int64_t percent : kPercents)
    all.push_back({.name = "sequence",
                   .accounting = SequenceAccounting::time,
                   .order = QueueOrder::shortest_first,
                   .patience_percent = percent});
  return all;
}

Expected<Claim> claim_on(const std::string& title, const Scenario& scenario,
                         std::uint32_t threads) {
  const auto compared = policies();
  std::vector<std::optional<Expected<Waits>>> waits(compared.size());
  for_each_parallel(waits.size(), threads,
                    [&](std::size_t i) { waits[i] = waits_under(compared[i], scenario); });
  for (const auto& found : waits)
    if (!*found) return found->error();
  const Waits& easy = **waits.front();
  std::vector<std::string> parts;
  for (std::size_t i = 1; i < waits.size(); ++i)
    parts.push_back(fmt::format("{} %: {:.2f} and {:.2f}", compared[i].patience_percent,
                                (**waits[i]).mean_s / easy.mean_s,
                                (**waits[i]).longest_s / easy.longest_s));
  return Claim{.paper = "Fairwater, " + title,
               .statement = fmt::format("a task is late when it has waited for a share of its "
                                        "limit, {} %, and an hour: mean and longest wait over a "
                                        "range of shares, in parts of easy's",
                                        kPatiencePercent),
               .measured = fmt::format("{}", fmt::join(parts, ", ")),
               .verdict = Verdict::measured_only};
}

}  // namespace

Expected<ExperimentReport> run_patience(const ExperimentOptions& options) {
  ExperimentReport report;
  report.title = "How long a task waits before it is late";
  report.assumptions = {
      "As in `traces`: the sequence counts time in its ledger, and each tenant's own queue goes by "
      "the shortest estimate first."};
  std::vector<TraceLog> logs = trace_logs();
  std::erase_if(logs, [](const TraceLog& log) {
    return std::find(kLogs.begin(), kLogs.end(), log.title) == kLogs.end();
  });
  const auto measure = [&](const TraceLog& log, const LoadedLog& loaded) -> caf::error {
    auto claim = claim_on(log.title, loaded.scenario, options.threads);
    if (!claim) return claim.error();
    report.claims.push_back(std::move(*claim));
    return {};
  };
  if (auto failed = visit_logs(logs, options, measure)) return failed;
  return report;
}

}  // namespace fairwater::sim::inline experiments
