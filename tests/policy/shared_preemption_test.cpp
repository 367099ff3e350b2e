// GPUs that tasks share: who preempts takes the smallest set that leaves enough of one GPU, or
// whole ones, and nobody whose GPU does not help. Against all sets there are.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "preemption_model.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test::gpus {
namespace {

constexpr std::uint32_t kHolder = 1;
constexpr std::uint32_t kUrgentTenant = 2;
constexpr PreemptionTerms kFixed{.priority = 0, .is_preemptible = false};

PreemptionModel sharing_model(std::size_t gpus) {
  PreemptionModel model(sharing());
  model.cycle.pass_to(model.now_ms());
  model.tenant(kHolder);
  model.tenant(kUrgentTenant);
  model.node(1, capacity_of(gpus), node_sharing(gpus));
  return model;
}

/// Begins now, after all others.
JobId run_task(PreemptionModel& model, Amount milli,
               PreemptionTerms terms = {.priority = 0, .is_preemptible = true}) {
  model.pass(1);
  const JobId job = model.submit(kHolder, 1, share(milli), terms);
  REQUIRE(model.run().empty());
  REQUIRE(model.running_of(job) == 1);
  return job;
}

std::string gpu_of(const PreemptionModel& model, JobId job) {
  return model.running().at(TaskKey{job, 0, 1}).grant.devices.at(0);
}

/// What the urgent task takes, and that it starts where that was.
std::set<JobId> taken_for(PreemptionModel& model, Amount milli) {
  model.pass(kWhile_ms);
  const JobId urgent = model.submit(kUrgentTenant, 1, share(milli), kUrgent);
  std::set<JobId> taken;
  for (const Reclaim& reclaim : model.run()) taken.insert(reclaim.task.job);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == (taken.empty() ? 0 : 1));
  return taken;
}

using Jobs = std::set<JobId>;

/// Of each GPU what tasks take, but for those.
std::map<std::string, Amount> taken_on(const PreemptionModel& model, NodeId node,
                                       const std::set<TaskKey>& ended) {
  std::map<std::string, Amount> taken;
  for (const auto& [key, task] : model.running())
    if (task.node == node && !ended.contains(key))
      for (const std::string& name : task.grant.devices)
        taken[name] += std::min(task.grant.demand[kGpuMilli], kMilliPerGpu);
  return taken;
}

bool has_gpus(std::map<std::string, Amount> taken, std::size_t gpus, Amount milli) {
  const Amount each = std::min(milli, kMilliPerGpu);
  Amount enough = 0;
  for (std::size_t i = 0; i < gpus; ++i)
    if (taken["gpu" + std::to_string(i)] + each <= kMilliPerGpu) enough += each;
  return enough >= milli;
}

/// The smallest set of tasks of one node without which a task would have room, by a look at all
/// sets, whoever was told to end. None: there is no such set. All may be preempted that says so.
std::optional<std::size_t> fewest_by_look(const PreemptionModel& model,
                                          const std::map<NodeId, std::size_t>& nodes,
                                          Amount milli) {
  std::optional<std::size_t> fewest;
  for (const auto& [node, gpus] : nodes) {
    const auto kept = model.cycle.node(node).reserved_for;
    if (kept && *kept != TenantId{kUrgentTenant}) continue;
    std::vector<TaskKey> tasks;
    for (const auto& [key, task] : model.running())
      if (task.node == node && model.job(key.job).preemption.is_preemptible &&
          task.grant.tenant != TenantId{kUrgentTenant})
        tasks.push_back(key);
    REQUIRE(tasks.size() <= 12);
    for (std::uint32_t set = 0; set < 1u << tasks.size(); ++set) {
      const auto size = static_cast<std::size_t>(std::popcount(set));
      if (fewest && size >= *fewest) continue;
      std::set<TaskKey> ended;
      for (std::size_t i = 0; i < tasks.size(); ++i)
        if ((set >> i & 1) != 0) ended.insert(tasks[i]);
      if (has_gpus(taken_on(model, node, ended), gpus, milli)) fewest = size;
    }
  }
  return fewest;
}

}  // namespace

TEST_CASE("who needs a part takes none whose GPU does not help", "[unit][preemption][shares]") {
  PreemptionModel model = sharing_model(2);
  const JobId fixed = run_task(model, 700, kFixed);
  const JobId old = run_task(model, 800);
  const JobId young = run_task(model, 300);
  REQUIRE(gpu_of(model, young) == gpu_of(model, fixed));
  CHECK(taken_for(model, 600) == Jobs{old});
}

