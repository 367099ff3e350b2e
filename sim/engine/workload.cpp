#include "sim/engine/workload.hpp"

#include <algorithm>
#include <utility>

#include "policy/gpu/node.hpp"
#include "policy/quota/tree_weights.hpp"

namespace fairwater::sim::inline engine {

std::string class_of(const Job& job) {
  std::string text = std::to_string(job.has_estimate ? job.estimate_ms : 0);
  for (const Amount amount : job.demand.amount) text += " " + std::to_string(amount);
  return text;
}

ResourceVector total_capacity(const Cluster& cluster) {
  ResourceVector total;
  for (const auto& node : cluster.nodes) total += node.capacity;
  return total;
}

void weigh_by_tree(Cluster& cluster) {
  if (cluster.groups.empty()) return;
  const auto placed = [](const QuotaPlace& place) {
    return PlacedWeight{place.group.value, place.weight};
  };
  std::vector<PlacedWeight> groups, tenants;
  for (const auto& group : cluster.groups) groups.push_back(placed(group.place));
  for (auto& tenant : cluster.tenants) {
    tenant.terms.place = place_of(tenant.terms);
    tenants.push_back(placed(*tenant.terms.place));
  }
  const std::vector<Weight> weights = tree_weights(groups, tenants);
  for (std::size_t i = 0; i < weights.size(); ++i) cluster.tenants[i].terms.weight = weights[i];
}

Cluster pooled(const Cluster& cluster) {
  Cluster pool = cluster;
  pool.nodes = {{{.name = "pool", .site = {}, .labels = {}}, total_capacity(cluster)}};
  return pool;
}

ResourceVector demand_of(const Job& job, Units units) {
  ResourceVector demand = job.demand;
  for (auto& amount : demand.amount) amount *= units;
  return demand;
}

std::uint32_t tasks_that_fit(const Job& job, const ResourceVector& free) {
  Amount tasks = job.tasks;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (job.demand[r] > 0) tasks = std::min(tasks, std::max<Amount>(free[r], 0) / job.demand[r]);
  return static_cast<std::uint32_t>(tasks);
}

namespace {

/// For how many of its tasks an empty node's GPUs have room that tasks share: all, where nobody
/// looks at single ones.
std::uint32_t tasks_on_gpus(const Cluster& cluster, const SimNode& node, const Job& job) {
  const auto& names = cluster.settings.resources;
  const auto shared =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), kSharedGpus) - names.begin());
  if (shared == names.size() || job.demand[shared] == 0) return job.tasks;
  GpuNode gpus;
  gpus.gpus = static_cast<std::uint32_t>(node.capacity[shared] / kMilliPerGpu);
  std::fill_n(gpus.gpu_milli.begin(), gpus.gpus, kMilliPerGpu);
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(job.tasks, shares_that_fit(gpus, job.demand[shared])));
}

}  // namespace

bool could_ever_run(const Cluster& cluster, const Job& job) {
  const ResourceVector demand = demand_of(job, job.min_units);
  const std::uint32_t at_once = starts_at_once(job);
  std::uint64_t tasks = 0;
  for (const SimNode& node : cluster.nodes) {
    if (job.rule && !job.rule->allows(node.traits)) continue;
    if (!demand.fits(node.capacity)) continue;
    tasks += at_once == 1
                 ? 1
                 : std::min(tasks_that_fit(job, node.capacity), tasks_on_gpus(cluster, node, job));
    if (tasks >= at_once) return true;
  }
  return false;
}

Job spread_over_nodes(Job job, bool grows) {
  const auto least = static_cast<std::uint32_t>(std::exchange(job.min_units, 1));
  const auto most = static_cast<std::uint32_t>(std::exchange(job.max_units, 1));
  if (most == 1) return job;
  const bool is_elastic = grows && most > least;
  job.tasks = is_elastic ? most : least;
  job.least_tasks = is_elastic ? least : 0;
  job.is_gang = !is_elastic && least > 1;
  return job;
}

Units cost_of(const Cluster& cluster, const Job& job) {
  if (cluster.settings.mode == DealMode::slots) return 1;
  return cost_in_units(job.demand, cluster.settings.granules, cluster.settings.units);
}

}  // namespace fairwater::sim::inline engine
