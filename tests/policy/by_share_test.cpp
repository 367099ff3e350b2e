// Cycles by dominant shares: against progressive filling on the same input, and what holds beside.
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/dominant/drf.hpp"
#include "policy/dominant/weighted_share.hpp"
#include "share_cluster.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("the example of the DRF paper, and its way with weights", "[unit][by_share]") {
  ShareCluster cluster{GENERATE(Accounting::units, Accounting::time)};
  const Weight weight = GENERATE(1, 2);
  cluster.tenant(1, {});
  cluster.tenant(2, tenant_of_weight(weight));
  cluster.node(1, cpu_memory(9000, 18'432));
  cluster.submit(1, waiting_tasks(100, cpu_memory(1000, 4096)));
  cluster.submit(2, waiting_tasks(100, cpu_memory(3000, 1024)));
  cluster.run();
  CHECK(cluster.held(1) == 3);
  CHECK(cluster.held(2) == 2);
}

TEST_CASE("by share, an explanation says what belongs to a tenant", "[unit][by_share]") {
  ShareCluster cluster;
  cluster.tenant(1, tenant_of_weight(300'000'000));  // as those in a tree have them
  cluster.tenant(2, tenant_of_weight(700'000'000));
  cluster.node(1, cpu_memory(10'000, 10'240));
  const JobId job = cluster.submit(1, waiting_tasks(100, cpu_memory(2000, 1024)));
  cluster.submit(2, waiting_tasks(100, cpu_memory(3000, 1024)));
  cluster.run();
  const auto obstacles =
      cluster.cycle().allocator().explain_waiting(TenantId{1}, job, cluster.held(1));
  REQUIRE(obstacles.size() == 2);
  CHECK(obstacles[1].code == "share");
  CHECK(obstacles[1].message ==
        "its tenant's dominant share is 400 thousandths, and 300 belong to it by weight; 1 "
        "tenant(s) that wait have less by weight, and come first");
}

TEST_CASE("a cycle gives everybody as many tasks as progressive filling does",
          "[property][by_share]") {
  std::uint64_t placed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random{seed};
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    ResourceVector capacity = cpu_memory(static_cast<Amount>(draw(1, 200)) * 500,
                                         static_cast<Amount>(draw(1, 200)) * 512);
    capacity[2] = static_cast<Amount>(draw(0, 8));
    ShareCluster cluster;
    cluster.node(1, capacity);
    std::vector<DrfUser> users;
    for (std::uint32_t id = 1; id <= draw(1, 9); ++id) {
      DrfUser user;
      user.demand =
          cpu_memory(static_cast<Amount>(draw(0, 6)) * 250, static_cast<Amount>(draw(1, 6)) * 256);
      if (draw(0, 3) == 0) user.demand[2] = 1;
      user.weight = static_cast<Weight>(draw(1, 5));
      user.tasks = draw(1, 300);
      cluster.tenant(id, tenant_of_weight(user.weight));
      cluster.submit(id, waiting_tasks(static_cast<std::uint32_t>(*user.tasks), user.demand));
      users.push_back(user);
    }
    cluster.run(draw(0, 1) == 0 ? 1000 : 1);
    const DrfResult expected = drf_by_task(capacity, users);
    for (std::uint32_t id = 1; id <= users.size(); ++id) {
      CHECK(cluster.held(id) == expected.tasks[id - 1]);
      placed += expected.tasks[id - 1];
    }
  }
  CHECK(placed > 10'000);
}

/// Progressive filling over nodes by a look at everything: the first node by id that has room.
class NaiveFilling {
 public:
  struct Node {
    ResourceVector free;
    std::string site;
    bool accepts = true;
  };
  std::map<std::uint32_t, Node> nodes;
  std::map<std::uint32_t, ResourceVector> held;
  std::map<std::uint32_t, std::vector<WaitingRange>> queues;
  std::map<std::uint32_t, TenantTerms> terms;
  ResourceVector capacity;

  /// How many tasks each tenant gets.
  std::map<std::uint32_t, std::uint64_t> run() {
    std::map<std::uint32_t, std::uint64_t> given;
    while (const auto next = first()) {
      auto& [tenant, range, node] = *next;
      nodes[node].free -= range->demand;
      held[tenant] += range->demand;
      --range->count;
      ++given[tenant];
    }
    return given;
  }

 private:
  struct Next {
    std::uint32_t tenant;
    WaitingRange* range;
    std::uint32_t node;
  };
  [[nodiscard]] double share(std::uint32_t tenant) {
    double most = 0;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (held[tenant][r] > 0)
        most =
            std::max(most, static_cast<double>(held[tenant][r]) / static_cast<double>(capacity[r]) /
                               static_cast<double>(place_of(terms[tenant]).weight_of(r)));
    return most;
  }
  [[nodiscard]] std::optional<Next> first() {
    std::optional<Next> best;
    bool best_is_below = false;
    for (auto& [tenant, queue] : queues) {
      const auto next = first_of(tenant, queue);
      if (!next) continue;
      const bool is_below = is_below_min(tenant);
      if (best && best_is_below && !is_below) continue;
      if (best && best_is_below == is_below && share(tenant) >= share(best->tenant) - 1e-12)
        continue;
      best = next;
      best_is_below = is_below;
    }
    return best;
  }
  [[nodiscard]] std::optional<Next> first_of(std::uint32_t tenant,
                                             std::vector<WaitingRange>& queue) {
    for (WaitingRange& range : queue) {
      if (range.count == 0 || !(held[tenant] + range.demand).fits(within_max(tenant, range.demand)))
        continue;
      for (const bool at_first_site : {true, false})
        for (auto& [id, node] : nodes) {
          const bool is_at_first = range.rule == nullptr || node.site == range.rule->sites.front();
          if (node.accepts && is_at_first == at_first_site && range.demand.fits(node.free))
            return Next{tenant, &range, id};
        }
    }
    return std::nullopt;
  }
  /// The max of what the task asks for.
  [[nodiscard]] ResourceVector within_max(std::uint32_t tenant, const ResourceVector& demand) {
    ResourceVector max = terms[tenant].max;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (demand[r] == 0) max[r] = kUnlimited * 2 - 1;
    return max;
  }
  [[nodiscard]] bool is_below_min(std::uint32_t tenant) {
    const ResourceVector& min = terms[tenant].min;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (min[r] > 0 && held[tenant][r] >= min[r]) return false;
    return !min.is_zero();
  }
};

TEST_CASE("over nodes and time a cycle places what a look at everything places",
          "[property][by_share]") {
  std::uint64_t placed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random{seed};
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    ShareCluster cluster;
    std::map<std::uint32_t, std::pair<ResourceVector, NodeTraits>> nodes;
    std::map<std::uint32_t, bool> accepts;
    const auto count = static_cast<std::uint32_t>(draw(1, 12));
    for (std::uint32_t id = 1; id <= count; ++id) {
      nodes[id] = {cpu_memory(static_cast<Amount>(draw(1, 8)) * 1000,
                              static_cast<Amount>(draw(1, 8)) * 1024),
                   {.name = {}, .site = draw(0, 1) == 0 ? "a" : "b", .labels = {}}};
      accepts[id] = true;
      cluster.node(id, nodes[id].first, nodes[id].second);
    }
    const auto tenants = static_cast<std::uint32_t>(draw(1, 6));
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      TenantTerms terms = tenant_of_weight(static_cast<Weight>(draw(1, 5)));
      if (draw(0, 3) == 0) {
        terms.place = place_of(terms);
        terms.place->own_weights[draw(0, 1)] = static_cast<Weight>(draw(1, 5));
      }
      if (draw(0, 3) == 0) terms.min = cpu(static_cast<Amount>(draw(1, 4)) * 500);
      if (draw(0, 3) == 0) terms.max = cpu_memory(static_cast<Amount>(draw(4, 9)) * 1000, 8192);
      cluster.tenant(id, terms);
    }
    for (int step = 0; step < 30; ++step) {
      INFO("seed " << seed << ", step " << step);
      for (auto ends = draw(0, 5); ends > 0 && !cluster.running().empty(); --ends)
        cluster.end(std::next(cluster.running().begin(),
                              static_cast<std::ptrdiff_t>(draw(0, cluster.running().size() - 1)))
                        ->first);
      if (draw(0, 5) == 0) {
        const auto id = static_cast<std::uint32_t>(draw(1, count));
        accepts[id] = !accepts[id];
        cluster.node(id, nodes[id].first, nodes[id].second, accepts[id]);
      }
      WaitingRange range = waiting_tasks(
          static_cast<std::uint32_t>(draw(1, 12)),
          cpu_memory(static_cast<Amount>(draw(0, 4)) * 500, static_cast<Amount>(draw(1, 4)) * 512));
      if (draw(0, 3) == 0)
        range.rule = std::make_shared<PlacementRule>(PlacementRule{{"a", "b"}, {}});
      cluster.submit(static_cast<std::uint32_t>(draw(1, tenants)), range);

      NaiveFilling naive;
      for (const auto& [id, node] : nodes)
        naive.nodes[id] = {node.first, node.second.site, accepts[id]};
      for (const auto& [key, running] : cluster.running()) {
        naive.nodes[running.node.value].free -= running.demand;
        naive.held[running.tenant.value] += running.demand;
      }
      for (const auto& [id, node] : nodes)
        naive.capacity += accepts[id] ? node.first : node.first - naive.nodes[id].free;
      naive.queues = cluster.queues();
      for (std::uint32_t id = 1; id <= tenants; ++id) naive.terms[id] = cluster.terms(id);
      std::map<std::uint32_t, std::uint64_t> before;
      for (std::uint32_t id = 1; id <= tenants; ++id) before[id] = cluster.held(id);
      auto expected = naive.run();
      cluster.run();
      for (std::uint32_t id = 1; id <= tenants; ++id) {
        REQUIRE(cluster.held(id) - before[id] == expected[id]);
        placed += expected[id];
      }
    }
  }
  CHECK(placed > 2000);
}

