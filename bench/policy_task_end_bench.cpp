// One task's end in a full cluster where every tenant has more to run: its node reports, what it
// held is dealt, the tenant that got it sends its window, and everybody that could use what is left
// is asked. Over nodes and tenants, for tasks with a limit and without.
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/endless_job.hpp"
#include "policy/allocator/deal_cycle.hpp"
#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"

namespace fairwater {
namespace {

constexpr Amount kTasksPerNode = 4;
constexpr LedgerMs kSettlementPeriodMs = 1000;
constexpr std::int64_t kLimitMs = 600'000;
constexpr std::size_t kMaxDeals = 256;
constexpr std::size_t kMaxEntries = 4096;

class CycledCluster {
 public:
  CycledCluster(std::uint32_t nodes, std::uint32_t tenants, Accounting accounting, bool is_limited)
      : cycle_(Allocator(processor_settings(accounting))), is_limited_(is_limited), random_(42) {
    for (std::uint32_t i = 1; i <= tenants; ++i)
      cycle_.set_tenant({i}, {.weight = 1 + static_cast<Weight>(random_.below(100))});
    for (std::uint32_t i = 1; i <= nodes; ++i)
      cycle_.set_node({i}, {}, processors(kTasksPerNode), true);
    for (std::uint32_t i = 1; i <= tenants; ++i) send_window({i}, 0);
    run();
  }

  void end_one() {
    cycle_.pass_to(++now_ms_);
    if (now_ms_ % kSettlementPeriodMs == 0) benchmark::DoNotOptimize(cycle_.settle_time());
    std::swap(running_[random_.below(running_.size())], running_.back());
    const auto [task, node] = running_.back();
    running_.pop_back();
    cycle_.release(task);
    cycle_.beat(node);
    run();
  }
  [[nodiscard]] std::uint64_t deals() const { return cycle_.last_deal(); }

 private:
  void send_window(TenantId tenant, std::uint32_t first_task) {
    cycle_.take_window(endless_window(tenant, first_task, kLimitMs, is_limited_ ? kLimitMs : 0,
                                      cycle_.last_deal()));
  }

  /// Until nothing is due any more.
  void run() {
    std::map<TenantId, std::uint32_t> granted;
    do {
      granted.clear();
      while (cycle_.is_due())
        for (const Deal& deal : cycle_.run(kMaxDeals, kMaxEntries))
          for (const Grant& grant : deal.grants) {
            running_.emplace_back(grant.task, deal.node);
            granted[grant.tenant] = grant.task.index + 1;
          }
      for (const auto& [tenant, next_task] : granted) send_window(tenant, next_task);
    } while (!granted.empty());
  }

  DealCycle cycle_;
  bool is_limited_;
  SplitMix64 random_;
  LedgerMs now_ms_ = 0;
  std::vector<std::pair<TaskKey, NodeId>> running_;
};

/// Kept from one call of a benchmark to the next: large ones take longer to fill than to measure.
CycledCluster& cluster_of(const benchmark::State& state, Accounting accounting, bool is_limited) {
  using Key = std::tuple<std::int64_t, std::int64_t, Accounting, bool>;
  static std::map<Key, CycledCluster> kept;
  const Key key{state.range(0), state.range(1), accounting, is_limited};
  if (!kept.contains(key)) kept.clear();
  return kept
      .try_emplace(key, static_cast<std::uint32_t>(state.range(0)),
                   static_cast<std::uint32_t>(state.range(1)), accounting, is_limited)
      .first->second;
}

void task_end(benchmark::State& state, Accounting accounting, bool is_limited) {
  CycledCluster& cluster = cluster_of(state, accounting, is_limited);
  const std::uint64_t deals_before = cluster.deals();
  for (auto _ : state) cluster.end_one();
  state.counters["deals_per_end"] =
      static_cast<double>(cluster.deals() - deals_before) / static_cast<double>(state.iterations());
}

void BM_allocator_task_end(benchmark::State& state) { task_end(state, Accounting::units, false); }
void BM_allocator_task_end_by_time(benchmark::State& state) {
  task_end(state, Accounting::time, false);
}
void BM_allocator_task_end_by_time_limited(benchmark::State& state) {
  task_end(state, Accounting::time, true);
}

void nodes_and_tenants(benchmark::internal::Benchmark* figure) {
  figure->ArgNames({"nodes", "tenants"})->Unit(benchmark::kMicrosecond);
  for (const std::int64_t nodes : {100, 1'000, 5'000, 20'000, 100'000}) figure->Args({nodes, 100});
  for (const std::int64_t tenants : {10, 1'000, 10'000}) figure->Args({1'000, tenants});
}
BENCHMARK(BM_allocator_task_end)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_by_time)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_by_time_limited)->Apply(nodes_and_tenants);

}  // namespace
}  // namespace fairwater
