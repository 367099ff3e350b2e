// The simulator's `sequence` is the coordinator: what the actors decide in virtual time, the
// simulator decides from the same events, byte for byte.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/actors/decision_replay.hpp"

namespace fairwater {

TEST_CASE("the simulator decides as the coordinator does", "[actor][property]") {
  const auto seeds = seeds_to_try(20);
  Comparison all;
  for (const std::uint64_t seed : seeds) {
    SplitMix64 random(seed);
    const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(5)),
                              .nodes = 1 + static_cast<std::uint32_t>(random.below(6))};
    const auto scenario = draw_scenario(shape, random);
    const auto journal = ActorRun{scenario, random}.run(40 + random.below(25), 100);
    const auto found = replay(simulated_cluster(scenario), journal);
    CAPTURE(seed, found.events, found.difference);
    CHECK(found.difference == 0);
    CHECK(found.events >= 250);
    all += found;
  }
  CHECK(all.deals > 100 * seeds.size());
  CHECK(all.grants > 200 * seeds.size());
  CHECK(all.loans > 50 * seeds.size());
  CHECK(all.repayments > 20 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does for a tree of tenants",
          "[actor][property]") {
  const auto seeds = seeds_to_try(12);
  Comparison all;
  std::size_t groups = 0;
  for (const std::uint64_t seed : seeds) {
    SplitMix64 random(seed);
    const ScenarioShape shape{.tenants = 3 + static_cast<std::uint32_t>(random.below(5)),
                              .nodes = 1 + static_cast<std::uint32_t>(random.below(4)),
                              .jobs = 100,
                              .groups = 1 + static_cast<std::uint32_t>(random.below(4))};
    const auto scenario = draw_scenario(shape, random);
    const auto journal = ActorRun{scenario, random}.run(40 + random.below(25), 60);
    const auto found = replay(simulated_cluster(scenario), journal);
    CAPTURE(seed, found.events, found.difference);
    CHECK(found.difference == 0);
    all += found;
    groups += scenario.groups.size();
  }
  CHECK(groups > seeds.size());
  CHECK(all.grants > 150 * seeds.size());
  CHECK(all.loans > 20 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does when windows do not show all that waits",
          "[actor][property]") {
  // Hundreds of jobs of one task, more than a window has ranges; and jobs of more tasks than it
  // has.
  const ScenarioShape shapes[] = {{.tenants = 3, .nodes = 3, .jobs = 400, .most_tasks = 1},
                                  {.tenants = 3, .nodes = 3, .jobs = 60, .most_tasks = 800}};
  for (const auto& shape : shapes)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SplitMix64 random(seed);
      const auto scenario = draw_scenario(shape, random);
      const auto journal = ActorRun{scenario, random}.run(15, 150);
      const auto found = replay(simulated_cluster(scenario), journal);
      CAPTURE(shape.jobs, seed, found.events, found.difference);
      CHECK(found.difference == 0);
      CHECK(found.grants > 150);
    }
}