TEST_CASE("by share, placement rules choose nodes and gangs start whole", "[unit][by_share]") {
  ShareCluster cluster;
  cluster.tenant(1, {});
  cluster.tenant(2, {});
  cluster.node(1, cpu(2000));
  cluster.node(2, cpu(8000));
  SECTION("a rule") {
    WaitingRange range = waiting_tasks(1, cpu(1000));
    range.placement = Placement::spread;
    cluster.submit(1, range);
    const auto deals = cluster.run();
    REQUIRE(deals.size() == 1);
    CHECK(deals[0].node == NodeId{2});
    CHECK(deals[0].grants[0].placement == Placement::spread);
  }
  SECTION("a gang over both nodes, in one cycle, or not at all") {
    WaitingRange gang = waiting_tasks(9, cpu(1000));
    gang.is_gang = true;
    cluster.submit(1, gang);
    cluster.run(1);
    CHECK(cluster.held(1) == 9);
    gang.count = 2;
    cluster.submit(2, gang);
    cluster.run();
    CHECK(cluster.held(2) == 0);
    cluster.end(cluster.running().begin()->first);
    cluster.run();
    CHECK(cluster.held(2) == 2);
  }
}

TEST_CASE("by share, debts of before stay and nobody keeps room", "[unit][by_share]") {
  AllocatorSettings settings = default_settings();
  settings.allocation = AllocationRule::drf;
  DealCycle cycle{Allocator{settings}};
  cycle.set_tenant(TenantId{1}, {});
  cycle.set_tenant(TenantId{2}, {});
  AccountsSnapshot before = cycle.allocator().accounts().snapshot();
  before.ious.push_back({.debtor = 1, .creditor = 2, .units = 7, .age = 0});
  before.reservations.emplace(NodeId{1}, Reservation{TenantId{2}, cpu(4000)});
  cycle.restore(before);
  cycle.set_node(NodeId{1}, {}, cpu(4000), true);
  WaitingRange range = waiting_tasks(9, cpu(1000));
  range.job = JobId{1};
  cycle.take_window({.tenant = TenantId{1},
                     .next = {range},
                     .pending = cpu(9000),
                     .pending_tasks = 9,
                     .seen_deal = 0});
  const auto deals = cycle.run(100, 100);
  REQUIRE(deals.size() == 1);
  CHECK(deals[0].grants.size() == 4);
  CHECK(cycle.allocator().book().net(1) == -7);
  CHECK_FALSE(cycle.node(NodeId{1}).reserved_for.has_value());
  CHECK_FALSE(cycle.settle_time());
  CHECK_FALSE(cycle.is_due());
  const auto why = cycle.explain_waiting(TenantId{1}, JobId{1}, 4, {});
  REQUIRE_FALSE(why.empty());
  CHECK(why[0].code == "node_busy");
}

