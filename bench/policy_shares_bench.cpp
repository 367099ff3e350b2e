// One task's end in a full cluster whose GPUs tasks share: its node reports, what it held is dealt,
// and the tenant that got it sends its window. Over nodes of 8 GPUs, and over demands that wait: of
// 16 tenants each has as many of them as the others, and more tasks of each than will ever run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/allocator/deal_cycle.hpp"
#include "policy/core/check.hpp"
#include "policy/core/splitmix64.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::shares {
namespace {

constexpr std::size_t kMilli = 2;  ///< the resource
constexpr std::size_t kGpusPerNode = 8;
constexpr std::uint32_t kTenants = 16;
constexpr std::uint32_t kManyTasks = 1U << 30;
constexpr LedgerMs kSettlementPeriodMs = 1000;
constexpr std::int64_t kLimitMs = 600'000;
constexpr std::size_t kMaxDeals = 256;
constexpr std::size_t kMaxEntries = 4096;
/// Every so many demands one is for a whole GPU.
constexpr std::uint32_t kPartsPerWhole = 16;

AllocatorSettings sharing_settings(Accounting accounting) {
  AllocatorSettings settings;
  settings.granules[kCpu] = 100;
  settings.granules[kMemory] = 256;
  settings.granules[kMilli] = 100;
  settings.resources = {"cpu", "memory", std::string(kSharedGpus)};
  settings.accounting = accounting;
  return settings;
}

std::string gpu_name(std::size_t number) { return "gpu" + std::to_string(number); }

NodeTraits sharing_traits() {
  NodeTraits traits;
  NodeDevices& gpus = traits.devices.emplace_back();
  gpus.resource = kSharedGpus;
  for (std::size_t i = 0; i < kGpusPerNode; ++i) gpus.names.push_back(gpu_name(i));
  return traits;
}

class SharedCluster {
 public:
  SharedCluster(std::uint32_t nodes, std::uint32_t demands, Accounting accounting, bool is_limited)
      : cycle_(Allocator(sharing_settings(accounting))),
        limit_ms_(is_limited ? kLimitMs : 0),
        random_(42) {
    for (std::uint32_t i = 0; i < demands; ++i) {
      ResourceVector& demand = demands_.emplace_back();
      demand[kCpu] = 100 * (1 + static_cast<Amount>(random_.below(20)));
      demand[kMemory] = 256;
      demand[kMilli] = i % kPartsPerWhole == kPartsPerWhole - 1
                           ? kMilliPerGpu
                           : 50 * (1 + static_cast<Amount>(random_.below(18)));
    }
    ResourceVector capacity;
    capacity[kCpu] = 256'000;
    capacity[kMemory] = 1'048'576;
    capacity[kMilli] = kMilliPerGpu * static_cast<Amount>(kGpusPerNode);
    for (std::uint32_t i = 1; i <= kTenants; ++i)
      cycle_.set_tenant({i}, {.weight = 1 + static_cast<Weight>(random_.below(100))});
    for (std::uint32_t i = 1; i <= nodes; ++i)
      cycle_.set_node({i}, sharing_traits(), capacity, true);
    fill(nodes);
    for (std::uint32_t i = 1; i <= kTenants; ++i) send_window({i});
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
  /// A tenant's tasks of one demand.
  struct Job {
    JobId id;
    std::uint32_t demand = 0;
    std::uint32_t next_task = 0;
  };

  [[nodiscard]] std::vector<Job>& jobs_of(TenantId tenant) {
    std::vector<Job>& jobs = jobs_[tenant.value];
    const auto count = static_cast<std::uint32_t>(demands_.size());
    if (jobs.empty())
      for (std::uint32_t i = tenant.value % std::min(count, kTenants); i < count; i += kTenants)
        jobs.push_back({JobId{tenant.value * std::uint64_t{count} + i}, i, 0});
    return jobs;
  }

  /// As they would be after some time: dealing so many would take longer than what is measured.
  void fill(std::uint32_t nodes) {
    std::vector<HeldTask> held;
    for (std::uint32_t node = 1; node <= nodes; ++node)
      for (std::size_t gpu = 0; gpu < kGpusPerNode; ++gpu) {
        Amount left = kMilliPerGpu;
        for (int tries = 0; tries < 8 && left > 0; ++tries) {
          const TenantId tenant{1 + static_cast<std::uint32_t>(random_.below(kTenants))};
          std::vector<Job>& jobs = jobs_of(tenant);
          Job& job = jobs[random_.below(jobs.size())];
          const ResourceVector& demand = demands_[job.demand];
          if (demand[kMilli] > left) continue;
          left -= demand[kMilli];
          Grant grant{.task = {.job = job.id, .index = job.next_task++, .attempt = 1},
                      .tenant = tenant,
                      .cost = 1,
                      .demand = demand};
          grant.devices = {gpu_name(gpu)};
          running_.emplace_back(grant.task, NodeId{node});
          held.push_back({NodeId{node}, std::move(grant), {limit_ms_, kLimitMs, 0, false}});
        }
      }
    cycle_.allocator().restore_held(held);
  }

  void send_window(TenantId tenant) {
    DemandWindow window{.tenant = tenant, .next = {}, .pending = {}};
    for (const Job& job : jobs_of(tenant)) {
      WaitingRange& range = window.next.emplace_back();
      range.job = job.id;
      range.first_index = job.next_task;
      range.count = kManyTasks;
      range.demand = demands_[job.demand];
      range.expected_ms = kLimitMs;
      range.limit_ms = limit_ms_;
      window.pending += range.demand * Amount{kManyTasks};
      window.pending_tasks += kManyTasks;
    }
    window.seen_deal = cycle_.last_deal();
    cycle_.take_window(std::move(window));
  }

  /// Until nothing is due any more.
  void run() {
    std::map<TenantId, std::map<JobId, std::uint32_t>> granted;
    do {
      granted.clear();
      while (cycle_.is_due())
        for (const Deal& deal : cycle_.run(kMaxDeals, kMaxEntries))
          for (const Grant& grant : deal.grants) {
            running_.emplace_back(grant.task, deal.node);
            granted[grant.tenant][grant.task.job] = grant.task.index + 1;
          }
      for (const auto& [tenant, next_tasks] : granted) {
        for (Job& job : jobs_of(tenant))
          if (const auto next = next_tasks.find(job.id); next != next_tasks.end())
            job.next_task = next->second;
        send_window(tenant);
      }
    } while (!granted.empty());
  }

  DealCycle cycle_;
  std::int64_t limit_ms_;
  SplitMix64 random_;
  LedgerMs now_ms_ = 0;
  std::vector<ResourceVector> demands_;
  std::array<std::vector<Job>, kTenants + 1> jobs_;  ///< by tenant
  std::vector<std::pair<TaskKey, NodeId>> running_;
};

/// Kept from one call of a benchmark to the next: large ones take longer to fill than to measure.
SharedCluster& cluster_of(const benchmark::State& state, Accounting accounting, bool is_limited) {
  using Key = std::tuple<std::int64_t, std::int64_t, Accounting, bool>;
  static std::map<Key, SharedCluster> kept;
  const Key key{state.range(0), state.range(1), accounting, is_limited};
  if (!kept.contains(key)) kept.clear();
  return kept
      .try_emplace(key, static_cast<std::uint32_t>(state.range(0)),
                   static_cast<std::uint32_t>(state.range(1)), accounting, is_limited)
      .first->second;
}

void share_end(benchmark::State& state, Accounting accounting, bool is_limited) {
  SharedCluster& cluster = cluster_of(state, accounting, is_limited);
  const std::uint64_t deals_before = cluster.deals();
  for (auto _ : state) cluster.end_one();
  state.counters["deals_per_end"] =
      static_cast<double>(cluster.deals() - deals_before) / static_cast<double>(state.iterations());
}

void BM_allocator_share_end(benchmark::State& state) { share_end(state, Accounting::units, false); }
void BM_allocator_share_end_by_time_limited(benchmark::State& state) {
  share_end(state, Accounting::time, true);
}

void nodes_and_demands(benchmark::internal::Benchmark* figure) {
  figure->ArgNames({"nodes", "demands"})->Unit(benchmark::kMicrosecond);
  for (const std::int64_t nodes : {1'000, 10'000})
    for (const std::int64_t demands : {1, 16, 64, 256}) figure->Args({nodes, demands});
}
BENCHMARK(BM_allocator_share_end)->Apply(nodes_and_demands);
BENCHMARK(BM_allocator_share_end_by_time_limited)->Apply(nodes_and_demands);

}  // namespace
}  // namespace fairwater::shares
