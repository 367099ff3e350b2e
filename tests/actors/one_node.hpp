// A cluster of one node and tenants that come, change and go.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {

/// Its tasks end when the test says so. Tenants `a` and `b` come in this order.
struct OneNode {
  ClusterFixture cluster;
  FakeAgent agent;
  std::size_t seen = 0;
  std::map<TaskKey, TenantId> held;

  explicit OneNode(Accounting accounting, JournalStore* store = nullptr)
      : cluster(ClusterFixture::default_settings(), accounting, store) {}
  void begin(std::vector<TenantSpec> tenants, Amount processors) {
    cluster.apply(std::move(tenants));
    agent = cluster.join("node1", processors);
  }
  static TenantId id_of(const std::string& tenant) { return TenantId{tenant == "a" ? 1u : 2u}; }
  void take_orders() {
    const auto launches = agent.launches();
    for (; seen < launches.size(); ++seen) {
      held[launches[seen].task] = launches[seen].tenant;
      agent.running.push_back(launches[seen].task);
    }
  }
  /// The first so many of its tasks end.
  void finish(const std::string& tenant, std::size_t most = 1000) {
    take_orders();
    const TenantId id = id_of(tenant);
    std::vector<TaskResult> results;
    for (const auto& [task, holder] : held)
      if (holder == id && results.size() < most) results.push_back(succeeded(task));
    for (const TaskResult& result : results) {
      held.erase(result.task);
      std::erase(agent.running, result.task);
    }
    REQUIRE(cluster.report(agent, results).engaged());
    take_orders();
  }
  std::size_t held_by(const std::string& tenant) {
    take_orders();
    const TenantId id = id_of(tenant);
    return static_cast<std::size_t>(std::count_if(
        held.begin(), held.end(), [&](const auto& task) { return task.second == id; }));
  }
  void pass(std::int64_t ms) {
    for (; ms > 0; ms -= 1000) {
      cluster.advance(std::min<std::int64_t>(ms, 1000));
      REQUIRE(cluster.report(agent).engaged());
      take_orders();
    }
  }
  /// The coordinator is killed and starts anew.
  void restart() {
    take_orders();
    cluster.restart();
    seen = 0;  // its orders are those of the new connection
    if (!agent.name.empty()) CHECK_FALSE(cluster.reattach(agent));
  }
  std::optional<TenantInfo> info(const std::string& name) {
    for (TenantInfo& tenant : cluster.tenants())
      if (tenant.record.spec.name == name) return std::move(tenant);
    return std::nullopt;
  }
  Expected<TenantDeparture> remove(const std::string& name) {
    return cluster.ask<TenantDeparture>(RemoveTenant{cluster.operator_caller(), name});
  }
  Expected<JobAccepted> try_to_submit(const std::string& tenant,
                                      const std::string& request_id = {}) {
    SubmitJob request{cluster.operator_caller(), {}, request_id};
    request.spec.tenant = tenant;
    request.spec.command = {"true"};
    request.spec.resources = {{"cpu", 1000}};
    return cluster.ask<JobAccepted>(request);
  }
  template <class Body>
  std::size_t records() {
    const auto journal = cluster.journal();
    return static_cast<std::size_t>(std::count_if(
        journal.begin(), journal.end(),
        [](const JournalRecord& record) { return std::holds_alternative<Body>(record.body); }));
  }
};

}  // namespace fairwater
