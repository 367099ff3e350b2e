// What holds for every state of a cycle, by books of its own: capacity, labels, devices, nodes that
// close, max and min of tenants and groups, gangs whole, nobody waits who could start, nothing is
// preempted within a quota or a min, nets follow the loans, of time within caps, and sum to zero,
// as credits do.
//
// FAIRWATER_STATES=N looks at N states of each kind; by default at as many as take seconds.
#include "random_states.hpp"

#include <catch2/catch.hpp>

namespace fairwater::test::states {

TEST_CASE(
    "in every state capacity, labels, devices, max, min, gangs, credits and nets are kept, and "
    "nobody waits who could start",
    "[property][states]") {
  constexpr std::uint64_t kStatesOfCluster = 30;
  const std::uint64_t states = states_to_look_at(250'000);
  Seen seen;
  for (std::uint64_t seed = 1; seed <= (states + kStatesOfCluster - 1) / kStatesOfCluster; ++seed) {
    INFO("seed " << seed);
    Cluster cluster(seed);
    for (std::uint64_t i = 0; i < kStatesOfCluster; ++i) cluster.next_state();
    seen += cluster.seen();
  }
  CHECK(seen.granted > states * 9 / 10);
  CHECK(seen.grown > states / 20);
  CHECK(seen.gangs > states / 20);
  CHECK(seen.sharing_gangs > states / 200);
  CHECK(seen.waiting > states / 2);
  CHECK(seen.waiting_by_time > states / 20);
  CHECK(seen.grown_shares > states / 200);
  CHECK(seen.named_devices > states / 40);
  CHECK(seen.chosen > states / 40);
  CHECK(seen.guaranteed > states / 20);
  CHECK(seen.below_min > states / 50);
  CHECK(seen.at_plain_share > states / 40);
  CHECK(seen.preempted > states / 2000);
  CHECK(seen.preempted_of_min > states / 12000);
  CHECK(seen.preempted_for_min > states / 8000);
  CHECK(seen.preempted_of_group > 0);
  CHECK(seen.preempted_below_max > 0);
  CHECK(seen.before_closing > states / 20);
  CHECK(seen.too_long > states / 20);
  CHECK(seen.lent_by_time > states / 20);
  CHECK(seen.at_cap > states / 100);
}

TEST_CASE("in every mix of work preemption comes to an end", "[property][states][preemption]") {
  constexpr std::uint64_t kStatesOfCluster = 30;
  constexpr std::size_t kMostRounds = 60;
  const std::uint64_t states = states_to_look_at(60'000);
  Seen seen;
  for (std::uint64_t seed = 1; seed <= states / kStatesOfCluster; ++seed) {
    INFO("seed " << seed);
    Cluster cluster(seed);
    for (std::uint64_t i = 0; i < kStatesOfCluster; ++i) cluster.next_state();
    REQUIRE(cluster.rounds_until_nobody_is_preempted(kMostRounds) < kMostRounds);
    seen += cluster.seen();
  }
  CHECK(seen.preempted > states / 2000);
}

}  // namespace fairwater::test::states
