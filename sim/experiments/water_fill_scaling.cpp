#include "sim/experiments/water_fill_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/core/splitmix64.hpp"
#include "policy/quota/water_fill.hpp"
#include "sim/experiments/list.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::uint64_t kLargestWeight = 100, kLargestRequest = 1'000'000;
constexpr std::uint64_t kCheckedChanges = 3;  ///< after which both methods are compared

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The same groups in both forms, for each resource; the capacity is half of what they ask for.
class BothForms {
 public:
  BothForms(std::size_t groups, std::size_t resources) : plain_(resources), levels_(resources) {
    for (std::size_t resource = 0; resource < resources; ++resource) {
      Amount requests = 0;
      for (std::size_t i = 0; i < groups; ++i) {
        const PlainGroup group{.weight = 1 + static_cast<Weight>(random_.below(kLargestWeight)),
                               .request = draw_request()};
        requests += group.request;
        plain_[resource].push_back(group);
        levels_[resource].set(static_cast<WaterLevel::Key>(i),
                              {.weight = group.weight, .request = group.request});
      }
      capacities_.push_back(requests / 2);
      levels_[resource].set_capacity(requests / 2);
    }
  }

  struct Change {
    std::size_t group = 0;
    std::vector<Amount> requests;  ///< one per resource
  };

  /// A new request of one group for each of the first `resources` resources.
  Change draw_change(std::size_t resources) {
    Change change{.group = random_.below(plain_[0].size()), .requests = {}};
    for (std::size_t i = 0; i < resources; ++i) change.requests.push_back(draw_request());
    return change;
  }

  /// Brings both forms to the change's requests.
  void set_both(const Change& change) {
    for (std::size_t i = 0; i < change.requests.size(); ++i) {
      plain_[i][change.group].request = change.requests[i];
      levels_[i].set_request(static_cast<WaterLevel::Key>(change.group), change.requests[i]);
    }
  }

  /// Makes the change and reads the group's quotas anew.
  void change_levels(const Change& change, std::vector<Amount>& quotas) {
    const auto key = static_cast<WaterLevel::Key>(change.group);
    for (std::size_t i = 0; i < change.requests.size(); ++i) {
      levels_[i].set_request(key, change.requests[i]);
      quotas[i] = levels_[i].runtime(key);
    }
  }

  /// The same by rounds; returns how many were needed for all resources.
  std::uint64_t change_plain(const Change& change, std::vector<Amount>& quotas) {
    std::uint64_t rounds = 0;
    for (std::size_t i = 0; i < change.requests.size(); ++i) {
      PlainGroup& group = plain_[i][change.group];
      group.request = change.requests[i];
      const RoundLevel level = fill_by_rounds(capacities_[i], plain_[i], asking_);
      rounds += level.rounds;
      quotas[i] = level.all_satisfied
                      ? group.request
                      : static_cast<Amount>(std::min<Wide>(
                            group.request, group.weight * level.poured / level.weights));
    }
    return rounds;
  }

 private:
  Amount draw_request() { return 1 + static_cast<Amount>(random_.below(kLargestRequest)); }

  SplitMix64 random_{1};
  std::vector<std::vector<PlainGroup>> plain_;
  std::vector<WaterLevel> levels_;
  std::vector<Amount> capacities_;
  std::vector<std::uint32_t> asking_;
};

struct ScalingCell {
  std::size_t groups = 0;
  std::size_t resources = 0;
  double round_seconds = 0;  ///< processor time per change
  double level_seconds = 0;
  std::uint64_t round_changes = 0;  ///< measured
  std::uint64_t level_changes = 0;
  double rounds = 0;              ///< per change and resource
  Amount largest_difference = 0;  ///< between the two forms' quotas, in units
};

/// Makes changes until there are enough or time is up; returns how many.
template <class MakeChange>
std::uint64_t repeat(const ScalingPlan& plan, double& seconds_per_change,
                     const MakeChange& make_change) {
  const double start = thread_seconds();
  std::uint64_t changes = 0;
  double passed = 0;
  do {
    make_change(changes++);
    passed = thread_seconds() - start;
  } while (changes < plan.most_changes && passed < plan.most_seconds);
  seconds_per_change = passed / static_cast<double>(changes);
  return changes;
}

