// What a window does not show yet is kept from others, until the next window shows it.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {
namespace {

constexpr std::size_t kShown = 64;  // ranges of a window

/// Tenants whose jobs wait in order, and show no more of them than a window holds.
struct Short {
  explicit Short(AllocatorSettings settings) : cycle(Allocator(std::move(settings))) {}

  void tenant(std::uint32_t id, Weight weight, Amount max = kUnlimited) {
    TenantTerms terms;
    terms.weight = weight;
    terms.max[kCpu] = max;
    cycle.set_tenant(TenantId{id}, terms);
  }
  void nodes(std::uint32_t count, Amount millicores) {
    for (std::uint32_t node = 1; node <= count; ++node)
      cycle.set_node(NodeId{node}, {}, cpu(millicores), true);
  }
  void submit(std::uint32_t tenant, std::uint32_t jobs, std::uint32_t tasks, Amount millicores) {
    for (std::uint32_t i = 0; i < jobs; ++i)
      queues[tenant].push_back({.job = JobId{++last_job},
                                .count = tasks,
                                .demand = cpu(millicores),
                                .rule = nullptr,
                                .expected_ms = expected_ms});
  }
  /// Behind what a window shows.
  static bool hides_alike(const std::deque<WaitingRange>& queue, const ResourceVector& demand) {
    for (std::size_t i = kShown; i < queue.size(); ++i)
      if (queue[i].demand == demand) return true;
    return false;
  }
  void show(std::uint32_t tenant) {
    DemandWindow window{.tenant = TenantId{tenant}, .next = {}, .pending = {}};
    for (const WaitingRange& range : queues[tenant]) {
      if (window.next.size() < kShown) window.next.push_back(range);
      window.pending += range.demand * Amount{range.count};
      window.pending_tasks += range.count;
    }
    for (WaitingRange& range : window.next)
      range.hides_alike = hides_alike(queues[tenant], range.demand);
    window.seen_deal = cycle.last_deal();
    cycle.take_window(std::move(window));
  }
  /// One cycle; whose tasks were granted, they have not shown the next ones yet.
  std::set<std::uint32_t> run() {
    std::set<std::uint32_t> granted;
    for (const Deal& deal : cycle.run(100'000))
      for (const Grant& grant : deal.grants) {
        auto& queue = queues[grant.tenant.value];
        const auto range = std::find_if(queue.begin(), queue.end(), [&](const WaitingRange& of) {
          return of.job == grant.task.job;
        });
        REQUIRE(range != queue.end());
        ++range->first_index;
        if (--range->count == 0) queue.erase(range);
        granted.insert(grant.tenant.value);
        running.emplace_back(grant.task, deal.node);
      }
    return granted;
  }
  /// Until nothing more is granted. How many cycles granted something.
  int fill() {
    for (const auto& [tenant, queue] : queues) show(tenant);
    int cycles = 0;
    for (auto granted = run(); !granted.empty(); granted = run(), ++cycles)
      for (const std::uint32_t tenant : granted) show(tenant);
    return cycles;
  }
  void end_all() {
    for (const auto& [task, node] : std::exchange(running, {})) {
      REQUIRE(cycle.release(task));
      cycle.beat(node);
    }
  }
  [[nodiscard]] Amount held(std::uint32_t tenant) const {
    return cycle.tenant(TenantId{tenant}).used[kCpu] / 1000;
  }

  DealCycle cycle;
  std::map<std::uint32_t, std::deque<WaitingRange>> queues;
  std::vector<std::pair<TaskKey, NodeId>> running;
  std::uint64_t last_job = 0;
  std::int64_t expected_ms = 0;
};

TEST_CASE("what a creditor's window does not show yet its debtor does not take",
          "[unit][allocator]") {
  Short cluster(default_settings(Accounting::time));
  cluster.expected_ms = 10'000;
  cluster.tenant(1, 1);
  cluster.tenant(2, 1);
  SECTION("of many nodes") { cluster.nodes(160, 1000); }
  SECTION("of a large one") { cluster.nodes(1, 160'000); }
  cluster.submit(1, 1, 1000, 1000);
  cluster.fill();
  REQUIRE(cluster.held(1) == 160);
  cluster.cycle.pass_to(100'000);
  (void)cluster.cycle.settle_time();
  REQUIRE(cluster.cycle.allocator().book().net(2) == 80 * 10 * 100'000);
  cluster.submit(2, 400, 1, 1000);
  cluster.end_all();
  cluster.fill();
  CHECK(cluster.held(1) == 0);
  CHECK(cluster.held(2) == 160);
}

TEST_CASE("jobs of one task beside a job of thousands hold their part of an idle cluster",
          "[unit][allocator]") {
  AllocatorSettings settings = default_settings(GENERATE(Accounting::units, Accounting::time));
  settings.allocation = GENERATE(AllocationRule::sequence, AllocationRule::drf);
  Short cluster(settings);
  cluster.tenant(1, 1);
  cluster.tenant(2, 3);
  SECTION("of many nodes") { cluster.nodes(100, 16'000); }
  SECTION("of a large one") { cluster.nodes(1, 1'600'000); }
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 3000, 1, 1000);
  cluster.fill();
  CHECK(cluster.held(1) == 400);
  CHECK(cluster.held(2) == 1200);
  CHECK(cluster.cycle.allocator().book().net(1) == 0);
}

TEST_CASE("within a tree, and with tasks of several sizes, too", "[unit][allocator]") {
  Short cluster(default_settings(GENERATE(Accounting::units, Accounting::time)));
  // The first group: 1 and 2, and 3 beside it; each has a third.
  const GroupId group{1};
  TenantTree tree{.groups = {{group, {.place = {.group = {}, .weight = 2}}}}, .tenants = {}};
  for (std::uint32_t id = 1; id <= 3; ++id) {
    TenantTerms terms;
    terms.place = QuotaPlace{.group = id < 3 ? group : GroupId{}, .weight = 1};
    tree.tenants.push_back({TenantId{id}, terms});
  }
  cluster.cycle.set_tree(tree, {});
  cluster.nodes(60, 16'000);
  cluster.submit(1, 1000, 1, 1000);
  cluster.submit(2, 2000, 1, 2000);
  cluster.submit(3, 4, 1000, 1000);
  cluster.fill();
  CHECK(cluster.held(1) == 320);
  CHECK(cluster.held(2) == 320);
  CHECK(cluster.held(3) == 320);
}

TEST_CASE("a cycle waits for the next window of who has run out below its quota",
          "[unit][allocator]") {
  Short cluster(default_settings(GENERATE(Accounting::units, Accounting::time)));
  cluster.tenant(1, 1);
  cluster.tenant(2, 3);
  cluster.nodes(100, 16'000);
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 3000, 1, 1000);
  cluster.show(1);
  cluster.show(2);
  REQUIRE(cluster.run().contains(2));
  CHECK(cluster.held(2) == kShown);
  CHECK(cluster.held(1) <= 400);
  // Neither a window of another's nor a heartbeat is what it waits for.
  cluster.show(1);
  cluster.cycle.beat(NodeId{100});
  CHECK_FALSE(cluster.cycle.is_due());
  CHECK(cluster.run().empty());
  SECTION("the next window") {
    cluster.show(2);
    CHECK(cluster.cycle.is_due());
    CHECK(cluster.run().contains(2));
    CHECK(cluster.held(2) == 2 * kShown);
  }
  SECTION("what it had more is cancelled") {
    cluster.queues[2].clear();
    cluster.show(2);
    CHECK(cluster.fill() > 0);
    CHECK(cluster.held(1) == 1600 - kShown);
  }
}

TEST_CASE("who has its quota is not waited for when its window has run out", "[unit][allocator]") {
  Short cluster(default_settings(GENERATE(Accounting::units, Accounting::time)));
  cluster.tenant(1, 1);
  cluster.tenant(2, 3, kShown * 1000);
  cluster.nodes(100, 16'000);
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 3000, 1, 1000);
  cluster.show(1);
  cluster.show(2);
  cluster.run();
  CHECK(cluster.held(2) == kShown);
  CHECK(cluster.held(1) == 1600 - kShown);
}

TEST_CASE("tasks that have room nowhere do not keep a window from running out",
          "[unit][allocator]") {
  AllocatorSettings settings = default_settings(GENERATE(Accounting::units, Accounting::time));
  settings.allocation = GENERATE(AllocationRule::sequence, AllocationRule::drf);
  Short cluster(settings);
  cluster.tenant(1, 1);
  cluster.tenant(2, 3);
  SECTION("on many nodes") { cluster.nodes(100, 16'000); }
  SECTION("on a large one") { cluster.nodes(1, 1'600'000); }
  // One node would do for them, and takes nothing now.
  cluster.cycle.set_node(NodeId{200}, {}, cpu(2'000'000), false);
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 10, 1, 2'000'000);
  cluster.submit(2, 1500, 1, 1000);
  cluster.submit(2, 10, 1, 2'000'000);
  cluster.submit(2, 1500, 1, 1000);
  cluster.fill();
  CHECK(cluster.held(1) == 400);
  CHECK(cluster.held(2) == 1200);
}

TEST_CASE("a window that hides only what has no room either is not waited for",
          "[unit][allocator]") {
  AllocatorSettings settings = default_settings(GENERATE(Accounting::units, Accounting::time));
  settings.allocation = GENERATE(AllocationRule::sequence, AllocationRule::drf);
  Short cluster(settings);
  cluster.tenant(1, 1);
  cluster.tenant(2, 3);
  SECTION("on many nodes") { cluster.nodes(100, 16'000); }
  SECTION("on a large one") { cluster.nodes(1, 1'600'000); }
  cluster.cycle.set_node(NodeId{200}, {}, cpu(2'000'000), false);
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 63, 1, 2'000'000);
  cluster.submit(2, 1, 1, 1000);
  cluster.submit(2, 100, 1, 2'000'000);
  cluster.show(1);
  cluster.show(2);
  cluster.run();
  CHECK(cluster.held(2) == 1);
  CHECK(cluster.held(1) == 1599);
}

TEST_CASE("what a max keeps back does not keep a window from running out", "[unit][allocator]") {
  Short cluster(default_settings(GENERATE(Accounting::units, Accounting::time)));
  cluster.tenant(1, 1);
  TenantTerms terms;
  terms.weight = 3;
  terms.max[1] = 0;
  cluster.cycle.set_tenant(TenantId{2}, terms);
  for (std::uint32_t node = 1; node <= 100; ++node) {
    ResourceVector capacity = cpu(16'000);
    capacity[1] = 16;
    cluster.cycle.set_node(NodeId{node}, {}, capacity, true);
  }
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 10, 1, 1000);
  for (WaitingRange& range : cluster.queues[2]) range.demand[1] = 1;
  cluster.submit(2, 3000, 1, 1000);
  cluster.fill();
  CHECK(cluster.held(1) == 400);
  CHECK(cluster.held(2) == 1200);
}

TEST_CASE("a window that shows what has room elsewhere is not waited for", "[unit][allocator]") {
  Short cluster(default_settings(GENERATE(Accounting::units, Accounting::time)));
  cluster.tenant(1, 1);
  cluster.tenant(2, 3);
  cluster.nodes(100, 16'000);
  cluster.submit(1, 2, 2000, 1000);
  cluster.submit(2, 32, 1, 1000);
  cluster.submit(2, 3000, 1, 16'000);
  cluster.show(1);
  cluster.show(2);
  cluster.run();
  CHECK(cluster.held(2) == 32 + 32 * 16);
}

}  // namespace
}  // namespace fairwater::test
