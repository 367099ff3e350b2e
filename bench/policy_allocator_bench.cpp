// One heartbeat with free room: tasks end on a node, and what they held is dealt anew. The first
// argument's tenants own a full cluster, of which those of the second have tasks waiting; the third
// says how many tasks end. Where the ledger counts time, nodes beat each second, one after the
// other, and it is settled as often.
#include <deque>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/endless_job.hpp"
#include "policy/allocator/allocator.hpp"
#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"

namespace fairwater {
namespace {

constexpr std::uint32_t kNodes = 100;
constexpr Amount kProcessorsPerNode = 32;
constexpr LedgerMs kBeat = 1000;

struct FullCluster {
  Allocator allocator;
  /// By node, oldest first.
  std::vector<std::deque<TaskKey>> running;
};

std::vector<Grant> start(FullCluster& cluster, NodeId node) {
  std::optional<Deal> deal = cluster.allocator.deal(node);
  FAIRWATER_CHECK(deal.has_value(), "somebody can use the free room");
  for (const Grant& grant : deal->grants) cluster.running[node.value - 1].push_back(grant.task);
  return std::move(deal->grants);
}

void send_window(Allocator& allocator, TenantId tenant, std::uint32_t first_task) {
  allocator.set_window(
      endless_window(tenant, first_task, kNodes * kBeat, 0, allocator.last_deal()));
}

FullCluster full_cluster(std::uint32_t tenants, std::uint32_t waiting, Accounting accounting) {
  FullCluster cluster{Allocator(processor_settings(accounting)),
                      std::vector<std::deque<TaskKey>>(kNodes)};
  SplitMix64 random(42);
  for (std::uint32_t i = 1; i <= tenants; ++i)
    cluster.allocator.set_tenant({i}, {.weight = 1 + static_cast<Weight>(random.below(100))});
  for (std::uint32_t i = 1; i <= kNodes; ++i)
    cluster.allocator.set_node({i}, {}, processors(kProcessorsPerNode), true);
  for (std::uint32_t i = 0; i < waiting; ++i)
    send_window(cluster.allocator, TenantId{1 + i * (tenants / waiting)}, 0);
  for (std::uint32_t i = 1; i <= kNodes; ++i) start(cluster, {i});
  return cluster;
}

void pass_beat(Allocator& allocator, LedgerMs& now_ms) {
  now_ms += kBeat / kNodes;
  allocator.pass_to(now_ms);
  if (now_ms % kBeat == 0) benchmark::DoNotOptimize(allocator.settle_time());
}

void heartbeat(benchmark::State& state, bool windows, Accounting accounting) {
  FullCluster cluster = full_cluster(static_cast<std::uint32_t>(state.range(0)),
                                     static_cast<std::uint32_t>(state.range(1)), accounting);
  LedgerMs now_ms = 0;
  const auto ended_per_heartbeat = static_cast<std::size_t>(state.range(2));
  std::uint32_t next = 0;
  for (auto _ : state) {
    const NodeId node{1 + next++ % kNodes};
    auto& running = cluster.running[node.value - 1];
    pass_beat(cluster.allocator, now_ms);
    for (std::size_t i = 0; i < ended_per_heartbeat && !running.empty(); ++i) {
      cluster.allocator.release(running.front());
      running.pop_front();
    }
    const std::vector<Grant> grants = start(cluster, node);
    if (!windows) continue;
    for (const Grant& grant : grants)
      send_window(cluster.allocator, grant.tenant, grant.task.index + 1);
  }
  state.counters["us_per_heartbeat"] = {
      1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void BM_allocator_heartbeat(benchmark::State& state) { heartbeat(state, false, Accounting::units); }
/// The tenants see the deal and send their windows anew.
void BM_allocator_heartbeat_and_window(benchmark::State& state) {
  heartbeat(state, true, Accounting::units);
}
void BM_allocator_heartbeat_by_time(benchmark::State& state) {
  heartbeat(state, false, Accounting::time);
}
void BM_allocator_heartbeat_and_window_by_time(benchmark::State& state) {
  heartbeat(state, true, Accounting::time);
}

BENCHMARK(BM_allocator_heartbeat)
    ->ArgNames({"tenants", "waiting", "ended"})
    ->Args({10, 5, 1})
    ->Args({100, 10, 1})
    ->Args({1'000, 100, 1})
    ->Args({1'000, 100, 8})
    ->Args({10'000, 100, 1});
BENCHMARK(BM_allocator_heartbeat_by_time)
    ->ArgNames({"tenants", "waiting", "ended"})
    ->Args({100, 10, 1})
    ->Args({1'000, 100, 1})
    ->Args({1'000, 100, 8});
BENCHMARK(BM_allocator_heartbeat_and_window)
    ->ArgNames({"tenants", "waiting", "ended"})
    ->Args({213, 5, 1})
    ->Args({213, 40, 1});
BENCHMARK(BM_allocator_heartbeat_and_window_by_time)
    ->ArgNames({"tenants", "waiting", "ended"})
    ->Args({213, 5, 1})
    ->Args({213, 40, 1});

}  // namespace
}  // namespace fairwater
