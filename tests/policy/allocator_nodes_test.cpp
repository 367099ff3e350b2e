// Which node a task goes to: nodes that drain, sites that jobs prefer, a service's own node.
#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("a draining node gets nothing and its tasks still count", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.node(1, cpu(4000));
  cluster.node(2, cpu(4000));
  cluster.submit(1, 20, cpu(1000));
  cluster.refresh(1);
  cluster.deal(1);
  cluster.node(1, cpu(4000), {}, false);
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(8000));
  cluster.finish(TaskKey(cluster.running().begin()->first));
  CHECK_FALSE(cluster.deal(1));
  CHECK(cluster.allocator.tenant(TenantId{1}).quota == cpu(7000));
  CHECK(cluster.deal(2)->grants.size() == 4);
}

PlacementRulePtr at_sites(std::vector<std::string> sites) {
  auto rule = std::make_shared<PlacementRule>();
  rule->sites = std::move(sites);
  return rule;
}

NodeTraits at_site(const char* site) { return {.name = {}, .site = site, .labels = {}}; }

TEST_CASE("of a job's sites the first is preferred as long as it has room", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.node(1, cpu(2000), at_site("b"));
  cluster.node(2, cpu(2000), at_site("a"));
  cluster.submit(1, 5, cpu(1000), at_sites({"a", "b"}));
  cluster.refresh(1);
  Allocator& allocator = cluster.allocator;
  CHECK_FALSE(allocator.deal(NodeId{1}));
  CHECK(allocator.left_to_preferred());
  CHECK(allocator.deal(NodeId{2})->grants.size() == 2);
  CHECK_FALSE(allocator.left_to_preferred());
  CHECK(allocator.deal(NodeId{1})->grants.size() == 2);

  SECTION("room that comes back at the first is waited for no longer than it is there") {
    allocator.release(TaskKey{JobId{1}, 0, 1});  // at a
    allocator.release(TaskKey{JobId{1}, 2, 1});  // at b
    CHECK_FALSE(allocator.deal(NodeId{1}));
    cluster.node(2, cpu(2000), at_site("a"), false);  // a drains
    CHECK(allocator.deal(NodeId{1})->grants.size() == 1);
  }
}

TEST_CASE("a task is left to its own node while that has room for it", "[unit][allocator]") {
  AllocatorSettings settings = default_settings();
  settings.accounting = GENERATE(Accounting::units, Accounting::time);
  DealCycle cycle{Allocator{settings}};
  Allocator& allocator = cycle.allocator();
  allocator.set_tenant(TenantId{1}, {});
  const NodeTraits at_a{.name = "one", .site = "a", .labels = {}};
  const NodeTraits at_b{.name = "two", .site = "b", .labels = {}};
  const auto two_accepts = GENERATE(true, false);
  const Amount two_has = GENERATE(500, 1000);
  cycle.set_node(NodeId{1}, at_a, cpu(4000), true);
  cycle.set_node(NodeId{2}, at_b, cpu(two_has), two_accepts);
  DemandWindow window{
      .tenant = TenantId{1}, .next = {}, .pending = cpu(1000), .pending_tasks = 1, .seen_deal = 0};
  // A site that is preferred does not take it from its own node.
  window.next.push_back({.job = JobId{7},
                         .attempt = 2,
                         .demand = cpu(1000),
                         .rule = at_sites({"a", "b"}),
                         .home = NodeId{2}});
  cycle.take_window(window);
  const auto deals = cycle.run(100, 100);
  REQUIRE(deals.size() == 1);
  REQUIRE(deals[0].grants.size() == 1);
  CHECK(deals[0].node == (two_accepts && two_has == 1000 ? NodeId{2} : NodeId{1}));
}

TEST_CASE("no room is kept for what services leave no room for", "[unit][allocator]") {
  AllocatorSettings settings = default_settings();
  settings.accounting = GENERATE(Accounting::units, Accounting::time);
  DealCycle cycle{Allocator{settings}};
  Allocator& allocator = cycle.allocator();
  TenantTerms large;
  large.weight = 9;
  allocator.set_tenant(TenantId{1}, {});
  allocator.set_tenant(TenantId{2}, large);
  cycle.set_node(NodeId{1}, {}, cpu(4000), true);
  const bool is_service = GENERATE(true, false);
  const auto offer = [&](std::uint32_t tenant, const WaitingRange& range) {
    cycle.take_window({.tenant = TenantId{tenant},
                       .next = {range},
                       .pending = range.demand,
                       .pending_tasks = range.count,
                       .seen_deal = allocator.last_deal()});
    std::vector<Grant> grants;
    for (const Deal& deal : cycle.run(100, 100))
      grants.insert(grants.end(), deal.grants.begin(), deal.grants.end());
    return grants;
  };
  WaitingRange small{.job = JobId{1}, .count = 4, .demand = cpu(1000), .rule = nullptr};
  small.is_service = is_service;
  const auto held = offer(1, small);
  REQUIRE(held.size() == 4);
  REQUIRE(offer(2, {.job = JobId{2}, .demand = cpu(3500), .rule = nullptr}).empty());
  const auto why = allocator.explain_waiting(TenantId{2}, JobId{2}, 0);
  REQUIRE_FALSE(why.empty());
  CHECK(why[0].code == "node_busy");
  CHECK((why[0].message.find("services hold too much") != std::string::npos) == is_service);

  // What becomes free is kept for the larger task that is due, unless enough never will be.
  REQUIRE(allocator.release(held[0].task));
  cycle.beat(NodeId{1});
  small.job = JobId{3};
  small.count = 1;
  CHECK(offer(1, small).size() == (is_service ? 1 : 0));
  CHECK(allocator.node(NodeId{1}).reserved_for.has_value() == !is_service);
}

