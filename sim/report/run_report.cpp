#include "sim/report/run_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "sim/report/ledger_unit.hpp"
#include "sim/report/run_series.hpp"

namespace fairwater::sim::inline report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kChartedTenants = 10;
constexpr std::size_t kListedTenants = 100;

std::string duration_name(TimeMs duration_ms) {
  constexpr TimeMs kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (duration_ms % kDay == 0) return fmt::format("{}d", duration_ms / kDay);
  if (duration_ms % kHour == 0) return fmt::format("{}h", duration_ms / kHour);
  if (duration_ms % kMinute == 0) return fmt::format("{}m", duration_ms / kMinute);
  if (duration_ms % kSecond == 0) return fmt::format("{}s", duration_ms / kSecond);
  return fmt::format("{}ms", duration_ms);
}

/// A time axis in the unit that suits its length.
struct TimeAxis {
  double divisor = 1;
  std::string label;
};
TimeAxis time_axis(double length_s) {
  if (length_s > 3 * 86'400) return {86'400, "days"};
  if (length_s > 3 * 3'600) return {3'600, "hours"};
  return {1, "seconds"};
}

Json job_metrics_json(const JobMetrics& jobs) {
  return {{"jobs", jobs.jobs},
          {"mean_wait_s", jobs.mean_wait_s},
          {"p95_wait_s", jobs.p95_wait_s},
          {"max_wait_s", jobs.max_wait_s},
          {"mean_bounded_slowdown", jobs.mean_slowdown},
          {"mean_completion_s", jobs.mean_completion_s}};
}

Json tenant_json(const std::string& name, const TenantMetrics& tenant, const LedgerUnit& unit,
                 bool with_preemption) {
  const Account& account = tenant.account;
  Json fields{{"name", name}, {"submitted", tenant.submitted}};
  fields.update(job_metrics_json(tenant.jobs));
  fields.update(Json{{"killed_tasks", tenant.killed_tasks},
                     {"unit_s", tenant.unit_s},
                     {"mean_share", tenant.mean_share},
                     {unit.key("net"), unit.json(account.net)},
                     {unit.key("lent"), unit.json(account.lent)},
                     {unit.key("borrowed"), unit.json(account.borrowed)},
                     {unit.key("repaid"), unit.json(account.repaid)},
                     {"credit", account.credit},
                     {"time_in_debt_s", tenant.time_in_debt_s}});
  if (unit.counts_time())
    fields.update(Json{{unit.key("held"), unit.json(account.held)},
                       {unit.key("part"), unit.json(account.part)}});
  if (with_preemption)
    fields.update(
        Json{{"preempted_tasks", tenant.preempted_tasks}, {"lost_unit_s", tenant.lost_unit_s}});
  return fields;
}

/// The tenants that used most, in their order.
std::vector<TenantIndex> largest_tenants(const RunMetrics& run, std::size_t count) {
  std::vector<TenantIndex> order(run.tenants.size());
  std::iota(order.begin(), order.end(), TenantIndex{0});
  std::stable_sort(order.begin(), order.end(), [&](TenantIndex a, TenantIndex b) {
    return run.tenants[a].unit_s > run.tenants[b].unit_s;
  });
  order.resize(std::min(order.size(), count));
  std::sort(order.begin(), order.end());
  return order;
}

using SampleValue = std::function<double(const TenantSample&)>;

Chart series_chart(const Cluster& cluster, const RunMetrics& run, const std::string& title,
                   const std::string& y_label, const SampleValue& value) {
  Chart chart;
  chart.title = title;
  const double step_s = static_cast<double>(run.sample_ms) / 1000;
  const TimeAxis axis = time_axis(step_s * static_cast<double>(run.samples.size()));
  chart.x_label = axis.label;
  chart.y_label = y_label;
  for (const TenantIndex tenant : largest_tenants(run, kChartedTenants)) {
    Series series;
    series.name = cluster.tenants[tenant].name;
    for (std::size_t i = 0; i < run.samples.size(); ++i)
      series.points.emplace_back(step_s * static_cast<double>(i + 1) / axis.divisor,
                                 value(run.samples[i][tenant]));
    chart.series.push_back(std::move(series));
  }
  return chart;
}

