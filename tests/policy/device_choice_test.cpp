// Which devices tasks get by name: the choice alone, and an allocator under random jobs.
#include "policy/allocator/device_choice.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::test {
namespace {

using DeviceNames = std::vector<std::string>;
constexpr std::size_t kGpu = 2;
const DeviceNames kResources{"cpu", "memory", "gpu"};

NodeTraits node_with_gpus(const DeviceNames& names) {
  NodeTraits traits{"node", "here", {}};
  traits.devices = {{"gpu", names}};
  return traits;
}

ResourceVector some_gpus(Amount count) {
  ResourceVector demand = cpu(100);
  demand[kGpu] = count;
  return demand;
}

std::optional<DeviceNames> chosen(const DeviceUses& held, Amount count,
                                  const DeviceNames& names = {},
                                  const std::set<std::string>& left_for_last = {}) {
  const ResourceVector demand = some_gpus(count);
  return choose_devices(node_with_gpus({"gpu0", "gpu1", "gpu2"}), kResources, held,
                        {demand, names, left_for_last});
}

}  // namespace

TEST_CASE("a task gets what it names, and beyond that the first free ones", "[unit][devices]") {
  CHECK(chosen({}, 2) == DeviceNames{"gpu0", "gpu1"});
  CHECK(chosen({}, 1, {"gpu2"}) == DeviceNames{"gpu2"});
  CHECK(chosen({}, 2, {"gpu2"}) == DeviceNames{"gpu0", "gpu2"});
  CHECK(chosen({}, 0) == DeviceNames{});
  const DeviceUses held{{{JobId{1}, 0, 1}, {some_gpus(1), {"gpu0"}}}};
  CHECK(chosen(held, 1) == DeviceNames{"gpu1"});
  CHECK(chosen(held, 1, {"gpu0"}) == std::nullopt);
  CHECK(chosen({}, 1, {"gpu0", "gpu1"}) == std::nullopt);  // it takes fewer than it names
  REQUIRE(holder_of(held, "gpu0"));
  CHECK(holder_of(held, "gpu0")->first.job == JobId{1});
  CHECK(holder_of(held, "gpu1") == nullptr);
}

TEST_CASE("what others ask for by name is given last", "[unit][devices]") {
  CHECK(chosen({}, 2, {}, {"gpu0"}) == DeviceNames{"gpu1", "gpu2"});
  CHECK(chosen({}, 3, {}, {"gpu0"}) == DeviceNames{"gpu0", "gpu1", "gpu2"});
}

TEST_CASE("beside a task whose devices nobody knows none is given by name", "[unit][devices]") {
  const DeviceUses held{{{JobId{1}, 0, 1}, {some_gpus(1), {}}}};
  CHECK(chosen(held, 1) == DeviceNames{});
  CHECK(chosen(held, 1, {"gpu2"}) == std::nullopt);
  CHECK(chosen({{{JobId{1}, 0, 1}, {cpu(100), {}}}}, 1, {"gpu2"}) == DeviceNames{"gpu2"});
}

TEST_CASE("nothing gives back for a device that somebody holds", "[unit][devices][growth]") {
  AllocatorSettings settings = default_settings();
  settings.granules[kGpu] = 1;
  settings.resources = kResources;
  DealCycle cycle{Allocator(settings)};
  ResourceVector capacity = cpu(1000);
  capacity[kGpu] = 2;
  cycle.set_node(NodeId{1}, node_with_gpus({"gpu0", "gpu1"}), capacity, true);
  for (std::uint32_t tenant = 1; tenant <= 2; ++tenant) cycle.set_tenant(TenantId{tenant}, {});
  PlacementRule names_gpu0;
  names_gpu0.devices = {"gpu0"};
  const auto wants = [&](std::uint32_t tenant, std::uint64_t job, PlacementRulePtr rule) {
    WaitingRange range;
    range.job = JobId{job};
    range.demand = some_gpus(1);
    range.rule = std::move(rule);
    DemandWindow window;
    window.tenant = TenantId{tenant};
    window.seen_deal = cycle.last_deal();
    window.next = {range};
    window.pending = range.demand;
    window.pending_tasks = 1;
    return window;
  };
  DemandWindow first = wants(1, 1, std::make_shared<const PlacementRule>(names_gpu0));
  for (std::uint32_t index = 0; index < 9; ++index) {
    WaitingRange grows;
    grows.job = JobId{2};
    grows.first_index = index;
    grows.demand = cpu(100);
    first.growth.push_back(grows);
  }
  cycle.take_window(first);
  std::size_t granted = 0;
  while (cycle.is_due())
    for (const Deal& deal : cycle.run(100)) granted += deal.grants.size();
  REQUIRE(granted == 10);

  DemandWindow nothing;  // all that it had has been dealt to it
  nothing.tenant = TenantId{1};
  nothing.seen_deal = cycle.last_deal();
  cycle.take_window(nothing);
  SECTION("which is asked for by its name") {
    cycle.take_window(wants(2, 4, std::make_shared<const PlacementRule>(names_gpu0)));
    while (cycle.is_due()) CHECK(cycle.run(100).empty());
    CHECK(cycle.take_reclaims().empty());
  }
  SECTION("but for any one, if another is free") {
    cycle.take_window(wants(2, 4, nullptr));
    while (cycle.is_due()) CHECK(cycle.run(100).empty());
    CHECK(cycle.take_reclaims().size() == 1);
  }
}

