// DRF: 1,000,000 tasks among 1,000 users and 3 resources, one by one and by level.
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/core/splitmix64.hpp"
#include "policy/dominant/drf.hpp"

namespace fairwater {
namespace {

struct Cluster {
  ResourceVector capacity;
  std::vector<DrfUser> users;
};

/// Demands of 1 to 100, weights of 1 to 4, and as much room as `tasks` average tasks need.
Cluster make_cluster(std::size_t users, Amount tasks) {
  SplitMix64 random(42);
  Cluster cluster;
  ResourceVector demanded;
  for (std::size_t i = 0; i < users; ++i) {
    DrfUser user;
    for (std::size_t r = 0; r < 3; ++r) user.demand[r] = 1 + static_cast<Amount>(random.below(100));
    user.weight = 1 + static_cast<Weight>(random.below(4));
    demanded += user.demand;
    cluster.users.push_back(user);
  }
  for (std::size_t r = 0; r < 3; ++r)
    cluster.capacity[r] = demanded[r] / static_cast<Amount>(users) * tasks;
  return cluster;
}

using Drf = DrfResult (*)(const ResourceVector&, std::span<const DrfUser>, DrfStop);

void run(benchmark::State& state, Drf drf) {
  const Cluster cluster = make_cluster(static_cast<std::size_t>(state.range(0)), state.range(1));
  std::uint64_t placed = 0;
  for (auto _ : state) {
    const DrfResult result = drf(cluster.capacity, cluster.users, DrfStop::fill);
    placed = 0;
    for (const std::uint64_t tasks : result.tasks) placed += tasks;
  }
  state.counters["tasks"] = static_cast<double>(placed);
  state.counters["s_per_task"] = benchmark::Counter(
      static_cast<double>(placed),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_drf_by_task(benchmark::State& state) { run(state, drf_by_task); }
void BM_drf_by_level(benchmark::State& state) { run(state, drf_by_level); }

/// {users, tasks}
void drf_sizes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t users : {10, 100, 1'000}) bench->Args({users, users * 1'000});
  for (const std::int64_t users : {10'000, 100'000}) bench->Args({users, 1'000'000});
  bench->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_drf_by_task)->Apply(drf_sizes);
BENCHMARK(BM_drf_by_level)->Apply(drf_sizes);

}  // namespace
}  // namespace fairwater
