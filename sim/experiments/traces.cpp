// `traces`: real workloads under six policies, weeks of virtual time.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/experiments/list.hpp"
#include "sim/experiments/trace_logs.hpp"
#include "sim/report/run_report.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr TimeMs kDay = 86'400'000;
/// The first is compared with the others, and held against `easy`.
const std::vector<std::string> kCompared{"sequence",  "fifo",         "easy",
                                         "easy-sjbf", "conservative", "drf"};
/// Of easy's mean deviation, on average over the logs.
constexpr double kDeviationGoal = 0.95;

/// What is compared, and how much of easy's `sequence` is to have at most.
struct Measure {
  std::string key;  ///< of figures_of
  std::string title;
  int digits = 0;
  double goal = 1;
};
const std::vector<Measure> kMeasures{{"mean_wait_s", "mean wait, s", 0, 0.85},
                                     {"mean_bounded_slowdown", "bounded slowdown", 1, 0.85},
                                     {"mean_deviation", "deviation", 4, 1.0},
                                     {"max_wait_s", "longest wait, s", 0, 1.5}};

struct LogOutcome {
  std::string title;
  std::vector<PolicyRuns> policies;  ///< as in kCompared
};

double figure(const LogOutcome& outcome, const std::string& policy, const std::string& key) {
  const auto runs = std::find_if(outcome.policies.begin(), outcome.policies.end(),
                                 [&](const PolicyRuns& runs) { return runs.policy == policy; });
  const auto figures = figures_of(runs->runs);
  return std::find_if(figures.begin(), figures.end(),
                      [&](const Figure& figure) { return figure.key == key; })
      ->estimate.mean;
}

double part_of_easy(const LogOutcome& outcome, const Measure& measure) {
  return figure(outcome, kCompared.front(), measure.key) / figure(outcome, "easy", measure.key);
}

Verdict verdict_of(std::size_t reached, std::size_t all) {
  if (reached == all) return Verdict::holds;
  return reached > 0 ? Verdict::holds_in_part : Verdict::does_not_hold;
}

/// `mean wait, s: sequence 7302, 1.06 times easy's (fifo 390083, easy 6901, ..)`.
std::string compared(const LogOutcome& outcome, const Measure& measure) {
  std::vector<std::string> others;
  for (const auto& policy : kCompared)
    if (policy != kCompared.front())
      others.push_back(
          fmt::format("{} {:.{}f}", policy, figure(outcome, policy, measure.key), measure.digits));
  return fmt::format("{}: {} {:.{}f}, {:.2f} times easy's ({})", measure.title, kCompared.front(),
                     figure(outcome, kCompared.front(), measure.key), measure.digits,
                     part_of_easy(outcome, measure), fmt::join(others, ", "));
}

Claim claim_on(const LogOutcome& outcome) {
  std::size_t reached = 0;
  std::vector<std::string> parts;
  for (const auto& measure : kMeasures) {
    reached += part_of_easy(outcome, measure) <= measure.goal ? 1 : 0;
    parts.push_back(compared(outcome, measure));
  }
  return {.paper = "Fairwater, " + outcome.title,
          .statement =
              "of easy's mean wait and bounded slowdown sequence has at most 0.85, of its "
              "mean deviation from the entitled share no more, of its longest wait at "
              "most 1.5",
          .measured = fmt::format("{}", fmt::join(parts, "; ")),
          .verdict = verdict_of(reached, kMeasures.size())};
}

Claim deviation_claim(const std::vector<LogOutcome>& outcomes) {
  double sum = 0;
  std::vector<std::string> parts;
  for (const auto& outcome : outcomes) {
    const double part = part_of_easy(outcome, kMeasures[2]);
    sum += part;
    parts.push_back(fmt::format("{} {:.2f}", outcome.title, part));
  }
  const double average = sum / static_cast<double>(outcomes.size());
  return {.paper = "Fairwater, all of these",
          .statement = fmt::format(
              "on average sequence has at most {:.2f} of easy's mean deviation", kDeviationGoal),
          .measured = fmt::format("{:.3f} ({})", average, fmt::join(parts, ", ")),
          .verdict = verdict_of(average <= kDeviationGoal ? 1 : 0, 1)};
}

