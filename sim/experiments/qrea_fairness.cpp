// `qrea-fairness`: one user's load grows, the others' stays. How fair are extras dealt out by CREA,
// QREA and QREA with a debt line? Liu et al. 2018.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/experiments/list.hpp"
#include "sim/experiments/qrea_experiments.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr double kPaperDecrease = 0.345;
constexpr double kOthersRate = 4;

constexpr std::array<ElasticRule, 3> kFairnessRules{
    {{"CREA", "crea"}, {"QREA", "qrea"}, {"qrea-rebalance", "qrea-rebalance"}}};
constexpr std::size_t kCrea = 0, kQrea = 1, kRebalance = 2;

std::vector<ElasticRates> one_grows(const std::vector<double>& rates) {
  std::vector<ElasticRates> result;
  result.reserve(rates.size());
  for (const double rate : rates) result.push_back({rate, kOthersRate, kOthersRate, kOthersRate});
  return result;
}

/// How much less than rule `base`'s the phi of `rule` is, as means over all rates.
Estimate phi_decrease(const ElasticSamples& all, std::size_t base, std::size_t rule,
                      const FairnessReading& reading) {
  return relative_decrease(all.mean_over_rates(base, reading.phi),
                           all.mean_over_rates(rule, reading.phi));
}

bool contains(const Estimate& estimate, double value) {
  return std::abs(estimate.mean - value) <= estimate.half_width;
}

std::string percent_less(const Estimate& decrease) {
  return fmt::format("{:.1f} % ± {:.1f}", 100 * decrease.mean, 100 * decrease.half_width);
}

std::string phi_cell(const Estimate& phi) {
  return phi.mean >= 10 ? fmt::format("{:.1f} ± {:.1f}", phi.mean, phi.half_width)
                        : fmt::format("{:.4f} ± {:.4f}", phi.mean, phi.half_width);
}