TEST_CASE("nobody is preempted where no single GPU would have room", "[unit][preemption][shares]") {
  PreemptionModel model = sharing_model(2);
  for (int i = 0; i < 2; ++i) (void)run_task(model, 600, kFixed);
  for (int i = 0; i < 2; ++i) (void)run_task(model, 300);
  CHECK(taken_for(model, 500).empty());
  CHECK(taken_for(model, 1000).empty());
}

TEST_CASE("of two GPUs that goes for which fewest must end", "[unit][preemption][shares]") {
  PreemptionModel model = sharing_model(2);
  const JobId old = run_task(model, 900);
  (void)run_task(model, 400);
  (void)run_task(model, 400);
  CHECK(taken_for(model, 700) == Jobs{old});
}

TEST_CASE("of one GPU the fewest go, and of as few the younger", "[unit][preemption][shares]") {
  PreemptionModel model = sharing_model(1);
  (void)run_task(model, 400);
  const JobId enough = run_task(model, 300);
  (void)run_task(model, 150);
  (void)run_task(model, 150);
  CHECK(taken_for(model, 300) == Jobs{enough});
}

TEST_CASE("what else is asked for may be taken of tasks on other GPUs",
          "[unit][preemption][shares]") {
  PreemptionModel model = sharing_model(2);
  const JobId large = model.submit(kHolder, 1, cpu(6000));
  const JobId half = model.submit(kHolder, 1, share(500, 1000));
  const JobId other = model.submit(kHolder, 1, share(900, 1000));
  REQUIRE(model.run().empty());
  REQUIRE(gpu_of(model, half) != gpu_of(model, other));
  model.pass(kWhile_ms);
  (void)model.submit(kUrgentTenant, 1, share(400, 3500), kUrgent);
  std::set<JobId> taken;
  for (const Reclaim& reclaim : model.run()) taken.insert(reclaim.task.job);
  CHECK(taken == Jobs{large});
}

TEST_CASE("for whole GPUs those are emptied on which fewest must end",
          "[unit][preemption][shares]") {
  PreemptionModel model = sharing_model(4);
  const JobId two = run_task(model, 2000);
  const JobId halves = run_task(model, 500);
  const JobId other_half = run_task(model, 500);
  const JobId part = run_task(model, 600);
  REQUIRE(gpu_of(model, halves) == gpu_of(model, other_half));
  SECTION("one") { CHECK(taken_for(model, 1000) == Jobs{part}); }
  SECTION("two, which one task has") { CHECK(taken_for(model, 2000) == Jobs{two}); }
  SECTION("never beside what may not end") {
    const JobId fixed = run_task(model, 400, kFixed);
    REQUIRE(gpu_of(model, fixed) == gpu_of(model, part));
    CHECK(taken_for(model, 1000) == Jobs{two});
  }
}

TEST_CASE("a gang on shared gpus makes room as a whole, for a part and for whole ones",
          "[unit][preemption][shares][gang]") {
  const Amount asked = GENERATE(Amount{600}, Amount{1000}, Amount{2000});
  PreemptionModel model = sharing_model(4);
  model.pass(1);
  const JobId gang =
      model.submit(PreemptionModel::Job{.tenant = TenantId{kHolder},
                                        .demand = share(500),
                                        .preemption = {.priority = 0, .is_preemptible = true},
                                        .is_gang = true},
                   8);
  REQUIRE(model.run().empty());
  REQUIRE(model.running_of(gang) == 8);
  CHECK(taken_for(model, asked) == Jobs{gang});
  CHECK(model.running_of(gang) == 0);
}

