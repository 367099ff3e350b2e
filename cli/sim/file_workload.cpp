#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"
#include "cli/sim/file_profile.hpp"
#include "input/job_file.hpp"
#include "input/placement.hpp"
#include "model/job_validation.hpp"
#include "model/node.hpp"
#include "model/tenant.hpp"
#include "sim/traces/openb_workload.hpp"

namespace fairwater::inline cli::inline sim_cli {
namespace {

/// Tenants of the trace that the file does not name have weight 1.
/// Jobs arrive `load_factor` times as fast as they did.
void take_trace(SimFileDraft& draft, sim::TraceWorkload traced, double load_factor) {
  std::vector<sim::TenantIndex> index;
  for (const auto& name : traced.tenants) {
    const auto next = static_cast<sim::TenantIndex>(draft.scenario.cluster.tenants.size());
    const auto [found, is_new] = draft.tenants.emplace(name, next);
    if (is_new) draft.scenario.cluster.tenants.push_back({name, {}, 0});
    index.push_back(found->second);
  }
  for (auto& job : traced.workload.jobs) {
    job.tenant = index[job.tenant];
    if (load_factor != 1)
      job.submit_ms = std::llround(static_cast<double>(job.submit_ms) / load_factor);
  }
  draft.scenario.trace = std::move(traced.workload);
  draft.scenario.left_out.never_ran = traced.skipped;
}

/// What every trace has.
struct TraceKeys {
  std::string file;
  std::uint32_t max_jobs = 0;
  double load_factor = 1;
};

/// A file that a trace names under `key`, unpacked; it lies beside the simulation file.
Expected<std::string> read_trace_file(const SimFileDraft& draft, const FieldMap& trace,
                                      const char* key) {
  const std::string name = trace.at(key).text();
  if (name.empty()) trace.at(key).fail("must name a file");
  const auto beside = std::filesystem::path{draft.path}.parent_path() / name;
  return read_maybe_gzip(beside.string(), kMaxSwfBytes);
}

/// A refusal with the file's name in front, where a trace has several.
caf::error in_trace_file(const std::string& name, const caf::error& error) {
  const ErrorDetails said = details(error);
  return make_error(said.code, fmt::format("{}: {}", name, said.message), said.field);
}

caf::error read_openb_trace(SimFileDraft& draft, const FieldMap& trace, const TraceKeys& keys) {
  if (const auto tenants = trace.find("tenants")) (void)tenants->choice({"qos"});
  const std::string node_file = trace.at("nodes").text();
  trace.done();
  const auto gpu = draft.catalog.index_of(sim::kGpuMilliResource);
  if (!gpu) throw InputError("resources", "must have gpu_milli for an openb trace");
  const auto node_text = read_trace_file(draft, trace, "nodes");
  if (!node_text) return node_text.error();
  const auto pod_text = read_trace_file(draft, trace, "file");
  if (!pod_text) return pod_text.error();
  const auto cluster = sim::parse_openb_nodes(*node_text);
  if (!cluster) return in_trace_file(node_file, cluster.error());
  const auto pods = sim::parse_openb_pods(*pod_text, cluster->models);
  if (!pods) return in_trace_file(keys.file, pods.error());
  auto traced = sim::openb_workload(*pods, cluster->models, *gpu, keys.max_jobs);
  if (!traced) return in_trace_file(keys.file, traced.error());
  for (auto& node : sim::openb_nodes(*cluster, *gpu))
    draft.scenario.cluster.nodes.push_back(std::move(node));
  take_trace(draft, std::move(*traced), keys.load_factor);
  return {};
}

caf::error read_swf_trace(SimFileDraft& draft, const FieldMap& trace, const TraceKeys& keys) {
  sim::TraceOptions options;
  trace.read("tenants", options.tenants, [](const Field& field) {
    return field.choice<TenantColumn>({{"user", TenantColumn::user},
                                       {"group", TenantColumn::group},
                                       {"queue", TenantColumn::queue}});
  });
  trace.read("shape", options.shape, [](const Field& field) {
    return field.choice<sim::JobShape>({{"whole", sim::JobShape::whole},
                                        {"split", sim::JobShape::split},
                                        {"nodes", sim::JobShape::nodes},
                                        {"gang", sim::JobShape::gang}});
  });
  trace.read("processors_per_task", options.processors_per_task, integer_from(1, kMaxSimTasks));
  trace.read("memory_in_bytes_per_node", options.memory_in_bytes_per_node);
  trace.read("clusters_as_sites", options.clusters_as_sites);
  trace.done();
  const auto text = read_trace_file(draft, trace, "file");
  if (!text) return text.error();
  const auto log = parse_swf(*text, keys.max_jobs);
  if (!log) return log.error();
  auto traced = sim::workload_from(*log, options);
  if (!traced) return traced.error();
  take_trace(draft, std::move(*traced), keys.load_factor);
  return {};
}

caf::error read_trace(SimFileDraft& draft, const FieldMap& trace) {
  TraceKeys keys;
  keys.file = trace.at("file").text();
  trace.read("jobs", keys.max_jobs, integer_from(1, UINT32_MAX));
  trace.read("leave_out_impossible", draft.may_leave_out);
  trace.read("load_factor", keys.load_factor, number_from(0.001, 1'000'000));
  auto error = is_openb_trace(trace) ? read_openb_trace(draft, trace, keys)
                                     : read_swf_trace(draft, trace, keys);
  if (!error && draft.scenario.trace.jobs.empty())
    trace.at("file").fail("'" + keys.file + "' has no job that ran");
  return error;
}

/// Amounts or ranges. What is left to the profile is 0 until that is read.
void read_demand(const SimFileDraft& draft, const Field& field, sim::Generator& generator,
                 ProfiledAmounts& left) {
  generator.demand.resize(draft.catalog.kinds().size());
  left.all = is_auto(field);
  if (left.all) return;
  if (!field.is(InputValue::Kind::mapping))
    field.fail("must be amounts or ranges, as in {cpu: 1, memory: [1GiB, 4GiB]}");
  const FieldMap amounts = field.object();
  for (std::size_t r = 0; r < generator.demand.size(); ++r) {
    const std::string& resource = draft.catalog.kinds()[r].name;
    amounts.read(resource, generator.demand[r], [&](const Field& range) {
      if (is_auto(range)) {
        left.resources.push_back(resource);
        return sim::Range{};
      }
      return read_range(range, [&](const Field& amount) { return amount.amount(resource); });
    });
  }
  amounts.done();
  std::sort(left.resources.begin(), left.resources.end());
}

/// `cpus`. Once all amounts are known.
void take_cpus(const SimFileDraft& draft, const FieldMap& fields, sim::Generator& generator) {
  JobSpec job;
  fields.read("cpus", job.exclusive_cpus, read_cpus);
  if (!job.exclusive_cpus) return;
  const auto cpu = draft.catalog.index_of("cpu");
  if (!cpu) fields.at("cpus").fail("exclusive gives whole processors, and resources has no cpu");
  sim::Range& drawn = generator.demand[*cpu];
  for (const Amount amount : {drawn.low, drawn.high}) {
    job.resources["cpu"] = amount;
    if (const auto wrong = validate_own_cpus(job)) fields.fail(wrong);
  }
  drawn.step = kMillicoresPerCpu;
}

sim::TenantIndex read_tenant(const SimFileDraft& draft, const Field& field) {
  const std::string tenant = field.text();
  const auto found = draft.tenants.find(tenant);
  if (found == draft.tenants.end())
    field.fail("'" + tenant +
               (draft.groups.contains(tenant) ? "' has tenants to run its jobs"
                                              : "' is not one of the tenants"));
  return found->second;
}

/// `tasks: {min, max}` is an elastic job, as in job files; so is `units: [min, max]`.
void read_tasks(const FieldMap& fields, sim::Generator& generator) {
  sim::Range units{1, 1};
  fields.read("units", units, read_counts);
  if (const auto tasks = fields.find("tasks")) {
    if (!tasks->is(InputValue::Kind::mapping)) {
      generator.tasks = read_counts(*tasks);
    } else {
      if (units != sim::Range{1, 1}) tasks->fail("says what units says: leave one of them out");
      const FieldMap bounds = tasks->object();
      units.low = integer_from(1, kMaxSimTasks)(bounds.at("min"));
      units.high = integer_from(1, kMaxSimTasks)(bounds.at("max"));
      bounds.done();
      if (units.low > units.high) tasks->fail("min is above max");
    }
  }
  generator.min_units = units.low;
  generator.max_units = units.high;
}

/// `labels`, `sites` and `devices`, as in job files.
PlacementRulePtr read_rule(const FieldMap& fields) {
  JobSpec job;
  fields.read("devices", job.devices);
  fields.read("labels", job.labels);
  fields.read("sites", job.sites);
  auto rule = placement_of(job);
  if (!rule) fields.fail(rule.error());
  return *std::move(rule);
}

/// What its `devices` ask for, as a coordinator finds it. Once all else is read.
void count_devices(const SimFileDraft& draft, const FieldMap& fields, sim::Generator& generator) {
  if (!generator.rule || generator.rule->devices.empty()) return;
  JobSpec job;
  job.devices = generator.rule->devices;
  job.gang = generator.is_gang;
  job.tasks_min = static_cast<std::uint32_t>(generator.min_units);
  job.tasks_max = static_cast<std::uint32_t>(generator.max_units);
  job.preempt = generator.preemption.preempts;
  if (const auto wrong = validate_devices(job)) fields.fail(wrong);
  const auto& kinds = draft.catalog.kinds();
  for (std::size_t r = 0; r < kinds.size(); ++r)
    if (generator.demand[r].high > 0) job.resources[kinds[r].name] = generator.demand[r].low;
  const auto& nodes = draft.scenario.cluster.nodes;
  const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const sim::SimNode& one) {
    return generator.rule->allows(one.traits);
  });
  if (node == nodes.end()) fields.at("devices").fail("no node that the jobs allow has all of them");
  const auto amounts = amounts_of_devices(job.devices, job.resources, node->traits);
  if (!amounts) fields.fail(amounts.error());
  for (const auto& [resource, amount] : *amounts)
    generator.demand[*draft.catalog.index_of(resource)] = {amount, amount};
}

