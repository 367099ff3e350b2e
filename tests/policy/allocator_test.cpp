// Single rules of the allocator: windows, restarts, leaving, terms and explanations.
#include <random>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/state.hpp"
#include "tests/values/last_words.hpp"

namespace fairwater::test {
namespace {

std::vector<std::string> codes(const TestCluster& cluster, std::uint32_t tenant, JobId job,
                               std::uint32_t index) {
  std::vector<std::string> result;
  for (const Obstacle& obstacle : cluster.allocator.explain_waiting(TenantId{tenant}, job, index))
    result.push_back(obstacle.code);
  return result;
}

using Codes = std::vector<std::string>;

TEST_CASE("a window that has not seen a deal does not bring its tasks back", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.node(1, cpu(2000));
  cluster.submit(1, 5, cpu(1000));
  const DemandWindow before = cluster.window(1, 0);
  cluster.deliver(before);
  REQUIRE(cluster.deal(1)->grants.size() == 2);
  CHECK(cluster.allocator.tenant(TenantId{1}).pending_tasks == 3);

  // Both tasks end before the tenant hears that they began.
  const std::map<TaskKey, TestCluster::Running> running = cluster.running();
  for (const auto& [task, where] : running) cluster.finish(task);
  cluster.deliver(before);
  CHECK(cluster.allocator.tenant(TenantId{1}).pending_tasks == 3);
  CHECK(cluster.allocator.tenant(TenantId{1}).request == cpu(3000));
  const std::optional<Deal> deal = cluster.deal(1);
  REQUIRE(deal->grants.size() == 2);
  CHECK(deal->grants[0].task.index == 2);
  CHECK(deal->grants[1].task.index == 3);
}

TEST_CASE("held tasks are struck out of the middle of a range", "[unit][allocator]") {
  Allocator allocator(default_settings());
  allocator.set_tenant(TenantId{1}, {});
  allocator.set_node(NodeId{1}, {}, cpu(4000), true);
  Grant held;
  held.task = {JobId{7}, 2, 1};
  held.tenant = TenantId{1};
  held.cost = 10;
  held.demand = cpu(1000);
  allocator.restore_held(std::vector{HeldTask{NodeId{1}, held}});
  DemandWindow window{
      .tenant = TenantId{1}, .next = {}, .pending = cpu(5000), .pending_tasks = 5, .seen_deal = 0};
  window.next.push_back({.job = JobId{7}, .count = 5, .demand = cpu(1000), .rule = nullptr});
  allocator.set_window(window);
  CHECK(allocator.tenant(TenantId{1}).pending_tasks == 4);
  const std::optional<Deal> deal = allocator.deal(NodeId{1});
  REQUIRE(deal);
  std::vector<std::uint32_t> indices;
  for (const Grant& grant : deal->grants) indices.push_back(grant.task.index);
  CHECK(indices == std::vector<std::uint32_t>{0, 1, 3});

  // Another attempt of the same task is another run.
  window.next[0] = {
      .job = JobId{7}, .first_index = 2, .attempt = 2, .demand = cpu(1000), .rule = nullptr};
  window.pending = cpu(1000);
  window.pending_tasks = 1;
  window.seen_deal = allocator.last_deal();
  allocator.set_window(window);
  CHECK(allocator.tenant(TenantId{1}).pending_tasks == 1);
}

TEST_CASE("a window that cannot be ends the process", "[unit][allocator]") {
  Allocator allocator(default_settings());
  allocator.set_tenant(TenantId{1}, {});
  DemandWindow window{
      .tenant = TenantId{1}, .next = {}, .pending = cpu(1000), .pending_tasks = 1, .seen_deal = 0};
  window.next.push_back({.job = JobId{7}, .demand = cpu(1000), .rule = nullptr});
  allocator.set_window(window);
  CHECK(allocator.tenant(TenantId{1}).pending_tasks == 1);
  const auto said = [&](auto spoil) {
    DemandWindow spoilt = window;
    spoil(spoilt);
    return test::last_words([&] { allocator.set_window(spoilt); });
  };
  using Catch::Contains;
  CHECK_THAT(said([](DemandWindow& w) { w.seen_deal = 1; }),
             Contains("a tenant has seen no deal that is still to come"));
  CHECK_THAT(said([](DemandWindow& w) { w.pending = cpu(-1); }),
             Contains("nothing negative waits"));
  CHECK_THAT(said([](DemandWindow& w) { w.next[0].attempt = 0; }),
             Contains("a window names tasks that can be"));
  CHECK_THAT(said([](DemandWindow& w) { w.next[0].first_index = w.next[0].count = 0xFFFF'FFFF; }),
             Contains("a window names tasks that can be"));
  CHECK_THAT(said([](DemandWindow& w) { w.next[0].limit_ms = -1; }),
             Contains("a run takes some time or none"));
  CHECK_THAT(said([](DemandWindow& w) { w.next[0].demand = cpu(-1); }),
             Contains("a task asks for nothing negative"));
}

TEST_CASE("a cancelled job is not dealt any more", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.node(1, cpu(8000));
  const JobId cancelled = cluster.submit(1, 3, cpu(1000));
  const JobId kept = cluster.submit(1, 2, cpu(1000));
  cluster.refresh(1);
  cluster.allocator.withdraw(TenantId{1}, cancelled);
  CHECK(cluster.allocator.tenant(TenantId{1}).pending_tasks == 2);
  const std::optional<Deal> deal = cluster.allocator.deal(NodeId{1});
  REQUIRE(deal->grants.size() == 2);
  CHECK(deal->grants[0].task.job == kept);
}

TEST_CASE("unknown tasks are not released", "[unit][allocator]") {
  Allocator allocator(default_settings());
  CHECK_FALSE(allocator.release({JobId{1}, 0, 1}));
}

/// Three tenants with IOUs, deficits and held tasks in the middle of their lives.
TestCluster middle_of_life() {
  TestCluster cluster;
  const Weight weights[] = {5, 3, 2};
  for (std::uint32_t i = 1; i <= 3; ++i) cluster.tenant(i, {.weight = weights[i - 1]});
  cluster.node(1, cpu(7000));
  cluster.node(2, cpu(6000));
  for (std::uint32_t i = 1; i <= 2; ++i) {
    cluster.submit(i, 60, cpu(900));
    cluster.refresh(i);
  }
  cluster.deal(1);
  cluster.deal(2);
  for (const std::uint32_t tenant : {1U, 2U, 1U}) cluster.turn_over(tenant);
  return cluster;
}

TEST_CASE("a restored allocator decides as if it had never stopped", "[unit][allocator]") {
  TestCluster cluster = middle_of_life();
  for (std::uint32_t i = 1; i <= 3; ++i) cluster.refresh(i);
  const Allocator& old = cluster.allocator;
  REQUIRE_FALSE(old.book().empty());
  REQUIRE(cluster.deficit(1) != 0);

  Allocator fresh(default_settings());
  const Weight weights[] = {5, 3, 2};
  for (std::uint32_t i = 1; i <= 3; ++i) fresh.set_tenant(TenantId{i}, {.weight = weights[i - 1]});
  fresh.set_node(NodeId{1}, {}, cpu(7000), true);
  fresh.set_node(NodeId{2}, {}, cpu(6000), true);
  fresh.restore(old.accounts().snapshot());
  std::vector<HeldTask> held;
  for (const auto& [task, where] : cluster.running()) {
    Grant grant;
    grant.task = task;
    grant.tenant = where.tenant;
    grant.demand = where.demand;
    held.push_back({where.node, grant});
  }
  fresh.restore_held(held);
  for (std::uint32_t i = 1; i <= 3; ++i) {
    DemandWindow window = cluster.window(i, old.last_deal());
    window.seen_deal = 0;  // deals are numbered anew
    fresh.set_window(window);
  }
  for (std::uint32_t i = 1; i <= 3; ++i) {
    CHECK(fresh.tenant(TenantId{i}).quota == old.tenant(TenantId{i}).quota);
    CHECK(fresh.tenant(TenantId{i}).net == old.book().net(i));
  }
  const std::map<TaskKey, TestCluster::Running> running = cluster.running();
  for (const auto& [task, where] : running) {
    cluster.finish(task);
    REQUIRE(fresh.release(task));
    REQUIRE(fresh.deal(where.node) == cluster.deal(where.node.value));
  }
  CHECK(fresh.book().ious() == old.book().ious());
}

TEST_CASE("who leaves takes its claims and its deficit along", "[unit][allocator]") {
  TestCluster cluster = middle_of_life();
  REQUIRE(cluster.net(3) > 0);
  const Units claims = cluster.net(3);
  const Units forgiven = cluster.allocator.remove_tenant(TenantId{3});
  CHECK(forgiven > 0);
  CHECK(forgiven <= claims);
  CHECK(cluster.net(1) + cluster.net(2) == 0);
  CHECK(cluster.deficit(1) + cluster.deficit(2) == 0);
  CHECK(cluster.allocator.tenant(TenantId{1}).quota[kCpu] +
            cluster.allocator.tenant(TenantId{2}).quota[kCpu] ==
        13'000);
}

TEST_CASE("guarantees that are too many are scaled, whoever comes first", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {.min = cpu(8000)});
  cluster.tenant(2, {.min = cpu(8000)});
  cluster.tenant(3, {});
  cluster.node(1, cpu(10'000));
  cluster.submit(1, 100, cpu(1000));
  cluster.refresh(1);
  cluster.deal(1);
  CHECK(cluster.held(1) == 10);
  for (const std::uint32_t tenant : {2U, 3U}) {
    cluster.submit(tenant, 100, cpu(1000));
    cluster.refresh(tenant);
  }
  for (int i = 0; i < 40; ++i) cluster.turn_over_oldest();
  // Eight each of ten are half each, not eight and two.
  CHECK(cluster.held(1) == 5);
  CHECK(cluster.held(2) == 5);
  CHECK(cluster.held(3) == 0);
}

TEST_CASE("who may not borrow keeps to its share and owes nothing", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {.weight = 1, .may_borrow = false});
  cluster.tenant(2, {.weight = 3});
  cluster.node(1, cpu(8000));
  cluster.submit(1, 50, cpu(1000));
  cluster.refresh(1);
  cluster.deal(1);
  CHECK(cluster.held(1) == 2);
  for (int turn = 0; turn < 20; ++turn) {
    cluster.turn_over(1);
    REQUIRE(cluster.held(1) == 2);
    REQUIRE(cluster.allocator.book().empty());
  }
  CHECK(codes(cluster, 1, JobId{1}, 22) == Codes{"quota", "may_not_borrow"});
}

TEST_CASE("who may not lend gets no claims", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {.weight = 1});
  cluster.tenant(2, {.weight = 3, .may_lend = false});
  cluster.node(1, cpu(8000));
  cluster.submit(1, 50, cpu(1000));
  cluster.refresh(1);
  const std::optional<Deal> deal = cluster.deal(1);
  CHECK(cluster.held(1) == 8);
  CHECK(deal->loans.empty());
  CHECK(deal->lines[0].passed_on == 60);
  CHECK(cluster.allocator.book().empty());
}

TEST_CASE("a changed weight takes effect with the next slot", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {.weight = 1});
  cluster.tenant(2, {.weight = 1});
  cluster.node(1, cpu(8000));
  for (std::uint32_t i = 1; i <= 2; ++i) {
    cluster.submit(i, 50, cpu(1000));
    cluster.refresh(i);
  }
  cluster.deal(1);
  REQUIRE(cluster.held(1) == 4);
  cluster.tenant(1, {.weight = 3});
  cluster.turn_over(2);
  cluster.turn_over(2);
  CHECK(cluster.held(1) == 6);
  cluster.turn_over(2);
  CHECK(cluster.held(1) == 6);
}

TEST_CASE("the water mark tells what the exact quota would", "[property][allocator]") {
  std::mt19937_64 random(7);
  const auto pick = [&](Amount from, Amount to) {
    return from + static_cast<Amount>(random() % static_cast<std::uint64_t>(to - from + 1));
  };
  for (int round = 0; round < 500; ++round) {
    AllocatorState state(default_settings());
    const auto tenants = static_cast<std::uint32_t>(pick(1, 12));
    const Amount scale = round % 2 == 0 ? 10 : 1'000'000'000'000;
    if (round % 4 > 1) state.set_group(GroupId{1}, {.place = {}, .max = cpu(pick(0, 4 * scale))});
    for (std::uint32_t i = 1; i <= tenants; ++i) {
      TenantTerms terms;
      terms.weight = pick(1, scale == 10 ? 5 : 1'000'000'000);
      if (pick(0, 2) == 0) terms.min = cpu(pick(0, scale));
      if (pick(0, 2) == 0) terms.max = cpu(pick(0, 3 * scale));
      terms.may_borrow = pick(0, 4) != 0;
      if (round % 4 > 1 && pick(0, 1) == 0)
        terms.place = {.group = GroupId{1}, .weight = pick(1, 5)};
      state.set_tenant(TenantId{i}, terms);
      DemandWindow window;
      window.tenant = TenantId{i};
      window.pending = cpu(pick(0, 2 * scale));
      state.set_window(window);
    }
    state.set_node(NodeId{1}, {}, cpu(pick(0, 8 * scale)), true);
    const AllocatorQuotas::WaterMarks marks = state.quotas().water_marks();
    for (std::uint32_t i = 1; i <= tenants; ++i) {
      const TenantState& tenant = state.tenant(TenantId{i});
      const Amount quota = state.quotas().quota(tenant)[kCpu];
      for (Amount amount = std::max<Amount>(0, quota - 3); amount <= quota + 3; ++amount) {
        INFO("round " << round << " quota " << quota << " amount " << amount);
        REQUIRE(state.quotas().quota_is_at_least(tenant, kCpu, amount, marks) == (quota >= amount));
      }
    }
  }
}

TEST_CASE("every obstacle of a waiting task is named, the first one first", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {.weight = 1, .max = cpu(3500)});
  const JobId small = cluster.submit(1, 4, cpu(1000));
  const auto north = std::make_shared<PlacementRule>(PlacementRule{{"north"}, {}});
  const JobId bound = cluster.submit(1, 1, cpu(100), north);
  const JobId large = cluster.submit(1, 1, cpu(9000));
  cluster.refresh(1);
  CHECK(codes(cluster, 1, small, 0) == Codes{"no_node_up", "quota"});
  cluster.node(1, cpu(3000));
  CHECK(codes(cluster, 1, small, 0).empty());
  CHECK(codes(cluster, 1, small, 3) == Codes{"order"});
  CHECK(codes(cluster, 1, bound, 0) == Codes{"placement", "order"});
  CHECK(codes(cluster, 1, large, 0) == Codes{"node_size", "max", "order"});
  cluster.deal(1);
  CHECK(codes(cluster, 1, small, 3) == Codes{"max", "quota", "node_busy"});
  CHECK(codes(cluster, 1, JobId{99}, 0) == Codes{"order"});

  const auto obstacles = cluster.allocator.explain_waiting(TenantId{1}, small, 3);
  CHECK(obstacles[0].message ==
        "holds 3000 of its max of 3500 millicores of cpu, the task asks for 1000");
  CHECK(obstacles[1].message == "holds 3000 of its runtime quota of 3000 millicores of cpu");
  CHECK(obstacles[2].message ==
        "no allowed node has room now: it asks for 1000 millicores of cpu, the most on any is 0");
  CHECK(cluster.allocator.could_ever_fit(cpu(3000), nullptr));
  CHECK_FALSE(cluster.allocator.could_ever_fit(cpu(3001), nullptr));
  CHECK_FALSE(cluster.allocator.could_ever_fit(cpu(100), north.get()));
}

}  // namespace
}  // namespace fairwater::test
