#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bin/sim_file_fields.hpp"
#include "bin/sim_file_parts.hpp"

namespace fairwater {
namespace {

/// Tenants of the trace that the file does not name have weight 1.
void take_trace(SimFileDraft& draft, sim::TraceWorkload traced) {
  std::vector<sim::TenantIndex> index;
  for (const auto& name : traced.tenants) {
    const auto next = static_cast<sim::TenantIndex>(draft.scenario.cluster.tenants.size());
    const auto [found, is_new] = draft.tenants.emplace(name, next);
    if (is_new) draft.scenario.cluster.tenants.push_back({name, {}, 0});
    index.push_back(found->second);
  }
  for (auto& job : traced.workload.jobs) job.tenant = index[job.tenant];
  draft.scenario.trace = std::move(traced.workload);
}

caf::error read_trace(SimFileDraft& draft, YamlFields& fields) {
  std::string file;
  std::uint32_t max_jobs = 0;
  sim::TraceOptions options;
  fields.text("file", file);
  fields.integer("jobs", max_jobs, 1);
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
  if (file.empty())
    return draft.document.locate(
        make_error(ErrorCode::invalid_input, "is missing", fields.path_of("file")));
  const auto beside = std::filesystem::path{draft.path}.parent_path() / file;
  const auto text = read_maybe_gzip(beside.string(), kMaxSwfBytes);
  if (!text) return text.error();
  const auto log = parse_swf(*text, max_jobs);
  if (!log) return log.error();
  auto traced = sim::workload_from(*log, options);
  if (!traced) return traced.error();
  take_trace(draft, std::move(*traced));
  return {};
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
    return fields.refuse("tenant", at, "'" + tenant + "' is not one of the tenants");
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
