// `sequence-slots` and `sequence-sized`: the sequence against a share of each heartbeat, under
// tenants that always have work. Wang, Hong, Feng, figures 1 to 4.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/experiments/list.hpp"
#include "sim/report/run_report.hpp"

namespace fairwater::sim::inline experiments {
namespace {

/// Beyond any amount of work that a tenant can get done.
constexpr double kBacklogFactor = 1.05;
/// Variants of assumptions are measured over fewer seeds: their differences are large.
constexpr std::uint32_t kVariantSeeds = 3;
constexpr TimeMs kSecond = 1000;

struct LoadSetup {
  std::vector<Weight> weights;
  TimeMs end_ms = 0;
  TimeMs heartbeat_ms = kSecond;  ///< 0: at once, when a task ends
  Cluster cluster;                ///< but for its tenants
  Generator tasks;                ///< of every tenant; `jobs` for the whole cluster
  DealMode mode = DealMode::slots;
};

Scenario scenario_of(const LoadSetup& setup, const std::string& policy, std::uint32_t seeds) {
  Scenario scenario;
  scenario.cluster = setup.cluster;
  scenario.cluster.settings.mode = setup.mode;
  for (std::size_t i = 0; i < setup.weights.size(); ++i) {
    SimTenant tenant;
    tenant.name = std::string(1, static_cast<char>('A' + i));
    tenant.terms.weight = setup.weights[i];
    scenario.cluster.tenants.push_back(tenant);
    Generator generator = setup.tasks;
    generator.tenant = static_cast<TenantIndex>(i);
    generator.arrivals = ArrivalProcess::backlog;
    // A policy that is unfair can give one tenant nearly everything.
    generator.jobs = static_cast<std::uint32_t>(kBacklogFactor * setup.tasks.jobs);
    scenario.generators.push_back(generator);
  }
  scenario.policy.name = policy;
  scenario.policy.mode = setup.mode;
  scenario.engine = {.cycle_ms = setup.heartbeat_ms, .end_ms = setup.end_ms};
  scenario.metrics = {.sample_ms = setup.end_ms / 200,
                      .windows_ms = {10 * kSecond, 60 * kSecond, 300 * kSecond},
                      .horizon_ms = setup.end_ms};
  scenario.seeds = seeds;
  return scenario;
}

/// How far cumulative use is from the weights: the largest |part / entitled part - 1| of a tenant.
double distance_from_weights(const LoadSetup& setup, const std::vector<TenantSample>& sample) {
  double used = 0, weights = 0, largest = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    used += sample[i].cumulative_unit_s;
    weights += static_cast<double>(setup.weights[i]);
  }
  if (used == 0) return 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double entitled = static_cast<double>(setup.weights[i]) / weights;
    largest = std::max(largest, std::abs(sample[i].cumulative_unit_s / used / entitled - 1));
  }
  return largest;
}

/// The same in units: how much more or less than its exact part a tenant held on average.
double units_off(const LoadSetup& setup, const RunMetrics& run) {
  double used = 0, weights = 0, largest = 0;
  const auto& sample = run.samples.back();
  for (std::size_t i = 0; i < sample.size(); ++i) {
    used += sample[i].cumulative_unit_s;
    weights += static_cast<double>(setup.weights[i]);
  }
  for (std::size_t i = 0; i < sample.size(); ++i)
    largest = std::max(largest, std::abs(sample[i].cumulative_unit_s -
                                         used * static_cast<double>(setup.weights[i]) / weights));
  return largest / (static_cast<double>(run.engine.end_ms) / 1000);
}

struct Outcome {
  PolicyRuns runs;
  Estimate distance;   ///< at the end
  Estimate units_off;  ///< held more or less than exact, on average
};

Expected<Outcome> measure(const LoadSetup& setup, const std::string& policy,
                          const ExperimentOptions& options) {
  const Scenario scenario = scenario_of(setup, policy, std::max(options.seeds, 1U));
  auto runs = run_all(scenario, options.threads, [](double) {});
  if (!runs) return runs.error();
  std::vector<double> distances, units;
  for (const auto& run : *runs) {
    distances.push_back(distance_from_weights(setup, run.samples.back()));
    units.push_back(units_off(setup, run));
  }
  return Outcome{{policy, std::move(*runs)}, estimate(distances), estimate(units)};
}

std::string percent(const Estimate& value) {
  return fmt::format("{:.2f} % ± {:.2f}", 100 * value.mean, 100 * value.half_width);
}

