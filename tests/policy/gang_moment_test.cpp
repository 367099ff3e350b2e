// When a gang's tasks have room together, against looking at every moment.
#include "policy/allocator/gang_moment.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

namespace fairwater::test::gang_moment {
namespace {

constexpr LedgerMs kEnd_ms = 120;  ///< nothing changes after that

struct Case {
  std::mt19937_64 random;
  std::uint64_t draw(std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
  }
  ResourceVector room(std::uint64_t least, std::uint64_t most) {
    ResourceVector result;
    result[kCpu] = static_cast<Amount>(draw(least, most));
    result[kMemory] = static_cast<Amount>(draw(least, most));
    return result;
  }
  WindowRange gang() {
    WindowRange gang;
    gang.range.demand = room(1, 2);
    gang.range.is_gang = true;
    gang.asks = ResourceSet::asked_by(gang.range.demand);
    gang.starts_at_once = static_cast<std::uint32_t>(draw(1, 9));
    return gang;
  }
  RoomProfile profile() {
    RoomProfile profile(room(0, 6));
    profile.pass_to(10);
    for (LedgerMs at_ms = 15; at_ms < 60; at_ms += static_cast<LedgerMs>(draw(1, 30)))
      profile.grow(at_ms, room(0, 3));
    for (std::uint64_t i = draw(0, 4); i > 0; --i) {
      const auto from_ms = static_cast<LedgerMs>(draw(10, 90));
      profile.take(from_ms, from_ms + static_cast<LedgerMs>(draw(1, 25)), room(0, 3));
    }
    return profile;
  }
};

auto fitting(const WindowRange& gang) {
  return [&gang](const ResourceVector& free) { return tasks_that_fit(gang, free); };
}

/// By looking at all steps.
std::uint32_t tasks_from(const RoomProfile& profile, const WindowRange& gang, LedgerMs from_ms,
                         std::int64_t duration_ms) {
  std::uint32_t tasks = gang.starts_at_once;
  const auto& steps = profile.steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].from < from_ms + duration_ms &&
        (i + 1 == steps.size() || steps[i + 1].from > from_ms))
      tasks = std::min(tasks, tasks_that_fit(gang, steps[i].free));
  return tasks;
}

TEST_CASE("a gang's first moment is the first of all moments at which it fits", "[property]") {
  std::size_t waited = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    INFO("seed " << seed);
    Case made{std::mt19937_64(seed)};
    const WindowRange gang = made.gang();
    const auto duration_ms = static_cast<std::int64_t>(made.draw(1, 30));
    std::vector<RoomProfile> profiles;
    std::vector<std::vector<PossibleTasks>> possible;
    for (std::uint64_t nodes = made.draw(1, 4); nodes > 0; --nodes) {
      profiles.push_back(made.profile());
      possible.push_back(possible_tasks(profiles.back(), duration_ms, fitting(gang)));
    }
    std::optional<LedgerMs> first;
    for (LedgerMs at_ms = 10; at_ms <= kEnd_ms; ++at_ms) {
      std::uint32_t together = 0;
      for (std::size_t i = 0; i < profiles.size(); ++i) {
        const std::uint32_t tasks = tasks_from(profiles[i], gang, at_ms, duration_ms);
        REQUIRE(possible_at(possible[i], at_ms).tasks == tasks);
        together += tasks;
      }
      if (!first && together >= gang.starts_at_once) first = at_ms;
    }
    CHECK(first_moment(gang.starts_at_once, possible) == first);
    waited += first && *first > 10 ? 1 : 0;
  }
  CHECK(waited > 200);
}

TEST_CASE("of two lists the lesser counts at every moment", "[property]") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    Case made{std::mt19937_64(seed)};
    const auto some_list = [&] {
      std::vector<PossibleTasks> list;
      for (LedgerMs from_ms = 10; from_ms < 60; from_ms += static_cast<LedgerMs>(made.draw(1, 20)))
        list.push_back({from_ms, static_cast<std::uint32_t>(made.draw(0, 5))});
      return list;
    };
    const auto a = some_list();
    const auto b = some_list();
    const auto lesser = lesser_of(a, b);
    for (LedgerMs at_ms = 10; at_ms <= kEnd_ms; ++at_ms)
      REQUIRE(possible_at(lesser, at_ms).tasks ==
              std::min(possible_at(a, at_ms).tasks, possible_at(b, at_ms).tasks));
    for (std::size_t i = 1; i < lesser.size(); ++i) REQUIRE(lesser[i].tasks != lesser[i - 1].tasks);
  }
}

TEST_CASE("what a gang may start moves where steps begin and where a run would reach them",
          "[unit]") {
  WindowRange gang;
  gang.range.demand[kCpu] = 1;
  gang.asks = ResourceSet::asked_by(gang.range.demand);
  gang.starts_at_once = 3;
  ResourceVector two, one;
  two[kCpu] = 2;
  one[kCpu] = 1;
  RoomProfile profile(two);
  profile.take(20, 30, one);
  profile.take(30, 40, one);
  const auto possible = possible_tasks(profile, 5, fitting(gang));
  CHECK(possible == std::vector<PossibleTasks>{{0, 2}, {16, 1}, {40, 2}});
  const std::vector<std::vector<PossibleTasks>> one_node{possible}, two_nodes{possible, possible};
  CHECK(first_moment(2, one_node) == 0);
  CHECK(first_moment(3, one_node) == std::nullopt);
  CHECK(first_moment(3, two_nodes) == 0);
}

}  // namespace
}  // namespace fairwater::test::gang_moment
