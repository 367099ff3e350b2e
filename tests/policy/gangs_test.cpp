// Gangs: whole or not at all, in their turn, with room kept on all of their nodes.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/allocator/deal_cycle.hpp"
#include "timed_cluster.hpp"

namespace fairwater::test::gangs {
namespace {

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;

TimedCluster::Task gang_of(Amount size, LedgerMs limit_ms) {
  TimedCluster::Task task = task_of(size, limit_ms);
  task.is_gang = true;
  return task;
}

TimedCluster::Task unlimited_gang(Amount size, LedgerMs run_ms) {
  return {.demand = slots(size), .run_ms = run_ms, .is_gang = true};
}

struct Cluster : TimedCluster {
  Cluster() : TimedCluster(slot_settings()) {
    tenant(kA, terms_of(1));
    tenant(kB, terms_of(1));
  }
  /// When it started; -1: it waits. All of its tasks at once, or the test fails.
  LedgerMs start_ms(JobId job) const {
    std::set<LedgerMs> moments;
    for (const Start& start : starts())
      if (start.job == job) moments.insert(start.at_ms);
    REQUIRE(moments.size() <= 1);
    return moments.empty() ? -1 : *moments.begin();
  }
  std::map<std::uint32_t, std::uint32_t> nodes_of(JobId job) const {
    std::map<std::uint32_t, std::uint32_t> tasks;
    for (const Start& start : starts())
      if (start.job == job) ++tasks[start.node];
    return tasks;
  }
  std::vector<std::string> why(std::uint32_t tenant, JobId job) const {
    std::vector<std::string> messages;
    for (const Obstacle& obstacle : allocator().explain_waiting(TenantId{tenant}, job, 0))
      messages.push_back(obstacle.code + ": " + obstacle.message);
    return messages;
  }
};

using Nodes = std::map<std::uint32_t, std::uint32_t>;

}  // namespace

TEST_CASE("a gang starts on several nodes at once, on as few as possible") {
  Cluster cluster;
  cluster.node(1, slots(2));
  cluster.node(2, slots(4));
  cluster.node(3, slots(3));
  const JobId gang = cluster.submit(kA, 6, gang_of(1, 10_s));
  CHECK(cluster.start_ms(gang) == 0);
  CHECK(cluster.nodes_of(gang) == Nodes{{2, 4}, {3, 2}});
}

TEST_CASE("a gang without room for all of its tasks starts none") {
  Cluster cluster;
  cluster.node(1, slots(2));
  cluster.node(2, slots(2));
  const JobId small = cluster.submit(kB, 1, task_of(1, 5_s));
  const JobId gang = cluster.submit(kA, 4, gang_of(1, 10_s));
  CHECK(cluster.start_ms(small) == 0);
  CHECK(cluster.start_ms(gang) == -1);
  CHECK(cluster.why(kA, gang) ==
        std::vector<std::string>{
            "gang: its 4 tasks start together, and there is room for 3 of them now; by the time "
            "limits of what runs the job's next task starts within 5 s"});
  cluster.run_until(5_s);
  CHECK(cluster.start_ms(gang) == 5_s);
}

TEST_CASE("room is kept for a gang on all of its nodes; what ends before it runs there") {
  Cluster cluster;
  cluster.tenant(kA, terms_of(8));
  cluster.node(1, slots(2));
  cluster.node(2, slots(2));
  (void)cluster.submit(kB, 1, task_of(2, 10_s));
  const JobId gang = cluster.submit(kA, 4, gang_of(1, 10_s));
  const JobId too_long = cluster.submit(kB, 1, task_of(1, 11_s));
  const JobId short_enough = cluster.submit(kB, 1, task_of(1, 10_s));
  CHECK(cluster.start_ms(too_long) == -1);
  CHECK(cluster.start_ms(short_enough) == 0);
  cluster.run_until(30_s);
  CHECK(cluster.start_ms(gang) == 10_s);
  CHECK(cluster.start_ms(too_long) == 20_s);
}

TEST_CASE("of two gangs that do not fit together one runs, then the other") {
  Cluster cluster;
  for (std::uint32_t node = 1; node <= 4; ++node) cluster.node(node, slots(1));
  (void)cluster.submit(kA, 4, task_of(1, 1_s));
  const JobId first = cluster.submit(kA, 3, gang_of(1, 10_s));
  const JobId second = cluster.submit(kB, 3, gang_of(1, 10_s));
  cluster.run_until(60_s);
  CHECK(std::set<LedgerMs>{cluster.start_ms(first), cluster.start_ms(second)} ==
        std::set<LedgerMs>{1_s, 11_s});
}

TEST_CASE("gangs that wait have plans on the same nodes, one after the other") {
  Cluster cluster;
  for (std::uint32_t node = 1; node <= 4; ++node) cluster.node(node, slots(1));
  (void)cluster.submit(kA, 4, task_of(1, 1_s));
  const JobId first = cluster.submit(kB, 3, gang_of(1, 10_s));
  const JobId second = cluster.submit(kA, 3, gang_of(1, 10_s));
  CHECK_THAT(cluster.why(kB, first).front(), Catch::Matchers::EndsWith("starts within 1 s"));
  CHECK_THAT(cluster.why(kA, second).front(), Catch::Matchers::EndsWith("starts within 11 s"));
  // Beside both of them one node is left, whichever of them it is.
  const JobId beside = cluster.submit(kB, 1, task_of(1, 40_s));
  const JobId in_the_way = cluster.submit(kB, 1, task_of(1, 40_s));
  cluster.run_until(60_s);
  CHECK(cluster.start_ms(first) == 1_s);
  CHECK(cluster.start_ms(beside) == 1_s);
  CHECK(cluster.start_ms(second) == 11_s);
  CHECK(cluster.start_ms(in_the_way) == 21_s);
}

TEST_CASE("a plan leaves to others the nodes that it does not need") {
  // By 10 s all are free, of which the gang needs two: that which is free now may be held longer.
  Cluster cluster;
  cluster.tenant(kA, terms_of(8));
  for (std::uint32_t node = 1; node <= 4; ++node) cluster.node(node, slots(1));
  (void)cluster.submit(kB, 3, task_of(1, 10_s));
  const JobId gang = cluster.submit(kA, 2, gang_of(1, 10_s));
  const JobId long_one = cluster.submit(kB, 1, task_of(1, 100_s));
  CHECK(cluster.start_ms(long_one) == 0);
  cluster.run_until(10_s);
  CHECK(cluster.start_ms(gang) == 10_s);
}

TEST_CASE("a gang that is late takes nothing from one that is late longer") {
  Cluster cluster;
  for (std::uint32_t node = 1; node <= 5; ++node) cluster.node(node, slots(1));
  (void)cluster.submit(kB, 2, task_of(1, 10_s));
  TimedCluster::Task wide_task = gang_of(1, 5_s);
  wide_task.patience_ms = 1_s;
  TimedCluster::Task narrow_task = gang_of(1, 100_s);
  narrow_task.patience_ms = 2_s;
  const JobId wide = cluster.submit(kA, 4, wide_task);
  const JobId narrow = cluster.submit(kB, 3, narrow_task);
  cluster.run_until(200_s);
  CHECK(cluster.start_ms(wide) == 10_s);
  CHECK(cluster.start_ms(narrow) == 15_s);
}

TEST_CASE("a gang larger than its max, or than the cluster, keeps nobody back") {
  Cluster cluster;
  TenantTerms terms = terms_of(1);
  terms.max = slots(3);
  cluster.tenant(kA, terms);
  cluster.node(1, slots(2));
  cluster.node(2, slots(2));
  const JobId beyond_max = cluster.submit(kA, 4, gang_of(1, 10_s));
  const JobId beyond_cluster = cluster.submit(kB, 5, gang_of(1, 10_s));
  const JobId small = cluster.submit(kB, 4, task_of(1, 10_s));
  CHECK(cluster.start_ms(small) == 0);
  cluster.run_until(3600_s * 30);
  CHECK(cluster.start_ms(beyond_max) == -1);
  CHECK(cluster.start_ms(beyond_cluster) == -1);
  CHECK(cluster.why(kA, beyond_max) ==
        std::vector<std::string>{
            "max: holds 0 of its max of 3 millicores of cpu, its 4 tasks start together and ask "
            "for 4"});
  CHECK(cluster.why(kB, beyond_cluster).front() ==
        "gang_size: its 5 tasks start together, and the allowed nodes have room for 4 of them even "
        "when empty");
  const JobId late = cluster.submit(kB, 4, task_of(1, 10_s));
  CHECK(cluster.start_ms(late) == cluster.now_ms());
}

TEST_CASE("a gang that services keep out is told so, and not that it is too large") {
  DealCycle cycle{Allocator(slot_settings())};
  cycle.set_tenant(TenantId{kA}, terms_of(1));
  cycle.set_tenant(TenantId{kB}, terms_of(1));
  for (const std::uint32_t node : {1, 2}) cycle.set_node(NodeId{node}, {}, slots(2), true);
  const auto wait = [&](std::uint32_t tenant, std::uint32_t tasks, bool is_service) {
    WaitingRange range{.job = JobId{tenant}, .count = tasks, .demand = slots(1), .rule = nullptr};
    range.is_service = is_service;
    range.is_gang = !is_service;
    DemandWindow window;
    window.tenant = TenantId{tenant};
    window.next = {range};
    window.seen_deal = cycle.allocator().last_deal();
    window.pending_tasks = tasks;
    for (std::uint32_t i = 0; i < tasks; ++i) window.pending += range.demand;
    cycle.take_window(window);
  };
  wait(kA, 3, true);
  REQUIRE_FALSE(cycle.run(100, 100).empty());
  const auto first = [&] {
    return cycle.allocator().explain_waiting(TenantId{kB}, JobId{kB}, 0).front();
  };
  wait(kB, 4, false);
  CHECK(cycle.run(100, 100).empty());
  CHECK(first().code == "node_busy");
  CHECK(first().message ==
        "its 4 tasks start together, and services hold too much of the allowed nodes, and run "
        "until they are cancelled: beside them there is room for 1 of them");
  wait(kB, 5, false);
  CHECK(first().code == "gang_size");
  CHECK(first().message ==
        "its 5 tasks start together, and the allowed nodes have room for 4 of them even when "
        "empty");
  // One that takes no tasks would do, whatever services hold elsewhere.
  cycle.set_node(NodeId{3}, {}, slots(3), false);
  wait(kB, 4, false);
  CHECK_THAT(first().message,
             Catch::Contains("room for 1 of them; with nodes that take no tasks now there is room "
                             "for all: node "));
}

TEST_CASE("all tasks of a gang wait for the same") {
  Cluster cluster;
  cluster.node(1, slots(2));
  cluster.submit(kA, 2, task_of(1, 10_s));
  cluster.submit(kA, 1, task_of(2, 10_s));
  const JobId gang = cluster.submit(kA, 2, gang_of(1, 10_s));
  const auto told = [&](std::uint32_t index) {
    return cluster.allocator().explain_waiting(TenantId{kA}, gang, index);
  };
  const std::vector<Obstacle> of_first = told(0);
  CHECK(told(1) == of_first);
  CHECK(std::any_of(of_first.begin(), of_first.end(), [](const Obstacle& known) {
    return known.message == "1 tasks of the tenant come before it";
  }));
}

TEST_CASE("a gang is told of nodes that take no tasks now and would do") {
  Cluster cluster;
  cluster.node(1, slots(1));
  cluster.node(2, slots(2), false);
  const JobId gang = cluster.submit(kA, 3, gang_of(1, 10_s));
  const JobId too_large = cluster.submit(kB, 4, gang_of(1, 10_s));
  CHECK_THAT(cluster.why(kA, gang).front(),
             Catch::StartsWith("gang_size: its 3 tasks start together, and the allowed nodes that "
                               "take tasks now have room for 1 of them even when empty; with those "
                               "that take none now they have room for all: node "));
  CHECK(cluster.why(kB, too_large).front() ==
        "gang_size: its 4 tasks start together, and the allowed nodes have room for 3 of them even "
        "when empty");
  cluster.node(2, slots(2));
  CHECK(cluster.start_ms(gang) == 0);
}

TEST_CASE("a gang keeps within the max of a group that fills up before its turn") {
  Cluster cluster;
  GroupTerms department;
  department.max = slots(4);
  cluster.group(1, department);
  for (const std::uint32_t id : {kA, kB}) {
    TenantTerms terms = terms_of(1);
    terms.place = QuotaPlace{GroupId{1}, 1};
    cluster.tenant(id, terms);
  }
  const JobId gang = cluster.submit(kA, 4, gang_of(1, 10_s));
  const JobId single = cluster.submit(kB, 1, task_of(1, 5_s));
  cluster.node(1, slots(8));
  CHECK(cluster.start_ms(single) == 0);
  CHECK(cluster.start_ms(gang) == -1);
  cluster.run_until(5_s);
  CHECK(cluster.start_ms(gang) == 5_s);
}

TEST_CASE("a gang comes in its tenant's turn, as large as it is") {
  Cluster cluster;
  cluster.node(1, slots(4));
  (void)cluster.submit(kA, 1, task_of(4, 1_s));
  const JobId gang = cluster.submit(kA, 4, gang_of(1, 10_s));
  const JobId single = cluster.submit(kB, 1, task_of(1, 10_s));
  cluster.run_until(1_s);
  CHECK(cluster.start_ms(single) == 1_s);
  CHECK(cluster.start_ms(gang) == -1);
  cluster.run_until(11_s);
  CHECK(cluster.start_ms(gang) == 11_s);
}

TEST_CASE("a late gang starts within the limits of what runs, whatever comes") {
  Cluster cluster;
  for (std::uint32_t node = 1; node <= 3; ++node) cluster.node(node, slots(2));
  for (int i = 0; i < 6; ++i) (void)cluster.submit(kB, 1, task_of(1, (1 + i) * 1_s));
  TimedCluster::Task task = gang_of(1, 5_s);
  task.patience_ms = 30_s / (1 + kDeferralPatiences);
  // Its tenant holds its part and more, so it has no turn before it is late, and is deferred.
  (void)cluster.submit(kA, 3, task_of(1, 3600_s));
  const JobId gang = cluster.submit(kA, 3, task);
  while (cluster.start_ms(gang) < 0 && cluster.now_ms() < 100_s) {
    while (cluster.waiting(kB) < 4) (void)cluster.submit(kB, 1, task_of(1, 6_s));
    cluster.run_until(cluster.now_ms() + 500);
  }
  CHECK(cluster.start_ms(gang) >= 0);
  CHECK(cluster.start_ms(gang) <= 36_s);
}

TEST_CASE("where nobody knows when it will do, all room is kept for a gang in turns") {
  Cluster cluster;
  cluster.node(1, slots(1));
  cluster.node(2, slots(1));
  TimedCluster::Task endless{.demand = slots(1), .run_ms = 3600_s * 3};
  (void)cluster.submit(kB, 1, endless);
  const JobId gang = cluster.submit(kA, 2, unlimited_gang(1, 10_s));
  std::vector<LedgerMs> starts;
  for (int minute = 0; minute < 60; ++minute) {
    if (cluster.waiting(kB) == 0) (void)cluster.submit(kB, 1, task_of(1, 30_s));
    cluster.run_until((minute + 1) * 60_s);
  }
  for (const TimedCluster::Start& start : cluster.starts())
    if (start.tenant == kB && start.at_ms > 0) starts.push_back(start.at_ms / 600_s % 2);
  CHECK(!starts.empty());
  CHECK(std::set<LedgerMs>(starts.begin(), starts.end()).size() == 1);
  CHECK(cluster.start_ms(gang) == -1);
}

}  // namespace fairwater::test::gangs
