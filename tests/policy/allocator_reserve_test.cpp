// Room that is kept for a larger task that is due, and shares where tasks differ in size.
#include <algorithm>
#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "preemption_model.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kSmall = 1, kLarge = 2;

/// Two tenants of weight 1 on `nodes` nodes of four processors, full of the first one's tasks of
/// one processor; the other's tasks, of `large`, have just arrived.
TestCluster full_cluster(std::uint32_t nodes, const ResourceVector& large) {
  TestCluster cluster;
  cluster.tenant(kSmall, {});
  cluster.tenant(kLarge, {});
  cluster.submit(kSmall, 100, cpu(1000));
  cluster.refresh(kSmall);
  for (std::uint32_t id = 1; id <= nodes; ++id) {
    cluster.node(id, cpu(4000));
    cluster.deal(id);
  }
  cluster.submit(kLarge, 10, large);
  cluster.refresh(kLarge);
  return cluster;
}

/// Ends the task that runs longest on the node, and deals it.
std::optional<Deal> end_one_on(TestCluster& cluster, std::uint32_t node) {
  for (const auto& [task, where] : cluster.running())
    if (where.node.value == node) {
      cluster.finish(TaskKey(task));
      break;
    }
  return cluster.deal(node);
}

std::optional<TenantId> reserved_for(const TestCluster& cluster, std::uint32_t node) {
  return cluster.allocator.node(NodeId{node}).reserved_for;
}

TEST_CASE("a node keeps freed room until a larger task fits that is due", "[unit][allocator]") {
  TestCluster cluster = full_cluster(1, cpu(2000));
  CHECK_FALSE(end_one_on(cluster, 1));
  CHECK(reserved_for(cluster, 1) == TenantId{kLarge});
  const auto waiting = cluster.allocator.explain_waiting(TenantId{kSmall}, JobId{1}, 4);
  REQUIRE(waiting.size() >= 2);
  CHECK(waiting[0].code == "quota");
  CHECK(waiting[1].code == "node_busy");
  CHECK(waiting[1].message ==
        "the 1 allowed nodes with room keep it for larger tasks that are due");
  const auto due = cluster.allocator.explain_waiting(TenantId{kLarge}, JobId{2}, 0);
  REQUIRE_FALSE(due.empty());
  CHECK(due[0].message ==
        "no allowed node has room now: it asks for 2000 millicores of cpu, the most on any is "
        "1000; 1 of them keeps what becomes free for the tenant");
  const auto deal = end_one_on(cluster, 1);
  REQUIRE(deal);
  REQUIRE(deal->grants.size() == 1);
  CHECK(deal->grants[0].tenant == TenantId{kLarge});
  CHECK(deal->grants[0].step == GrantStep::reserved);
  CHECK_FALSE(deal->grants[0].beyond_quota);
  CHECK_FALSE(reserved_for(cluster, 1));
  // It holds its part now: what becomes free goes to whoever fits.
  const auto next = end_one_on(cluster, 1);
  REQUIRE(next);
  CHECK(next->grants[0].tenant == TenantId{kSmall});
}

TEST_CASE("a tenant's gang may use what nodes keep for the tenant", "[unit][allocator]") {
  PreemptionModel model;
  model.tenant(kSmall);
  model.tenant(kLarge);
  for (const std::uint32_t node : {1, 2}) model.node(node, cpu(4000));
  const JobId small = model.submit(kSmall, 100, cpu(1000));
  REQUIRE(model.run().empty());
  model.submit(kLarge, 10, cpu(2000));
  for (const std::uint32_t node : {1, 2}) {
    const auto on_node = [&](const auto& task) { return task.second.node == NodeId{node}; };
    const auto task = std::find_if(model.running().begin(), model.running().end(), on_node);
    REQUIRE(task != model.running().end());
    model.end(TaskKey(task->first), false);
    REQUIRE(model.run().empty());
    REQUIRE(model.cycle.node(NodeId{node}).reserved_for == TenantId{kLarge});
  }
  REQUIRE(model.running_of(small) == 6);
  const JobId gang =
      model.submit({.tenant = TenantId{kLarge}, .demand = cpu(1000), .is_gang = true}, 2);
  CHECK(model.run().empty());
  CHECK(model.running_of(gang) == 2);
}

TEST_CASE("no room is kept beyond a tenant's quota", "[unit][allocator]") {
  TestCluster too_large = full_cluster(1, cpu(3000));
  CHECK(end_one_on(too_large, 1));
  CHECK_FALSE(reserved_for(too_large, 1));

  // Two nodes, a quota of four processors: one task of three.
  TestCluster one_of_two = full_cluster(2, cpu(3000));
  CHECK_FALSE(end_one_on(one_of_two, 1));
  CHECK(reserved_for(one_of_two, 1) == TenantId{kLarge});
  CHECK(end_one_on(one_of_two, 2));
  CHECK_FALSE(reserved_for(one_of_two, 2));
}

