#include "cli/sim/what_if_report.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "sim/report/ledger_unit.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

Json outlook_json(const sim::TenantOutlook& tenant, const sim::LedgerUnit& unit) {
  return Json{{"weight", tenant.weight},
              {"mean_share", tenant.mean_share},
              {"mean_wait_seconds", tenant.mean_wait_s},
              {"p95_wait_seconds", tenant.p95_wait_s},
              {"jobs_done", tenant.jobs_done},
              {"jobs_not_started", tenant.jobs_not_started},
              {unit.key("net"), unit.json(tenant.net)},
              {"seconds_in_debt", tenant.time_in_debt_s}};
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

}  // namespace

std::string what_if_summary(const sim::WhatIfReport& report, const WhatIfFacts& facts,
                            const WhatIfSource& source) {
  const std::string horizon = format_duration_ms(report.horizon_ms);
  std::string arrivals = "; no job arrives";
  if (facts.arriving_jobs > 0)
    arrivals = fmt::format("; the {} jobs of the last {} come again, each {} later",
                           facts.arriving_jobs, horizon, horizon);
  std::string text = fmt::format(
      "What {} would do in {} from cycle {} ({}): {} tasks run and {} wait in {} jobs{}. Shares, "
      "jobs and debts are those until then; a wait is from a job's submission to its first task's "
      "start, or until then.",
      source.file, horizon, source.cycle, table_time(source.now), facts.running_tasks,
      facts.waiting_tasks, facts.waiting_jobs, arrivals);
  for (const auto& note : facts.notes) text += " Note: " + note + ".";
  return text;
}

std::string what_if_text(const sim::WhatIfReport& report, const WhatIfFacts& facts,
                         const WhatIfSource& source) {
  std::vector<Column> columns;
  for (const auto& title : sim::what_if_columns(report))
    columns.push_back({in_capitals(title), columns.empty() ? Align::left : Align::right});
  Table table{std::move(columns)};
  for (auto& row : sim::what_if_rows(report)) table.add_row(std::move(row));
  return fmt::format("{}\nUse of the cluster: {:.1f} % as it is, {:.1f} % as proposed.\n\n{}",
                     printable(what_if_summary(report, facts, source)),
                     100 * report.before.utilisation, 100 * report.after.utilisation, table.str());
}

Json what_if_json(const sim::WhatIfReport& report, const WhatIfFacts& facts,
                  const WhatIfSource& source) {
  const sim::LedgerUnit unit{report.accounting};
  Json tenants = Json::array();
  for (std::size_t i = 0; i < report.tenants.size(); ++i) {
    Json tenant{{"name", report.tenants[i]}, {"before", nullptr}};
    if (i < report.before.tenants.size())
      tenant["before"] = outlook_json(report.before.tenants[i], unit);
    tenant["after"] = outlook_json(report.after.tenants[i], unit);
    tenants.push_back(std::move(tenant));
  }
  return Json{
      {"cycle", source.cycle},
      {"time", json_time(source.now)},
      {"horizon_seconds", static_cast<double>(report.horizon_ms) / 1000},
      {"running_tasks", facts.running_tasks},
      {"waiting_tasks", facts.waiting_tasks},
      {"waiting_jobs", facts.waiting_jobs},
      {"arriving_jobs", facts.arriving_jobs},
      {"notes", facts.notes},
      {"utilisation", {{"before", report.before.utilisation}, {"after", report.after.utilisation}}},
      {"tenants", tenants}};
}

}  // namespace fairwater::inline cli::inline sim_cli