TEST_CASE("a preferred site counts for whom it may serve", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.node(1, cpu(4000), at_site("b"));
  cluster.node(2, cpu(1000), at_site("a"));
  SECTION("not for a task that is too large") {
    cluster.submit(1, 1, cpu(2000), at_sites({"a", "b"}));
    cluster.refresh(1);
    CHECK(cluster.deal(1)->grants.size() == 1);
  }
  SECTION("not for a task whose labels it lacks") {
    auto rule = std::make_shared<PlacementRule>();
    rule->sites = {"a", "b"};
    rule->labels = std::get<LabelExpression>(LabelExpression::parse("!slow"));
    cluster.node(2, cpu(1000), {.name = {}, .site = "a", .labels = {{"slow", "true"}}});
    cluster.submit(1, 1, cpu(1000), rule);
    cluster.refresh(1);
    CHECK(cluster.deal(1)->grants.size() == 1);
  }
  SECTION("not for those that prefer this one or none") {
    cluster.submit(1, 1, cpu(1000), at_sites({"b", "a"}));
    cluster.submit(1, 1, cpu(1000));
    cluster.refresh(1);
    CHECK(cluster.deal(1)->grants.size() == 2);
  }
}

TEST_CASE("a cycle fills the preferred site first, then the next", "[unit][allocator]") {
  DealCycle cycle{Allocator{default_settings()}};
  cycle.allocator().set_tenant(TenantId{1}, {});
  cycle.set_node(NodeId{1}, at_site("b"), cpu(2000), true);
  cycle.set_node(NodeId{2}, at_site("a"), cpu(2000), true);
  DemandWindow window{.tenant = TenantId{1}, .next = {}, .pending = cpu(3000), .pending_tasks = 3};
  window.next.push_back({JobId{1}, 0, 3, 1, cpu(1000), at_sites({"a", "b"})});
  cycle.take_window(window);
  const auto deals = cycle.run(10);
  REQUIRE(deals.size() == 2);
  CHECK(deals[0].node == NodeId{2});
  CHECK(deals[0].grants.size() == 2);
  CHECK(deals[1].node == NodeId{1});
  CHECK(deals[1].grants.size() == 1);
  CHECK_FALSE(cycle.is_due());
}

TEST_CASE("nodes that take no tasks now and would do are told of", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.node(1, cpu(2000), at_site("a"));
  cluster.node(2, cpu(4000), at_site("b"), false);
  const JobId large = cluster.submit(1, 1, cpu(4000));
  const JobId bound = cluster.submit(1, 1, cpu(1000), at_sites({"b"}));
  const JobId too_large = cluster.submit(1, 1, cpu(5000));
  cluster.refresh(1);
  ObstacleNames names;
  names.closed[NodeId{2}] = "is drained";
  const auto first = [&](JobId job) {
    const Obstacle why = cluster.allocator.explain_waiting(TenantId{1}, job, 0, names).front();
    return why.code + ": " + why.message;
  };
  CHECK(first(large) ==
        "node_size: no allowed node that takes tasks now is large enough: it asks for 4000 "
        "millicores of cpu, the most on any is 2000; 1 allowed node that takes no tasks now is: "
        "node 2 is drained");
  CHECK(first(bound) ==
        "placement: none of the 1 nodes that accept tasks is at an allowed site with matching "
        "labels; 1 allowed node that takes no tasks now is: node 2 is drained");
  CHECK(first(too_large) ==
        "node_size: no allowed node is large enough even when empty: it asks for 5000 millicores "
        "of cpu, the most on any is 4000");
  cluster.node(3, cpu(4000), {.name = "big", .site = "b", .labels = {}}, false);
  names.closed[NodeId{3}] = "is down";
  CHECK_THAT(first(large),
             Catch::EndsWith("; 2 allowed nodes that take no tasks now are: node 2 is drained, "
                             "node big is down"));
  cluster.node(1, cpu(2000), at_site("a"), false);
  names.closed[NodeId{1}] = "drains";
  CHECK(first(large) ==
        "no_node_up: none of 3 nodes is up and accepts tasks: node 1 drains, node 2 is drained, "
        "node big is down");
}

}  // namespace
}  // namespace fairwater::test
