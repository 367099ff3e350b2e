#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/sim/file_fields.hpp"
#include "cli/sim/file_parts.hpp"
#include "sim/traces/openb_workload.hpp"

namespace fairwater {
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
Expected<std::string> read_trace_file(SimFileDraft& draft, const YamlFields& fields,
                                      const char* key, const std::string& name) {
  if (name.empty())
    return draft.document.locate(
        make_error(ErrorCode::invalid_input, "is missing", fields.path_of(key)));
  const auto beside = std::filesystem::path{draft.path}.parent_path() / name;
  return read_maybe_gzip(beside.string(), kMaxSwfBytes);
}

/// A refusal with the file's name in front, where a trace has several.
caf::error in_trace_file(const std::string& name, const caf::error& error) {
  const ErrorDetails said = details(error);
  return make_error(said.code, fmt::format("{}: {}", name, said.message), said.field);
}

caf::error read_openb_trace(SimFileDraft& draft, YamlFields& fields, const TraceKeys& keys) {
  std::string node_file;
  std::string tenants = "qos";
  fields.text("nodes", node_file);
  read_choice<std::string>(fields, "tenants", {{"qos", "qos"}}, tenants);
  fields.finish();
  if (draft.document.error()) return draft.document.error();
  const auto gpu = draft.catalog.index_of(sim::kGpuMilliResource);
  if (!gpu)
    return draft.document.locate(make_error(ErrorCode::invalid_input,
                                            "must have gpu_milli for an openb trace", "resources"));
  const auto node_text = read_trace_file(draft, fields, "nodes", node_file);
  if (!node_text) return node_text.error();
  const auto pod_text = read_trace_file(draft, fields, "file", keys.file);
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

caf::error read_swf_trace(SimFileDraft& draft, YamlFields& fields, const TraceKeys& keys) {
  sim::TraceOptions options;
  read_choice<TenantColumn>(fields, "tenants",
                            {{"user", TenantColumn::user},
                             {"group", TenantColumn::group},
                             {"queue", TenantColumn::queue}},
                            options.tenants);
  read_choice<sim::JobShape>(fields, "shape",
                             {{"whole", sim::JobShape::whole},
                              {"split", sim::JobShape::split},
                              {"nodes", sim::JobShape::nodes}},
                             options.shape);
  fields.integer("processors_per_task", options.processors_per_task, 1, kMaxSimTasks);
  fields.boolean("memory_in_bytes_per_node", options.memory_in_bytes_per_node);
  fields.boolean("clusters_as_sites", options.clusters_as_sites);
  fields.finish();
  if (draft.document.error()) return draft.document.error();
  const auto text = read_trace_file(draft, fields, "file", keys.file);
  if (!text) return text.error();
  const auto log = parse_swf(*text, keys.max_jobs);
  if (!log) return log.error();
  auto traced = sim::workload_from(*log, options);
  if (!traced) return traced.error();
  take_trace(draft, std::move(*traced), keys.load_factor);
  return {};
}

caf::error read_trace(SimFileDraft& draft, YamlFields& fields) {
  TraceKeys keys;
  bool is_openb = false;
  fields.text("file", keys.file);
  fields.integer("jobs", keys.max_jobs, 1);
  fields.boolean("leave_out_impossible", draft.may_leave_out);
  read_decimal(fields, "load_factor", 0.001, 1'000'000, keys.load_factor);
  read_choice<bool>(fields, "format", {{"swf", false}, {"openb", true}}, is_openb);
  return is_openb ? read_openb_trace(draft, fields, keys) : read_swf_trace(draft, fields, keys);
}

void read_demand(SimFileDraft& draft, YamlFields& fields, std::vector<sim::Range>& demand) {
  demand.resize(draft.catalog.kinds().size());
  const auto node = fields.take("resources");
  if (!node || !node->IsMap())
    return draft.document.refuse(fields.path_of("resources"), node ? node->Mark().line + 1 : 0,
                                 "must be amounts or ranges, as in {cpu: 1, memory: [1GiB, 4GiB]}");
  YamlFields amounts{draft.document, *node, fields.path_of("resources.")};
  for (std::size_t r = 0; r < demand.size(); ++r) {
    const std::string& name = draft.catalog.kinds()[r].name;
    read_range(
        amounts, name.c_str(), [&](const std::string& text) { return parse_amount(name, text); },
        demand[r]);
  }
  amounts.finish();
}

void read_generator(SimFileDraft& draft, YamlFields& fields, const YAML::Node& at) {
  sim::Generator generator;
  std::string tenant;
  sim::Range units{1, 1};
  fields.text("tenant", tenant);
  const auto found = draft.tenants.find(tenant);
  if (found == draft.tenants.end())
    return fields.refuse("tenant", at,
                         "'" + tenant +
                             (draft.groups.contains(tenant) ? "' has tenants to run its jobs"
                                                            : "' is not one of the tenants"));
  generator.tenant = found->second;
  read_choice<sim::ArrivalProcess>(fields, "arrivals",
                                   {{"backlog", sim::ArrivalProcess::backlog},
                                    {"poisson", sim::ArrivalProcess::poisson},
                                    {"self-similar", sim::ArrivalProcess::self_similar}},
                                   generator.arrivals);
  fields.integer("jobs", generator.jobs, 1, 100'000'000);
  read_decimal(fields, "rate", 0, 1'000'000, generator.rate_per_s);
  read_decimal(fields, "hurst", 0.01, 0.99, generator.hurst);
  read_decimal(fields, "variation", 0, 100, generator.variation);
  read_time(fields, "period", generator.period_ms);
  read_time(fields, "duration", generator.duration_ms);
  read_range(fields, "tasks", parse_count, generator.tasks);
  read_demand(draft, fields, generator.demand);
  const ParseValue duration = [](const std::string& text) { return parse_duration_ms(text); };
  read_range(fields, "run", duration, generator.run_ms);
  read_time(fields, "run_per_unit", generator.run_ms_per_unit);
  read_decimal(fields, "estimate", 0.001, 1000, generator.estimate_factor);
  read_range(fields, "units", parse_count, units);
  fields.finish();
  generator.min_units = units.low;
  generator.max_units = units.high;
  const bool is_backlog = generator.arrivals == sim::ArrivalProcess::backlog;
  if (is_backlog && generator.jobs == 0)
    fields.refuse("jobs", at, "a backlog needs its number of jobs");
  if (!is_backlog && generator.duration_ms == 0)
    fields.refuse("duration", at, "arrivals need a duration");
  draft.scenario.generators.push_back(std::move(generator));
}

}  // namespace

caf::error read_sim_workload(SimFileDraft& draft, YamlFields& fields) {
  const auto node = fields.take("workload");
  if (!node)
    return make_error(ErrorCode::invalid_input, "is missing: a trace or generators", "workload");
  YamlFields workload{draft.document, *node, fields.path_of("workload.")};
  if (const auto trace = workload.take("trace")) {
    YamlFields trace_fields{draft.document, *trace, workload.path_of("trace.")};
    if (auto error = read_trace(draft, trace_fields)) return error;
  }
  read_list(draft.document, workload, "generators",
            [&](const YAML::Node& entry, const std::string& path) {
              YamlFields generator{draft.document, entry, path};
              read_generator(draft, generator, entry);
            });
  workload.finish();
  return {};
}

}  // namespace fairwater
