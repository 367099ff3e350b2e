// As simulator_equality_test.cpp, where the ledger counts time: also who owes whom in the end is
// the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/actors/decision_replay.hpp"

namespace fairwater {
namespace {

struct Settings {
  Predict predict = Predict::limits;
  GrowthRule growth = GrowthRule::qrea;
};

/// One cluster, by its coordinator and by the simulator.
Comparison compare(const ScenarioShape& shape, const Settings& chosen, int more_ends,
                   SplitMix64& random) {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.predict = chosen.predict;
  settings.growth = chosen.growth;
  const auto scenario = draw_scenario(shape, random);
  ActorRun actors{scenario, random, settings, Accounting::time};
  const auto journal = actors.run(40 + random.below(25), more_ends);
  auto found = replay(simulated_cluster(scenario), journal,
                      {.name = "sequence",
                       .accounting = sim::SequenceAccounting::time,
                       .predict = chosen.predict,
                       .growth = chosen.growth});
  check_same(found, actors);
  return found;
}

Predict draw_predict(SplitMix64& random) {
  return random.below(2) == 0 ? Predict::limits : Predict::history;
}

std::uint32_t draw(SplitMix64& random, std::uint32_t least, std::uint32_t choices) {
  return least + static_cast<std::uint32_t>(random.below(choices));
}

/// A cluster for each seed, of the shape that is drawn, all of them together.
template <class DrawShape>
Comparison compare_drawn(const std::vector<std::uint64_t>& seeds, int more_ends,
                         DrawShape&& draw_shape) {
  Comparison all;
  for (const std::uint64_t seed : seeds) {
    SplitMix64 random(seed);
    const ScenarioShape shape = draw_shape(random);
    CAPTURE(seed);
    all += compare(shape, {.predict = draw_predict(random)}, more_ends, random);
  }
  return all;
}

}  // namespace

TEST_CASE("the simulator decides as the coordinator does by time", "[actor][property]") {
  const auto seeds = seeds_to_try(6);
  const Comparison all = compare_drawn(seeds, 100, [](SplitMix64& random) {
    return ScenarioShape{.tenants = draw(random, 2, 5), .nodes = draw(random, 1, 6)};
  });
  CHECK(all.grants > 200 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does by time for a tree of tenants",
          "[actor][property]") {
  const auto seeds = seeds_to_try(6);
  const Comparison all = compare_drawn(seeds, 60, [](SplitMix64& random) {
    return ScenarioShape{.tenants = draw(random, 3, 5),
                         .nodes = draw(random, 1, 4),
                         .jobs = 100,
                         .groups = draw(random, 1, 4),
                         .weighs_resources = random.below(2) == 0};
  });
  CHECK(all.grants > 150 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does by time for gangs among other jobs",
          "[actor][property]") {
  const auto seeds = seeds_to_try(6);
  const Comparison all = compare_drawn(seeds, 80, [](SplitMix64& random) {
    return ScenarioShape{.tenants = draw(random, 2, 4),
                         .nodes = draw(random, 2, 5),
                         .jobs = 100,
                         .groups = draw(random, 0, 3),
                         .percent_gangs = 30};
  });
  CHECK(all.grants > 100 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does by time while nodes drain",
          "[actor][property]") {
  const auto seeds = seeds_to_try(6);
  const Comparison all = compare_drawn(seeds, 80, [](SplitMix64& random) {
    return ScenarioShape{.tenants = draw(random, 2, 4),
                         .nodes = draw(random, 3, 4),
                         .jobs = 100,
                         .percent_gangs = 15,
                         .drains = draw(random, 1, 2)};
  });
  CHECK(all.grants > 100 * seeds.size());
}

TEST_CASE("the simulator decides as the coordinator does by time for elastic jobs",
          "[actor][property][elastic]") {
  const auto seeds = seeds_to_try(3);
  Comparison all;
  for (const auto rule : {GrowthRule::qrea, GrowthRule::qrea_rebalance, GrowthRule::crea})
    for (const std::uint64_t seed : seeds) {
      SplitMix64 random(seed);
      const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(4)),
                                .nodes = 2 + static_cast<std::uint32_t>(random.below(5)),
                                .jobs = 80,
                                .most_tasks = 6,
                                .groups = static_cast<std::uint32_t>(random.below(3)),
                                .percent_gangs = 10,
                                .percent_elastic = 40};
      CAPTURE(to_string(rule), seed);
      all += compare(shape, {.predict = draw_predict(random), .growth = rule}, 60, random);
    }
  CHECK(all.grants > 3 * 100 * seeds.size());
  CHECK(all.grown() > 3 * 20 * seeds.size());
}

}  // namespace fairwater
