// One task's end in a cluster where every tenant has more to run, full or partly idle: its node
// reports, what it held is dealt, the tenant that got it sends its window, and everybody that could
// use what is left is asked. Over nodes and tenants, for tasks with a limit and without.
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "bench/busy_cluster.hpp"
#include "bench/endless_job.hpp"

namespace fairwater {
namespace {

constexpr Amount kTasksPerNode = 4;
constexpr std::int64_t kLimitMs = 600'000;

/// What everybody leaves idle, though all have more to run.
enum class Idle : std::uint8_t {
  nothing,
  first_nodes,        ///< half of them: they have not the label that all tasks ask for
  half_of_all_nodes,  ///< each tenant holds its max
};

template <Idle idle>
class CycledCluster final : public BusyCluster {
 public:
  CycledCluster(std::uint32_t nodes, std::uint32_t tenants, Accounting accounting, bool is_limited)
      : BusyCluster(processor_settings(accounting)), is_limited_(is_limited) {
    if (idle == Idle::first_nodes)
      rule_ = std::make_shared<const PlacementRule>(
          PlacementRule{{}, std::get<LabelExpression>(LabelExpression::parse("fast"))});
    for (std::uint32_t i = 1; i <= tenants; ++i) {
      TenantTerms terms;
      terms.weight = 1 + static_cast<Weight>(random_.below(100));
      if (idle == Idle::half_of_all_nodes)
        terms.max = processors(kTasksPerNode * nodes / 2 / tenants);
      cycle_.set_tenant({i}, terms);
    }
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      NodeTraits traits;
      if (idle == Idle::first_nodes && 2 * i > nodes) traits.labels["fast"] = "true";
      cycle_.set_node({i}, traits, processors(kTasksPerNode), true);
    }
    for (std::uint32_t i = 1; i <= tenants; ++i) send_window({i}, 0);
    run();
  }

 private:
  void follow(TenantId tenant, const std::vector<TaskKey>& granted) override {
    send_window(tenant, granted.back().index + 1);
  }
  void send_window(TenantId tenant, std::uint32_t first_task) {
    DemandWindow window = endless_window(tenant, first_task, kLimitMs, is_limited_ ? kLimitMs : 0,
                                         cycle_.last_deal());
    window.next.front().rule = rule_;
    cycle_.take_window(std::move(window));
  }

  bool is_limited_;
  PlacementRulePtr rule_;
};

void BM_allocator_task_end(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::nothing>>(state, Accounting::units, false);
}
void BM_allocator_task_end_by_time(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::nothing>>(state, Accounting::time, false);
}
void BM_allocator_task_end_by_time_limited(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::nothing>>(state, Accounting::time, true);
}
void BM_allocator_task_end_partition(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::first_nodes>>(state, Accounting::units, false);
}
void BM_allocator_task_end_partition_by_time(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::first_nodes>>(state, Accounting::time, true);
}
void BM_allocator_task_end_capped(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::half_of_all_nodes>>(state, Accounting::units, false);
}
void BM_allocator_task_end_capped_by_time(benchmark::State& state) {
  measure_ends<CycledCluster<Idle::half_of_all_nodes>>(state, Accounting::time, true);
}

/// Each of these tenants can hold a task in half of the room.
void nodes_and_some_tenants(benchmark::internal::Benchmark* figure) {
  figure->ArgNames({"nodes", "tenants"})->Unit(benchmark::kMicrosecond);
  for (const std::int64_t nodes : {100, 1'000, 5'000, 20'000, 100'000}) figure->Args({nodes, 100});
  for (const std::int64_t tenants : {10, 1'000}) figure->Args({1'000, tenants});
}
void nodes_and_tenants(benchmark::internal::Benchmark* figure) {
  nodes_and_some_tenants(figure);
  figure->Args({1'000, 10'000});
}
BENCHMARK(BM_allocator_task_end)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_by_time)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_by_time_limited)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_partition)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_partition_by_time)->Apply(nodes_and_tenants);
BENCHMARK(BM_allocator_task_end_capped)->Apply(nodes_and_some_tenants);
BENCHMARK(BM_allocator_task_end_capped_by_time)->Apply(nodes_and_some_tenants);

}  // namespace
}  // namespace fairwater