/// `kind: service`. Once its tasks are read.
void read_kind(const FieldMap& fields, sim::Generator& generator) {
  fields.read("kind", generator.is_service, [](const Field& field) {
    return field.choice<bool>({{"batch", false}, {"service", true}});
  });
  if (!generator.is_service) return;
  for (const char* key : {"run", "run_per_unit", "estimate"})
    if (const auto field = fields.find(key))
      field->fail(fmt::format(
          "a service runs until the simulation's end; leave {} out, or make it a batch job (kind: "
          "batch)",
          key));
  if (generator.is_gang)
    fields.at("gang").fail(
        "the tasks of a service are started again one by one; leave gang out, or make it a batch "
        "job (kind: batch)");
  if (generator.max_units > 1)
    throw InputError(fields.path_of("tasks"),
                     "an elastic job is done when its work is, and a service never is; write one "
                     "number, or make it a batch job (kind: batch)");
}

/// Once its tasks, its kind and what it says of preemption are read.
void read_grace(const FieldMap& fields, sim::Generator& generator) {
  const auto grace = fields.find("grace");
  if (!grace) return;
  const bool is_elastic = generator.max_units > generator.min_units;
  if (generator.is_service || (!generator.preemption.is_preemptible && !is_elastic))
    grace->fail(
        "is how long a task takes to end that is told to make room, which those of services and "
        "with preemptible: false never are");
  generator.grace_ms = grace->duration_ms();
  if (generator.grace_ms > kMaxGrace_ms)
    grace->fail("'" + grace->text() + "' is not from 0s to 1h");
}

