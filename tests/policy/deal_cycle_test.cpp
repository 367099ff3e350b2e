#include "policy/allocator/deal_cycle.hpp"

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("a cycle ends with the deal that fills it, and goes on with the rest",
          "[unit][allocator]") {
  Allocator allocator(default_settings());
  allocator.set_tenant(TenantId{1}, {});
  DealCycle cycle(std::move(allocator));
  for (std::uint32_t node = 1; node <= 3; ++node) cycle.set_node(NodeId{node}, {}, cpu(4000), true);
  DemandWindow window{.tenant = TenantId{1},
                      .next = {},
                      .pending = cpu(12'000),
                      .pending_tasks = 12,
                      .seen_deal = 0};
  window.next.push_back({.job = JobId{7}, .count = 12, .demand = cpu(1000), .rule = nullptr});
  cycle.take_window(window);

  const auto first = cycle.run(10, 5);  // a line and four grants
  REQUIRE(first.size() == 1);
  CHECK(first.front().entries() == 5);
  CHECK(cycle.is_due());
  const auto second = cycle.run(10, 6);  // the deal that passes the bound is made
  CHECK(second.size() == 2);
  CHECK_FALSE(cycle.is_due());
}

TEST_CASE("what grows leaves the room alone that is kept for a gang, whatever is dealt meanwhile",
          "[unit][allocator][growth]") {
  AllocatorSettings settings = default_settings();
  settings.accounting = Accounting::time;
  Allocator allocator(settings);
  for (std::uint32_t tenant = 1; tenant <= 3; ++tenant) allocator.set_tenant(TenantId{tenant}, {});
  DealCycle cycle(std::move(allocator));
  for (std::uint32_t node = 1; node <= 2; ++node) cycle.set_node(NodeId{node}, {}, cpu(4000), true);
  const auto show = [&](std::uint32_t tenant, const WaitingRange& range, bool is_growth) {
    DemandWindow window{.tenant = TenantId{tenant}, .next = {}, .pending = {}};
    window.seen_deal = cycle.last_deal();
    (is_growth ? window.growth : window.next).push_back(range);
    if (!is_growth) window.pending = range.demand;
    cycle.take_window(std::move(window));
    return cycle.run(10);
  };
  const WaitingRange task{
      .job = JobId{1}, .demand = cpu(4000), .rule = nullptr, .limit_ms = 60'000};
  REQUIRE(show(1, task, false).size() == 1);
  // It starts when the task must have ended, on both nodes.
  WaitingRange gang{.job = JobId{2}, .count = 2, .demand = cpu(3000), .rule = nullptr};
  gang.limit_ms = 60'000;
  gang.is_gang = true;
  REQUIRE(show(2, gang, false).empty());
  const WaitingRange grows{
      .job = JobId{3}, .first_index = 1, .demand = cpu(1000), .rule = nullptr, .limit_ms = 60'000};
  SECTION("as soon as it would") {}
  SECTION("after a second") {
    cycle.pass_to(1000);
    (void)cycle.settle_time();
    (void)cycle.settle_credits(1000);
  }
  CHECK(show(3, grows, true).empty());
  cycle.withdraw(TenantId{2}, JobId{2});
  CHECK(show(3, grows, true).size() == 1);
}

}  // namespace
}  // namespace fairwater::test