bool any_sample(const RunMetrics& run, const SampleValue& value) {
  return std::any_of(run.samples.begin(), run.samples.end(), [&](const auto& sample) {
    return std::any_of(sample.begin(), sample.end(),
                       [&](const TenantSample& tenant) { return value(tenant) != 0; });
  });
}

Table tenants_table(const Cluster& cluster, const std::vector<RunMetrics>& runs) {
  const LedgerUnit unit{runs.front().accounting};
  Table table;
  table.title = "Tenants";
  table.columns = {"tenant",
                   "weight",
                   "jobs",
                   "share of the cluster",
                   "mean wait, s",
                   "95 % wait, s",
                   unit.title("lent"),
                   unit.title("borrowed"),
                   unit.title("balance")};
  if (unit.counts_time()) table.columns.push_back(unit.title("held less part"));
  const auto over_seeds = [&](const std::function<double(const RunMetrics&)>& value) {
    std::vector<double> values(runs.size());
    std::transform(runs.begin(), runs.end(), values.begin(), value);
    return format_estimate(estimate(values));
  };
  for (const TenantIndex i : largest_tenants(runs.front(), kListedTenants)) {
    const auto of_account = [&](const std::function<Units(const Account&)>& value) {
      return over_seeds(
          [&](const RunMetrics& run) { return unit.amount(value(run.tenants[i].account)); });
    };
    table.rows.push_back(
        {cluster.tenants[i].name, std::to_string(cluster.tenants[i].terms.weight),
         over_seeds(
             [i](const RunMetrics& run) { return static_cast<double>(run.tenants[i].submitted); }),
         over_seeds([i](const RunMetrics& run) { return run.tenants[i].mean_share; }),
         over_seeds([i](const RunMetrics& run) { return run.tenants[i].jobs.mean_wait_s; }),
         over_seeds([i](const RunMetrics& run) { return run.tenants[i].jobs.p95_wait_s; }),
         of_account([](const Account& account) { return account.lent; }),
         of_account([](const Account& account) { return account.borrowed; }),
         of_account([](const Account& account) { return account.net; })});
    if (unit.counts_time())
      table.rows.back().push_back(
          of_account([](const Account& account) { return account.held - account.part; }));
  }
  return table;
}

std::string describe(const Scenario& scenario, const std::vector<PolicyRuns>& policies) {
  std::string text =
      fmt::format("{} nodes, {} tenants, {} {}; mean and 95 % confidence interval over seeds.",
                  scenario.cluster.nodes.size(), scenario.cluster.tenants.size(), scenario.seeds,
                  scenario.seeds == 1 ? "seed" : "seeds");
  for (const auto& note : notes_on(scenario, policies)) text += " Note: " + note + ".";
  return text;
}

bool any_job_has_rule(const Scenario& scenario) {
  const auto has_rule = [](const auto& of) { return of.rule != nullptr; };
  return std::any_of(scenario.generators.begin(), scenario.generators.end(), has_rule) ||
         std::any_of(scenario.trace.jobs.begin(), scenario.trace.jobs.end(), has_rule);
}

bool has_drains(const Cluster& cluster) {
  return std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                     [](const SimNode& node) { return node.drain.has_value(); });
}

bool any_tenant_has_max(const Cluster& cluster) {
  const auto limits = [](const ResourceVector& max) {
    return std::any_of(max.amount.begin(), max.amount.end(),
                       [](Amount amount) { return amount < kUnlimited; });
  };
  return std::any_of(cluster.tenants.begin(), cluster.tenants.end(),
                     [&](const SimTenant& tenant) { return limits(tenant.terms.max); }) ||
         std::any_of(cluster.groups.begin(), cluster.groups.end(),
                     [&](const GroupTerms& group) { return limits(group.max); });
}

bool any_has_own_weights(const Cluster& cluster) {
  const auto has = [](const QuotaPlace& place) { return place.own_weights != ResourceWeights{}; };
  return std::any_of(cluster.tenants.begin(), cluster.tenants.end(),
                     [&](const SimTenant& tenant) { return has(place_of(tenant.terms)); }) ||
         std::any_of(cluster.groups.begin(), cluster.groups.end(),
                     [&](const GroupTerms& group) { return has(group.place); });
}

bool weights_differ(const Cluster& cluster) {
  const auto& tenants = cluster.tenants;
  return std::any_of(tenants.begin(), tenants.end(), [&](const SimTenant& tenant) {
    return tenant.terms.weight != tenants.front().terms.weight;
  });
}

