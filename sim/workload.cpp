#include "sim/workload.hpp"

namespace fairwater::sim {

ResourceVector total_capacity(const Cluster& cluster) {
  ResourceVector total;
  for (const auto& node : cluster.nodes) total += node.capacity;
  return total;
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
