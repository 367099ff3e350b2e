#include "sim/experiments/gdrf_clusters.hpp"

#include <algorithm>
#include <cmath>

#include "policy/core/splitmix64.hpp"
#include "sim/experiments/parallel.hpp"

namespace fairwater::sim::inline experiments {
namespace {

constexpr std::uint64_t kAmountsPerUnit = 1000;  ///< amounts are in thousandths: shapes stay whole

std::vector<std::uint64_t> draw_machines(const std::vector<MachineShape>& shapes,
                                         std::uint64_t machines, SplitMix64& random) {
  constexpr double kHundredths = 100;
  std::vector<std::uint64_t> ends, counts(shapes.size());
  std::uint64_t end = 0;
  for (const MachineShape& shape : shapes)
    ends.push_back(end += static_cast<std::uint64_t>(std::llround(shape.percent * kHundredths)));
  for (std::uint64_t i = 0; i < machines; ++i) {
    const auto shape = std::upper_bound(ends.begin(), ends.end(), random.below(end));
    ++counts[static_cast<std::size_t>(shape - ends.begin())];
  }
  return counts;
}

std::vector<MachineClass> make_machines(const std::vector<MachineShape>& shapes,
                                        const std::vector<std::uint64_t>& counts, double largest) {
  std::vector<MachineClass> machines;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (counts[i] == 0) continue;
    MachineClass machine{.capacity = {}, .count = counts[i]};
    machine.capacity[kCpu] = std::llround(shapes[i].cpu * largest * kAmountsPerUnit);
    machine.capacity[kMemory] = std::llround(shapes[i].memory * largest * kAmountsPerUnit);
    machines.push_back(machine);
  }
  return machines;
}

Amount draw_demand(Demands demands, SplitMix64& random) {
  constexpr std::uint64_t kUnit = kAmountsPerUnit, kLeast = 1, kMost = 4;
  switch (demands) {
    case Demands::whole:
      return static_cast<Amount>(kUnit * (kLeast + random.below(kMost - kLeast + 1)));
    case Demands::thousandths:
      return static_cast<Amount>(kUnit * kLeast + random.below(kUnit * (kMost - kLeast) + 1));
    case Demands::extremes:
      return static_cast<Amount>(kUnit * (random.below(2) == 0 ? kLeast : kMost));
  }
  return 0;
}

/// Fills one cluster by each policy. The same seed gives the same users for all machine counts.
void sample_cluster(const std::vector<MachineShape>& shapes, const ClusterAssumptions& assumptions,
                    std::size_t seed, ClusterSamples& samples) {
  SplitMix64 random(seed + 1);
  std::vector<ClusterUser> users(kClusterUsers);
  for (ClusterUser& user : users) {
    user.demand[kCpu] = draw_demand(assumptions.demands, random);
    user.demand[kMemory] = draw_demand(assumptions.demands, random);
    if (assumptions.tasks_per_machine > 0)
      user.tasks = assumptions.tasks_per_machine * samples.machines;
  }
  const auto counts = assumptions.drawn_machines ? draw_machines(shapes, samples.machines, random)
                                                 : apportion_machines(shapes, samples.machines);
  const auto machines = make_machines(shapes, counts, assumptions.largest_machine);
  const ResourceVector total = total_capacity(machines);
  for (std::size_t i = 0; i < kClusterPolicies.size(); ++i) {
    const ClusterFilling filling = fill_cluster(kClusterPolicies[i].policy, machines, users);
    double placed = 0;
    for (const std::uint64_t tasks : filling.placed) placed += static_cast<double>(tasks);
    const auto used = [&](std::size_t resource) {
      return static_cast<double>(filling.used[resource]) / static_cast<double>(total[resource]);
    };
    samples.values[i][kPlaced][seed] = placed;
    samples.values[i][kCpuUsed][seed] = used(kCpu);
    samples.values[i][kMemoryUsed][seed] = used(kMemory);
    samples.values[i][kClusterF][seed] = filling.f;
  }
}

}  // namespace

std::vector<ClusterSamples> sample_clusters(const std::vector<MachineShape>& shapes,
                                            const GdrfPlan& plan,
                                            const ClusterAssumptions& assumptions,
                                            const ExperimentOptions& options, double from,
                                            double to) {
  std::vector<ClusterSamples> all(plan.machines.size());
  for (std::size_t size = 0; size < all.size(); ++size) {
    all[size].machines = plan.machines[size];
    for (auto& of_policy : all[size].values)
      for (auto& of_measure : of_policy) of_measure.resize(plan.seeds);
  }
  for_each_index(all.size() * plan.seeds, options, from, to, [&](std::size_t i) {
    sample_cluster(shapes, assumptions, i % plan.seeds, all[i / plan.seeds]);
  });
  return all;
}

}  // namespace fairwater::sim::inline experiments