ScalingCell measure_cell(const ScalingPlan& plan, BothForms& forms, std::size_t groups,
                         std::size_t resources) {
  ScalingCell cell{.groups = groups, .resources = resources};
  std::vector<Amount> by_rounds(resources), by_level(resources);
  for (std::uint64_t i = 0; i < kCheckedChanges; ++i) {
    const auto change = forms.draw_change(resources);
    forms.change_plain(change, by_rounds);
    forms.change_levels(change, by_level);
    for (std::size_t r = 0; r < resources; ++r)
      cell.largest_difference =
          std::max(cell.largest_difference, std::abs(by_rounds[r] - by_level[r]));
  }
  // Drawn before the clock runs, all different, so that no cache learns them.
  std::vector<BothForms::Change> changes(plan.most_changes);
  for (auto& change : changes) change = forms.draw_change(resources);
  std::uint64_t rounds = 0;
  cell.round_changes = repeat(plan, cell.round_seconds, [&](std::uint64_t i) {
    rounds += forms.change_plain(changes[i], by_rounds);
  });
  cell.level_changes = repeat(plan, cell.level_seconds,
                              [&](std::uint64_t i) { forms.change_levels(changes[i], by_level); });
  for (const auto& change : changes) forms.set_both(change);
  cell.rounds = static_cast<double>(rounds) / static_cast<double>(cell.round_changes * resources);
  return cell;
}

using ScalingCells = std::vector<ScalingCell>;

ScalingCells with_resources(const ScalingCells& cells, std::size_t resources) {
  ScalingCells chosen;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(chosen),
               [&](const ScalingCell& cell) { return cell.resources == resources; });
  return chosen;
}

/// The p for which seconds grow as groups^p: the least-squares slope in logarithms.
double growth_exponent(const ScalingCells& cells, double ScalingCell::*seconds) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const ScalingCell& cell : cells) {
    const double x = std::log(static_cast<double>(cell.groups)), y = std::log(cell.*seconds);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double n = static_cast<double>(cells.size());
  return (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
}

std::string duration_text(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return fmt::format("{:.3g} ms", seconds * 1e3);
}

/// A logarithm's exponent over these sizes, with what memory adds, stays well below this.
constexpr double kLogarithmicExponent = 0.5, kLinearExponent = 0.75;

std::string resources_text(std::size_t count) {
  return fmt::format("{} resource{}", count, count == 1 ? "" : "s");
}

Claim scaling_claim(const ScalingCells& cells, const std::vector<std::size_t>& resources) {
  bool all_logarithmic = true, all_linear = true, all_faster = true;
  std::vector<std::string> texts;
  for (const std::size_t count : resources) {
    const ScalingCells line = with_resources(cells, count);
    const double by_level = growth_exponent(line, &ScalingCell::level_seconds);
    const double by_rounds = growth_exponent(line, &ScalingCell::round_seconds);
    const ScalingCell& largest = line.back();
    all_logarithmic = all_logarithmic && by_level < kLogarithmicExponent;
    all_linear = all_linear && by_rounds > kLinearExponent;
    all_faster = all_faster && largest.level_seconds < largest.round_seconds;
    texts.push_back(fmt::format(
        "{}: groups^{:.2f} by rounds and groups^{:.2f} incrementally, {} "
        "and {} per change of {} groups",
        resources_text(count), by_rounds, by_level, duration_text(largest.round_seconds),
        duration_text(largest.level_seconds), largest.groups));
  }
  return {.paper = "FuxiMaster's QuotaGroups, incremental water-fill",
          .statement =
              "With the groups in a balanced tree with sums a change of one costs O(log "
              "groups); filling round by round passes over all groups.",
          .measured = fmt::format("{}.", fmt::join(texts, "; ")),
          .verdict = all_logarithmic && all_linear && all_faster ? Verdict::holds
                     : all_faster                                ? Verdict::holds_in_part
                                                                 : Verdict::does_not_hold};
}

Claim agreement_claim(const ScalingCells& cells) {
  Amount largest = 0;
  for (const ScalingCell& cell : cells) largest = std::max(largest, cell.largest_difference);
  return {.paper = "both forms",
          .statement = "Both give the same quotas, but for rounding to whole units.",
          .measured = fmt::format("The quotas of the changed groups differ by {} unit{} at most, "
                                  "of requests up to {}.",
                                  largest, largest == 1 ? "" : "s", kLargestRequest),
          .verdict = largest <= 1 ? Verdict::holds : Verdict::does_not_hold};
}

Chart scaling_chart(const ScalingCells& cells, const std::vector<std::size_t>& resources) {
  Chart chart{.title = "Processor time of a change of one group",
              .x_label = "groups",
              .y_label = "seconds",
              .x_scale = Scale::logarithmic,
              .y_scale = Scale::logarithmic,
              .categories = {},
              .series = {}};
  for (const std::size_t count : resources) {
    Series rounds{.name = "by rounds, " + resources_text(count), .points = {}, .error = {}};
    Series level{.name = "incremental, " + resources_text(count), .points = {}, .error = {}};
    for (const ScalingCell& cell : with_resources(cells, count)) {
      const double groups = static_cast<double>(cell.groups);
      rounds.points.emplace_back(groups, cell.round_seconds);
      level.points.emplace_back(groups, cell.level_seconds);
    }
    chart.series.push_back(std::move(rounds));
    chart.series.push_back(std::move(level));
  }
  return chart;
}

Table scaling_table(const ScalingCells& cells) {
  Table table{
      .title = "Processor time of a change, and how many changes were measured",
      .columns = {"groups", "resources", "by rounds", "changes by rounds", "rounds per resource",
                  "incremental", "changes incrementally", "times faster"},
      .rows = {}};
  for (const ScalingCell& cell : cells)
    table.rows.push_back({std::to_string(cell.groups), std::to_string(cell.resources),
                          duration_text(cell.round_seconds), std::to_string(cell.round_changes),
                          fmt::format("{:.1f}", cell.rounds), duration_text(cell.level_seconds),
                          std::to_string(cell.level_changes),
                          fmt::format("{:.3g}", cell.round_seconds / cell.level_seconds)});
  return table;
}

}  // namespace

