#include "sim/engine/workload.hpp"

#include <algorithm>

namespace fairwater::sim {
namespace {

/// The weights of all tenants of a tree add up to about this.
constexpr Weight kTreeWeight = 1'000'000'000;

}  // namespace

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
  std::vector<Wide> weights(1 + cluster.groups.size());
  for (const auto& group : cluster.groups) weights[group.place.group.value] += group.place.weight;
  for (auto& tenant : cluster.tenants) {
    tenant.terms.place = place_of(tenant.terms);
    weights[tenant.terms.place->group.value] += tenant.terms.place->weight;
  }
  std::vector<Wide> parts{kTreeWeight};
  const auto part_of = [&](const QuotaPlace& place) {
    return parts[place.group.value] * place.weight / weights[place.group.value];
  };
  for (const auto& group : cluster.groups) parts.push_back(part_of(group.place));
  for (auto& tenant : cluster.tenants)
    tenant.terms.weight = static_cast<Weight>(std::max<Wide>(part_of(*tenant.terms.place), 1));
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

Units cost_of(const Cluster& cluster, const Job& job) {
  if (cluster.settings.mode == DealMode::slots) return 1;
  return cost_in_units(job.demand, cluster.settings.granules, cluster.settings.units);
}

}  // namespace fairwater::sim
