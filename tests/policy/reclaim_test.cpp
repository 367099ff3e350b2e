// What is taken back where room on a node is not what is missing: below a group's max, of devices
// that a job names, and under a rule by which nothing grows.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "elastic_model.hpp"
#include "preemption_model.hpp"

namespace fairwater::test {
namespace {

constexpr std::size_t kFpga = 2;

AllocatorSettings with_fpgas() {
  AllocatorSettings settings = default_settings();
  settings.granules[kFpga] = 1;
  settings.resources = {"cpu", "memory", "fpga"};
  return settings;
}

ResourceVector cpu_and_fpgas(Amount millicores, Amount fpgas) {
  ResourceVector amounts = cpu(millicores);
  amounts[kFpga] = fpgas;
  return amounts;
}

DemandWindow window_of(std::uint32_t tenant, std::vector<WaitingRange> next,
                       std::vector<WaitingRange> growth = {}) {
  DemandWindow window;
  window.tenant = TenantId{tenant};
  for (const WaitingRange& range : next) window.pending += range.demand * Amount{range.count};
  window.pending_tasks = static_cast<std::uint32_t>(next.size());
  window.next = std::move(next);
  window.growth = std::move(growth);
  return window;
}

WaitingRange asks(std::uint32_t job, const ResourceVector& demand, std::uint32_t first = 0,
                  std::uint32_t count = 1) {
  return {
      .job = JobId{job}, .first_index = first, .count = count, .demand = demand, .rule = nullptr};
}

WaitingRange asks_for(const std::string& device, std::uint32_t job) {
  WaitingRange range = asks(job, cpu_and_fpgas(1000, 1));
  range.rule = std::make_shared<PlacementRule>(PlacementRule{{}, {}, {device}});
  return range;
}

std::vector<Reclaim> run_all(DealCycle& cycle) {
  std::vector<Reclaim> all;
  while (cycle.is_due()) {
    (void)cycle.run(100);
    for (const Reclaim& reclaim : cycle.take_reclaims()) all.push_back(reclaim);
  }
  return all;
}

/// One node of four processors and two boards; the first tenant's job has grown over it.
DealCycle grown(const ResourceVector& each) {
  DealCycle cycle{Allocator(with_fpgas())};
  cycle.set_tenant(TenantId{1}, {});
  cycle.set_tenant(TenantId{2}, {});
  cycle.set_node(NodeId{1}, {"node1", "", {}, {{"fpga", {"left", "right"}}}},
                 cpu_and_fpgas(4000, 2), true);
  cycle.take_window(window_of(1, {asks(1, cpu(1000))}, {asks(1, each, 1, 9)}));
  REQUIRE(run_all(cycle).empty());
  return cycle;
}

}  // namespace

TEST_CASE("growth makes room below a group's max for who else is in it", "[unit][growth]") {
  ElasticModel model;
  model.group(1, cpu(4000));
  model.tenant(1, in_group(1));
  model.tenant(2, in_group(1));
  model.node(1, cpu(6000));
  model.submit(1, cpu(1000), 1, 8);
  model.run();
  REQUIRE(model.extras(1) == 3);  // what is free is beyond the group's max
  model.submit(2, cpu(2000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].claimant == TenantId{2});
  CHECK(model.run().empty());
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 1);
  CHECK(model.extras(1) == 1);
}

TEST_CASE("nothing grows into what was given back below a group's max", "[unit][growth]") {
  DealCycle cycle{Allocator(default_settings())};
  GroupTerms faculty;
  faculty.max = cpu(4000);
  cycle.allocator().set_group(GroupId{1}, faculty);
  cycle.set_tenant(TenantId{1}, in_group(1));
  cycle.set_tenant(TenantId{2}, in_group(1));
  cycle.set_node(NodeId{1}, {"node1", "here", {}}, cpu(4000), true);
  cycle.take_window(window_of(1, {asks(1, cpu(1000))}, {asks(1, cpu(1000), 1, 9)}));
  REQUIRE(run_all(cycle).empty());
  cycle.set_node(NodeId{2}, {"node2", "there", {}}, cpu(4000), true);
  REQUIRE(run_all(cycle).empty());
  WaitingRange there = asks(2, cpu(1000));
  there.rule = std::make_shared<PlacementRule>(PlacementRule{{"there"}, {}, {}});
  cycle.take_window(window_of(2, {there}));
  const auto reclaims = run_all(cycle);
  REQUIRE(reclaims.size() == 1);
  REQUIRE(cycle.release(reclaims[0].task));
  WaitingRange again = asks(1, cpu(1000), reclaims[0].task.index, 7);
  again.attempt = 2;
  cycle.take_window(window_of(1, {}, {again}));
  cycle.beat(NodeId{1});  // before the node where the other waits
  CHECK(run_all(cycle).empty());
  cycle.beat(NodeId{2});
  CHECK(run_all(cycle).empty());
  CHECK(cycle.tenant(TenantId{2}).used == cpu(1000));
  CHECK(cycle.tenant(TenantId{1}).used == cpu(3000));
}

