#include "cli/sim/file.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"
#include "input/document.hpp"
#include "input/resource_kinds.hpp"
#include "input/tenants.hpp"
#include "model/job.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr std::uint32_t kMaxSeedsOfFile = 10'000;
/// Totals up to here keep products of totals, amounts and weights in 128 bits.
constexpr Amount kMaxTotal = Amount{1} << 47;

/// Behind `accounting`.
void read_policy_debts(SimFileDraft& draft, const Field& field) {
  auto& policy = draft.scenario.policy;
  if (policy.accounting != sim::SequenceAccounting::time)
    field.fail("caps and half-lives are of ledgers that count time: with 'accounting: time' alone");
  ClusterCreated counted;
  counted.accounting = Accounting::time;
  counted.resources = draft.catalog.kinds();
  const auto terms = terms_of(read_debts(field), measure_of(counted));
  if (!terms) field.fail(details(terms.error()).message);
  policy.debts = *terms;
}

/// Once the policy's name, accounting and debts are read.
void read_policy_allocation(SimFileDraft& draft, const Field& field) {
  sim::PolicyOptions& policy = draft.scenario.policy;
  policy.allocation = read_allocation(field);
  if (policy.allocation == AllocationRule::sequence) return;
  if (policy.name != "sequence" || policy.accounting == sim::SequenceAccounting::resource_time)
    field.fail("is for policy sequence with accounting units or time");
}

/// Once the policy's name, accounting and allocation are read.
void read_policy_growth(SimFileDraft& draft, const Field& field) {
  sim::PolicyOptions& policy = draft.scenario.policy;
  policy.growth = read_growth_rule(field);
  if (!sim::grows_over_nodes(policy))
    field.fail("is for policy sequence with accounting units or time, and without allocation: drf");
}

/// Once the policy's name, accounting and allocation are read.
void require_preemption(const SimFileDraft& draft, const Field& field) {
  if (!sim::knows_preemption(draft.scenario.policy))
    field.fail("is for policy sequence with accounting units or time, and without allocation: drf");
}

void read_policy(SimFileDraft& draft, const Field& field) {
  const FieldMap policy = field.object();
  auto& scenario = draft.scenario;
  policy.read("name", scenario.policy.name, [](const Field& name) {
    return std::string{sim::policy_names()[name.choice(sim::policy_names())]};
  });
  policy.read("backups", scenario.policy.backups, integer_from(0, 1000));
  policy.read("accounting", scenario.policy.accounting, [&](const Field& accounting) {
    using sim::SequenceAccounting;
    const auto chosen = accounting.choice<SequenceAccounting>(
        {{"units", SequenceAccounting::units},
         {"time", SequenceAccounting::time},
         {"resource-time", SequenceAccounting::resource_time}});
    if (chosen == SequenceAccounting::time && scenario.policy.mode == DealMode::slots)
      accounting.fail("time is counted of what tasks ask for: with 'mode: slots', 'units' alone");
    return chosen;
  });
  if (const auto debts = policy.find("debts")) read_policy_debts(draft, *debts);
  policy.read("order", scenario.policy.order, read_queue);
  if (const auto predict = policy.find("predict")) {
    scenario.policy.predict = read_predict(*predict);
    if (scenario.policy.accounting != sim::SequenceAccounting::time)
      predict->fail("places in time are given with 'accounting: time' alone");
  }
  if (const auto allocation = policy.find("allocation")) read_policy_allocation(draft, *allocation);
  if (const auto elastic = policy.find("elastic")) read_policy_growth(draft, *elastic);
  if (const auto after = policy.find("preempt_after")) {
    scenario.policy.preempt_after_ms = after->duration_ms();
    require_preemption(draft, *after);
  }
  if (const auto for_min = policy.find("preempt_for_min")) {
    scenario.policy.preempts_for_min = for_min->boolean();
    require_preemption(draft, *for_min);
  }
  policy.read("cycle", scenario.engine.cycle_ms, read_time);
  policy.read("credit_period", scenario.policy.credit_period_ms, read_time);
  policy.done();
}

