#include "cli/profile/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/core/output.hpp"
#include "cli/profile/chart.hpp"

namespace fairwater::inline cli::inline profile {
namespace {

std::string_view method_name(SaturationMethod method) {
  switch (method) {
    case SaturationMethod::diagonal:
      return "diagonal";
    case SaturationMethod::origin:
      return "origin";
    case SaturationMethod::chord:
      break;
  }
  return "chord";
}

NamedAmounts without_zeros(NamedAmounts amounts) {
  std::erase_if(amounts, [](const auto& amount) { return amount.second == 0; });
  return amounts;
}

/// What the curve does not tell of one amount.
struct AmountDetail {
  std::map<std::string_view, std::size_t> failures;  ///< by reason
  std::int64_t peak_memory_kib = 0;
  std::size_t unfinished = 0;
};

AmountDetail detail_of(const ClassProfile& profile, const NamedAmounts& amounts) {
  AmountDetail detail;
  for (const ClassAmounts& entry : profile.amounts) {
    if (without_zeros(entry.resources) != without_zeros(amounts)) continue;
    detail.unfinished += entry.unfinished.size();
    for (const ClassRun& run : entry.runs) {
      detail.peak_memory_kib = std::max(detail.peak_memory_kib, run.peak_memory_kib);
      if (!completed(run)) ++detail.failures[to_string(run.reason)];
    }
  }
  return detail;
}

std::string milliseconds_text(double time_ms) {
  return time_ms > 0 ? format_duration_ms(static_cast<std::int64_t>(std::lround(time_ms))) : "-";
}

std::string failures_text(const AmountDetail& detail) {
  std::string text;
  for (const auto& [reason, count] : detail.failures)
    text += (text.empty() ? "" : ", ") + fmt::format("{} {}", count, reason);
  return text.empty() ? "-" : text;
}

bool is_of_tasks(const NamedAmounts& amounts) {
  return amounts.contains(std::string(kTasksOfClass));
}

bool has_runs_of(const ClassProfile& profile, bool tasks) {
  return std::any_of(
      profile.amounts.begin(), profile.amounts.end(),
      [&](const ClassAmounts& entry) { return is_of_tasks(entry.resources) == tasks; });
}

/// `tasks`: of whole jobs.
std::string heading(const ClassProfile& profile, const ProfileCurve& measured, bool tasks) {
  std::size_t runs = 0;
  std::size_t unfinished = 0;
  for (const ClassAmounts& entry : profile.amounts) {
    if (is_of_tasks(entry.resources) != tasks) continue;
    runs += entry.runs.size();
    unfinished += entry.unfinished.size();
  }
  std::string text =
      fmt::format("class {} of tenant {}: {} run{}{} with {} different amount{}", profile.job_class,
                  profile.tenant, runs, runs == 1 ? "" : "s", tasks ? " of all tasks at once" : "",
                  measured.curve.amounts.size(), measured.curve.amounts.size() == 1 ? "" : "s");
  if (unfinished > 0)
    text += fmt::format("; {} job{} not ended", unfinished, unfinished == 1 ? " has" : "s have");
  if (profile.more) text += "; more amounts than are shown";
  return text + "\n";
}

std::string amounts_table(const ClassProfile& profile, const ProfileCurve& measured) {
  std::vector<Column> columns;
  for (const std::string& name : measured.resources) columns.push_back({name, Align::right});
  for (const char* title : {"runs", "time", "fastest", "slowest", "peak memory"})
    columns.push_back({title, Align::right});
  columns.push_back({"failed", Align::left});
  Table table{columns};
  for (std::size_t i = 0; i < measured.curve.amounts.size(); ++i) {
    const CurveAmount& amount = measured.curve.amounts[i];
    const NamedAmounts named = measured.amounts(i);
    const AmountDetail detail = detail_of(profile, named);
    std::vector<std::string> row;
    for (const std::string& name : measured.resources)
      row.push_back(format_amount(name, named.at(name)));
    row.push_back(std::to_string(amount.completed));
    for (const double time : {amount.time, amount.fastest, amount.slowest})
      row.push_back(milliseconds_text(time));
    row.push_back(detail.peak_memory_kib > 0
                      ? format_amount("memory", (detail.peak_memory_kib + 1023) / 1024)
                      : "-");
    row.push_back(failures_text(detail));
    table.add_row(std::move(row));
  }
  return table.str();
}

std::string interval_text(const ProfileCurve& measured, const CurvePoint& point) {
  std::string text;
  for (std::size_t i = 0; i < point.interval.size(); ++i) {
    const std::string& name = measured.resources[measured.curve.varied[i]];
    text += (text.empty() ? "" : ", ") +
            fmt::format("{} {} to {}", name,
                        format_amount(name, static_cast<Amount>(point.interval[i].low)),
                        format_amount(name, static_cast<Amount>(point.interval[i].high)));
  }
  return text.empty() ? "-" : text;
}

std::string points_table(const ProfileCurve& measured) {
  Table table{{{"point by"}, {"amounts"}, {"confidence", Align::right}, {"9 of 10 resamples"}}};
  for (const CurvePoint& point : measured.curve.points)
    table.add_row({std::string(method_name(point.method)),
                   format_amounts(measured.amounts(point.amount)),
                   point.confidence ? fmt::format("{:.0f} %", *point.confidence * 100) : "-",
                   interval_text(measured, point)});
  return table.str();
}

/// Its runs ended with these amounts alone; others tell more.
std::string only_amounts_text(const ProfileCurve& measured) {
  const ClassCurve& curve = measured.curve;
  const std::vector<double>& ran = curve.amounts[curve.points.front().amount].resources;
  std::size_t differs = 0;
  for (std::size_t r = 0; r < ran.size(); ++r)
    if (std::any_of(curve.amounts.begin(), curve.amounts.end(),
                    [&](const CurveAmount& amount) { return amount.resources[r] != ran[r]; }))
      differs = r;
  const std::string& name = measured.resources[differs];
  const auto words = [&](double amount) {
    std::string text = format_amount(name, static_cast<Amount>(amount));
    std::erase(text, ' ');
    return text;
  };
  return fmt::format(
      "it ran to its end with one of these amounts alone; whether more pays, others tell: "
      "fairwater "
      "profile run FILE --vary {}={}..{}\n",
      name, words(ran[differs]), words(ran[differs] * 4));
}

std::string doubts_text(const ProfileCurve& measured, bool tasks) {
  const ClassCurve& curve = measured.curve;
  if (curve.amounts.empty()) return {};
  if (curve.points.empty()) return "it has not run to its end with any of these amounts\n";
  if (curve.varied.empty() && curve.amounts.size() > 1) return only_amounts_text(measured);
  if (curve.varied.empty())
    return fmt::format(
        "one set of amounts tells no point: fairwater profile run FILE --vary {}=1..4\n",
        tasks ? "tasks" : "cpu");
  if (curve.flat) return "the curve is flat: more does not pay beyond what runs differ by anyway\n";
  if (!curve.points.front().confidence)
    return "runs that were never repeated tell no noise, and so no confidence: --repeat 3\n";
  return {};
}

/// To the microsecond: medians come from logarithms.
Json seconds(double time_ms) {
  return time_ms > 0 ? Json(std::round(time_ms * 1000) / 1e6) : Json(nullptr);
}

Json amount_json(const ClassProfile& profile, const ProfileCurve& measured, std::size_t index) {
  const CurveAmount& amount = measured.curve.amounts[index];
  const NamedAmounts named = measured.amounts(index);
  const AmountDetail detail = detail_of(profile, named);
  Json failures = Json::object();
  for (const auto& [reason, count] : detail.failures) failures[std::string(reason)] = count;
  return Json{{"resources", json_amounts(named)},
              {"runs", amount.completed},
              {"failed", failures},
              {"unfinished", detail.unfinished},
              {"time", seconds(amount.time)},
              {"fastest", seconds(amount.fastest)},
              {"slowest", seconds(amount.slowest)},
              {"peak_memory_kib", detail.peak_memory_kib}};
}

Json point_json(const ProfileCurve& measured, const CurvePoint& point) {
  Json interval = nullptr;
  for (std::size_t i = 0; i < point.interval.size(); ++i)
    interval[measured.resources[measured.curve.varied[i]]] = {
        static_cast<Amount>(point.interval[i].low), static_cast<Amount>(point.interval[i].high)};
  return Json{{"method", method_name(point.method)},
              {"resources", json_amounts(measured.amounts(point.amount))},
              {"confidence", point.confidence ? Json(*point.confidence) : Json(nullptr)},
              {"interval", interval}};
}

Json amounts_json(const ClassProfile& profile, const ProfileCurve& measured) {
  Json amounts = Json::array();
  for (std::size_t i = 0; i < measured.curve.amounts.size(); ++i)
    amounts.push_back(amount_json(profile, measured, i));
  return amounts;
}

Json points_json(const ProfileCurve& measured) {
  Json points = Json::array();
  for (const CurvePoint& point : measured.curve.points)
    points.push_back(point_json(measured, point));
  return points;
}

std::string curve_text(const ClassProfile& profile, const ProfileCurve& measured, bool tasks) {
  std::string text = heading(profile, measured, tasks);
  if (!measured.curve.amounts.empty()) text += "\n" + amounts_table(profile, measured);
  for (const Chart& chart : charts_of(measured)) text += "\n" + chart_text(chart);
  if (measured.curve.amounts.size() > 1 && !measured.curve.points.empty())
    text += "\n" + points_table(measured);
  return text + doubts_text(measured, tasks);
}

}  // namespace

std::string profile_text(const ClassProfile& profile) {
  std::string text;
  if (has_runs_of(profile, false) || profile.amounts.empty())
    text += curve_text(profile, curve_of(profile), false);
  if (!has_runs_of(profile, true)) return text;
  return text + (text.empty() ? "" : "\n") + curve_text(profile, whole_curve_of(profile), true);
}

Json profile_json(const ClassProfile& profile) {
  const ProfileCurve measured = curve_of(profile);
  const ProfileCurve of_tasks = whole_curve_of(profile);
  Json tasks = nullptr;
  if (has_runs_of(profile, true))
    tasks = Json{{"flat", of_tasks.curve.flat},
                 {"amounts", amounts_json(profile, of_tasks)},
                 {"points", points_json(of_tasks)}};
  return Json{{"profile",
               {{"tenant", profile.tenant},
                {"class", profile.job_class},
                {"complete", !profile.more},
                {"flat", measured.curve.flat},
                {"amounts", amounts_json(profile, measured)},
                {"points", points_json(measured)},
                {"tasks", std::move(tasks)}}}};
}

std::string profile_svg(const ClassProfile& profile) {
  std::vector<Chart> charts = charts_of(curve_of(profile));
  for (Chart& chart : charts_of(whole_curve_of(profile))) charts.push_back(std::move(chart));
  return charts_svg("class " + profile.job_class + " of tenant " + profile.tenant, charts);
}

}  // namespace fairwater::inline cli::inline profile