Table shares_table(const LoadSetup& setup, const std::vector<Outcome>& outcomes) {
  Table table;
  table.title = "Part of the whole use at the end, mean and 95 % confidence interval over seeds";
  table.columns = {"tenant", "weight", "entitled"};
  for (const auto& outcome : outcomes) table.columns.push_back(outcome.runs.policy);
  double weights = 0;
  for (const Weight weight : setup.weights) weights += static_cast<double>(weight);
  for (std::size_t i = 0; i < setup.weights.size(); ++i) {
    std::vector<std::string> row{
        std::string(1, static_cast<char>('A' + i)), std::to_string(setup.weights[i]),
        fmt::format("{:.2f} %", 100 * static_cast<double>(setup.weights[i]) / weights)};
    for (const auto& outcome : outcomes) {
      std::vector<double> parts;
      for (const auto& run : outcome.runs.runs) {
        double all = 0;
        for (const auto& tenant : run.samples.back()) all += tenant.cumulative_unit_s;
        parts.push_back(run.samples.back()[i].cumulative_unit_s / all);
      }
      row.push_back(percent(estimate(parts)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Chart distance_chart(const LoadSetup& setup, const std::vector<Outcome>& outcomes) {
  Chart chart;
  chart.title = "How far cumulative use is from the weights (first seed)";
  chart.x_label = "seconds";
  chart.y_label = "largest relative distance of a tenant";
  chart.y_scale = Scale::logarithmic;
  for (const auto& outcome : outcomes) {
    Series series;
    series.name = outcome.runs.policy;
    const RunMetrics& run = outcome.runs.runs.front();
    for (std::size_t i = 0; i < run.samples.size(); ++i) {
      const double distance = distance_from_weights(setup, run.samples[i]);
      if (distance > 0)
        series.points.emplace_back(
            static_cast<double>(run.sample_ms) * static_cast<double>(i + 1) / 1000, distance);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart use_chart(const LoadSetup& setup, const Outcome& outcome, const std::string& unit) {
  const Scenario scenario = scenario_of(setup, outcome.runs.policy, 1);
  auto items = series_charts(scenario.cluster, outcome.runs.runs.front());
  Chart chart = std::get<Chart>(items[1]);
  chart.title = "Cumulative use under " + outcome.runs.policy;
  chart.y_label = unit;
  return chart;
}

/// The claim holds when the sequence is surely nearer, and within one task of the exact part.
Claim nearer_claim(const LoadSetup& setup, const std::vector<Outcome>& outcomes, const char* paper,
                   const char* statement) {
  const Outcome& sequence = outcomes[0];
  const Outcome& proportional = outcomes[1];
  Claim claim;
  claim.paper = paper;
  claim.statement = statement;
  const auto units = [](const Estimate& value) {
    return fmt::format("{:.2f} ± {:.2f}", value.mean, value.half_width);
  };
  claim.measured = fmt::format(
      "the tenant farthest from its weight is off by {} of its part under sequence ({} units held "
      "on average), by {} under proportional ({} units)",
      percent(sequence.distance), units(sequence.units_off), percent(proportional.distance),
      units(proportional.units_off));
  const bool is_nearer = sequence.distance.mean + sequence.distance.half_width <
                         proportional.distance.mean - proportional.distance.half_width;
  const double task_units =
      setup.mode == DealMode::slots ? 1 : static_cast<double>(setup.tasks.demand.back().high);
  const bool is_near = sequence.units_off.mean + sequence.units_off.half_width < task_units;
  claim.verdict = is_nearer && is_near   ? Verdict::holds
                  : is_nearer || is_near ? Verdict::holds_in_part
                                         : Verdict::does_not_hold;
  return claim;
}

struct Variant {
  std::string name;
  LoadSetup setup;
};

Expected<Table> sensitivity_table(const std::vector<Variant>& variants, ExperimentOptions options) {
  options.seeds = std::min(options.seeds, kVariantSeeds);
  Table table;
  table.title = "Sensitivity: largest distance from the weights at the end";
  table.columns = {"assumption", "sequence", "proportional"};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto sequence = measure(variants[i].setup, "sequence", options);
    if (!sequence) return sequence.error();
    const auto proportional = measure(variants[i].setup, "proportional", options);
    if (!proportional) return proportional.error();
    table.rows.push_back(
        {variants[i].name, percent(sequence->distance), percent(proportional->distance)});
    options.progress(static_cast<double>(i + 2) / static_cast<double>(variants.size() + 1));
  }
  return table;
}

Expected<ExperimentReport> run_load(ExperimentReport report, const LoadSetup& setup,
                                    const std::vector<Variant>& variants, const char* paper,
                                    const char* statement, const char* unit,
                                    const ExperimentOptions& options) {
  std::vector<Outcome> outcomes;
  for (const char* policy : {"sequence", "proportional"}) {
    auto outcome = measure(setup, policy, options);
    if (!outcome) return outcome.error();
    outcomes.push_back(std::move(*outcome));
  }
  options.progress(1.0 / static_cast<double>(variants.size() + 1));
  report.claims.push_back(nearer_claim(setup, outcomes, paper, statement));
  report.items.push_back(shares_table(setup, outcomes));
  report.items.push_back(distance_chart(setup, outcomes));
  for (const auto& outcome : outcomes) report.items.push_back(use_chart(setup, outcome, unit));
  report.items.push_back(figures_table({outcomes[0].runs, outcomes[1].runs}));
  auto sensitivity = sensitivity_table(variants, options);
  if (!sensitivity) return sensitivity.error();
  report.items.push_back(std::move(*sensitivity));
  return report;
}

std::vector<Variant> heartbeat_variants(const LoadSetup& setup) {
  std::vector<Variant> variants;
  for (const TimeMs heartbeat_ms : {TimeMs{0}, 3 * kSecond, 10 * kSecond}) {
    Variant variant{heartbeat_ms == 0
                        ? std::string{"a heartbeat whenever a task ends"}
                        : fmt::format("a heartbeat every {} s", heartbeat_ms / kSecond),
                    setup};
    variant.setup.heartbeat_ms = heartbeat_ms;
    variants.push_back(std::move(variant));
  }
  return variants;
}

Cluster machines(std::size_t resource, Amount capacity, Amount granule) {
  Cluster cluster;
  cluster.resources = {"cpu", "memory"};
  cluster.settings.granules[resource] = granule;
  for (int i = 1; i <= 10; ++i) {
    SimNode node;
    node.traits.name = fmt::format("machine-{}", i);
    node.capacity[resource] = capacity;
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

}  // namespace

Expected<ExperimentReport> run_sequence_slots(const ExperimentOptions& options) {
  LoadSetup setup;
  setup.weights = {10, 8, 6, 5};
  setup.end_ms = 5000 * kSecond;
  setup.cluster = machines(kCpu, 10'000, 1'000);
  setup.tasks.jobs = 100 * 5000 / 25;
  setup.tasks.demand = {{1'000, 1'000}};
  setup.tasks.run_ms = {20 * kSecond, 30 * kSecond};
  ExperimentReport report;
  report.title = "Sequence deployment in slots";
  report.assumptions = {
      "Every tenant has work all the time, from second 0 on.",
      "Run times are uniform from 20 to 30 s; every machine sends a heartbeat each second.",
      "The usual share of a heartbeat (proportional): its free slots are divided by weight in "
      "whole slots, the largest fractions first, heavier tenants first on ties; nothing is "
      "remembered.",
      "The sequence is dealt within runtime quotas of whole tasks, which is why use is not exact "
      "to the last digit: a tenant with a part of 20.7 slots holds 20 or 21."};
  auto variants = heartbeat_variants(setup);
  Variant one_machine{"one heartbeat for all 100 slots", setup};
  one_machine.setup.cluster.nodes.resize(1);
  one_machine.setup.cluster.nodes[0].capacity[kCpu] = 100'000;
  variants.push_back(std::move(one_machine));
  return run_load(
      report, setup, variants, "Wang, Hong, Feng, figures 1 and 2",
      "the tenants' use stays in proportion to their weights 10 : 8 : 6 : 5, nearer than when "
      "each heartbeat is divided on its own",
      "slot seconds", options);
}

Expected<ExperimentReport> run_sequence_sized(const ExperimentOptions& options) {
  LoadSetup setup;
  setup.weights = {20, 14, 8, 5};
  setup.end_ms = 1000 * kSecond;
  setup.cluster = machines(kMemory, 100, 1);
  setup.mode = DealMode::sized;
  setup.tasks.jobs = 2000;
  setup.tasks.demand = {{0, 0}, {5, 40}};
  setup.tasks.run_ms_per_unit = kSecond;
  ExperimentReport report;
  report.title = "Sequence deployment by size";
  report.assumptions = {
      "Every tenant has work all the time; sizes are uniform from 5 to 40 MiB in whole MiB.",
      "A task runs 1 s for each MiB; every machine sends a heartbeat each second.",
      "The usual share of a heartbeat (proportional): each tenant takes its next tasks while they "
      "fit its part; what is left goes to the next tasks that fit, heavier tenants first."};
  auto variants = heartbeat_variants(setup);
  for (const TimeMs pace_ms : {TimeMs{200}, TimeMs{500}}) {
    Variant variant{fmt::format("{} s for each MiB", static_cast<double>(pace_ms) / 1000), setup};
    variant.setup.tasks.run_ms_per_unit = pace_ms;
    variant.setup.tasks.jobs = static_cast<std::uint32_t>(2000 * kSecond / pace_ms);
    variants.push_back(std::move(variant));
  }
  return run_load(
      report, setup, variants, "Wang, Hong, Feng, figures 3 and 4",
      "with tasks of declared sizes use stays in proportion to the weights 20 : 14 : 8 : 5, "
      "nearer than when each heartbeat is divided on its own",
      "MiB seconds", options);
}

}  // namespace fairwater::sim::inline experiments