TEST_CASE("no device is given twice, the named ones are given, and a restart knows who has which",
          "[property][devices]") {
  std::uint64_t named_grants = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    AllocatorSettings settings = default_settings();
    settings.granules[kGpu] = 1;
    settings.resources = kResources;
    if (below(3) == 0) settings.allocation = AllocationRule::drf;
    Allocator allocator{settings};
    allocator.set_tenant(TenantId{1}, {});
    ResourceVector capacity = cpu_memory(8000, 8192);
    capacity[kGpu] = 3;
    for (std::uint32_t node = 1; node <= 2; ++node)
      allocator.set_node(NodeId{node}, node_with_gpus({"gpu0", "gpu1", "gpu2"}), capacity, true);
    struct Wanted {
      JobId job;
      Amount count;
      PlacementRulePtr rule;
    };
    std::vector<Wanted> waiting;
    std::map<TaskKey, HeldTask> held;
    std::uint64_t last_job = 0;
    for (int step = 0; step < 80; ++step) {
      if (waiting.size() < 6) {
        Wanted job{JobId{++last_job}, static_cast<Amount>(below(3)), nullptr};
        if (job.count > 0 && below(2) == 0) {
          PlacementRule rule;
          rule.devices = {"gpu" + std::to_string(below(3))};
          job.rule = std::make_shared<const PlacementRule>(rule);
        }
        waiting.push_back(job);
      }
      DemandWindow window;
      window.tenant = TenantId{1};
      window.seen_deal = allocator.last_deal();
      for (const Wanted& job : waiting) {
        WaitingRange range;
        range.job = job.job;
        range.demand = some_gpus(job.count);
        range.rule = job.rule;
        window.next.push_back(range);
        window.pending += range.demand;
        ++window.pending_tasks;
      }
      allocator.set_window(window);
      std::vector<Deal> deals;
      if (allocator.allocates_by_share()) {
        deals = allocator.deal_by_share(10, 100).deals;
      } else {
        for (std::uint32_t node = 1; node <= 2; ++node)
          if (auto deal = allocator.deal(NodeId{node})) deals.push_back(*deal);
      }
      for (const Deal& deal : deals)
        for (const Grant& grant : deal.grants) {
          const auto job = std::find_if(waiting.begin(), waiting.end(), [&](const Wanted& wanted) {
            return wanted.job == grant.task.job;
          });
          REQUIRE(job != waiting.end());
          CHECK(grant.devices.size() == static_cast<std::size_t>(job->count));
          if (job->rule) {
            ++named_grants;
            CHECK(std::count(grant.devices.begin(), grant.devices.end(), job->rule->devices[0]) ==
                  1);
          }
          for (const auto& [task, other] : held)
            for (const std::string& name : other.grant.devices)
              if (other.node == deal.node)
                CHECK(std::count(grant.devices.begin(), grant.devices.end(), name) == 0);
          HeldTask task;
          task.node = deal.node;
          task.grant = grant;
          held.emplace(grant.task, task);
          waiting.erase(job);
        }
      if (!held.empty() && below(2) == 0) {
        const auto over = std::next(held.begin(), static_cast<std::ptrdiff_t>(below(held.size())));
        allocator.release(over->first);
        held.erase(over);
      }
      if (below(12) == 0) {
        Allocator anew{settings};
        anew.set_tenant(TenantId{1}, {});
        for (std::uint32_t node = 1; node <= 2; ++node)
          anew.set_node(NodeId{node}, node_with_gpus({"gpu0", "gpu1", "gpu2"}), capacity, true);
        std::vector<HeldTask> tasks;
        for (const auto& [task, known] : held) tasks.push_back(known);
        anew.restore_held(tasks);
        anew.restore_last_deal(allocator.last_deal());
        for (std::uint32_t node = 1; node <= 2; ++node)
          CHECK(anew.node(NodeId{node}).device_holders ==
                allocator.node(NodeId{node}).device_holders);
        allocator = anew;
      }
    }
    // Whatever waits for a device gets it when all has ended.
    for (const auto& [task, known] : held) allocator.release(task);
  }
  CHECK(named_grants > 300);
}

TEST_CASE("who waits for a device hears who holds it", "[unit][devices]") {
  AllocatorSettings settings = default_settings();
  settings.granules[kGpu] = 1;
  settings.resources = kResources;
  Allocator allocator{settings};
  allocator.set_tenant(TenantId{1}, {});
  ResourceVector capacity = cpu_memory(8000, 8192);
  capacity[kGpu] = 3;
  allocator.set_node(NodeId{1}, node_with_gpus({"gpu0", "gpu1", "gpu2"}), capacity, true);
  PlacementRule rule;
  rule.devices = {"gpu1"};
  WaitingRange range;
  range.job = JobId{5};
  range.count = 2;
  range.demand = some_gpus(1);
  range.rule = std::make_shared<const PlacementRule>(rule);
  DemandWindow window;
  window.tenant = TenantId{1};
  window.next = {range};
  window.pending_tasks = 2;
  allocator.set_window(window);
  const auto deal = allocator.deal(NodeId{1});
  REQUIRE(deal);
  REQUIRE(deal->grants.size() == 1);
  CHECK(deal->grants[0].devices == DeviceNames{"gpu1"});
  const auto obstacles = allocator.explain_waiting(TenantId{1}, JobId{5}, 1, {});
  REQUIRE(!obstacles.empty());
  const auto device = std::find_if(obstacles.begin(), obstacles.end(),
                                   [](const Obstacle& o) { return o.code == "device"; });
  REQUIRE(device != obstacles.end());
  CHECK(device->message == "gpu1 of node node is held by task 0 of job 5");
  allocator.release(deal->grants[0].task);
  CHECK(allocator.deal(NodeId{1}).has_value());
}

}  // namespace fairwater::test