RoundLevel fill_by_rounds(Amount capacity, std::span<const PlainGroup> groups,
                          std::vector<std::uint32_t>& asking) {
  RoundLevel level{.poured = capacity, .weights = 0};
  asking.resize(groups.size());
  std::iota(asking.begin(), asking.end(), 0u);
  for (const PlainGroup& group : groups) level.weights += group.weight;
  while (!asking.empty()) {
    ++level.rounds;
    const Wide offer = level.poured, weights = level.weights;
    const auto still_asking = [&](std::uint32_t i) {
      return Wide{groups[i].request} * weights > Wide{groups[i].weight} * offer;
    };
    std::size_t kept = 0;
    for (const std::uint32_t i : asking) {
      if (still_asking(i)) {
        asking[kept++] = i;
        continue;
      }
      level.poured -= groups[i].request;
      level.weights -= groups[i].weight;
    }
    if (kept == asking.size()) return level;
    asking.resize(kept);
  }
  level.all_satisfied = true;
  level.weights = 1;
  return level;
}

ExperimentReport measure_water_fill_scaling(const ScalingPlan& plan,
                                            const ExperimentOptions& options) {
  const double all_groups =
      static_cast<double>(std::accumulate(plan.groups.begin(), plan.groups.end(), std::size_t{0}));
  ScalingCells cells;
  double groups_done = 0;
  for (const std::size_t groups : plan.groups) {
    BothForms forms(groups, plan.resources.back());
    for (const std::size_t resources : plan.resources) {
      cells.push_back(measure_cell(plan, forms, groups, resources));
      groups_done += static_cast<double>(groups) / static_cast<double>(plan.resources.size());
      options.progress(groups_done / all_groups);
    }
  }
  return {.title = "Water-fill: what a change costs",
          .claims = {scaling_claim(cells, plan.resources), agreement_claim(cells)},
          .assumptions =
              {fmt::format("One level of groups with weights of 1 to {} and requests of 1 to {}; "
                           "the capacity is half of all requests.",
                           kLargestWeight, kLargestRequest),
               "A change sets one group's request for every resource and reads its quotas. By "
               "rounds all groups are filled anew, exactly, in integers of 128 bits.",
               fmt::format("A size is measured over at most {} changes and about {:g} s of "
                           "processor time, and at least one change; the table says how many.",
                           plan.most_changes, plan.most_seconds)},
          .items = {scaling_chart(cells, plan.resources), scaling_table(cells)}};
}

Expected<ExperimentReport> run_water_fill_scaling(const ExperimentOptions& options) {
  return measure_water_fill_scaling({.groups = {10, 100, 1000, 10'000, 100'000, 1'000'000},
                                     .resources = {1, 2, 4, 8},
                                     .most_changes = 20'000,
                                     .most_seconds = 0.15},
                                    options);
}

}  // namespace fairwater::sim::inline experiments