TEST_CASE("the simulator decides as the coordinator does for gangs among other jobs",
          "[actor][property]") {
  const auto seeds = seeds_to_try(12);
  Comparison all;
  std::size_t spread = 0;
  for (const std::uint64_t seed : seeds) {
    SplitMix64 random(seed);
    const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(4)),
                              .nodes = 2 + static_cast<std::uint32_t>(random.below(5)),
                              .jobs = 100,
                              .groups = static_cast<std::uint32_t>(random.below(3)),
                              .percent_gangs = 30};
    const auto scenario = draw_scenario(shape, random);
    const auto journal = ActorRun{scenario, random}.run(40 + random.below(25), 80);
    const auto found = replay(simulated_cluster(scenario), journal);
    CAPTURE(seed, found.events, found.difference);
    CHECK(found.difference == 0);
    all += found;
    spread += gangs_on_several_nodes(journal);
  }
  CHECK(all.grants > 100 * seeds.size());
  CHECK(spread > 3 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does for elastic jobs among other jobs",
          "[actor][property][elastic]") {
  const auto seeds = seeds_to_try(8);
  Comparison all;
  ClusterSettings settings = ClusterFixture::default_settings();
  for (const auto rule : {GrowthRule::qrea, GrowthRule::qrea_rebalance, GrowthRule::crea}) {
    settings.growth = rule;
    for (const std::uint64_t seed : seeds) {
      SplitMix64 random(seed);
      const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(4)),
                                .nodes = 2 + static_cast<std::uint32_t>(random.below(5)),
                                .jobs = 80,
                                .most_tasks = 6,
                                .groups = static_cast<std::uint32_t>(random.below(3)),
                                .percent_gangs = 10,
                                .percent_elastic = 40};
      const auto scenario = draw_scenario(shape, random);
      ActorRun actors{scenario, random, settings};
      const auto journal = actors.run(45 + random.below(25), 60);
      const auto found =
          replay(simulated_cluster(scenario), journal, {.name = "sequence", .growth = rule});
      CAPTURE(to_string(rule), seed, found.events, found.difference);
      CHECK(found.difference == 0);
      for (const auto& [tenant, credit] : found.credits) {
        CAPTURE(tenant.value);
        CHECK(actors.credits().at(tenant) == credit);
      }
      all += found;
    }
  }
  CAPTURE(all.grants, all.grown(), all.reclaims);
  CHECK(all.grants > 3 * 100 * seeds.size());
  CHECK(all.grown() > 3 * 30 * seeds.size());
  CHECK(all.reclaims > 3 * 5 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does for users who take turns",
          "[actor][property]") {
  const auto seeds = seeds_to_try(8);
  Comparison all;
  for (const auto accounting : {Accounting::units, Accounting::time})
    for (const std::uint64_t seed : seeds) {
      SplitMix64 random(seed);
      const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(3)),
                                .nodes = 1 + static_cast<std::uint32_t>(random.below(4)),
                                .jobs = 100,
                                .groups = static_cast<std::uint32_t>(random.below(3)),
                                .percent_gangs = 10,
                                .percent_elastic = seed % 2 == 0 ? 20u : 0u,
                                .users = 2 + static_cast<std::uint32_t>(random.below(4))};
      const auto scenario = draw_scenario(shape, random);
      ActorRun actors{scenario, random, ClusterFixture::default_settings(), accounting};
      const auto journal = actors.run(40 + random.below(25), 60);
      const bool counts_time = accounting == Accounting::time;
      const auto found = replay(simulated_cluster(scenario), journal,
                                {.name = "sequence",
                                 .accounting = counts_time ? sim::SequenceAccounting::time
                                                           : sim::SequenceAccounting::units});
      CAPTURE(to_string(accounting), seed);
      check_same(found, actors);
      all += found;
    }
  CHECK(all.grants > 2 * 100 * seeds.size());
}

TEST_CASE("a simulator with other queues decides otherwise", "[actor]") {
  SplitMix64 random(1);
  const auto scenario = draw_scenario({.users = 3}, random);
  const auto journal = ActorRun{scenario, random}.run(50, 100);
  auto cluster = simulated_cluster(scenario);
  CHECK(replay(cluster, journal).difference == 0);
  for (auto& tenant : cluster.tenants) tenant.queue = QueuePolicy::fifo;
  CHECK(replay(cluster, journal).difference > 0);
}

TEST_CASE("a simulator with one other weight decides otherwise", "[actor]") {
  SplitMix64 random(1);
  const auto scenario = draw_scenario({}, random);
  const auto journal = ActorRun{scenario, random}.run(50, 100);
  auto cluster = simulated_cluster(scenario);
  CHECK(replay(cluster, journal).difference == 0);
  ++cluster.tenants.back().terms.weight;
  CHECK(replay(cluster, journal).difference > 0);
}

}  // namespace fairwater
