// As simulator_equality_test.cpp, for gpus by name and those that tasks share: which a task gets is
// in its grant.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/actors/decision_replay.hpp"

namespace fairwater {
namespace {

/// Grants that name devices.
std::size_t with_devices(const std::vector<JournalRecord>& journal) {
  std::size_t count = 0;
  for (const auto& record : journal)
    if (const auto* cycle = std::get_if<Cycle>(&record.body))
      for (const Deal& deal : cycle->deals)
        count += static_cast<std::size_t>(
            std::count_if(deal.grants.begin(), deal.grants.end(),
                          [](const Grant& grant) { return !grant.devices.empty(); }));
  return count;
}

struct Found {
  std::size_t with_devices = 0;  ///< grants
  std::size_t grown = 0;         ///< of the grants
  std::size_t reclaims = 0;
  std::size_t spread = 0;  ///< gangs on several nodes
};

/// By both accountings, with so many percent of each.
Found compare(std::uint32_t percent_gangs, std::uint32_t percent_elastic,
              const std::vector<std::uint64_t>& seeds) {
  Found all;
  for (const auto accounting : {Accounting::units, Accounting::time})
    for (const std::uint64_t seed : seeds) {
      SplitMix64 random(seed);
      const ScenarioShape shape{.tenants = 2 + static_cast<std::uint32_t>(random.below(4)),
                                .nodes = 1 + static_cast<std::uint32_t>(random.below(5)),
                                .jobs = 100,
                                .percent_gangs = percent_gangs,
                                .percent_elastic = percent_elastic,
                                .percent_devices = 30};
      const auto scenario = draw_scenario(shape, random);
      ActorRun actors{scenario, random, ClusterFixture::default_settings(), accounting};
      const auto journal = actors.run(40 + random.below(25), 80);
      const bool by_time = accounting == Accounting::time;
      const auto found = replay(
          simulated_cluster(scenario), journal,
          {.name = "sequence",
           .accounting = by_time ? sim::SequenceAccounting::time : sim::SequenceAccounting::units});
      CAPTURE(to_string(accounting), seed);
      check_same(found, actors);
      all.with_devices += with_devices(journal);
      all.grown += found.grown();
      all.reclaims += found.reclaims;
      all.spread += gangs_on_several_nodes(journal);
    }
  return all;
}

}  // namespace

TEST_CASE("the simulator gives the devices that the coordinator gives",
          "[actor][property][devices]") {
  const auto seeds = seeds_to_try(4);
  CHECK(compare(0, 0, seeds).with_devices > 2 * 50 * seeds.size());
}

TEST_CASE("the simulator gives gangs and elastic jobs the devices that the coordinator gives",
          "[actor][property][devices]") {
  const auto seeds = seeds_to_try(4);
  const Found found = compare(10, 30, seeds);
  CHECK(found.with_devices > 2 * 30 * seeds.size());
  CHECK(found.grown > 2 * 10 * seeds.size());
  CHECK(found.reclaims > seeds.size());
  CHECK(found.spread > 0);
}

}  // namespace fairwater