TEST_CASE("nothing within a group's min is preempted for who is not in it", "[unit][preemption]") {
  // Of two processors the group has one, by a task of the first that is beyond its own quota, since
  // the second waits; and the youngest goes first.
  const auto with_min_of_group = [](std::optional<Amount> min, std::vector<std::uint32_t> who) {
    PreemptionModel model;
    model.cycle.pass_to(1'000'000);
    GroupTerms faculty;
    faculty.min[kCpu] = min;
    model.cycle.allocator().set_group(GroupId{1}, faculty);
    for (const std::uint32_t member : {1, 2}) model.tenant(member, in_group(1));
    model.tenant(3);
    model.tenant(4, {.min = cpu(1000)});
    model.node(1, cpu(2000), {"node1", "", {}});
    for (const std::uint32_t tenant : who) {
      model.submit(tenant, 1, cpu(1000));
      REQUIRE(model.run().empty());
      model.pass(10);
    }
    model.pass(kWhile_ms);
    return model;
  };
  const auto whose = [](PreemptionModel model, std::uint32_t urgent, Amount millicores) {
    model.submit(urgent, 1, cpu(millicores), kUrgent);
    const auto reclaims = model.run();
    REQUIRE(reclaims.size() == 1);
    return reclaims[0].tenant.value;
  };
  CHECK(whose(with_min_of_group(std::nullopt, {3, 1, 2}), 4, 1000) == 1);
  CHECK(whose(with_min_of_group(Amount{1000}, {3, 1, 2}), 4, 1000) == 3);
  // Among those that are in it the group loses nothing.
  CHECK(whose(with_min_of_group(Amount{2000}, {1, 1}), 2, 500) == 1);
}

TEST_CASE("growth makes room for who names a device that is free", "[unit][growth]") {
  DealCycle cycle = grown(cpu(1000));
  cycle.take_window(window_of(2, {asks_for("right", 2), asks_for("right", 3)}));
  const auto reclaims = run_all(cycle);
  REQUIRE(reclaims.size() == 1);  // not for the second, who would have to wait for the first
  CHECK(reclaims[0].claimant_job == JobId{2});
}

TEST_CASE("who has grown and has the device that is named gives back", "[unit][growth]") {
  DealCycle cycle = grown(cpu_and_fpgas(1000, 1));  // two of them, the newest with the right one
  cycle.take_window(window_of(2, {asks_for("left", 2)}));
  const auto reclaims = run_all(cycle);
  REQUIRE(reclaims.size() == 1);
  CHECK(reclaims[0].task == TaskKey{JobId{1}, 1, 1});
  CHECK(cycle.release(reclaims[0].task));
  cycle.beat(NodeId{1});
  CHECK(run_all(cycle).empty());
  CHECK(cycle.tenant(TenantId{2}).used == cpu_and_fpgas(1000, 1));
}

TEST_CASE("by dominant shares nothing stays that had grown before", "[unit][growth]") {
  AllocatorSettings settings = default_settings();
  settings.allocation = AllocationRule::drf;
  DealCycle cycle{Allocator(settings)};
  cycle.set_tenant(TenantId{1}, {});
  cycle.set_node(NodeId{1}, {"node1", "", {}}, cpu(4000), true);
  std::vector<HeldTask> held;
  for (std::uint32_t index = 0; index < 3; ++index) {
    Grant grant{
        .task = {JobId{1}, index, 1}, .tenant = TenantId{1}, .cost = 10, .demand = cpu(1000)};
    grant.step = index == 0 ? GrantStep::allowance : GrantStep::growth;
    grant.beyond_quota = index > 0;
    held.push_back({.node = NodeId{1}, .grant = grant});
  }
  cycle.allocator().restore_held(held);
  cycle.consider_all_nodes();
  const auto reclaims = run_all(cycle);
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].task.index + reclaims[1].task.index == 3);
  CHECK(run_all(cycle).empty());
}

}  // namespace fairwater::test
