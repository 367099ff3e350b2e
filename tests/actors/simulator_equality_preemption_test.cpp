// As simulator_equality_test.cpp and simulator_equality_by_time_test.cpp, where jobs preempt
// others.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/actors/decision_replay.hpp"

namespace fairwater {
namespace {

/// Both decided the same in all of them.
struct Compared {
  Comparison all;
  std::size_t seeds = 0;
  std::size_t elastic_victims = 0;
};

/// Tasks of elastic jobs that were preempted.
std::size_t elastic_victims(const std::vector<JournalRecord>& journal) {
  std::set<JobId> elastic;
  std::size_t victims = 0;
  for (const auto& record : journal) {
    const auto* submitted = std::get_if<JobSubmitted>(&record.body);
    if (submitted != nullptr && is_elastic(submitted->spec)) elastic.insert(submitted->id);
    if (const auto* told = std::get_if<TasksReclaimed>(&record.body))
      for (const Reclaim& reclaim : told->tasks)
        victims += reclaim.preempted && elastic.contains(reclaim.task.job) ? 1 : 0;
  }
  return victims;
}

/// One cluster, by its coordinator and by the simulator.
void compare(const ScenarioShape& shape, Accounting accounting, SplitMix64& random,
             Compared& compared) {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.preempt_after_ms = static_cast<std::int64_t>(random.below(4)) * 1000;
  const auto scenario = draw_scenario(shape, random);
  ActorRun actors{scenario, random, settings, accounting};
  const auto journal = actors.run(30 + random.below(25), 60);
  const auto found =
      replay(simulated_cluster(scenario), journal,
             {.name = "sequence",
              .accounting = accounting == Accounting::time ? sim::SequenceAccounting::time
                                                           : sim::SequenceAccounting::units,
              .preempt_after_ms = settings.preempt_after_ms});
  check_same(found, actors);
  compared.all += found;
  compared.elastic_victims += elastic_victims(journal);
}

/// Several, which are drawn of the like.
Compared compare_all(const ScenarioShape& kind, Accounting accounting) {
  Compared compared;
  for (const std::uint64_t seed : seeds_to_try(10)) {
    SplitMix64 random(seed);
    ScenarioShape shape = kind;
    shape.tenants = 2 + static_cast<std::uint32_t>(random.below(4));
    shape.nodes = 1 + static_cast<std::uint32_t>(random.below(5));
    shape.groups = static_cast<std::uint32_t>(random.below(3));
    CAPTURE(seed, to_string(accounting));
    compare(shape, accounting, random, compared);
    ++compared.seeds;
  }
  return compared;
}

constexpr Accounting kLedgers[] = {Accounting::units, Accounting::time};

}  // namespace

TEST_CASE("the simulator preempts as the coordinator does", "[actor][property][preemption]") {
  for (const Accounting accounting : kLedgers) {
    const auto [all, seeds, elastic] = compare_all({.jobs = 100, .percent_urgent = 30}, accounting);
    CAPTURE(to_string(accounting), all.grants, all.preempted);
    CHECK(all.grants > 100 * seeds);
    CHECK(all.preempted > seeds);
  }
}

TEST_CASE("the simulator preempts for gangs and of elastic jobs as the coordinator does",
          "[actor][property][preemption][elastic]") {
  const ScenarioShape shape{.jobs = 100,
                            .most_tasks = 8,
                            .percent_gangs = 8,
                            .percent_elastic = 25,
                            .percent_urgent = 40};
  for (const Accounting accounting : kLedgers) {
    const auto [all, seeds, elastic] = compare_all(shape, accounting);
    CAPTURE(to_string(accounting), all.grants, all.grown(), all.reclaims, all.preempted, elastic);
    CHECK(all.grants > 100 * seeds);
    CHECK(all.grown() > 0);
    CHECK(all.reclaims > all.preempted);
    CHECK(2 * all.preempted > seeds);
    CHECK(elastic > 0);
  }
}

TEST_CASE("the simulator leaves services their room as the coordinator does",
          "[actor][property][preemption]") {
  const ScenarioShape shape{.jobs = 100,
                            .most_tasks = 8,
                            .percent_gangs = 5,
                            .percent_elastic = 5,
                            .percent_urgent = 40,
                            .percent_services = 4};
  for (const Accounting accounting : kLedgers) {
    const auto [all, seeds, elastic] = compare_all(shape, accounting);
    CAPTURE(to_string(accounting), all.grants, all.preempted);
    CHECK(all.grants > 80 * seeds);
    CHECK(2 * all.preempted > seeds);
  }
}

}  // namespace fairwater