Json estimate_json(const Estimate& estimate) {
  return {{"mean", estimate.mean}, {"half_width", estimate.half_width}};
}

}  // namespace

std::vector<std::string> notes_on(const Scenario& scenario,
                                  const std::vector<PolicyRuns>& policies) {
  std::string no_limits, no_weights, no_tree, no_gangs, no_growth, no_preemption, no_services,
      no_drains, no_queues, no_nodes;
  const auto name = [](std::string& list, const std::string& policy) {
    list += (list.empty() ? "" : ", ") + policy;
  };
  for (const auto& policy : policies) {
    PolicyOptions options = scenario.policy;
    options.name = policy.policy;
    if (!knows_gangs(policy.policy)) name(no_gangs, policy.policy);
    if (!needs_pool(policy.policy) && !grows_over_nodes(options)) name(no_growth, policy.policy);
    if (!knows_preemption(options)) name(no_preemption, policy.policy);
    if (!knows_services(options)) name(no_services, policy.policy);
    if (!knows_drains(options)) name(no_drains, policy.policy);
    if (!knows_queues(options)) name(no_queues, policy.policy);
    if (needs_pool(policy.policy)) name(no_nodes, policy.policy);
    if (knows_limits(options)) continue;
    name(no_limits, policy.policy);
    name(knows_weights(policy.policy) ? no_tree : no_weights, policy.policy);
  }
  std::vector<std::string> notes;
  if (!no_limits.empty() && any_tenant_has_max(scenario.cluster))
    notes.push_back("a tenant's max is not known to " + no_limits +
                    ": what it holds beyond counts as deviation from the entitled share");
  if (!no_limits.empty() && any_tenant_has_min(scenario.cluster))
    notes.push_back("a tenant's min is not known to " + no_limits +
                    ": it guarantees nothing there");
  if (!no_weights.empty() && weights_differ(scenario.cluster))
    notes.push_back("weights are not known to " + no_weights +
                    ", but the entitled share follows them");
  if (any_has_own_weights(scenario.cluster))
    notes.push_back("weights of single resources are not known to the entitled share" +
                    (no_limits.empty() ? "" : ", " + no_limits) +
                    ", nor to Jain's index: they go by one weight for all");
  if (!no_tree.empty() && !scenario.cluster.groups.empty())
    notes.push_back("each tenant's part alone is known of the tree to " + no_tree +
                    ": what one leaves idle does not go to its siblings first");
  if (!no_gangs.empty() && has_gangs(scenario))
    notes.push_back("gangs are not known to " + no_gangs + ": their tasks start one by one");
  if (!no_growth.empty() && has_elastic_jobs(scenario))
    notes.push_back("elastic jobs do not grow under " + no_growth + ": they keep their least");
  if (!no_preemption.empty() && has_preempting_jobs(scenario))
    notes.push_back("jobs do not preempt under " + no_preemption + ": they wait as any other");
  if (!no_services.empty() && has_services(scenario))
    notes.push_back("services are to " + no_services +
                    " tasks that run until the simulation's end");
  if (!no_nodes.empty() && any_job_has_rule(scenario))
    notes.push_back("labels and sites are not known to " + no_nodes + ": all nodes are one pool");
  if (!no_drains.empty() && has_drains(scenario.cluster))
    notes.push_back("drains are not known to " + no_drains + ": nodes take tasks all the time");
  if (!no_queues.empty() && any_tenant_has_queue(scenario.cluster))
    notes.push_back("in which order tenants want their jobs is not known to " + no_queues);
  return notes;
}