TEST_CASE("weighted shares of any size are compared exactly", "[property][by_share]") {
  std::mt19937_64 random{7};
  for (int i = 0; i < 20'000; ++i) {
    const auto draw = [&](int bits) {
      return static_cast<std::int64_t>(1 + random() % (std::uint64_t{1} << bits));
    };
    const int bits = 1 + static_cast<int>(random() % 20);
    const WeightedShare a{draw(bits), draw(bits), draw(bits)};
    const WeightedShare b{draw(bits), draw(bits), draw(bits)};
    const Wide left = Wide{a.amount} * b.total * b.weight,
               right = Wide{b.amount} * a.total * a.weight;
    CHECK((compare(a, b) < 0) == (left < right));
    CHECK((compare(a, b) == 0) == (left == right));
  }
  const auto is_less = [](std::strong_ordering order) { return order < 0; };
  constexpr Amount kMost = std::numeric_limits<Amount>::max();
  constexpr Weight kHeavy = 0xFFFF'FFFF;
  CHECK(is_less(compare({kMost - 1, kMost, kHeavy}, {kMost, kMost, kHeavy})));
  CHECK(is_less(compare({kMost, kMost, kHeavy}, {kMost, kMost - 1, kHeavy})));
  CHECK_FALSE(is_less(compare({1, 0, 1}, {kMost, 1, 1})));
  CHECK(is_less(compare({0, 1, 1}, {1, kMost, kHeavy})));
}

}  // namespace
}  // namespace fairwater::test
