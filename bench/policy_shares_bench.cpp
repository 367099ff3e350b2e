// One task's end in a full cluster whose GPUs tasks share: its node reports, what it held is dealt,
// and the tenant that got it sends its window. Over nodes of 8 GPUs, and over demands that wait: of
// 16 tenants each has as many of them as the others, and more tasks of each than will ever run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/busy_cluster.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::shares {
namespace {

constexpr std::size_t kMilli = 2;  ///< the resource
constexpr std::size_t kGpusPerNode = 8;
constexpr std::uint32_t kTenants = 16;
constexpr std::uint32_t kManyTasks = 1U << 30;
constexpr std::int64_t kLimitMs = 600'000;
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

class SharedCluster final : public BusyCluster {
 public:
  SharedCluster(std::uint32_t nodes, std::uint32_t demands, Accounting accounting, bool is_limited)
      : BusyCluster(sharing_settings(accounting)), limit_ms_(is_limited ? kLimitMs : 0) {
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

  void follow(TenantId tenant, const std::vector<TaskKey>& granted) override {
    for (Job& job : jobs_of(tenant))
      for (const TaskKey& task : granted)
        if (task.job == job.id) job.next_task = task.index + 1;
    send_window(tenant);
  }

  std::int64_t limit_ms_;
  std::vector<ResourceVector> demands_;
  std::array<std::vector<Job>, kTenants + 1> jobs_;  ///< by tenant
};

void BM_allocator_share_end(benchmark::State& state) {
  measure_ends<SharedCluster>(state, Accounting::units, false);
}
void BM_allocator_share_end_by_time_limited(benchmark::State& state) {
  measure_ends<SharedCluster>(state, Accounting::time, true);
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
