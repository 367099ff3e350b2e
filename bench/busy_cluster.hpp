// A cluster in which everybody has more to run than there is room for, around a cycle: a task ends,
// its node reports, what it held is dealt, and the tenant that got it sends its window.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/allocator/deal_cycle.hpp"
#include "policy/core/splitmix64.hpp"

namespace fairwater {

class BusyCluster {
 public:
  BusyCluster(const BusyCluster&) = delete;
  BusyCluster& operator=(const BusyCluster&) = delete;

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

 protected:
  explicit BusyCluster(const AllocatorSettings& settings)
      : cycle_(Allocator(settings)), random_(42) {}
  ~BusyCluster() = default;

  /// Sends the window of a tenant that has got these tasks.
  virtual void follow(TenantId tenant, const std::vector<TaskKey>& granted) = 0;

  /// Until nothing is due any more.
  void run() {
    constexpr std::size_t kMaxDeals = 256, kMaxEntries = 4096;
    std::map<TenantId, std::vector<TaskKey>> granted;
    do {
      granted.clear();
      while (cycle_.is_due())
        for (const Deal& deal : cycle_.run(kMaxDeals, kMaxEntries))
          for (const Grant& grant : deal.grants) {
            running_.emplace_back(grant.task, deal.node);
            granted[grant.tenant].push_back(grant.task);
          }
      for (const auto& [tenant, tasks] : granted) follow(tenant, tasks);
    } while (!granted.empty());
  }

  DealCycle cycle_;
  SplitMix64 random_;
  std::vector<std::pair<TaskKey, NodeId>> running_;

 private:
  static constexpr LedgerMs kSettlementPeriodMs = 1000;
  LedgerMs now_ms_ = 0;
};

/// Kept from one call of a benchmark to the next: large ones take longer to fill than to measure.
template <class Cluster>
Cluster& cluster_of(const benchmark::State& state, Accounting accounting, bool is_limited) {
  using Key = std::tuple<std::int64_t, std::int64_t, Accounting, bool>;
  static std::map<Key, Cluster> kept;
  const Key key{state.range(0), state.range(1), accounting, is_limited};
  if (!kept.contains(key)) kept.clear();
  return kept
      .try_emplace(key, static_cast<std::uint32_t>(state.range(0)),
                   static_cast<std::uint32_t>(state.range(1)), accounting, is_limited)
      .first->second;
}

/// What one task's end takes. `is_limited`: tasks have a limit.
template <class Cluster>
void measure_ends(benchmark::State& state, Accounting accounting, bool is_limited) {
  Cluster& cluster = cluster_of<Cluster>(state, accounting, is_limited);
  const std::uint64_t deals_before = cluster.deals();
  for (auto _ : state) cluster.end_one();
  state.counters["deals_per_end"] =
      static_cast<double>(cluster.deals() - deals_before) / static_cast<double>(state.iterations());
}

}  // namespace fairwater
