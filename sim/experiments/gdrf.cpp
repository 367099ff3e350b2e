// GDRF against DRFH on clusters of the machine shapes of a published trace: Xue, Hu, Xu 2016.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/experiments/gdrf_clusters.hpp"
#include "sim/experiments/list.hpp"
#include "sim/report/statistics.hpp"
#include "sim/traces/swf.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::string_view kShapesFile = "/google-2011-shapes/machine_shapes.csv";
constexpr std::size_t kMaxShapesBytes = 1u << 20;
constexpr std::uint32_t kLeastSeeds = 10;

const std::vector<ClusterAssumptions>& all_assumptions() {
  static const std::vector<ClusterAssumptions> all{
      {.name = "as assumed"},
      {.name = "demands in thousandths", .demands = Demands::thousandths},
      {.name = "demands of 1 or 4 alone", .demands = Demands::extremes},
      {.name = "machines drawn at random", .drawn_machines = true},
      {.name = "machines a fifth as large", .largest_machine = 20},
      {.name = "a task per user and machine", .tasks_per_machine = 1}};
  return all;
}

/// How GDRF compares with a rival: over the numbers of machines, how often it is surely above or
/// surely below (the interval of the paired differences leaves 0 out).
struct Comparison {
  std::size_t sizes = 0, above = 0, below = 0;
  double least_gain = 1e9, largest_gain = -1e9;  ///< of the means, relative to the rival's

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "{:+.2f} % to {:+.2f} %, surely more at {} and surely less at {} of {} sizes",
        100 * least_gain, 100 * largest_gain, above, below, sizes);
  }
};

Comparison compare(const std::vector<ClusterSamples>& all, std::size_t rival, Measure measure) {
  Comparison result{.sizes = all.size()};
  for (const ClusterSamples& samples : all) {
    const Estimate difference =
        estimate_difference(samples.values[0][measure], samples.values[rival][measure]);
    result.above += difference.low() > 0 ? 1 : 0;
    result.below += difference.high() < 0 ? 1 : 0;
    const double gain = difference.mean / estimate(samples.values[rival][measure]).mean;
    result.least_gain = std::min(result.least_gain, gain);
    result.largest_gain = std::max(result.largest_gain, gain);
  }
  return result;
}

/// GDRF is said to have more of each measure than each rival.
Verdict verdict_of(const std::vector<Comparison>& comparisons) {
  bool all_above = true, any_above = false;
  for (const Comparison& comparison : comparisons) {
    all_above = all_above && comparison.above == comparison.sizes;
    any_above = any_above || comparison.above > 0;
  }
  return all_above ? Verdict::holds : any_above ? Verdict::holds_in_part : Verdict::does_not_hold;
}

Claim more_claim(const std::vector<ClusterSamples>& all, const std::string& statement,
                 const std::vector<Measure>& measures) {
  std::vector<Comparison> comparisons;
  Claim claim{.paper = "Xue, Hu, Xu 2016", .statement = statement, .measured = {}};
  for (std::size_t rival = 1; rival < kClusterPolicies.size(); ++rival)
    for (const Measure measure : measures) {
      comparisons.push_back(compare(all, rival, measure));
      claim.measured += fmt::format("{}Against {}, {}: {}.", claim.measured.empty() ? "" : " ",
                                    kClusterPolicies[rival].name, kMeasureNames[measure],
                                    comparisons.back().text());
    }
  claim.verdict = verdict_of(comparisons);
  return claim;
}

Claim f_claim(const std::vector<ClusterSamples>& all) {
  Claim claim = more_claim(
      all, "A task goes to the machine whose f is largest with it; f is summed over the machines.",
      {kClusterF});
  claim.verdict = Verdict::measured_only;
  return claim;
}

Table means_table(const std::vector<ClusterSamples>& all) {
  Table table{.title = "Means over seeds, with 95 % confidence intervals",
              .columns = {"machines", "policy", "tasks placed", "cpu used", "memory used", "f"},
              .rows = {}};
  for (std::size_t size = 0; size < all.size(); ++size)
    for (std::size_t policy = 0; policy < kClusterPolicies.size(); ++policy) {
      const auto& samples = all[size].values[policy];
      const auto cell = [&](Measure measure, int digits) {
        const Estimate mean = estimate(samples[measure]);
        return fmt::format("{:.{}f} ± {:.{}f}", mean.mean, digits, mean.half_width, digits);
      };
      table.rows.push_back({std::to_string(all[size].machines),
                            std::string{kClusterPolicies[policy].name}, cell(kPlaced, 1),
                            cell(kCpuUsed, 4), cell(kMemoryUsed, 4), cell(kClusterF, 2)});
    }
  return table;
}