Table compared_table(const LogOutcome& outcome) {
  Table table;
  table.title = "What is compared";
  table.columns = {"policy"};
  for (const auto& measure : kMeasures) table.columns.push_back(measure.title);
  for (const auto& policy : kCompared) {
    table.rows.push_back({policy});
    for (const auto& measure : kMeasures)
      table.rows.back().push_back(
          fmt::format("{:.{}f}", figure(outcome, policy, measure.key), measure.digits));
  }
  return table;
}

Expected<LogOutcome> run_log(const std::string& title, const Scenario& scenario,
                             std::uint32_t threads) {
  std::vector<std::optional<Expected<RunMetrics>>> runs(kCompared.size());
  for_each_parallel(runs.size(), threads, [&](std::size_t i) {
    Scenario mine = scenario;
    mine.policy.name = kCompared[i];
    if (i == 0) {
      mine.policy.accounting = SequenceAccounting::time;
      mine.policy.order = QueuePolicy::shortest_first;
    }
    runs[i] = run_once(mine, 1);
  });
  LogOutcome outcome{title, {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!*runs[i]) return runs[i]->error();
    outcome.policies.push_back({kCompared[i], {std::move(**runs[i])}});
  }
  return outcome;
}

}  // namespace

Expected<ExperimentReport> compare_on_logs(const std::vector<TraceLog>& logs,
                                           const ExperimentOptions& options) {
  ExperimentReport report;
  report.title = "Real workloads";
  report.assumptions = {
      "A job is one task that needs all its processors on one node (KTH and LANL: one node with "
      "all processors), or a task on each of its nodes (CERIT-SC, with memory and the sites it "
      "asked for). Over 100 nodes of one processor, as the SP2 had, a job is a gang of as many "
      "tasks: "
      "for policies that start it whole wherever there is room that is the same as one node, but "
      "conservative and sequence keep room on particular nodes. All tenants have weight 1, no min "
      "and no max. CERIT-SC's log has one group "
      "only.",
      "Policies are told the requested time where the log has one, and the run time elsewhere; "
      "jobs run as long as the log says, also beyond what they requested (a third of LANL's). "
      "Nothing is random, so there is one run of each.",
      "sequence counts time in its ledger, and each tenant's own queue goes by the shortest "
      "estimate first.",
      "fifo, easy, easy-sjbf and conservative know no tenants: their waits are the same by user "
      "and "
      "by group.",
      "The deviation is that of the tenant farthest off, in parts of the cluster, on average over "
      "time."};
  std::vector<LogOutcome> outcomes;
  const auto measure = [&](const TraceLog& log, const LoadedLog& loaded) -> caf::error {
    const auto& jobs = loaded.scenario.trace.jobs;
    auto outcome = run_log(log.title, loaded.scenario, options.threads);
    if (!outcome) return outcome.error();
    report.items.push_back(Heading{log.title});
    report.items.push_back(Paragraph{fmt::format(
        "{} jobs of {} tenants over {} days; {} jobs fit no node and are left out.", jobs.size(),
        loaded.scenario.cluster.tenants.size(), jobs.back().submit_ms / kDay, loaded.impossible)});
    report.items.push_back(compared_table(*outcome));
    report.items.push_back(figures_table(outcome->policies));
    report.claims.push_back(claim_on(*outcome));
    outcomes.push_back(std::move(*outcome));
    return {};
  };
  if (auto failed = visit_logs(logs, options, measure)) return failed;
  report.claims.push_back(deviation_claim(outcomes));
  return report;
}

Expected<ExperimentReport> run_traces(const ExperimentOptions& options) {
  return compare_on_logs(trace_logs(), options);
}

}  // namespace fairwater::sim::inline experiments
