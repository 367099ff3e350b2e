#include "sim/traces/openb_workload.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fairwater::sim::inline traces {
namespace {

const std::string kNoQos = "none";

bool ran(const OpenbPod& pod) {
  return pod.creation_s && pod.scheduled_s && pod.deletion_s &&
         *pod.creation_s <= *pod.scheduled_s && *pod.scheduled_s < *pod.deletion_s;
}

/// Rules by the set of models, each made once.
class ModelRules {
 public:
  explicit ModelRules(const std::vector<std::string>& models) : models_(models) {}

  Expected<PlacementRulePtr> rule(std::uint64_t set) {
    if (set == kAnyGpuModel) return PlacementRulePtr{};
    auto& rule = rules_[set];
    if (rule) return rule;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < models_.size(); ++i)
      if ((set >> i & 1) != 0) names.emplace_back(models_[i]);
    auto labels =
        LabelExpression::parse(fmt::format("{} in ({})", kGpuModelLabel, fmt::join(names, ", ")));
    if (const auto* reason = std::get_if<std::string>(&labels))
      return make_error(ErrorCode::invalid_input,
                        fmt::format("models {}: {}", fmt::join(names, "|"), *reason), "trace");
    rule = std::make_shared<PlacementRule>(
        PlacementRule{{}, std::get<LabelExpression>(std::move(labels))});
    return rule;
  }

 private:
  const std::vector<std::string>& models_;
  std::map<std::uint64_t, PlacementRulePtr> rules_;
};

}  // namespace

std::vector<SimNode> openb_nodes(const OpenbCluster& cluster, std::size_t gpu) {
  std::vector<SimNode> nodes;
  nodes.reserve(cluster.nodes.size());
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const GpuNode& from = cluster.nodes[i];
    SimNode node;
    node.traits.name = cluster.names[i];
    if (from.gpus > 0) node.traits.labels[std::string{kGpuModelLabel}] = cluster.models[from.model];
    node.capacity[kCpu] = from.cpu_milli;
    node.capacity[kMemory] = from.memory_mib;
    node.capacity[gpu] = from.total_gpu_milli();
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Expected<TraceWorkload> openb_workload(const std::vector<OpenbPod>& pods,
                                       const std::vector<std::string>& models, std::size_t gpu,
                                       std::size_t max_jobs) {
  std::vector<const OpenbPod*> by_creation;
  for (const OpenbPod& pod : pods)
    if (ran(pod)) by_creation.push_back(&pod);
  if (by_creation.empty())
    return make_error(ErrorCode::invalid_input, "no pod has the times of a run", "trace");
  std::stable_sort(by_creation.begin(), by_creation.end(),
                   [](const auto* a, const auto* b) { return *a->creation_s < *b->creation_s; });
  TraceWorkload result;
  result.skipped = pods.size() - by_creation.size();
  if (max_jobs > 0 && by_creation.size() > max_jobs) by_creation.resize(max_jobs);

  ModelRules rules{models};
  std::map<std::string, TenantIndex> tenants;
  const std::int64_t start_s = *by_creation.front()->creation_s;
  for (const OpenbPod* pod : by_creation) {
    const std::string& name = pod->qos.empty() ? kNoQos : pod->qos;
    const auto [tenant, is_new] =
        tenants.emplace(name, static_cast<TenantIndex>(result.tenants.size()));
    if (is_new) result.tenants.push_back(name);
    const auto rule = rules.rule(pod->request.models);
    if (!rule) return rule.error();
    Job job;
    job.submit_ms = (*pod->creation_s - start_s) * 1000;
    job.run_ms = (*pod->deletion_s - *pod->scheduled_s) * 1000;
    job.estimate_ms = job.run_ms;
    job.has_estimate = false;
    job.tenant = tenant->second;
    job.demand[kCpu] = pod->request.cpu_milli;
    job.demand[kMemory] = pod->request.memory_mib;
    job.demand[gpu] = pod->request.gpu_milli();
    job.rule = *rule;
    result.workload.jobs.push_back(std::move(job));
  }
  return result;
}

}  // namespace fairwater::sim::inline traces