/// Means of one measure over the machines, or GDRF's paired gain over each rival in percent.
Chart means_chart(const std::vector<ClusterSamples>& all, Measure measure) {
  Chart chart{.title = fmt::format("{}, means over seeds", kMeasureNames[measure]),
              .x_label = "machines",
              .y_label = std::string{kMeasureNames[measure]},
              .categories = {},
              .series = {}};
  for (std::size_t policy = 0; policy < kClusterPolicies.size(); ++policy) {
    Series series{.name = std::string{kClusterPolicies[policy].name}, .points = {}, .error = {}};
    for (std::size_t size = 0; size < all.size(); ++size) {
      const Estimate mean = estimate(all[size].values[policy][measure]);
      series.points.emplace_back(static_cast<double>(all[size].machines), mean.mean);
      series.error.push_back(mean.half_width);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart gain_chart(const std::vector<ClusterSamples>& all) {
  Chart chart{.title = "Tasks that GDRF places more than DRFH on the same cluster, in percent",
              .x_label = "machines",
              .y_label = "percent more tasks",
              .categories = {},
              .series = {}};
  for (std::size_t rival = 1; rival < kClusterPolicies.size(); ++rival) {
    Series series{
        .name = fmt::format("against {}", kClusterPolicies[rival].name), .points = {}, .error = {}};
    for (std::size_t size = 0; size < all.size(); ++size) {
      const auto& samples = all[size];
      const Estimate difference =
          estimate_difference(samples.values[0][kPlaced], samples.values[rival][kPlaced]);
      const double base = estimate(samples.values[rival][kPlaced]).mean;
      series.points.emplace_back(static_cast<double>(all[size].machines),
                                 100 * difference.mean / base);
      series.error.push_back(100 * difference.half_width / base);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

void add_sensitivity(Table& table, const ClusterAssumptions& assumptions,
                     const std::vector<ClusterSamples>& all) {
  for (const Measure measure : {kPlaced, kCpuUsed, kMemoryUsed})
    for (std::size_t rival = 1; rival < kClusterPolicies.size(); ++rival) {
      const Comparison result = compare(all, rival, measure);
      table.rows.push_back({assumptions.name, std::string{kMeasureNames[measure]},
                            std::string{kClusterPolicies[rival].name},
                            fmt::format("{:+.2f} %", 100 * result.least_gain),
                            fmt::format("{:+.2f} %", 100 * result.largest_gain),
                            fmt::format("{} of {}", result.above, result.sizes),
                            fmt::format("{} of {}", result.below, result.sizes)});
    }
}

Expected<std::vector<MachineShape>> read_shapes(const ExperimentOptions& options) {
  if (options.traces.empty())
    return make_error(ErrorCode::invalid_input, "the experiment needs the machine shapes",
                      "traces");
  const auto text = read_maybe_gzip(options.traces + std::string{kShapesFile}, kMaxShapesBytes);
  if (!text) return text.error();
  return parse_machine_shapes(*text);
}

}  // namespace

ExperimentReport compare_with_drfh(const std::vector<MachineShape>& shapes, const GdrfPlan& plan,
                                   const ExperimentOptions& options) {
  ExperimentReport report{
      .title = "GDRF against DRFH on machines of unlike shapes",
      .claims = {},
      .assumptions =
          {fmt::format("{} to {} machines in the shapes of the Google trace of 2011, by their "
                       "percents; the largest has 100 cpu and 100 memory.",
                       plan.machines.front(), plan.machines.back()),
           fmt::format("{} users whose tasks ask for 1, 2, 3 or 4 cpu and as much memory, evenly "
                       "drawn for each of {} seeds; tasks without end.",
                       kClusterUsers, plan.seeds),
           "DRFH is read from its own paper, with best fit and first fit. 'Surely' means that the "
           "95 % interval of the paired differences leaves 0 out."},
      .items = {}};
  Table sensitivity{.title = "GDRF against DRFH when the assumptions change",
                    .columns = {"assumptions", "measure", "against", "least gain", "largest gain",
                                "surely more", "surely less"},
                    .rows = {}};
  const double part = 1.0 / static_cast<double>(plan.assumptions.size());
  for (std::size_t i = 0; i < plan.assumptions.size(); ++i) {
    const double from = static_cast<double>(i) * part;
    const auto all = sample_clusters(shapes, plan, plan.assumptions[i], options, from, from + part);
    add_sensitivity(sensitivity, plan.assumptions[i], all);
    if (i > 0) continue;
    report.claims = {
        more_claim(all, "GDRF places more tasks than DRFH.", {kPlaced}),
        more_claim(all, "GDRF uses more of the cluster than DRFH.", {kCpuUsed, kMemoryUsed}),
        f_claim(all)};
    report.items = {
        means_table(all),           means_chart(all, kPlaced),     gain_chart(all),
        means_chart(all, kCpuUsed), means_chart(all, kMemoryUsed), means_chart(all, kClusterF)};
  }
  report.items.emplace_back(std::move(sensitivity));
  return report;
}

Expected<ExperimentReport> run_gdrf(const ExperimentOptions& options) {
  const auto shapes = read_shapes(options);
  if (!shapes) return shapes.error();
  return compare_with_drfh(*shapes,
                           {.machines = {60, 120, 180, 240, 300},
                            .seeds = std::max(kLeastSeeds, options.seeds),
                            .assumptions = all_assumptions()},
                           options);
}

}  // namespace fairwater::sim::inline experiments
