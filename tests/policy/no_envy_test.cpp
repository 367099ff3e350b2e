// What a state promises each tenant: no gain from overstating, no envy by more than a task.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "draw.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test::envy {
namespace {

// -- what tenants are promised -------------------------------------------------------------------

/// By dominant shares, whose promises are of every moment: what the sequence promises is over time
/// (allocator_property_test.cpp). Tenants of one weight on one empty node of one resource, each
/// with so many tasks of one size.
struct Wish {
  Amount size = 1;
  std::uint32_t tasks = 1;
};
std::vector<std::uint32_t> granted_tasks(Amount capacity, const std::vector<Wish>& wishes) {
  AllocatorSettings settings;
  settings.granules = cpu(1);
  settings.allocation = AllocationRule::drf;
  DealCycle cycle{Allocator(settings)};
  cycle.set_node(NodeId{1}, {}, cpu(capacity), true);
  for (std::uint32_t i = 0; i < wishes.size(); ++i) cycle.set_tenant(TenantId{i + 1}, {});
  std::vector<std::uint32_t> granted(wishes.size());
  for (std::uint32_t before = 1, sum = 0; before != sum;) {
    before = sum;
    for (std::uint32_t i = 0; i < wishes.size(); ++i) {
      const std::uint32_t left = wishes[i].tasks - granted[i];
      DemandWindow window{.tenant = TenantId{i + 1}, .next = {}, .pending = {}};
      if (left > 0)
        window.next = {{.job = JobId{i + 1},
                        .first_index = granted[i],
                        .count = left,
                        .demand = cpu(wishes[i].size),
                        .rule = nullptr}};
      window.pending = cpu(wishes[i].size) * Amount{left};
      window.pending_tasks = left;
      window.seen_deal = cycle.last_deal();
      cycle.take_window(window);
    }
    cycle.consider_all_nodes();
    for (const Deal& deal : cycle.run(1000))
      for (const Grant& grant : deal.grants) {
        ++granted[grant.tenant.value - 1];
        ++sum;
      }
  }
  return granted;
}

}  // namespace

TEST_CASE("by share nobody prefers another's grant, or gains by overstating, by more than a task",
          "[property][states]") {
  const std::uint64_t states = states_to_look_at(1000);
  std::uint64_t envied = 0, overstated = 0;
  for (std::uint64_t seed = 1; seed <= states; ++seed) {
    Draw draw(seed);
    const auto capacity = draw.in<Amount>(8, 60);
    std::vector<Wish> wishes;
    for (auto tenants = draw.in(2, 5); tenants > 0; --tenants)
      wishes.push_back({draw.in<Amount>(1, 8), draw.in(1, 20)});
    const auto granted = granted_tasks(capacity, wishes);
    std::string story = "seed " + std::to_string(seed) + ", room " + std::to_string(capacity) + ":";
    for (std::size_t i = 0; i < wishes.size(); ++i)
      story += " " + std::to_string(granted[i]) + " of " + std::to_string(wishes[i].tasks) +
               " by " + std::to_string(wishes[i].size) + ",";
    INFO(story);
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      if (granted[i] == wishes[i].tasks) continue;
      for (std::size_t j = 0; j < wishes.size(); ++j) {
        if (j == i || granted[j] == 0) continue;
        const Amount other = wishes[j].size * (granted[j] - 1);
        REQUIRE(other / wishes[i].size <= granted[i]);
        ++envied;
      }
    }
    const std::size_t liar = draw.in<std::size_t>(0, static_cast<std::int64_t>(wishes.size()) - 1);
    auto lies = wishes;
    lies[liar].tasks += draw.in(1, 30);
    REQUIRE(std::min(granted_tasks(capacity, lies)[liar], wishes[liar].tasks) <= granted[liar]);
    lies = wishes;
    lies[liar].size += draw.in<Amount>(1, 8);
    if (granted[liar] < wishes[liar].tasks) ++overstated;
    // Tasks are whole: what it may win is the room of one task of another that no longer fits.
    Amount largest_of_others = 0;
    for (std::size_t i = 0; i < wishes.size(); ++i)
      if (i != liar) largest_of_others = std::max(largest_of_others, wishes[i].size);
    const Amount won =
        (Amount{granted_tasks(capacity, lies)[liar]} - granted[liar]) * wishes[liar].size;
    REQUIRE(won <= largest_of_others);
  }
  CHECK(envied > states / 2);
  CHECK(overstated > states / 4);
}

}  // namespace fairwater::test::envy
