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

}  // namespace
}  // namespace fairwater::test
