// One or several nodes of slots, for tests of which task comes first where the ledger counts time.
#pragma once

#include <initializer_list>
#include <optional>

#include "timed_cluster.hpp"

namespace fairwater::test::by_time {

inline constexpr std::uint32_t kA = 1;
inline constexpr std::uint32_t kB = 2;
inline constexpr std::uint32_t kC = 3;
inline constexpr std::uint32_t kD = 4;

/// One that ends before its limit.
inline TimedCluster::Task early_task(Amount size, LedgerMs limit_ms, LedgerMs run_ms) {
  TimedCluster::Task task = task_of(size, limit_ms);
  task.run_ms = run_ms;
  return task;
}

inline TimedCluster::Task unlimited_task(Amount size, LedgerMs run_ms) {
  return {.demand = slots(size), .run_ms = run_ms};
}

inline TimedCluster::Task impatient_task(Amount size, LedgerMs limit_ms, LedgerMs patience_ms) {
  TimedCluster::Task task = task_of(size, limit_ms);
  task.patience_ms = patience_ms;
  return task;
}

/// One of a kind that took so long before.
inline TimedCluster::Task usual_task(Amount size, LedgerMs limit_ms, LedgerMs expected_ms,
                                     LedgerMs run_ms) {
  return {
      .demand = slots(size), .run_ms = run_ms, .expected_ms = expected_ms, .limit_ms = limit_ms};
}

struct Slots : TimedCluster {
  explicit Slots(Predict predict = Predict::limits) : TimedCluster(settings(predict)) {}
  static AllocatorSettings settings(Predict predict) {
    AllocatorSettings settings;
    settings.predict = predict;
    settings.granules[kCpu] = 1;
    settings.granules[kMemory] = 1;
    return settings;
  }
  void weigh(std::uint32_t id, Weight weight) {
    TenantTerms terms;
    terms.weight = weight;
    tenant(id, terms);
  }
  [[nodiscard]] bool has_started(JobId job) const { return start_of(job).has_value(); }
  /// When it started; -1 when it has not.
  [[nodiscard]] LedgerMs started_ms(JobId job) const {
    const auto start = start_of(job);
    return start ? start->at_ms : -1;
  }
  /// Where it started; 0 when it has not.
  [[nodiscard]] std::uint32_t started_on(JobId job) const {
    const auto start = start_of(job);
    return start ? start->node : 0;
  }
  [[nodiscard]] std::optional<LedgerMs> kept_from(std::uint32_t node, std::uint32_t tenant) const {
    const NodeView view = allocator().node(NodeId{node});
    return view.reserved_for == TenantId{tenant} ? view.reserved_from_ms : std::nullopt;
  }
};

/// On one node, for tenants with these weights.
inline Slots eight_slots(std::initializer_list<Weight> weights, Predict predict = Predict::limits) {
  Slots cluster(predict);
  std::uint32_t tenant = 0;
  for (const Weight weight : weights) cluster.weigh(++tenant, weight);
  cluster.node(1, slots(8));
  return cluster;
}

}  // namespace fairwater::test::by_time