TEST_CASE("a reservation ends with its reason", "[unit][allocator]") {
  TestCluster cluster = full_cluster(1, cpu(2000));
  CHECK_FALSE(end_one_on(cluster, 1));
  REQUIRE(reserved_for(cluster, 1));
  SECTION("the task is withdrawn") {
    cluster.clear(kLarge);
    cluster.refresh(kLarge);
    CHECK(cluster.deal(1));
  }
  SECTION("the node drains") {
    cluster.node(1, cpu(4000), {}, false);
    CHECK_FALSE(cluster.deal(1));
  }
  SECTION("the tenant leaves") {
    cluster.clear(kLarge);
    cluster.refresh(kLarge);
    if (cluster.net(kLarge) >= 0) cluster.allocator.remove_tenant(TenantId{kLarge});
  }
  SECTION("the quota falls below the task") {
    cluster.tenant(kSmall, {.weight = 9});
    CHECK(cluster.deal(1));
  }
  CHECK_FALSE(reserved_for(cluster, 1));
}

TEST_CASE("a node keeps to the tenant that it chose", "[unit][allocator]") {
  TestCluster cluster = full_cluster(2, cpu(2000));
  CHECK_FALSE(end_one_on(cluster, 1));
  REQUIRE(reserved_for(cluster, 1) == TenantId{kLarge});
  // Somebody heavier comes, with a task that is as large.
  cluster.tenant(3, {.weight = 2});
  cluster.submit(3, 1, cpu(2000));
  cluster.refresh(3);
  CHECK_FALSE(cluster.deal(1));
  CHECK(reserved_for(cluster, 1) == TenantId{kLarge});
  const auto deal = end_one_on(cluster, 1);
  REQUIRE(deal);
  CHECK(deal->grants[0].tenant == TenantId{kLarge});
}

TEST_CASE("tenants with tasks of several sizes hold their shares", "[property][allocator]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random{seed};
    const auto draw = [&](Amount from, Amount to) {
      return from + static_cast<Amount>(random() % static_cast<std::uint64_t>(to - from + 1));
    };
    TestCluster cluster;
    cluster.window_tasks = 60;  // as many as a deal looks past
    const auto tenants = static_cast<std::uint32_t>(draw(2, 4));
    Weight weights = 0;
    std::vector<Amount> largest;
    for (std::uint32_t i = 1; i <= tenants; ++i) {
      const auto weight = static_cast<Weight>(draw(1, 4));
      weights += weight;
      cluster.tenant(i, {.weight = weight});
      // From tasks of one processor, all alike, to any size up to three.
      largest.push_back(1000 * draw(1, 3));
    }
    constexpr Amount kNode = 8000, kNodes = 6;
    const auto top_up = [&](std::uint32_t i) {
      while (cluster.allocator.tenant(TenantId{i}).pending_tasks < 60)
        for (int n = 0; n < 20; ++n) {
          cluster.submit(i, 1, cpu(draw(1000, largest[i - 1])));
          if (n == 19) cluster.refresh(i);
        }
    };
    for (std::uint32_t i = 1; i <= tenants; ++i) top_up(i);
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      cluster.node(id, cpu(kNode));
      cluster.deal(id);
    }
    std::vector<double> held(tenants);
    constexpr int kTurns = 600, kSettled = 200;
    for (int turn = 0; turn < kTurns; ++turn) {
      auto task = cluster.running().begin();
      std::advance(task, draw(0, static_cast<Amount>(cluster.running().size()) - 1));
      const std::uint32_t node = task->second.node.value;
      cluster.finish(TaskKey(task->first));
      cluster.deal(node);
      for (std::uint32_t i = 1; i <= tenants; ++i) {
        top_up(i);
        if (turn >= kSettled) held[i - 1] += static_cast<double>(cluster.held_cpu(i));
      }
    }
    double all = 0;
    for (const double one : held) all += one;
    for (std::uint32_t i = 1; i <= tenants; ++i) {
      const double share = all * static_cast<double>(cluster.terms(i).weight) / weights;
      INFO("tenant " << i << ", tasks up to " << largest[i - 1] << ": " << held[i - 1] / share);
      // Within the largest task, of what its part is.
      const double task = static_cast<double>(largest[i - 1]) * (kTurns - kSettled);
      CHECK(std::abs(held[i - 1] - share) < task);
    }
  }
}

}  // namespace
}  // namespace fairwater::test
