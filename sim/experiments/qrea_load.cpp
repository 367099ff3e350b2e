// `qrea-load`: QREA and its baselines under growing load. Liu et al. 2018.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/experiments/list.hpp"
#include "sim/experiments/qrea_experiments.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::array<ElasticRule, 4> kLoadRules{
    {{"BRA", "bra"}, {"Fair", "fair"}, {"CREA", "crea"}, {"QREA", "qrea"}}};
constexpr std::size_t kBraRule = 0, kFairRule = 1, kQreaRule = 3;

struct LoadMeasure {
  std::string_view name;
  double (*of)(const ElasticRun& run);
  int digits;
};
constexpr std::array<LoadMeasure, 4> kLoadMeasures{{
    {"utilisation", [](const ElasticRun& run) { return run.utilisation; }, 3},
    {"mean completion time, s", [](const ElasticRun& run) { return run.mean_completion_s; }, 2},
    {"failed jobs", [](const ElasticRun& run) { return run.failed_jobs; }, 1},
    {"resizes per job", [](const ElasticRun& run) { return run.resizes_per_job; }, 2},
}};
constexpr LoadMeasure kUtilisation = kLoadMeasures[0], kCompletion = kLoadMeasures[1],
                      kFailedJobs = kLoadMeasures[2];

std::vector<ElasticRates> equal_rates(const std::vector<double>& rates) {
  std::vector<ElasticRates> result;
  result.reserve(rates.size());
  for (const double rate : rates) result.push_back({rate, rate, rate, rate});
  return result;
}

std::string cell_of(const Estimate& value, int digits) {
  return fmt::format("{:.{}f} ± {:.{}f}", value.mean, digits, value.half_width, digits);
}