sim::Generator read_generator(const SimFileDraft& draft, const Field& at) {
  const FieldMap fields = at.object();
  sim::Generator generator;
  generator.tenant = read_tenant(draft, fields.at("tenant"));
  fields.read("arrivals", generator.arrivals, [](const Field& field) {
    return field.choice<sim::ArrivalProcess>({{"backlog", sim::ArrivalProcess::backlog},
                                              {"poisson", sim::ArrivalProcess::poisson},
                                              {"self-similar", sim::ArrivalProcess::self_similar}});
  });
  fields.read("jobs", generator.jobs, integer_from(1, 100'000'000));
  fields.read("rate", generator.rate_per_s, number_from(0, 1'000'000));
  fields.read("hurst", generator.hurst, number_from(0.01, 0.99));
  fields.read("variation", generator.variation, number_from(0, 100));
  fields.read("period", generator.period_ms, read_time);
  fields.read("start", generator.start_ms, read_time);
  fields.read("duration", generator.duration_ms, read_time);
  read_tasks(fields, generator);
  ProfiledAmounts left_to_profile;
  read_demand(draft, fields.at("resources"), generator, left_to_profile);
  fields.read("run", generator.run_ms,
              [](const Field& field) { return read_range(field, &Field::duration_ms); });
  fields.read("run_per_unit", generator.run_ms_per_unit, read_time);
  fields.read("estimate", generator.estimate_factor, number_from(0.001, 1000));
  fields.read("placement", generator.placement, read_placement);
  if (const auto user = fields.find("user")) {
    generator.user = user->text();
    if (const auto error = validate_user_name(generator.user)) fields.fail(error);
  }
  generator.rule = read_rule(fields);
  fields.read("gang", generator.is_gang);
  read_kind(fields, generator);
  fields.read("priority", generator.preemption.priority);
  fields.read("preempt", generator.preemption.preempts);
  fields.read("preemptible", generator.preemption.is_preemptible);
  read_grace(fields, generator);
  take_profile(draft, fields, left_to_profile, generator);
  take_cpus(draft, fields, generator);
  count_devices(draft, fields, generator);
  fields.done();
  const bool is_backlog = generator.arrivals == sim::ArrivalProcess::backlog;
  if (is_backlog && generator.jobs == 0)
    throw InputError(fields.path_of("jobs"), "a backlog needs its number of jobs");
  if (!is_backlog && generator.duration_ms == 0)
    throw InputError(fields.path_of("duration"), "arrivals need a duration");
  return generator;
}

}  // namespace

bool is_openb_trace(const FieldMap& trace) {
  bool is_openb = false;
  trace.read("format", is_openb, [](const Field& field) {
    return field.choice<bool>({{"swf", false}, {"openb", true}});
  });
  return is_openb;
}

caf::error read_sim_workload(SimFileDraft& draft, const FieldMap& file) {
  const auto field = file.find("workload");
  if (!field) throw InputError("workload", "is missing: a trace or generators");
  const FieldMap workload = field->object();
  if (const auto trace = workload.find("trace"))
    if (auto error = read_trace(draft, trace->object())) return error;
  if (const auto generators = workload.find("generators"))
    for (const Field& generator : generators->list())
      draft.scenario.generators.push_back(read_generator(draft, generator));
  workload.done();
  return {};
}

}  // namespace fairwater::inline cli::inline sim_cli