std::vector<Figure> figures_of(const std::vector<RunMetrics>& runs) {
  std::vector<Figure> figures;
  const auto add = [&](std::string key, std::string title,
                       const std::function<double(const RunMetrics&)>& value) {
    std::vector<double> values(runs.size());
    std::transform(runs.begin(), runs.end(), values.begin(), value);
    figures.push_back({std::move(key), std::move(title), estimate(values)});
  };
  using Run = const RunMetrics&;
  const LedgerUnit unit{runs.front().accounting};
  add("utilisation", "utilisation", [](Run run) { return run.utilisation; });
  add("mean_wait_s", "mean wait, s", [](Run run) { return run.jobs.mean_wait_s; });
  add("p95_wait_s", "95 % wait, s", [](Run run) { return run.jobs.p95_wait_s; });
  add("max_wait_s", "longest wait, s", [](Run run) { return run.jobs.max_wait_s; });
  add("mean_bounded_slowdown", "bounded slowdown", [](Run run) { return run.jobs.mean_slowdown; });
  add("mean_completion_s", "completion time, s",
      [](Run run) { return run.jobs.mean_completion_s; });
  add("jobs", "jobs done", [](Run run) { return static_cast<double>(run.jobs.jobs); });
  add("failed_jobs", "failed jobs", [](Run run) { return static_cast<double>(run.failed_jobs); });
  add("unfinished_jobs", "unfinished jobs",
      [](Run run) { return static_cast<double>(run.unfinished_jobs); });
  for (std::size_t i = 0; i < runs.front().fairness.size(); ++i) {
    const std::string length = duration_name(runs.front().fairness[i].length_ms);
    add("jain_" + length, "Jain's index over " + length,
        [i](Run run) { return run.fairness[i].mean_jain; });
  }
  add("largest_deviation", "largest deviation from the entitled share",
      [](Run run) { return run.largest_deviation; });
  add("mean_deviation", "mean deviation of the tenant farthest off",
      [](Run run) { return run.mean_deviation; });
  const std::string suffix = unit.counts_time() ? "_unit_s" : "_units";
  add("lent" + suffix, unit.name() + std::string{" lent"},
      [&](Run run) { return unit.amount(run.lent); });
  add("repaid" + suffix, unit.name() + std::string{" repaid"},
      [&](Run run) { return unit.amount(run.repaid); });
  add("time_in_debt_s", "time in debt, tenant seconds", [](Run run) { return run.time_in_debt_s; });
  if (runs.front().services) {
    add("service_tasks_waiting", "service tasks that wait at the end",
        [](Run run) { return static_cast<double>(run.services->waiting_tasks); });
    add("service_mean_wait_s", "mean wait of services, s",
        [](Run run) { return run.services->mean_wait_s; });
    add("service_max_wait_s", "longest wait of services, s",
        [](Run run) { return run.services->max_wait_s; });
  }
  if (!runs.front().preemption) return figures;
  add("preempted_tasks", "tasks preempted",
      [](Run run) { return static_cast<double>(run.preemption->tasks); });
  add("lost_unit_s", "work lost to preemption, unit seconds",
      [](Run run) { return run.preemption->lost_unit_s; });
  if (!runs.front().preemption->urgent) return figures;
  add("urgent_mean_wait_s", "mean wait of jobs that preempt, s",
      [](Run run) { return run.preemption->urgent->mean_wait_s; });
  add("urgent_p95_wait_s", "95 % wait of jobs that preempt, s",
      [](Run run) { return run.preemption->urgent->p95_wait_s; });
  add("urgent_max_wait_s", "longest wait of jobs that preempt, s",
      [](Run run) { return run.preemption->urgent->max_wait_s; });
  return figures;
}

std::string format_estimate(const Estimate& estimate) {
  const auto number = [](double value) {
    const double size = std::abs(value);
    if (size >= 1000 || value == std::floor(value)) return fmt::format("{:.0f}", value);
    return size >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.3f}", value);
  };
  if (estimate.half_width == 0) return number(estimate.mean);
  return number(estimate.mean) + " ± " + number(estimate.half_width);
}

Json run_json(const Cluster& cluster, const RunMetrics& run) {
  Json result{{"version", 1}};
  for (const auto& figure : figures_of({run})) result[figure.key] = figure.estimate.mean;
  result["end_s"] = static_cast<double>(run.engine.end_ms) / 1000;
  result["events"] = run.engine.events;
  result["fairness_windows"] = Json::array();
  for (const auto& window : run.fairness)
    result["fairness_windows"].push_back(
        {{"length_s", static_cast<double>(window.length_ms) / 1000},
         {"windows", window.windows},
         {"mean_jain", window.mean_jain},
         {"least_jain", window.least_jain}});
  result["tenants"] = Json::array();
  for (std::size_t i = 0; i < run.tenants.size(); ++i)
    result["tenants"].push_back(tenant_json(cluster.tenants[i].name, run.tenants[i],
                                            LedgerUnit{run.accounting},
                                            run.preemption.has_value()));
  result["series"] = series_json(cluster, run);
  return result;
}

