// Gangs that are preempted: as a whole, and only where single tasks do not make room.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "preemption_model.hpp"

namespace fairwater::test {
namespace {

constexpr PreemptionTerms kMayEnd{.priority = 0, .is_preemptible = true};

/// Two nodes of four processors.
PreemptionModel two_of_four(AllocatorSettings settings = default_settings()) {
  PreemptionModel model(settings);
  model.cycle.pass_to(model.now_ms());
  model.tenant(1);
  for (const std::uint32_t id : {1U, 2U})
    model.node(id, cpu(4000), {"node" + std::to_string(id), "", {}});
  return model;
}

JobId submit_gang(PreemptionModel& model, std::uint32_t tenant, std::uint32_t tasks,
                  PreemptionTerms terms = kMayEnd) {
  const JobId gang = model.submit(
      {.tenant = TenantId{tenant}, .demand = cpu(1000), .preemption = terms, .is_gang = true},
      tasks);
  REQUIRE(model.run().empty());
  REQUIRE(model.running_of(gang) == tasks);
  return gang;
}

TEST_CASE("a gang beyond its tenant's quota ends as a whole", "[unit][preemption][gang]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  const bool is_for_min = GENERATE(false, true);
  PreemptionModel model = two_of_four(default_settings(accounting));
  const JobId gang = submit_gang(model, 1, 8);
  model.tenant(2, {.min = is_for_min ? cpu(2000) : ResourceVector{}});
  const JobId claimant = model.submit(2, 2, cpu(1000), is_for_min ? PreemptionTerms{} : kUrgent);
  CHECK(model.run().empty());  // it has not run for long enough
  if (is_for_min) CHECK_THAT(why(model, claimant), Catch::Contains("of 8 tasks"));
  model.pass(kWhile_ms);
  CHECK_THAT(why(model, claimant),
             Catch::Contains("takes the place of 8 tasks (a gang's, wherever they run) on node"));
  CHECK(model.run().size() == 8);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(claimant) == 2);
  CHECK(model.running_of(gang) == 0);  // it has no room as a whole
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("no gang ends where single tasks make room", "[unit][preemption][gang]") {
  PreemptionModel model = two_of_four();
  const JobId gang = submit_gang(model, 1, 4);
  model.pass(10);
  const JobId singles = model.submit(1, 4, cpu(1000));
  model.run();
  model.tenant(2, {.min = cpu(3000)});
  model.submit(2, 3, cpu(1000), {});
  model.pass(kWhile_ms);
  const auto reclaims = model.run();
  CHECK(reclaims.size() == 3);
  for (const Reclaim& reclaim : reclaims) CHECK(reclaim.task.job == singles);
  CHECK(model.running_of(gang) == 4);
}

TEST_CASE("the gang with fewest tasks ends, and what is not needed beside it stays",
          "[unit][preemption][gang]") {
  PreemptionModel model = two_of_four();
  const JobId large = submit_gang(model, 1, 5);
  const JobId small = submit_gang(model, 1, 2);
  const JobId single = model.submit(1, 1, cpu(1000));
  model.run();
  REQUIRE(model.running_of(single) == 1);
  model.tenant(2, {.min = cpu(2000)});
  model.submit(2, 1, cpu(2000), {});
  model.pass(kWhile_ms);
  std::map<JobId, std::size_t> ended;
  for (const Reclaim& reclaim : model.run()) ++ended[reclaim.task.job];
  CHECK(ended == std::map<JobId, std::size_t>{{small, 2}});
  CHECK(model.running_of(large) == 5);
}

TEST_CASE("a gang that must not end, or of which some is ending, is left",
          "[unit][preemption][gang]") {
  PreemptionModel kept = two_of_four();
  (void)submit_gang(kept, 1, 8, {.priority = 0, .is_preemptible = false});
  kept.tenant(2, {.min = cpu(2000)});
  (void)kept.submit(2, 2, cpu(1000), {});
  kept.pass(kWhile_ms);
  CHECK(kept.run().empty());

  PreemptionModel guarded = two_of_four();
  guarded.tenant(1, {.min = cpu(1000)});
  (void)submit_gang(guarded, 1, 8);
  guarded.tenant(2, {.min = cpu(2000)});
  (void)guarded.submit(2, 2, cpu(1000), {});
  guarded.pass(kWhile_ms);
  CHECK(guarded.run().empty());  // of its min nothing goes, and it is one

  PreemptionModel ending = two_of_four();
  const JobId gang = submit_gang(ending, 1, 8);
  ending.cycle.allocator().note_told_to_end(ending.running().begin()->first);
  ending.tenant(2, {.min = cpu(2000)});
  (void)ending.submit(2, 2, cpu(1000), {});
  ending.pass(kWhile_ms);
  CHECK(ending.run().empty());  // the rest of it is to end with that
  CHECK(ending.running_of(gang) == 8);
}

/// Fewest tasks that end for one of `demand` on any node, gangs as a whole, by a look at all sets.
std::optional<std::size_t> fewest_by_look(const PreemptionModel& model,
                                          const std::map<NodeId, ResourceVector>& nodes,
                                          TenantId claimant, const ResourceVector& demand,
                                          bool with_gangs) {
  std::map<JobId, std::vector<TaskKey>> gangs;
  std::vector<std::vector<TaskKey>> units;
  std::map<NodeId, ResourceVector> held;
  for (const auto& [key, task] : model.running()) {
    const auto& job = model.job(key.job);
    held[task.node] += job.demand;
    if (job.tenant == claimant || !job.preemption.is_preemptible) continue;
    if (job.is_gang)
      gangs[key.job].push_back(key);
    else
      units.push_back({key});
  }
  if (with_gangs)
    for (const auto& [job, tasks] : gangs) units.push_back(tasks);
  REQUIRE(units.size() <= 14);
  std::optional<std::size_t> fewest;
  for (std::uint32_t set = 0; set < 1U << units.size(); ++set) {
    std::map<NodeId, ResourceVector> left = held;
    std::size_t size = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      size += units[i].size();
      for (const TaskKey& key : units[i])
        left[model.running().at(key).node] -= model.job(key.job).demand;
    }
    for (const auto& [node, capacity] : nodes) {
      const auto kept = model.cycle.node(node).reserved_for;
      if (kept && *kept != claimant) continue;
      if ((left[node] + demand).fits(capacity)) fewest = std::min(fewest.value_or(size), size);
    }
  }
  return fewest;
}

TEST_CASE("where only gangs make room the fewest end, and who waits has its room",
          "[property][preemption][gang]") {
  constexpr std::uint32_t kClaimant = 2, kHuge = 9;
  std::size_t of_gangs = 0, by_singles = 0, beyond_fewest = 0, most = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return static_cast<Amount>(from + random() % (to - from + 1));
    };
    PreemptionModel model;
    model.cycle.pass_to(model.now_ms());
    // Beside what the huge one waits for, which no node will have, next to nothing is the holders'.
    model.tenant(kClaimant, {.min = cpu_memory(12'000, 12'288)});
    model.tenant(kHuge, {.weight = 1000});
    for (const std::uint32_t id : {1U, 3U}) model.tenant(id);
    std::map<NodeId, ResourceVector> nodes;
    for (std::uint32_t id = 1; id <= 3; ++id) {
      nodes[NodeId{id}] = cpu_memory(draw(4, 8) * 1000, draw(4, 8) * 1024);
      model.node(id, nodes[NodeId{id}]);
    }
    for (int i = 0; i < 12; ++i) {
      model.pass(draw(1, 3));
      const bool is_gang = draw(0, 1) == 0;
      const JobId job =
          model.submit({.tenant = TenantId{draw(0, 1) == 0 ? 1U : 3U},
                        .demand = cpu_memory(draw(1, 25) * 100, draw(1, 25) * 100),
                        .preemption = {.priority = 0, .is_preemptible = draw(0, 5) > 0},
                        .is_gang = is_gang},
                       is_gang ? static_cast<std::uint32_t>(draw(2, 4)) : 1);
      REQUIRE(model.run().empty());
      model.cancel(job);  // what has no room would have nodes kept for it
    }
    (void)model.submit(kHuge, 1, cpu_memory(1'000'000, 1'000'000));
    const ResourceVector demand = cpu_memory(draw(10, 40) * 100, draw(10, 40) * 100);
    const JobId claimant = model.submit(kClaimant, 1, demand, {});
    model.pass(kWhile_ms);
    const auto reclaims = model.run();
    if (model.running_of(claimant) == 1) continue;
    const auto singles = fewest_by_look(model, nodes, TenantId{kClaimant}, demand, false);
    const auto fewest = fewest_by_look(model, nodes, TenantId{kClaimant}, demand, true);
    bool ends_gang = false;
    for (const Reclaim& reclaim : reclaims)
      ends_gang = ends_gang || model.job(reclaim.task.job).is_gang;
    CHECK(ends_gang == (fewest && !singles));
    if (singles) {
      CHECK(reclaims.size() == *singles);
      ++by_singles;
    } else if (fewest) {
      CHECK(reclaims.size() >= *fewest);
      beyond_fewest += reclaims.size() > *fewest;
      most = std::max(most, reclaims.size() - *fewest);
      ++of_gangs;
    } else {
      CHECK(reclaims.empty());
    }
    model.end_reclaimed();
    CHECK(model.run().empty());
    CHECK(model.running_of(claimant) == (fewest ? 1 : 0));
  }
  CAPTURE(of_gangs, by_singles, beyond_fewest, most);
  CHECK(of_gangs > 300);
  CHECK(by_singles > 300);
  CHECK(10 * beyond_fewest <= of_gangs);  // where one gang alone is too little
}

}  // namespace
}  // namespace fairwater::test