Table load_table(const ElasticSamples& all, const QreaPlan& plan, const LoadMeasure& measure) {
  Table table;
  table.title = fmt::format("{}, by jobs per second of each user", measure.name);
  table.columns = {"rate"};
  for (const ElasticRule& rule : kLoadRules) table.columns.emplace_back(rule.name);
  for (std::size_t r = 0; r < plan.rates.size(); ++r) {
    std::vector<std::string> row{fmt::format("{}", plan.rates[r])};
    for (std::size_t rule = 0; rule < kLoadRules.size(); ++rule)
      row.push_back(cell_of(estimate(all.values(rule, r, measure.of)), measure.digits));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart load_chart(const ElasticSamples& all, const QreaPlan& plan, const LoadMeasure& measure) {
  Chart chart;
  chart.title = std::string{measure.name};
  chart.x_label = "jobs per second of each user";
  chart.y_label = std::string{measure.name};
  for (std::size_t rule = 0; rule < kLoadRules.size(); ++rule) {
    Series series;
    series.name = std::string{kLoadRules[rule].name};
    for (std::size_t r = 0; r < plan.rates.size(); ++r) {
      const Estimate value = estimate(all.values(rule, r, measure.of));
      series.points.emplace_back(plan.rates[r], value.mean);
      series.error.push_back(value.half_width);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

/// Of QREA against another rule: at how many rates it is surely less or more, by paired samples.
struct LoadComparison {
  std::size_t less = 0, more = 0;
  double least_decrease = 0, largest_decrease = 0;
};
LoadComparison compare_load(const ElasticSamples& all, std::size_t rival,
                            const LoadMeasure& measure) {
  LoadComparison result{.less = 0, .more = 0, .least_decrease = 1e9, .largest_decrease = -1e9};
  for (std::size_t r = 0; r < all.rates; ++r) {
    const Estimate decrease =
        relative_decrease(all.values(rival, r, measure.of), all.values(kQreaRule, r, measure.of));
    result.less += decrease.mean > decrease.half_width ? 1 : 0;
    result.more += decrease.mean < -decrease.half_width ? 1 : 0;
    result.least_decrease = std::min(result.least_decrease, decrease.mean);
    result.largest_decrease = std::max(result.largest_decrease, decrease.mean);
  }
  return result;
}

Verdict verdict_by_rates(std::size_t for_it, std::size_t against, std::size_t rates) {
  if (for_it == rates) return Verdict::holds;
  return for_it > 0 && against == 0 ? Verdict::holds_in_part : Verdict::does_not_hold;
}

Claim completion_claim(const ElasticSamples& all, const QreaPlan& plan) {
  const LoadComparison bra = compare_load(all, kBraRule, kCompletion);
  const LoadComparison fair = compare_load(all, kFairRule, kCompletion);
  const double first_bra = mean(all.values(kBraRule, 0, kCompletion.of));
  const double first_qrea = mean(all.values(kQreaRule, 0, kCompletion.of));
  return {
      .paper = "Liu et al. 2018, under growing load",
      .statement = "jobs complete sooner under QREA than under strict quotas (BRA) and Fair",
      .measured = fmt::format(
          "at {} jobs per second and user {:.2f} s under QREA, {:.2f} s under BRA; over all "
          "rates {:.0f} to {:.0f} % less than BRA (surely less at {} of {}) and {:.0f} to "
          "{:.0f} % less than Fair (surely at {})",
          plan.rates[0], first_qrea, first_bra, 100 * bra.least_decrease,
          100 * bra.largest_decrease, bra.less, all.rates, 100 * fair.least_decrease,
          100 * fair.largest_decrease, fair.less),
      .verdict = verdict_by_rates(std::min(bra.less, fair.less), bra.more + fair.more, all.rates)};
}

Claim utilisation_claim(const ElasticSamples& all, const QreaPlan& plan) {
  const LoadComparison bra = compare_load(all, kBraRule, kUtilisation);
  const std::size_t middle = all.rates / 2;
  const auto at_middle = [&](std::size_t rule) {
    return cell_of(estimate(all.values(rule, middle, kUtilisation.of)), kUtilisation.digits);
  };
  return {.paper = "Liu et al. 2018, under growing load",
          .statement = "QREA uses more of the cluster than strict quotas (BRA)",
          .measured = fmt::format("at {} jobs per second and user {} under QREA, {} under BRA; "
                                  "surely more at {} of {} rates, surely less at {}",
                                  plan.rates[middle], at_middle(kQreaRule), at_middle(kBraRule),
                                  bra.more, all.rates, bra.less),
          .verdict = verdict_by_rates(bra.more, bra.less, all.rates)};
}

Claim failures_claim(const ElasticSamples& all) {
  std::array<double, kLoadRules.size()> most{};
  for (std::size_t rule = 0; rule < kLoadRules.size(); ++rule)
    for (std::size_t r = 0; r < all.rates; ++r)
      most[rule] = std::max(most[rule], mean(all.values(rule, r, kFailedJobs.of)));
  const bool qrea_fails = most[kQreaRule] > 0, fair_fails = most[kFairRule] > 0;
  return {.paper = "Liu et al. 2018, under growing load",
          .statement = "no job fails under QREA, while Fair kills jobs to give quotas back",
          .measured = fmt::format("up to {:.1f} jobs of a sample are killed under Fair, {:.1f} "
                                  "under QREA",
                                  most[kFairRule], most[kQreaRule]),
          .verdict = qrea_fails   ? Verdict::does_not_hold
                     : fair_fails ? Verdict::holds
                                  : Verdict::holds_in_part};
}

std::vector<ElasticAssumptions> load_variants() {
  std::vector<ElasticAssumptions> all(7);
  all[0].name = "as assumed";
  all[1].name = "less bursty: variation 0.2";
  all[1].variation = 0.2;
  all[2].name = "burstier: variation 0.8";
  all[2].variation = 0.8;
  all[3].name = "no memory: Hurst 0.5";
  all[3].hurst = 0.5;
  all[4].name = "samples of 300 s";
  all[4].duration_ms = 300'000;
  all[5].name = "a round every 1 s";
  all[5].cycle_ms = 1000;
  all[6].name = "jobs of 1 to 4 units";
  all[6].max_units = 4;
  return all;
}

Expected<Table> load_sensitivity(const QreaPlan& plan, const ExperimentOptions& options) {
  Table table;
  table.title = fmt::format("Sensitivity: rates 3 and 5, {} samples", plan.variant_samples);
  table.columns = {"assumption", "utilisation at 5, BRA", "QREA", "completion at 3, BRA",
                   "QREA",       "failed jobs at 5, Fair"};
  constexpr std::array<ElasticRule, 3> rules{kLoadRules[kBraRule], kLoadRules[kQreaRule],
                                             kLoadRules[kFairRule]};
  const auto variants = load_variants();
  const double step = (1 - plan.main_part) / static_cast<double>(variants.size());
  double from = plan.main_part;
  for (const ElasticAssumptions& variant : variants) {
    const auto all = sample_elastic(rules, equal_rates({3, 5}), variant, plan.variant_samples,
                                    options, from, from + step);
    if (!all) return all.error();
    from += step;
    const auto cell = [&](std::size_t rule, std::size_t rate, const LoadMeasure& measure) {
      return cell_of(estimate(all->values(rule, rate, measure.of)), measure.digits);
    };
    table.rows.push_back({variant.name, cell(0, 1, kUtilisation), cell(1, 1, kUtilisation),
                          cell(0, 0, kCompletion), cell(1, 0, kCompletion),
                          cell(2, 1, kFailedJobs)});
  }
  return table;
}

}  // namespace

Expected<ExperimentReport> measure_qrea_load(const QreaPlan& plan,
                                             const ExperimentOptions& options) {
  const ElasticAssumptions assumptions;
  const auto all = sample_elastic(kLoadRules, equal_rates(plan.rates), assumptions, plan.samples,
                                  options, 0, plan.main_part);
  if (!all) return all.error();
  ExperimentReport report;
  report.title = "Elastic allocation by credit under growing load";
  report.claims = {completion_claim(*all, plan), utilisation_claim(*all, plan),
                   failures_claim(*all)};
  report.assumptions = qrea_assumptions(plan);
  for (const LoadMeasure& measure : {kUtilisation, kCompletion, kFailedJobs})
    report.items.emplace_back(load_chart(*all, plan, measure));
  for (const LoadMeasure& measure : kLoadMeasures)
    report.items.emplace_back(load_table(*all, plan, measure));
  auto sensitivity = load_sensitivity(plan, options);
  if (!sensitivity) return sensitivity.error();
  report.items.emplace_back(std::move(*sensitivity));
  return report;
}

std::vector<std::string> qrea_assumptions(const QreaPlan& plan) {
  const ElasticAssumptions base;
  return {
      fmt::format("4 users with a quota of 50 of 200 units each; jobs of 1 to {} units and 10 "
                  "unit-seconds.",
                  base.max_units),
      fmt::format("A sample is a run of its own: jobs arrive for {} s, the cluster is empty at "
                  "first, and all jobs are run to their ends. Utilisation and extras count while "
                  "jobs arrive. {} samples; every policy gets the same jobs.",
                  base.duration_ms / 1000, plan.samples),
      fmt::format("Arrivals of each second: fractional Gaussian noise with Hurst parameter {} and "
                  "a standard deviation of {} times the mean, cut off at 0, anywhere in the "
                  "second. The paper gives no measure of burstiness but the Hurst parameter.",
                  base.hurst, base.variation),
      std::string{"A round follows whatever happens. Credits count by time: a round adds what was "
                  "earned and paid for each second until the next."},
      std::string{"Intervals are 95 % by Student's t; 'surely' means that the interval of the "
                  "paired differences leaves 0 out."}};
}

Expected<ExperimentReport> run_qrea_load(const ExperimentOptions& options) {
  return measure_qrea_load(default_qrea_plan(options), options);
}

}  // namespace fairwater::sim::inline experiments