Json summary_json(const Scenario& scenario, const std::vector<PolicyRuns>& policies) {
  Json result{{"version", 1},
              {"seeds", scenario.seeds},
              {"nodes", scenario.cluster.nodes.size()},
              {"tenants", scenario.cluster.tenants.size()},
              {"jobs_left_out",
               {{"never_ran", scenario.left_out.never_ran},
                {"fit_no_node", scenario.left_out.fit_no_node}}},
              {"notes", notes_on(scenario, policies)},
              {"policies", Json::array()}};
  for (const auto& policy : policies) {
    Json entry{{"policy", policy.policy}};
    for (const auto& figure : figures_of(policy.runs))
      entry[figure.key] = estimate_json(figure.estimate);
    result["policies"].push_back(std::move(entry));
  }
  return result;
}

Table figures_table(const std::vector<PolicyRuns>& policies) {
  Table table;
  table.title = "Figures";
  table.columns = {"figure"};
  for (const auto& policy : policies) {
    table.columns.push_back(policy.policy);
    const auto figures = figures_of(policy.runs);
    table.rows.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      if (table.rows[i].empty()) table.rows[i].push_back(figures[i].title);
      table.rows[i].push_back(format_estimate(figures[i].estimate));
    }
  }
  return table;
}

std::vector<PageItem> series_charts(const Cluster& cluster, const RunMetrics& run) {
  std::vector<PageItem> items;
  items.push_back(series_chart(cluster, run, "Share of the cluster that each tenant holds", "share",
                               [](const TenantSample& s) { return s.share; }));
  items.push_back(series_chart(cluster, run, "Cumulative use", "unit seconds",
                               [](const TenantSample& s) { return s.cumulative_unit_s; }));
  items.push_back(series_chart(cluster, run, "Tasks that wait", "tasks", [](const TenantSample& s) {
    return static_cast<double>(s.waiting_tasks);
  }));
  const LedgerUnit unit{run.accounting};
  const SampleValue net = [&](const TenantSample& s) { return unit.amount(s.net); };
  if (any_sample(run, net))
    items.push_back(
        series_chart(cluster, run, "Ledger: above zero others owe it", unit.name(), net));
  const SampleValue credit = [](const TenantSample& s) { return s.credit; };
  if (any_sample(run, credit))
    items.push_back(series_chart(cluster, run, "Credit", "units", credit));
  return items;
}

Page run_page(const std::string& title, const Scenario& scenario, const PolicyRuns& runs) {
  Page page;
  page.title = title + ": " + runs.policy;
  page.summary = describe(scenario, {runs});
  page.items.push_back(figures_table({runs}));
  page.items.push_back(Heading{"The first seed over time"});
  for (auto& item : series_charts(scenario.cluster, runs.runs.front()))
    page.items.push_back(std::move(item));
  page.items.push_back(tenants_table(scenario.cluster, runs.runs));
  return page;
}

Page compare_page(const std::string& title, const Scenario& scenario,
                  const std::vector<PolicyRuns>& policies) {
  Page page;
  page.title = title + ": policies compared";
  page.summary = describe(scenario, policies);
  page.items.push_back(figures_table(policies));
  std::vector<std::vector<Figure>> figures;
  std::vector<std::string> names;
  for (const auto& policy : policies) {
    figures.push_back(figures_of(policy.runs));
    names.push_back(policy.policy);
  }
  for (std::size_t i = 0; i < figures.front().size(); ++i) {
    Chart chart;
    chart.title = figures.front()[i].title;
    chart.x_label = "policy";
    chart.y_label = chart.title;
    chart.kind = ChartKind::bars;
    chart.categories = names;
    Series series;
    series.name = chart.title;
    for (std::size_t policy = 0; policy < figures.size(); ++policy) {
      series.points.emplace_back(static_cast<double>(policy), figures[policy][i].estimate.mean);
      series.error.push_back(figures[policy][i].estimate.half_width);
    }
    const bool differs = std::any_of(
        series.points.begin(), series.points.end(),
        [&](const auto& point) { return point.second != series.points.front().second; });
    chart.series.push_back(std::move(series));
    if (differs) page.items.push_back(std::move(chart));
  }
  for (const auto& policy : policies) {
    page.items.push_back(Heading{policy.policy + ", the first seed over time"});
    for (auto& item : series_charts(scenario.cluster, policy.runs.front()))
      page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace fairwater::sim::inline report
