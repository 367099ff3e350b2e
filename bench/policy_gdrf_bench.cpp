// GDRF and its baselines: fill 12,000 machines in 10 shapes by 20 users.
#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/core/splitmix64.hpp"
#include "policy/dominant/gdrf.hpp"

namespace fairwater {
namespace {

struct MachineCluster {
  std::vector<MachineClass> machines;
  std::vector<ClusterUser> users;
};

/// The shapes and counts of a Google cluster's machines (Reiss et al., "Heterogeneity and
/// Dynamicity of Clouds at Scale", SoCC 2012, table 1), in thousandths of the largest machine,
/// scaled to `machines` in all.
MachineCluster make_machines(std::uint64_t machines, std::size_t users) {
  struct Shape {
    Amount cpu, memory;
    std::uint64_t count;
  };
  constexpr Shape kShapes[] = {
      {500, 500, 6732}, {500, 250, 3863}, {500, 750, 1001}, {1000, 1000, 795}, {250, 250, 126},
      {500, 120, 52},   {500, 30, 5},     {500, 970, 5},    {1000, 500, 3},    {500, 60, 1}};
  constexpr std::uint64_t kAll = 12'583;
  MachineCluster cluster;
  for (const Shape& shape : kShapes)
    cluster.machines.push_back(
        {{{shape.cpu, shape.memory}}, std::max<std::uint64_t>(1, shape.count * machines / kAll)});
  SplitMix64 random(42);
  for (std::size_t i = 0; i < users; ++i)
    cluster.users.push_back(
        {{{10 + static_cast<Amount>(random.below(90)), 10 + static_cast<Amount>(random.below(90))}},
         {}});
  return cluster;
}

void run(benchmark::State& state, ClusterPolicy policy) {
  const MachineCluster cluster = make_machines(static_cast<std::uint64_t>(state.range(0)),
                                               static_cast<std::size_t>(state.range(1)));
  std::uint64_t placed = 0;
  for (auto _ : state) {
    placed = 0;
    for (const std::uint64_t tasks : fill_cluster(policy, cluster.machines, cluster.users).placed)
      placed += tasks;
  }
  state.counters["tasks"] = static_cast<double>(placed);
  state.counters["s_per_task"] = benchmark::Counter(
      static_cast<double>(placed),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_gdrf(benchmark::State& state) { run(state, ClusterPolicy::gdrf); }
void BM_drfh_best_fit(benchmark::State& state) { run(state, ClusterPolicy::drfh_best_fit); }
void BM_drfh_first_fit(benchmark::State& state) { run(state, ClusterPolicy::drfh_first_fit); }

/// {machines, users}
void gdrf_sizes(benchmark::internal::Benchmark* bench) {
  bench->Args({100, 20})->Args({1'000, 20})->Args({12'000, 20})->Args({12'000, 200});
  bench->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_gdrf)->Apply(gdrf_sizes);
BENCHMARK(BM_drfh_best_fit)->Apply(gdrf_sizes);
BENCHMARK(BM_drfh_first_fit)->Apply(gdrf_sizes);

}  // namespace
}  // namespace fairwater