TEST_CASE("of all sets the smallest goes, and the urgent task gets its room",
          "[property][preemption][shares]") {
  constexpr std::uint32_t kHuge = 9;
  std::size_t preempted = 0, served = 0, in_vain = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    PreemptionModel model(sharing());
    model.cycle.pass_to(model.now_ms());
    // Beside what the huge one waits for, which no node will have, next to nothing is the holders'.
    model.tenant(kUrgentTenant, {.min = share(6 * kMilliPerGpu, 16'000)});
    model.tenant(kHuge, {.weight = 1000});
    const std::vector<std::uint32_t> holders{1, 3, 4};
    for (const std::uint32_t id : holders) model.tenant(id);
    std::map<NodeId, std::size_t> nodes;
    for (std::uint32_t id = 1; id <= 2; ++id) {
      nodes[NodeId{id}] = draw(1, 3);
      model.node(id, capacity_of(nodes[NodeId{id}]), node_sharing(nodes[NodeId{id}]));
    }
    for (int i = 0; i < 16; ++i) {
      model.pass(static_cast<std::int64_t>(draw(1, 3)));
      const Amount milli = draw(0, 7) == 0 ? kMilliPerGpu * static_cast<Amount>(draw(1, 2))
                                           : static_cast<Amount>(draw(5, 19)) * 50;
      (void)model.submit(holders[draw(0, 2)], 1, share(milli),
                         {.priority = 0, .is_preemptible = draw(0, 6) > 0});
      REQUIRE(model.run().empty());
    }
    (void)model.submit(kHuge, 1, share(kMilliPerGpu * 1000, 1));
    for (int round = 0; round < 3; ++round) {
      model.pass(kWhile_ms);
      const Amount milli = draw(0, 2) == 0 ? kMilliPerGpu : static_cast<Amount>(draw(1, 19)) * 50;
      const JobId urgent = model.submit(kUrgentTenant, 1, share(milli), kUrgent);
      const auto reclaims = model.run();
      if (model.running_of(urgent) == 1) continue;
      const auto fewest = fewest_by_look(model, nodes, milli);
      CHECK(reclaims.size() == fewest.value_or(0));
      std::set<NodeId> on;
      for (const Reclaim& reclaim : reclaims) on.insert(reclaim.node);
      CHECK(on.size() == (reclaims.empty() ? 0 : 1));
      preempted += reclaims.size();
      model.end_reclaimed();
      CHECK(model.run().empty());
      CHECK(model.running_of(urgent) == (fewest ? 1 : 0));
      served += fewest ? 1 : 0;
      in_vain += fewest ? 0 : 1;
      if (!fewest) break;  // it would come before the next
    }
  }
  CHECK(preempted > 300);
  CHECK(served > 300);
  CHECK(in_vain > 30);
}

TEST_CASE("preemption of parts comes to an end, whatever is asked for",
          "[property][preemption][shares]") {
  std::size_t preempted = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    PreemptionModel model(sharing());
    model.cycle.pass_to(model.now_ms());
    const auto tenants = static_cast<std::uint32_t>(draw(2, 4));
    for (std::uint32_t id = 1; id <= tenants; ++id)
      model.tenant(id, {.weight = static_cast<Weight>(draw(1, 5))});
    for (std::uint32_t id = 1; id <= 3; ++id) {
      const std::size_t gpus = draw(1, 3);
      model.node(id, capacity_of(gpus), node_sharing(gpus));
    }
    for (int step = 0; step < 40; ++step) {
      const Amount milli = draw(0, 4) == 0 ? kMilliPerGpu * static_cast<Amount>(draw(1, 2))
                                           : static_cast<Amount>(draw(1, 999));
      model.submit(static_cast<std::uint32_t>(draw(1, tenants)),
                   static_cast<std::uint32_t>(draw(1, 4)),
                   share(draw(0, 9) == 0 ? 0 : milli, static_cast<Amount>(draw(1, 5)) * 100),
                   {.priority = static_cast<std::int32_t>(draw(0, 3)),
                    .preempts = draw(0, 1) == 0,
                    .is_preemptible = draw(0, 4) > 0});
      if (draw(0, 2) == 0 && !model.running().empty()) {
        const TaskKey done = model.running().begin()->first;
        model.end(done, model.running().begin()->second.told_to_end);
      }
      model.pass(static_cast<std::int64_t>(draw(0, 60'000)));
      preempted += model.run().size();
      if (draw(0, 1) == 0) model.end_reclaimed();
    }
    // Requests stay as they are, and nothing ends but what is told to: in the end nothing is.
    int rounds = 0;
    for (int quiet = 0; quiet < 2; ++rounds) {
      REQUIRE(rounds < 200);
      model.end_reclaimed();
      model.pass(kWhile_ms);
      quiet = model.run().empty() ? quiet + 1 : 0;
    }
  }
  CHECK(preempted > 80);
}

}  // namespace fairwater::test::gpus
