// Nodes that close at a time: what starts there ends before that by its limit, and nothing else
// waits for room there. random_states_test.cpp has all of it together.
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/allocator/deal_cycle.hpp"
#include "timed_cluster.hpp"

namespace fairwater::test::closing {
namespace {

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;

TimedCluster::Task gang_of(LedgerMs limit_ms) {
  TimedCluster::Task task = task_of(1, limit_ms);
  task.is_gang = true;
  return task;
}

/// Two nodes of two slots; the first closes at 100 s.
struct Cluster : TimedCluster {
  Cluster() : TimedCluster(slot_settings()) {
    tenant(kA, terms_of(1));
    tenant(kB, terms_of(1));
    node(1, slots(2));
    node(2, slots(2));
    close_node_from(1, 100_s);
  }
  /// Where and when; none: it waits.
  std::optional<std::pair<std::uint32_t, LedgerMs>> place_of(JobId job) const {
    const auto start = start_of(job);
    if (!start) return std::nullopt;
    return std::pair(start->node, start->at_ms);
  }
};

using Place = std::pair<std::uint32_t, LedgerMs>;

}  // namespace

TEST_CASE("before a node closes it takes what ends in time, and nothing else") {
  Cluster cluster;
  cluster.node(2, slots(2), false);
  const JobId without_limit = cluster.submit(kA, 1, {.demand = slots(1), .run_ms = 1_s});
  const JobId too_long = cluster.submit(kA, 1, task_of(1, 101_s));
  const JobId in_time = cluster.submit(kB, 1, task_of(1, 100_s));
  CHECK_FALSE(cluster.place_of(without_limit));
  CHECK_FALSE(cluster.place_of(too_long));
  CHECK(cluster.place_of(in_time) == Place{1, 0});
  cluster.run_until(50_s);
  const JobId later = cluster.submit(kB, 1, task_of(1, 51_s));
  CHECK_FALSE(cluster.place_of(later));
  cluster.close_node_from(1, 101_s);
  CHECK(cluster.place_of(later) == Place{1, 50_s});
  cluster.run_until(102_s);
  CHECK(cluster.held(kB) == 0);
  CHECK_FALSE(cluster.place_of(too_long));
  cluster.close_node_from(1, std::nullopt);
  CHECK(cluster.place_of(too_long) == Place{1, 102_s});
  CHECK(cluster.place_of(without_limit) == Place{1, 102_s});
}

TEST_CASE("a place in time is where a task has run before the node closes") {
  Cluster cluster;
  cluster.submit(kA, 1, task_of(2, 50_s));  // the first node, until 50 s
  cluster.submit(kB, 1, task_of(2, 80_s));  // the second one, until 80 s
  const JobId large = cluster.submit(kA, 1, task_of(2, 60_s));
  const auto planned = cluster.allocator().planned_starts();
  REQUIRE(planned.size() == 1);
  CHECK(planned[0].node == NodeId{2});
  CHECK(planned[0].at_ms == 80_s);
  cluster.run_until(90_s);
  CHECK(cluster.place_of(large) == Place{2, 80_s});
}

TEST_CASE("a late task that a closing node cannot hold in time keeps nobody off it") {
  Cluster cluster;
  cluster.submit(kA, 1, task_of(1, 60_s));  // the first node has one slot until then
  cluster.submit(kB, 1, task_of(2, 90_s));  // the second one none
  TimedCluster::Task large = task_of(2, 70_s);
  large.patience_ms = 0;
  const JobId late = cluster.submit(kA, 1, large);
  cluster.run_until(10_s);
  // A place of the late one from 60 s on would leave no room for so long.
  const JobId beside = cluster.submit(kB, 1, task_of(1, 85_s));
  CHECK(cluster.place_of(beside) == Place{1, 10_s});
  cluster.run_until(91_s);
  CHECK(cluster.place_of(late) == Place{2, 90_s});
}

TEST_CASE("a gang is planned where all of its tasks end before a node closes") {
  Cluster cluster;
  const JobId before = cluster.submit(kA, 4, task_of(1, 60_s));
  cluster.run_until(0);
  REQUIRE(cluster.place_of(before));
  const JobId short_gang = cluster.submit(kB, 3, gang_of(40_s));
  const JobId long_gang = cluster.submit(kB, 2, gang_of(41_s));
  cluster.run_until(120_s);
  CHECK(cluster.place_of(short_gang)->second == 60_s);
  // Not on the first node after 60 s, where the first two slots became free.
  CHECK(cluster.place_of(long_gang) == Place{2, 100_s});
}

TEST_CASE("a gang that nobody can plan keeps no room on a node that closes") {
  Cluster cluster;
  cluster.submit(kA, 4, {.demand = slots(1), .run_ms = 30_s});  // on the second node alone
  const JobId gang = cluster.submit(kB, 3, gang_of(10_s));
  const JobId small = cluster.submit(kB, 1, task_of(1, 20_s));
  CHECK(cluster.place_of(small) == Place{1, 0});
  cluster.run_until(99_s);
  CHECK(cluster.place_of(gang)->second >= 30_s);
}

TEST_CASE("where units are counted, and by dominant shares, a node closes, too") {
  for (const AllocationRule rule : {AllocationRule::sequence, AllocationRule::drf}) {
    AllocatorSettings settings = slot_settings();
    settings.accounting = Accounting::units;
    settings.allocation = rule;
    DealCycle cycle{Allocator(settings)};
    cycle.set_tenant(TenantId{kA}, terms_of(1));
    cycle.set_tenant(TenantId{kB}, terms_of(1));
    cycle.set_node(NodeId{1}, {}, slots(2), true);
    cycle.close_node_from(NodeId{1}, 100_s);
    const auto wait = [&](std::uint32_t tenant, LedgerMs limit_ms, bool is_service) {
      DemandWindow window{.tenant = TenantId{tenant}, .next = {}, .pending = slots(1)};
      window.next.push_back({.job = JobId{tenant},
                             .demand = slots(1),
                             .rule = nullptr,
                             .limit_ms = limit_ms,
                             .is_service = is_service});
      window.pending_tasks = 1;
      cycle.take_window(window);
    };
    cycle.pass_to(40_s);
    wait(kA, 61_s, false);
    wait(kB, 10_s, true);
    cycle.consider_all_nodes();
    CHECK(cycle.run(100, 100).empty());
    wait(kA, 60_s, false);
    cycle.consider_all_nodes();
    const std::vector<Deal> deals = cycle.run(100, 100);
    REQUIRE(deals.size() == 1);
    REQUIRE(deals[0].grants.size() == 1);
    CHECK(deals[0].grants[0].task.job == JobId{kA});
  }
}

TEST_CASE("elastic jobs grow onto a closing node by tasks that end in time") {
  AllocatorSettings settings = slot_settings();
  settings.accounting = Accounting::units;
  DealCycle cycle{Allocator(settings)};
  cycle.set_tenant(TenantId{kA}, terms_of(1));
  cycle.set_node(NodeId{1}, {}, slots(4), true);
  cycle.close_node_from(NodeId{1}, 100_s);
  const auto grow = [&](LedgerMs limit_ms) {
    DemandWindow window{.tenant = TenantId{kA}, .next = {}, .pending = {}};
    window.growth.push_back(
        {.job = JobId{1}, .count = 2, .demand = slots(1), .rule = nullptr, .limit_ms = limit_ms});
    cycle.take_window(window);
    cycle.consider_all_nodes();
    std::size_t grown = 0;
    for (const Deal& deal : cycle.run(100, 100)) grown += deal.grants.size();
    return grown;
  };
  CHECK(grow(0) == 0);
  CHECK(grow(101_s) == 0);
  CHECK(grow(100_s) == 2);
}

TEST_CASE("who waits is told of nodes that close too early for it") {
  Cluster cluster;
  cluster.node(2, slots(2), false);
  const JobId job = cluster.submit(kA, 1, task_of(1, 101_s));
  ObstacleNames names;
  names.closed = {{NodeId{1}, "closes at noon"}, {NodeId{2}, "is drained"}};
  const auto obstacles = cluster.allocator().explain_waiting(TenantId{kA}, job, 0, names);
  REQUIRE_FALSE(obstacles.empty());
  CHECK(obstacles[0].code == "no_node_up");
  CHECK(
      obstacles[0].message ==
      "none of 2 nodes is up and accepts tasks: node node1 closes at noon, node node2 is drained");
}

}  // namespace fairwater::test::closing