Table phi_table(const ElasticSamples& all, const QreaPlan& plan) {
  const FairnessReading& reading = fairness_readings()[0];
  Table table;
  table.title = fmt::format("phi ({}) by the first user's rate", reading.name);
  table.columns = {"rate"};
  for (const ElasticRule& rule : kFairnessRules) table.columns.emplace_back(rule.name);
  table.columns.insert(table.columns.end(),
                       {"QREA less than CREA", "qrea-rebalance less than QREA"});
  for (std::size_t r = 0; r < plan.rates.size(); ++r) {
    std::vector<std::string> row{fmt::format("{}", plan.rates[r])};
    std::vector<std::vector<double>> phi;
    for (std::size_t rule = 0; rule < kFairnessRules.size(); ++rule) {
      phi.push_back(all.values(rule, r, reading.phi));
      row.push_back(phi_cell(estimate(phi.back())));
    }
    row.push_back(percent_less(relative_decrease(phi[kCrea], phi[kQrea])));
    row.push_back(percent_less(relative_decrease(phi[kQrea], phi[kRebalance])));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart phi_chart(const ElasticSamples& all, const QreaPlan& plan) {
  const FairnessReading& reading = fairness_readings()[0];
  Chart chart;
  chart.title = "phi: distance of what users got of the extras from what they left of their quotas";
  chart.x_label = "jobs per second of the first user (the others: 4)";
  chart.y_label = "phi, 0 is fair";
  for (std::size_t rule = 0; rule < kFairnessRules.size(); ++rule) {
    Series series;
    series.name = std::string{kFairnessRules[rule].name};
    for (std::size_t r = 0; r < plan.rates.size(); ++r) {
      const Estimate phi = estimate(all.values(rule, r, reading.phi));
      series.points.emplace_back(plan.rates[r], phi.mean);
      series.error.push_back(phi.half_width);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Table readings_table(const ElasticSamples& all) {
  Table table;
  table.title = "Readings of phi, means over all rates";
  table.columns = {"reading",
                   "definition",
                   "CREA",
                   "QREA",
                   "qrea-rebalance",
                   "QREA less than CREA",
                   "qrea-rebalance less than QREA"};
  for (const FairnessReading& reading : fairness_readings()) {
    std::vector<std::string> row{std::string{reading.name}, std::string{reading.definition}};
    for (std::size_t rule = 0; rule < kFairnessRules.size(); ++rule)
      row.push_back(phi_cell(estimate(all.mean_over_rates(rule, reading.phi))));
    row.push_back(percent_less(phi_decrease(all, kCrea, kQrea, reading)));
    row.push_back(percent_less(phi_decrease(all, kQrea, kRebalance, reading)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<ElasticAssumptions> fairness_variants() {
  std::vector<ElasticAssumptions> all;
  const auto add = [&all](std::string name) -> ElasticAssumptions& {
    all.emplace_back().name = std::move(name);
    return all.back();
  };
  add("as assumed");
  add("no memory: Hurst 0.5").hurst = 0.5;
  add("less bursty: variation 0.2").variation = 0.2;
  add("burstier: variation 0.8").variation = 0.8;
  add("samples of 30 s").duration_ms = 30'000;
  add("samples of 300 s").duration_ms = 300'000;
  add("credits by rounds, not by time").credit_period_ms = 0;
  add("jobs of 1 to 4 units").max_units = 4;
  for (const TimeMs cycle_ms : {500, 1000, 1500, 2000, 3000, 5000})
    add(fmt::format("a round every {:.1f} s", static_cast<double>(cycle_ms) / 1000)).cycle_ms =
        cycle_ms;
  return all;
}

/// A combination whose interval has the paper's number in it.
struct PaperMatch {
  double distance = 0;  ///< of the mean from the paper's number
  std::string text;
};
/// One table of QREA's and one of the new rule's decrease; and where the paper's number came out.
struct FairnessSensitivity {
  Table paper, rebalance;
  std::vector<PaperMatch> matches;  ///< nearest first
};

Expected<FairnessSensitivity> fairness_sensitivity(const QreaPlan& plan,
                                                   const ExperimentOptions& options) {
  FairnessSensitivity result;
  result.paper.title =
      fmt::format("Sensitivity: how much less QREA's phi is than CREA's, by reading ({} samples)",
                  plan.variant_samples);
  result.rebalance.title = "Sensitivity: how much less qrea-rebalance's phi is than QREA's";
  result.paper.columns = result.rebalance.columns = {"assumption"};
  for (const FairnessReading& reading : fairness_readings()) {
    result.paper.columns.emplace_back(reading.name);
    result.rebalance.columns.emplace_back(reading.name);
  }
  const auto variants = fairness_variants();
  const double step = (0.95 - plan.main_part) / static_cast<double>(variants.size());
  double from = plan.main_part;
  for (const ElasticAssumptions& variant : variants) {
    const auto all = sample_elastic(kFairnessRules, one_grows(plan.variant_rates), variant,
                                    plan.variant_samples, options, from, from + step);
    if (!all) return all.error();
    from += step;
    result.paper.rows.push_back({variant.name});
    result.rebalance.rows.push_back({variant.name});
    for (const FairnessReading& reading : fairness_readings()) {
      const Estimate decrease = phi_decrease(*all, kCrea, kQrea, reading);
      result.paper.rows.back().push_back(percent_less(decrease));
      result.rebalance.rows.back().push_back(
          percent_less(phi_decrease(*all, kQrea, kRebalance, reading)));
      if (contains(decrease, kPaperDecrease))
        result.matches.push_back(
            {std::abs(decrease.mean - kPaperDecrease),
             fmt::format("{}, {} ({})", variant.name, reading.name, percent_less(decrease))});
    }
  }
  std::stable_sort(result.matches.begin(), result.matches.end(),
                   [](const auto& a, const auto& b) { return a.distance < b.distance; });
  return result;
}

Expected<Table> price_table(const QreaPlan& plan, const ExperimentOptions& options) {
  const auto line = [](std::optional<Units> rounds, bool level = false) {
    return RebalanceOptions{.debt_line = rounds, .level = level};
  };
  const std::array<ElasticRule, 8> rules{{{"QREA", "qrea"},
                                          {"levelling alone", "qrea-rebalance", line({}, true)},
                                          {"line of 30 rounds", "qrea-rebalance", line(30)},
                                          {"line of 10 rounds", "qrea-rebalance", line(10)},
                                          {"the same, levelling", "qrea-rebalance", line(10, true)},
                                          {"line of 3 rounds", "qrea-rebalance", line(3)},
                                          {"line of 1 round", "qrea-rebalance", line(1)},
                                          {"line of 0 rounds", "qrea-rebalance", line(0)}}};
  const auto all = sample_elastic(rules, one_grows(plan.variant_rates), {}, plan.variant_samples,
                                  options, 0.95, 1);
  if (!all) return all.error();
  const FairnessReading& reading = fairness_readings()[0];
  Table table;
  table.title = "What fairness costs: means over all rates";
  table.columns = {"rule",        "phi (shares)",       "less than QREA",
                   "utilisation", "mean completion, s", "resizes per job"};
  const auto cell = [&](std::size_t rule, auto measure) {
    return phi_cell(estimate(all->mean_over_rates(rule, measure)));
  };
  for (std::size_t rule = 0; rule < rules.size(); ++rule)
    table.rows.push_back({std::string{rules[rule].name}, cell(rule, reading.phi),
                          percent_less(phi_decrease(*all, 0, rule, reading)),
                          cell(rule, [](const ElasticRun& run) { return run.utilisation; }),
                          cell(rule, [](const ElasticRun& run) { return run.mean_completion_s; }),
                          cell(rule, [](const ElasticRun& run) { return run.resizes_per_job; })});
  return table;
}

/// Holds when the interval of the main reading has the paper's number in it; in part when QREA is
/// surely fairer, and the number comes out by another reading or assumption.
Claim paper_claim(const ElasticSamples& all, const FairnessSensitivity& sensitivity) {
  const Estimate main = phi_decrease(all, kCrea, kQrea, fairness_readings()[0]);
  std::string nearest;
  for (std::size_t i = 0; i < std::min<std::size_t>(sensitivity.matches.size(), 3); ++i)
    nearest += (i == 0 ? ", nearest: " : "; ") + sensitivity.matches[i].text;
  Claim claim{.paper = "Liu et al. 2018, on fairness",
              .statement = "the phi of QREA is 34.5 % less than that of CREA",
              .measured = fmt::format(
                  "{} less by shares, as assumed; of {} combinations of assumption and reading {} "
                  "have 34.5 % in their interval{}",
                  percent_less(main), sensitivity.paper.rows.size() * fairness_readings().size(),
                  sensitivity.matches.size(), nearest)};
  const bool surely_fairer = main.mean > main.half_width;
  claim.verdict = contains(main, kPaperDecrease)                  ? Verdict::holds
                  : surely_fairer && !sensitivity.matches.empty() ? Verdict::holds_in_part
                                                                  : Verdict::does_not_hold;
  return claim;
}

Claim rebalance_claim(const ElasticSamples& all) {
  const auto average = [&](std::size_t rule, auto measure) {
    return mean(all.mean_over_rates(rule, measure));
  };
  const auto used = [](const ElasticRun& run) { return run.utilisation; };
  const auto completion = [](const ElasticRun& run) { return run.mean_completion_s; };
  const FairnessReading& reading = fairness_readings()[0];
  return {
      .paper = "none: a rule of Fairwater's",
      .statement = "a debt line of ten rounds brings phi down further, at a price",
      .measured = fmt::format(
          "{} less than QREA and {} less than CREA by shares; utilisation {:.3f} instead of "
          "{:.3f}, mean completion {:.2f} s instead of {:.2f} s",
          percent_less(phi_decrease(all, kQrea, kRebalance, reading)),
          percent_less(phi_decrease(all, kCrea, kRebalance, reading)), average(kRebalance, used),
          average(kQrea, used), average(kRebalance, completion), average(kQrea, completion)),
      .verdict = Verdict::measured_only};
}

}  // namespace

Expected<ExperimentReport> measure_qrea_fairness(const QreaPlan& plan,
                                                 const ExperimentOptions& options) {
  const auto all = sample_elastic(kFairnessRules, one_grows(plan.rates), {}, plan.samples, options,
                                  0, plan.main_part);
  if (!all) return all.error();
  const auto sensitivity = fairness_sensitivity(plan, options);
  if (!sensitivity) return sensitivity.error();
  auto price = price_table(plan, options);
  if (!price) return price.error();
  ExperimentReport report;
  report.title = "Fairness of elastic allocation by credit";
  report.claims = {paper_claim(*all, *sensitivity), rebalance_claim(*all)};
  report.assumptions = qrea_assumptions(plan);
  report.assumptions.emplace_back(
      "The definition of phi is not known. It is read as the distance between what users got of "
      "all extras and what they left of all quotas (shares); other readings are beside it. "
      "Variants "
      "are measured at every other rate.");
  report.items = {
      phi_chart(*all, plan),
      phi_table(*all, plan),
      readings_table(*all),
      sensitivity->paper,
      Paragraph{"The time between two rounds decides: when units gather until the next round, the "
                "order in which they are handed out matters more than when each is handed out at "
                "once."},
      sensitivity->rebalance,
      std::move(*price),
      Paragraph{"As long as nothing that somebody can use stays idle, the order of extras is all "
                "that a rule can choose. Levelling, which moves extras towards larger credits in "
                "every round, shows how little that is. What is left of phi are extras that nobody "
                "else asked for; a debt line leaves those idle."}};
  return report;
}

Expected<ExperimentReport> run_qrea_fairness(const ExperimentOptions& options) {
  return measure_qrea_fairness(default_qrea_plan(options), options);
}

}  // namespace fairwater::sim::inline experiments
