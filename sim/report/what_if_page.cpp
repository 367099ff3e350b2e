#include <functional>

#include <fmt/format.h>

#include "sim/report/ledger_unit.hpp"
#include "sim/report/what_if.hpp"

namespace fairwater::sim::inline report {
namespace {

/// `41.5 s`, `12.3 min`, `5.2 h`, `3.1 d`: at most four digits.
std::string span_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 100 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86'400);
}

std::string percent_text(double part) { return fmt::format("{:.1f} %", 100 * part); }

using CellText = std::function<std::string(const TenantOutlook&)>;

struct WhatIfColumn {
  std::string title;
  CellText text;
};

std::vector<WhatIfColumn> outlook_columns(const LedgerUnit& unit) {
  return {
      {"weight", [](const auto& tenant) { return fmt::to_string(tenant.weight); }},
      {"mean share", [](const auto& tenant) { return percent_text(tenant.mean_share); }},
      {"mean wait", [](const auto& tenant) { return span_text(tenant.mean_wait_s); }},
      {"p95 wait", [](const auto& tenant) { return span_text(tenant.p95_wait_s); }},
      {"jobs done", [](const auto& tenant) { return fmt::to_string(tenant.jobs_done); }},
      {"not started", [](const auto& tenant) { return fmt::to_string(tenant.jobs_not_started); }},
      {unit.title("net"), [unit](const auto& tenant) { return unit.text(tenant.net); }},
      {"in debt", [](const auto& tenant) { return span_text(tenant.time_in_debt_s); }},
  };
}

std::string both(const TenantOutlook* before, const TenantOutlook& after, const CellText& text) {
  const std::string old_text = before == nullptr ? "-" : text(*before);
  const std::string new_text = text(after);
  return old_text == new_text ? new_text : old_text + " -> " + new_text;
}

constexpr TimeMs kMinute_ms = 60'000;
constexpr TimeMs kHour_ms = 60 * kMinute_ms;

Chart share_chart(const WhatIfReport& report, const Outlook& outlook, const std::string& title) {
  const bool in_minutes = report.horizon_ms <= 3 * kHour_ms;
  const auto unit_ms = static_cast<double>(in_minutes ? kMinute_ms : kHour_ms);
  Chart chart{.title = title,
              .x_label = in_minutes ? "minutes from now" : "hours from now",
              .y_label = "share of the cluster, %",
              .kind = ChartKind::steps};
  for (std::size_t i = 0; i < outlook.tenants.size(); ++i) {
    Series series{.name = report.tenants[i], .points = {}};
    for (std::size_t k = 0; k < outlook.shares.size(); ++k) {
      const auto at_ms = static_cast<double>(k + 1) * static_cast<double>(outlook.sample_ms);
      series.points.emplace_back(at_ms / unit_ms, 100 * outlook.shares[k][i]);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace

std::vector<std::string> what_if_columns(const WhatIfReport& report) {
  std::vector<std::string> titles{"tenant"};
  for (const auto& column : outlook_columns(LedgerUnit{report.accounting}))
    titles.emplace_back(column.title);
  return titles;
}

std::vector<std::vector<std::string>> what_if_rows(const WhatIfReport& report) {
  const std::vector<WhatIfColumn> columns = outlook_columns(LedgerUnit{report.accounting});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < report.tenants.size(); ++i) {
    const TenantOutlook* before =
        i < report.before.tenants.size() ? &report.before.tenants[i] : nullptr;
    std::vector<std::string> row{report.tenants[i]};
    for (const auto& column : columns)
      row.push_back(both(before, report.after.tenants[i], column.text));
    rows.push_back(std::move(row));
  }
  return rows;
}

Page to_page(const WhatIfReport& report, const std::string& summary) {
  Page page;
  page.title = "What if";
  page.summary = summary;
  page.items.emplace_back(Table{.title = "Before and after, by tenant",
                                .columns = what_if_columns(report),
                                .rows = what_if_rows(report)});
  page.items.emplace_back(share_chart(report, report.before, "As the tenants are"));
  page.items.emplace_back(share_chart(report, report.after, "As they would be"));
  return page;
}

}  // namespace fairwater::sim::inline report