void read_metrics(SimFileDraft& draft, const Field& field) {
  const FieldMap metrics = field.object();
  auto& options = draft.scenario.metrics;
  metrics.read("sample", options.sample_ms, read_time);
  metrics.read("horizon", options.horizon_ms, read_time);
  metrics.read("windows", options.windows_ms, [](const Field& list) {
    std::vector<sim::TimeMs> windows_ms;
    for (const Field& window : list.list()) windows_ms.push_back(read_time(window));
    return windows_ms;
  });
  metrics.done();
}

/// A part of one GPU or whole ones.
void check_shares(const sim::Cluster& cluster, const sim::Generator& generator,
                  const std::string& path) {
  const auto& names = cluster.settings.resources;
  const auto shared = std::find(names.begin(), names.end(), kSharedGpus);
  const auto index = static_cast<std::size_t>(shared - names.begin());
  if (shared == names.end() || index >= generator.demand.size()) return;
  const sim::Range& asked = generator.demand[index];
  if (asked.high == 0) return;
  const bool is_part = asked.high < kMilliPerGpu;
  const bool is_whole = asked.low == asked.high && is_gpu_share(asked.high);
  if (!is_part && !is_whole)
    throw InputError(path + "resources.gpu_milli",
                     fmt::format("{} to {} is neither a part of one gpu, 1 to 999, nor a number of "
                                 "whole ones, as 1000 or 2000",
                                 asked.low, asked.high));
}

/// On a pool jobs grow by single units of the ledger.
void check_elastic_unit(const sim::Scenario& scenario, const sim::Generator& generator,
                        const std::string& path) {
  const std::string& policy = scenario.policy.name;
  if (!sim::needs_pool(policy) || generator.min_units == generator.max_units) return;
  const AllocatorSettings& settings = scenario.cluster.settings;
  for (std::size_t r = 0; r < generator.demand.size(); ++r) {
    ResourceVector asked;
    asked[r] = generator.demand[r].high;
    const Units cost = cost_in_units(asked, settings.granules, settings.units);
    if (cost == 1) continue;
    const std::string& name = scenario.cluster.resources[r];
    const Amount most = settings.granules[r] / settings.units[r];
    const std::string less =
        most > 0 ? "write " + format_amount(name, most) + " or less" : "leave it out";
    throw InputError(
        path + "resources." + name,
        fmt::format("{} costs {} units of the ledger, and policy {} has elastic jobs that grow by "
                    "one; {}, or give {} a larger granule (resources)",
                    format_amount(name, asked[r]), cost, policy, less, name));
  }
}

void check_generator(const sim::Cluster& cluster, const sim::Generator& generator,
                     const std::string& path) {
  ResourceVector largest;
  bool asks = false;
  for (std::size_t r = 0; r < generator.demand.size(); ++r) {
    largest[r] = generator.demand[r].high;
    asks = asks || generator.demand[r].low > 0;
  }
  if (!asks) throw InputError(path + "resources", "asks for nothing");
  check_shares(cluster, generator, path);
  const auto fits = [&](std::int64_t tasks, bool is_gang) {
    sim::Job job;
    job.tasks = static_cast<std::uint32_t>(tasks);
    job.demand = largest;
    job.is_gang = is_gang;
    job.rule = generator.rule;
    return sim::could_ever_run(cluster, job);
  };
  if (!fits(1, false))
    throw InputError(path + "resources",
                     generator.rule ? "fits no node that labels and sites allow" : "fits no node");
  if (generator.tasks.high > 1 && generator.max_units > 1)
    throw InputError(path + "tasks", "a job of several units is one task");
  if (!fits(generator.min_units, true))
    throw InputError(
        path + "resources",
        fmt::format("{} times as much fits not even all nodes together", generator.min_units));
  if (!generator.is_gang) return;
  if (generator.max_units > 1)
    throw InputError(path + "gang",
                     "its tasks have one unit, and it no min: their number is fixed");
  if (generator.placement != Placement::unset)
    throw InputError(path + "placement", "is not for gangs: their nodes are chosen together");
  if (generator.tasks.high > kMaxGangTasks)
    throw InputError(path + "tasks", fmt::format("{} is above {}, the most that a gang may have",
                                                 generator.tasks.high, kMaxGangTasks));
  if (!fits(generator.tasks.high, true))
    throw InputError(
        path + "tasks",
        fmt::format("a gang of {} tasks fits not even all nodes together", generator.tasks.high));
}

