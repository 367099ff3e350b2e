// The saturation point of Bai, Lei, Zhang 2017: the paper's two examples, and programs that every
// Debian has, measured on this machine.
#include "policy/saturation/saturation.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/saturation/advice.hpp"
#include "sim/experiments/list.hpp"
#include "sim/experiments/saturation_programs.hpp"

namespace fairwater::sim::inline experiments {
namespace {

struct PaperExample {
  std::string resource;
  std::vector<MeasuredPoint> points;
  double point = 0;  ///< the amount that the paper finds
};

std::vector<MeasuredPoint> curve_of(const std::vector<std::pair<double, double>>& curve) {
  std::vector<MeasuredPoint> points;
  points.reserve(curve.size());
  for (const auto& [amount, time] : curve) points.push_back({.resources = {amount}, .time = time});
  return points;
}

std::vector<PaperExample> paper_examples() {
  return {
      {.resource = "cpu",
       .points = curve_of({{1, 20}, {2, 10}, {3, 5}, {4, 4}, {5, 3.5}, {6, 3.2}, {7, 3.1}, {8, 3}}),
       .point = 3},
      {.resource = "memory",
       .points = curve_of(
           {{10, 4}, {15, 1.75}, {20, 0.45}, {25, 0.44}, {30, 0.43}, {35, 0.43}, {40, 0.42}}),
       .point = 20}};
}

constexpr std::array<std::pair<SaturationMethod, std::string_view>, 3> kSaturationMethods{
    {{SaturationMethod::diagonal, "diagonal"},
     {SaturationMethod::origin, "origin"},
     {SaturationMethod::chord, "chord"}}};

std::string amount_text(double amount) { return fmt::format("{:g}", amount); }

/// The amount that a method takes, or "-" where the method is not defined.
std::string point_text(SaturationMethod method, std::span<const MeasuredPoint> points) {
  if (method == SaturationMethod::chord && !chord_is_defined(points)) return "-";
  return amount_text(points[saturation_point(method, points).index].resources[0]);
}

Claim example_point_claim(const PaperExample& example) {
  const std::size_t index = saturation_point(SaturationMethod::diagonal, example.points).index;
  const double found = example.points[index].resources[0];
  return {.paper = "Bai, Lei, Zhang 2017, first stage",
          .statement = fmt::format("The example's saturation point over {} lies at {:g}.",
                                   example.resource, example.point),
          .measured = fmt::format("The point nearest to the diagonal lies at {:g}, the one nearest "
                                  "to the origin at {}, the one farthest below the chord at {}.",
                                  found, point_text(SaturationMethod::origin, example.points),
                                  point_text(SaturationMethod::chord, example.points)),
          .verdict = found == example.point ? Verdict::holds : Verdict::does_not_hold};
}

/// The examples again with the last points left out: every axis is scaled to what was measured.
Table range_table() {
  Table table{.title = "The paper's examples when less was measured",
              .columns = {"resource", "measured up to", "diagonal", "origin", "chord"},
              .rows = {}};
  for (const PaperExample& example : paper_examples())
    for (std::size_t count = 3; count <= example.points.size(); ++count) {
      const std::span points{example.points.data(), count};
      std::vector<std::string> row{example.resource, amount_text(points.back().resources[0])};
      for (const auto& [method, name] : kSaturationMethods)
        row.push_back(point_text(method, points));
      table.rows.push_back(std::move(row));
    }
  return table;
}

Chart example_chart(const PaperExample& example) {
  Series curve{.name = "running time", .points = {}, .error = {}};
  for (const MeasuredPoint& point : example.points)
    curve.points.emplace_back(point.resources[0], point.time);
  const std::size_t index = saturation_point(SaturationMethod::diagonal, example.points).index;
  return {.title = fmt::format("The paper's example over {}", example.resource),
          .x_label = example.resource,
          .y_label = "running time",
          .categories = {},
          .series = {curve,
                     {.name = "saturation point", .points = {curve.points[index]}, .error = {}}}};
}

// -- measured programs --------------------------------------------------------

struct CurveResult {
  SaturationAdvice advice;
  std::vector<MeasuredPoint> medians;
};

CurveResult judge(const MeasuredCurve& curve) {
  CurveResult result{.advice = advise_saturation(curve.runs, {.granules = {curve.granule}}),
                     .medians = {}};
  for (const MeasuredAmount& amount : result.advice.amounts)
    result.medians.push_back({.resources = amount.resources, .time = amount.time});
  return result;
}

std::string interval_text(const SaturationAdvice& advice) {
  if (!advice.interval) return "not known";
  const auto& interval = advice.interval->front();
  return fmt::format("{:g} to {:g}", interval.low, interval.high);
}

Claim program_claim(const MeasuredCurve& curve, const CurveResult& result) {
  const MeasuredAmount& first = result.advice.amounts.front();
  const MeasuredAmount& point = result.advice.amounts[result.advice.point];
  const MeasuredAmount& last = result.advice.amounts.back();
  return {.paper = fmt::format("{}, by {}", curve.program, curve.resource),
          .statement = "More resources make a program faster, at first by much, then by little.",
          .measured = fmt::format(
              "Over {}: {:.2f} s at {:g}, {:.2f} s at the saturation point {:g} ({} at 90 % "
              "confidence, {:.0f} % of the votes), {:.2f} s at {:g}.",
              curve.unit, first.time, first.resources[0], point.time, point.resources[0],
              interval_text(result.advice), 100 * point.votes, last.time, last.resources[0]),
          .verdict = Verdict::measured_only};
}

std::vector<std::string> points_row(const MeasuredCurve& curve, const CurveResult& result) {
  std::vector<std::string> row{curve.program, curve.resource, curve.unit};
  for (const auto& [method, name] : kSaturationMethods)
    row.push_back(point_text(method, result.medians));
  row.push_back(interval_text(result.advice));
  row.push_back(fmt::format("{:.0f} %", 100 * result.advice.amounts[result.advice.point].votes));
  std::vector<std::string> next;
  for (const AmountToMeasure& amount : result.advice.measure)
    next.push_back(
        fmt::format("{:g} ({})", amount.resources[0], fairwater::to_string(amount.reason)));
  row.push_back(next.empty() ? "-" : fmt::format("{}", fmt::join(next, ", ")));
  return row;
}

Table runs_table(const MeasuredCurve& curve, const CurveResult& result) {
  Table table{.title = fmt::format("{}, by {}", curve.program, curve.resource),
              .columns = {curve.unit, "median seconds", "runs", "outliers left out", "votes"},
              .rows = {}};
  for (const MeasuredAmount& amount : result.advice.amounts)
    table.rows.push_back({amount_text(amount.resources[0]), fmt::format("{:.3f}", amount.time),
                          std::to_string(amount.runs), std::to_string(amount.outliers),
                          fmt::format("{:.0f} %", 100 * amount.votes)});
  return table;
}

Chart runs_chart(const MeasuredCurve& curve, const CurveResult& result) {
  Series medians{.name = "median of the runs", .points = {}, .error = {}};
  for (const MeasuredPoint& point : result.medians)
    medians.points.emplace_back(point.resources[0], point.time);
  const auto point = medians.points[result.advice.point];
  return {.title = fmt::format("{}, by {}", curve.program, curve.resource),
          .x_label = curve.unit,
          .y_label = "seconds",
          .categories = {},
          .series = {medians, {.name = "saturation point", .points = {point}, .error = {}}}};
}

}  // namespace

ExperimentReport report_saturation(const std::vector<MeasuredCurve>& curves,
                                   std::string_view circumstances) {
  ExperimentReport report{
      .title = "The saturation point", .claims = {}, .assumptions = {}, .items = {}};
  for (const PaperExample& example : paper_examples()) {
    report.claims.push_back(example_point_claim(example));
    report.items.emplace_back(example_chart(example));
  }
  report.items.emplace_back(range_table());
  Table points{.title = "Saturation points of measured programs",
               .columns = {"program", "resource", "unit", "diagonal", "origin", "chord",
                           "90 % interval", "votes", "to measure next"},
               .rows = {}};
  std::vector<PageItem> of_programs;
  for (const MeasuredCurve& curve : curves) {
    const CurveResult result = judge(curve);
    report.claims.push_back(program_claim(curve, result));
    points.rows.push_back(points_row(curve, result));
    of_programs.emplace_back(runs_chart(curve, result));
    of_programs.emplace_back(runs_table(curve, result));
  }
  report.items.emplace_back(std::move(points));
  report.items.insert(report.items.end(), of_programs.begin(), of_programs.end());
  report.assumptions = {
      "Distances are taken on axes that are scaled to the range measured, so that the point "
      "depends on the range.",
      "Memory is enforced by a limit of the process's private data; sort is told its buffer.",
      std::string{circumstances},
      "Times are those of the clock on the wall, beside whatever else the machine does; each "
      "amount's is the median of its runs, and the interval comes from a bootstrap."};
  return report;
}

Expected<ExperimentReport> run_saturation(const ExperimentOptions& options) {
  ProgramRunner runner;
  ProgramPlan plan{.cores = {0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4},
                   .memory_mib = {0.125, 0.25, 0.5, 1, 2, 4, 8, 16},
                   .input_bytes = 4 << 20,
                   .hashed_bytes = 64 << 20,
                   .most_rounds = 5,
                   .most_seconds = 30};
  std::erase_if(plan.cores,
                [&](double cores) { return cores > static_cast<double>(runner.processors()); });
  const auto curves = measure_programs(plan, runner, options.progress);
  if (!curves) return curves.error();
  double load = 0;
  const bool load_known = getloadavg(&load, 1) == 1;
  return report_saturation(
      *curves,
      fmt::format("Cpu is enforced by {}. The machine lent {} processors{}.",
                  to_string(runner.enforcement()), runner.processors(),
                  load_known ? fmt::format(" and had a load of {:.1f} in the end", load) : ""));
}

}  // namespace fairwater::sim::inline experiments
