#include "sim/report/run_series.hpp"

#include <iterator>

#include <fmt/format.h>

#include "sim/report/ledger_unit.hpp"

namespace fairwater::sim::inline report {
namespace {

using SeriesJson = nlohmann::ordered_json;

double time_of_sample_s(const RunMetrics& run, std::size_t sample) {
  return static_cast<double>(run.sample_ms) * static_cast<double>(sample + 1) / 1000;
}

SeriesJson tenant_series(const Cluster& cluster, const RunMetrics& run, std::size_t tenant) {
  const auto column = [&](auto value) {
    SeriesJson values = SeriesJson::array();
    for (const auto& sample : run.samples) values.push_back(value(sample[tenant]));
    return values;
  };
  const LedgerUnit unit{run.accounting};
  SeriesJson held = SeriesJson::object();
  for (std::size_t r = 0; r < cluster.resources.size(); ++r)
    held[cluster.resources[r]] = column([r](const TenantSample& s) { return s.held[r]; });
  return {{"name", cluster.tenants[tenant].name},
          {"held", std::move(held)},
          {"held_units", column([](const TenantSample& s) { return s.held_units; })},
          {"share", column([](const TenantSample& s) { return s.share; })},
          {"cumulative_unit_s", column([](const TenantSample& s) { return s.cumulative_unit_s; })},
          {unit.key("net"), column([&](const TenantSample& s) { return unit.json(s.net); })},
          {"credit", column([](const TenantSample& s) { return s.credit; })},
          {"waiting_tasks", column([](const TenantSample& s) { return s.waiting_tasks; })}};
}

}  // namespace

SeriesJson series_json(const Cluster& cluster, const RunMetrics& run) {
  SeriesJson series{{"times_s", SeriesJson::array()}, {"tenants", SeriesJson::array()}};
  for (std::size_t i = 0; i < run.samples.size(); ++i)
    series["times_s"].push_back(time_of_sample_s(run, i));
  for (std::size_t tenant = 0; tenant < run.tenants.size(); ++tenant)
    series["tenants"].push_back(tenant_series(cluster, run, tenant));
  return series;
}

std::string series_csv(const Cluster& cluster, const RunMetrics& run) {
  const LedgerUnit unit{run.accounting};
  std::string csv = "time_s,tenant,held_units,share,cumulative_unit_s," + unit.key("net") +
                    ",credit,waiting_tasks";
  for (const auto& resource : cluster.resources) csv += ",held_" + resource;
  csv += "\n";
  for (std::size_t i = 0; i < run.samples.size(); ++i) {
    const double time_s = time_of_sample_s(run, i);
    for (std::size_t tenant = 0; tenant < run.tenants.size(); ++tenant) {
      const TenantSample& sample = run.samples[i][tenant];
      fmt::format_to(std::back_inserter(csv), "{},{},{},{},{},{},{},{}", time_s,
                     cluster.tenants[tenant].name, sample.held_units, sample.share,
                     sample.cumulative_unit_s, unit.text(sample.net), sample.credit,
                     sample.waiting_tasks);
      for (std::size_t r = 0; r < cluster.resources.size(); ++r)
        fmt::format_to(std::back_inserter(csv), ",{}", sample.held[r]);
      csv += "\n";
    }
  }
  return csv;
}

}  // namespace fairwater::sim::inline report