/// A coordinator refuses what asks at once for more than a `max`: it would never start.
void check_max(const sim::Scenario& scenario, const sim::Generator& generator,
               const std::string& path) {
  if (!sim::knows_limits(scenario.policy)) return;
  const sim::Cluster& cluster = scenario.cluster;
  const sim::SimTenant& tenant = cluster.tenants[generator.tenant];
  ResourceVector max = tenant.terms.max;
  for (GroupId group = tenant.terms.place ? tenant.terms.place->group : GroupId{}; group;
       group = cluster.groups[group.value - 1].place.group)
    for (std::size_t r = 0; r < kMaxResources; ++r)
      max[r] = std::min(max[r], cluster.groups[group.value - 1].max[r]);
  const std::int64_t at_once = generator.is_gang ? generator.tasks.high : generator.min_units;
  for (std::size_t r = 0; r < generator.demand.size(); ++r) {
    if (generator.demand[r].high <= max[r] / at_once) continue;
    const std::string& name = cluster.resources[r];
    throw InputError(
        path + "resources." + name,
        fmt::format("{} x {} at once is beyond the max of tenant {}, or of one that it is in, {}: "
                    "it would never start",
                    at_once, format_amount(name, generator.demand[r].high), tenant.name,
                    format_amount(name, max[r])));
  }
}

/// What can be said only of the whole.
void check(SimFileDraft& draft) {
  const auto& cluster = draft.scenario.cluster;
  const ResourceVector total = sim::total_capacity(cluster);
  for (std::size_t r = 0; r < cluster.resources.size(); ++r)
    if (total[r] > kMaxTotal)
      throw InputError("nodes", fmt::format("all nodes have {} of {} together, more than {}",
                                            total[r], cluster.resources[r], kMaxTotal));
  if (cluster.tenants.empty()) throw InputError("tenants", "neither here nor in a trace");
  for (const auto& name : draft.groups)
    if (draft.tenants.contains(name))
      throw InputError("workload.trace",
                       "has jobs of '" + name + "', which has tenants to run its jobs");
  if (sim::has_services(draft.scenario) && draft.scenario.engine.end_ms == 0)
    throw InputError("end", "is missing: services run until then, as in end: 2h");
  for (std::size_t i = 0; i < draft.scenario.generators.size(); ++i) {
    const std::string path = fmt::format("workload.generators[{}].", i);
    check_generator(cluster, draft.scenario.generators[i], path);
    check_max(draft.scenario, draft.scenario.generators[i], path);
    check_elastic_unit(draft.scenario, draft.scenario.generators[i], path);
  }
  auto& left_out = draft.scenario.left_out.fit_no_node;
  left_out = sim::remove_impossible_jobs(cluster, draft.scenario.trace);
  if (left_out > 0 && !draft.may_leave_out)
    throw InputError("nodes",
                     fmt::format("{} jobs of the trace fit no node "
                                 "(workload.trace.leave_out_impossible: true runs the others)",
                                 left_out));
}

Expected<sim::Scenario> read_sim_file(const std::string& path, const Field& root) {
  SimFileDraft draft{.path = path};
  sim::Scenario& scenario = draft.scenario;
  scenario.policy.name = "sequence";
  scenario.metrics.windows_ms = {60'000, 3'600'000, 86'400'000};
  const FieldMap file = root.object();
  read_sim_cluster(draft, file);
  read_sim_tenants(draft, file);
  if (auto error = read_sim_workload(draft, file)) return error;
  if (const auto policy = file.find("policy")) read_policy(draft, *policy);
  if (const auto metrics = file.find("metrics")) read_metrics(draft, *metrics);
  file.read("end", scenario.engine.end_ms, read_time);
  file.read("seeds", scenario.seeds, integer_from(1, kMaxSeedsOfFile));
  file.done();
  check(draft);
  sim::weigh_by_tree(scenario.cluster);
  return std::move(scenario);
}

}  // namespace

Expected<sim::Scenario> parse_sim_file(std::string_view text, const std::string& name) {
  const auto document = parse_yaml(text, name);
  if (!document) return document.error();
  return document->read([&](const Field& root) { return read_sim_file(name, root); });
}

}  // namespace fairwater::inline cli::inline sim_cli
