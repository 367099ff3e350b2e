#include "sim/experiments/trace_logs.hpp"

#include <utility>

#include <fmt/format.h>

namespace fairwater::sim::inline experiments {
namespace {

constexpr TimeMs kHour = 3'600'000;

std::vector<TraceLog> all_logs() {
  const std::string kth = "/pwa-kth-sp2/KTH-SP2-1996-2.1-cln.swf.gz";
  const std::string lanl = "/pwa-lanl-cm5/LANL-CM5-1994-4.1-cln.swf.gz";
  TraceOptions users, groups;
  groups.tenants = TenantColumn::group;
  TraceOptions memory;
  memory.shape = JobShape::nodes;
  memory.memory_in_bytes_per_node = true;
  memory.clusters_as_sites = true;
  TraceOptions gangs;
  gangs.shape = JobShape::gang;
  return {{"KTH SP2 by user", kth, users, 100, 1'000},
          {"KTH SP2 by group", kth, groups, 100, 1'000},
          {"LANL CM-5 by user", lanl, users, 1024, 32'000},
          {"LANL CM-5 by group", lanl, groups, 1024, 32'000},
          {"CERIT-SC by user, with memory", "/metacentrum-wagap-2013/wagap-2013.swf.gz", memory, 0,
           1'000},
          {"KTH SP2 by user, gangs over 100 nodes", kth, gangs, 1, 1'000, 100}};
}

/// 20 zewura and 48 zegox, as the log's list of machines has them.
std::vector<SimNode> cerit_nodes() {
  std::vector<SimNode> nodes;
  const auto add = [&](const char* site, int count, Amount processors, Amount memory_mib) {
    for (int i = 1; i <= count; ++i) {
      SimNode node;
      node.traits.name = fmt::format("{}-{}", site, i);
      node.traits.site = site;
      node.capacity[kCpu] = processors * 1'000;
      node.capacity[kMemory] = memory_mib;
      nodes.push_back(std::move(node));
    }
  };
  add("zewura", 20, 80, 517'018);
  add("zegox", 48, 12, 91'832);
  return nodes;
}

}  // namespace

const std::vector<TraceLog>& trace_logs() {
  static const std::vector<TraceLog> logs = all_logs();
  return logs;
}

std::vector<TraceLog> logs_by_user() {
  std::vector<TraceLog> logs;
  for (const TraceLog& log : trace_logs())
    if (log.trace.tenants == TenantColumn::user && log.trace.shape != JobShape::gang)
      logs.push_back(log);
  return logs;
}

Expected<LoadedLog> load_log(const TraceLog& log, const std::string& folder) {
  const auto text = read_maybe_gzip(folder + log.file, kMaxSwfBytes);
  if (!text) return text.error();
  const auto parsed = parse_swf(*text, 0);
  if (!parsed) return parsed.error();
  auto traced = workload_from(*parsed, log.trace);
  if (!traced) return traced.error();
  LoadedLog loaded;
  Scenario& scenario = loaded.scenario;
  scenario.trace = std::move(traced->workload);
  for (const auto& name : traced->tenants) scenario.cluster.tenants.push_back({name, {}, 0});
  scenario.cluster.resources = {"cpu", "memory"};
  scenario.cluster.settings.granules[kCpu] = log.granule;
  if (log.processors > 0) {
    SimNode node;
    node.traits.name = "machine";
    node.capacity[kCpu] = log.processors * 1'000;
    scenario.cluster.nodes.assign(static_cast<std::size_t>(log.nodes), node);
  } else {
    scenario.cluster.settings.granules[kMemory] = 7'000;  // about what a processor has here
    scenario.cluster.nodes = cerit_nodes();
  }
  loaded.impossible = remove_impossible_jobs(scenario.cluster, scenario.trace);
  scenario.metrics.windows_ms = {kHour, 24 * kHour, 7 * 24 * kHour};
  return loaded;
}

caf::error visit_logs(const std::vector<TraceLog>& logs, const ExperimentOptions& options,
                      const std::function<caf::error(const TraceLog&, const LoadedLog&)>& visit) {
  if (options.traces.empty())
    return make_error(ErrorCode::not_found, "needs the folder of workload traces", "traces");
  double done = 0;
  for (const TraceLog& log : logs) {
    const auto loaded = load_log(log, options.traces);
    if (!loaded) return loaded.error();
    if (auto failed = visit(log, *loaded)) return failed;
    options.progress(++done / static_cast<double>(logs.size()));
  }
  return {};
}

}  // namespace fairwater::sim::inline experiments
