// `patience`: the share of its limit for which a task waits before it is late, and for how long one
// of a tenant at its mark is deferred then, each over a range.
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
const std::vector<std::int64_t> kDeferrals{0, kDeferralPatiences, 8, 16, 64};
/// One node, and many.
const std::vector<std::string> kLogs{"KTH SP2 by user", "CERIT-SC by user, with memory"};
/// And one where most wait until they are late.
const std::string kLateLog = "LANL CM-5 by user";

struct Waits {
  double mean_s = 0;
  double longest_s = 0;
  double deviation = 0;
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
    if (figure.key == "mean_deviation") waits.deviation = figure.estimate.mean;
  }
  return waits;
}

PolicyOptions by_time() {
  return {.name = "sequence",
          .accounting = SequenceAccounting::time,
          .order = QueuePolicy::shortest_first};
}

/// In parts of easy's, by policy.
Expected<std::vector<Waits>> parts_of_easy(const std::vector<PolicyOptions>& policies,
                                           const Scenario& scenario, std::uint32_t threads) {
  std::vector<PolicyOptions> compared = policies;
  compared.push_back({.name = "easy"});
  std::vector<std::optional<Expected<Waits>>> waits(compared.size());
  for_each_parallel(waits.size(), threads,
                    [&](std::size_t i) { waits[i] = waits_under(compared[i], scenario); });
  for (const auto& found : waits)
    if (!*found) return found->error();
  const Waits& easy = **waits.back();
  std::vector<Waits> parts;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Waits& mine = **waits[i];
    parts.push_back({mine.mean_s / easy.mean_s, mine.longest_s / easy.longest_s,
                     mine.deviation / easy.deviation});
  }
  return parts;
}

Expected<Claim> claim_on_patience(const std::string& title, const Scenario& scenario,
                                  std::uint32_t threads) {
  std::vector<PolicyOptions> policies(kPercents.size(), by_time());
  for (std::size_t i = 0; i < policies.size(); ++i) policies[i].patience_percent = kPercents[i];
  const auto waits = parts_of_easy(policies, scenario, threads);
  if (!waits) return waits.error();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < policies.size(); ++i)
    parts.push_back(fmt::format("{} %: {:.2f} and {:.2f}", kPercents[i], (*waits)[i].mean_s,
                                (*waits)[i].longest_s));
  return Claim{.paper = "Fairwater, " + title,
               .statement = fmt::format("a task is late when it has waited for a share of its "
                                        "limit, {} %, and an hour: mean and longest wait over a "
                                        "range of shares, in parts of easy's",
                                        kPatiencePercent),
               .measured = fmt::format("{}", fmt::join(parts, ", ")),
               .verdict = Verdict::measured_only};
}

Expected<Claim> claim_on_deferral(const std::string& title, const Scenario& scenario,
                                  std::uint32_t threads) {
  std::vector<PolicyOptions> policies(kDeferrals.size(), by_time());
  for (std::size_t i = 0; i < policies.size(); ++i) policies[i].deferral_patiences = kDeferrals[i];
  const auto waits = parts_of_easy(policies, scenario, threads);
  if (!waits) return waits.error();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < policies.size(); ++i)
    parts.push_back(fmt::format("{}: {:.2f}, {:.3f} and {:.2f}", kDeferrals[i], (*waits)[i].mean_s,
                                (*waits)[i].deviation, (*waits)[i].longest_s));
  return Claim{.paper = "Fairwater, " + title,
               .statement = fmt::format("a late task of a tenant at its mark is deferred for {} "
                                        "times its patience: mean wait, deviation and longest "
                                        "wait over a range of times, in parts of easy's",
                                        kDeferralPatiences),
               .measured = fmt::format("{}", fmt::join(parts, ", ")),
               .verdict = Verdict::measured_only};
}

bool is_for_patience(const TraceLog& log) {
  return std::find(kLogs.begin(), kLogs.end(), log.title) != kLogs.end();
}

}  // namespace

Expected<ExperimentReport> run_patience(const ExperimentOptions& options) {
  ExperimentReport report;
  report.title = "How long a task waits before it is late";
  report.assumptions = {
      "As in `traces`: the sequence counts time in its ledger, and each tenant's own queue goes by "
      "the shortest estimate first."};
  std::vector<TraceLog> logs = trace_logs();
  std::erase_if(logs,
                [](const TraceLog& log) { return !is_for_patience(log) && log.title != kLateLog; });
  const auto measure = [&](const TraceLog& log, const LoadedLog& loaded) -> caf::error {
    std::vector<Expected<Claim>> claims;
    if (is_for_patience(log))
      claims.push_back(claim_on_patience(log.title, loaded.scenario, options.threads));
    claims.push_back(claim_on_deferral(log.title, loaded.scenario, options.threads));
    for (auto& claim : claims) {
      if (!claim) return claim.error();
      report.claims.push_back(std::move(*claim));
    }
    return {};
  };
  if (auto failed = visit_logs(logs, options, measure)) return failed;
  return report;
}

}  // namespace fairwater::sim::inline experiments
