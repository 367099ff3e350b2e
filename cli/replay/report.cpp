#include "cli/replay/report.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/measure_text.hpp"

namespace fairwater::inline cli::inline replay {
namespace {

double mean(const std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double seconds(double microseconds) { return microseconds / 1e6; }

/// `1.3s (21m40s)`: live, and in the log's time.
std::string wait_text(double wait_us, double speedup) {
  return fmt::format("{:.2f}s ({})", seconds(wait_us),
                     format_duration_ms(static_cast<std::int64_t>(wait_us * speedup / 1000)));
}

Wide busy_of_all(const ReplayMeasures& measures) {
  Wide sum = 0;
  for (const auto& [name, tenant] : measures.tenants) sum += tenant.busy_unit_us;
  return sum;
}

double share(Wide part, Wide whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

TenantMeasures sum_of(const ReplayMeasures& measures) {
  TenantMeasures sum;
  for (const auto& [name, tenant] : measures.tenants) {
    sum.jobs += tenant.jobs;
    sum.tasks += tenant.tasks;
    sum.tasks_not_succeeded += tenant.tasks_not_succeeded;
    sum.runs += tenant.runs;
    sum.busy_unit_us += tenant.busy_unit_us;
    sum.waits_us.insert(sum.waits_us.end(), tenant.waits_us.begin(), tenant.waits_us.end());
    sum.granted += tenant.granted;
    sum.borrowed += tenant.borrowed;
    sum.lent += tenant.lent;
    sum.owed += tenant.owed;
  }
  return sum;
}

Json tenant_measures_json(const TenantMeasures& tenant, Wide busy, const ReplayMeasures& measures,
                          double speedup) {
  const double mean_s = seconds(mean(tenant.waits_us));
  const double high_s = seconds(static_cast<double>(percentile(tenant.waits_us, 95)));
  const std::string currency =
      measures.measure.accounting == Accounting::time ? "_unit_ms" : "_units";
  return Json{{"jobs", tenant.jobs},
              {"tasks", tenant.tasks},
              {"tasks_not_succeeded", tenant.tasks_not_succeeded},
              {"runs", tenant.runs},
              {"granted_units", tenant.granted},
              {"busy_share", share(tenant.busy_unit_us, busy)},
              {"busy_unit_seconds", static_cast<double>(tenant.busy_unit_us) / 1e6},
              {"wait_mean_seconds", mean_s},
              {"wait_p95_seconds", high_s},
              {"trace_wait_mean_seconds", mean_s * speedup},
              {"trace_wait_p95_seconds", high_s * speedup},
              {"borrowed" + currency, tenant.borrowed},
              {"lent" + currency, tenant.lent},
              {"owed" + currency, tenant.owed}};
}

void add_row(Table& table, const std::string& name, const TenantMeasures& tenant, Wide busy,
             const LedgerMeasure& measure, double speedup) {
  table.add_row({name, std::to_string(tenant.jobs), std::to_string(tenant.tasks),
                 std::to_string(tenant.granted),
                 fmt::format("{:.1f}%", 100 * share(tenant.busy_unit_us, busy)),
                 wait_text(mean(tenant.waits_us), speedup),
                 wait_text(static_cast<double>(percentile(tenant.waits_us, 95)), speedup),
                 balance_text(tenant.borrowed, measure), balance_text(tenant.lent, measure),
                 balance_text(tenant.owed, measure)});
}

}  // namespace

void ReplayMeasures::add(const JobDetail& detail) {
  TenantMeasures& tenant = tenants[detail.job.spec.tenant];
  ++tenant.jobs;
  for (const auto& task : detail.tasks) {
    ++tenant.tasks;
    tenant.runs += attempts_begun(task.record);
    if (task.record.state != TaskState::succeeded) ++tenant.tasks_not_succeeded;
    const TaskResult* result = final_result(task.record);
    if (result == nullptr || !result->started_at) continue;
    tenant.waits_us.push_back(result->started_at.microseconds -
                              detail.job.submitted_at.microseconds);
    tenant.busy_unit_us +=
        Wide{result->finished_at.microseconds - result->started_at.microseconds} * task.record.cost;
  }
}

void ReplayMeasures::add_totals(const std::string& name, const TenantInfo& before,
                                const TenantInfo& after) {
  const auto found = tenants.find(name);
  if (found == tenants.end()) return;
  TenantMeasures& tenant = found->second;
  tenant.granted = after.record.granted_units_total - before.record.granted_units_total;
  tenant.owed = std::max<Units>(0, -after.net);
  measure = after.measure;
  if (measure.accounting == Accounting::units) {
    tenant.borrowed = after.record.borrowed_total - before.record.borrowed_total;
    tenant.lent = after.record.lent_total - before.record.lent_total;
  } else if (const auto times = settled.all.tenants.find(name);
             times != settled.all.tenants.end()) {
    tenant.borrowed = times->second.borrowed;
    tenant.lent = times->second.lent;
  }
}

std::int64_t percentile(std::vector<std::int64_t> values, int percent) {
  if (values.empty()) return 0;
  const std::size_t rank = (values.size() * static_cast<std::size_t>(percent) + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

caf::error with_left_behind(const caf::error& error, const std::vector<JobId>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const JobId job : jobs)
    if (job) ids.push_back(job.value);
  if (ids.empty()) return error;
  std::sort(ids.begin(), ids.end());
  std::string ranges;
  for (std::size_t first = 0, last = 0; first < ids.size(); first = ++last) {
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    ranges += fmt::format("{}{}", ranges.empty() ? "" : ",", ids[first]);
    if (last > first) ranges += fmt::format("-{}", ids[last]);
  }
  const ErrorDetails why = details(error);
  return make_error(why.code,
                    fmt::format("{}; {} of the replay's jobs are submitted and run on (stop them "
                                "with: fairwater job cancel {})",
                                why.message, ids.size(), ranges),
                    why.field);
}

std::string replay_text(const ReplayMeasures& measures, const ReplayFacts& facts) {
  Table table{{{"TENANT"},
               {"JOBS", Align::right},
               {"TASKS", Align::right},
               {"UNITS", Align::right},
               {"BUSY", Align::right},
               {"MEAN WAIT", Align::right},
               {"95% WAIT", Align::right},
               {"BORROWED", Align::right},
               {"LENT", Align::right},
               {"OWED", Align::right}}};
  const Wide busy = busy_of_all(measures);
  for (const auto& [name, tenant] : measures.tenants)
    add_row(table, name, tenant, busy, measures.measure, facts.speedup);
  const TenantMeasures sum = sum_of(measures);
  add_row(table, "all", sum, busy, measures.measure, facts.speedup);
  std::string text = fmt::format(
      "replay {} of {}: {} jobs, {} tasks in {:.1f} s at {:g} times their speed; {} skipped\n"
      "runs {}, tasks that did not succeed {}\n"
      "waits: live (in the log's time)\n\n{}",
      facts.run, facts.trace, sum.jobs, sum.tasks,
      seconds(static_cast<double>(measures.elapsed_us)), facts.speedup, facts.skipped, sum.runs,
      sum.tasks_not_succeeded, table.str());
  if (measures.measure.accounting == Accounting::time)
    text += "\n" + held_text(measures.settled, measures.measure);
  return text;
}

Json replay_json(const ReplayMeasures& measures, const ReplayFacts& facts) {
  const Wide busy = busy_of_all(measures);
  Json tenants = Json::array();
  for (const auto& [name, tenant] : measures.tenants) {
    Json row{{"name", name}};
    row.update(tenant_measures_json(tenant, busy, measures, facts.speedup));
    tenants.push_back(std::move(row));
  }
  Json replay{{"trace", facts.trace},
              {"run", facts.run},
              {"speedup", facts.speedup},
              {"skipped_jobs", facts.skipped},
              {"elapsed_seconds", seconds(static_cast<double>(measures.elapsed_us))},
              {"total", tenant_measures_json(sum_of(measures), busy, measures, facts.speedup)},
              {"tenants", tenants}};
  put_measure(replay, measures.measure);
  if (measures.measure.accounting == Accounting::time) replay.update(held_json(measures.settled));
  return Json{{"replay", std::move(replay)}};
}

}  // namespace fairwater::inline cli::inline replay
