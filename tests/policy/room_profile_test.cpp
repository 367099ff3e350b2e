// The room that is expected to be free: what grows, what is taken, and when something fits first.
#include "policy/allocator/room_profile.hpp"

#include <array>
#include <random>

#include <catch2/catch.hpp>

#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/tenant.hpp"

namespace fairwater::test::room_profile {
namespace {

ResourceVector room(Amount cpu, Amount memory = 0) {
  ResourceVector result;
  result[kCpu] = cpu;
  result[kMemory] = memory;
  return result;
}

constexpr LedgerMs kEnd = 1000;

TEST_CASE("by limits room grows in their order, whatever is expected", "[unit]") {
  NodeRoom node;
  node.capacity = node.used = room(2);
  node.ends.emplace(ExpectedEnd{5, TaskKey{JobId{1}, 0, 1}}, EndingTask{room(1), 20});
  node.ends.emplace(ExpectedEnd{10, TaskKey{JobId{2}, 0, 1}}, EndingTask{room(1), 12});
  const auto first_for = [&](Amount cpu, Predict predict) {
    return expected_room(node, 0, predict).earliest(room(cpu), 1, kEnd);
  };
  CHECK(first_for(1, Predict::history) == 5);
  CHECK(first_for(2, Predict::history) == 10);
  CHECK(first_for(1, Predict::limits) == 12);
  CHECK(first_for(2, Predict::limits) == 20);
}

TEST_CASE("what grows is free from then on, and adds up", "[unit]") {
  RoomProfile profile(room(2));
  profile.pass_to(10);
  profile.grow(20, room(1));
  profile.grow(20, room(1));
  profile.grow(30, room(4));
  CHECK(profile.earliest(room(2), 100, kEnd) == 10);
  CHECK(profile.earliest(room(4), 100, kEnd) == 20);
  CHECK(profile.earliest(room(5), 100, kEnd) == 30);
  CHECK_FALSE(profile.earliest(room(9), 100, kEnd));
}

TEST_CASE("what is taken is not free meanwhile, and given back it is as before", "[unit]") {
  RoomProfile profile(room(8));
  profile.take(20, 30, room(6));
  CHECK(profile.earliest(room(2), 100, kEnd) == 0);
  CHECK(profile.earliest(room(3), 20, kEnd) == 0);
  CHECK(profile.earliest(room(3), 21, kEnd) == 30);
  CHECK_FALSE(profile.earliest(room(3), 21, 30));
  CHECK(profile.earliest(room(3), 21, 31) == 30);
  profile.give_back(20, 30, room(6));
  CHECK(profile.earliest(room(8), 100, kEnd) == 0);
}

TEST_CASE("what was before now is forgotten", "[unit]") {
  RoomProfile profile(room(8));
  profile.take(0, 20, room(9));
  CHECK_FALSE(profile.is_sound_now());
  profile.pass_to(15);
  CHECK_FALSE(profile.is_sound_now());
  profile.pass_to(20);
  CHECK(profile.is_sound_now());
  profile.take(5, 25, room(8));
  CHECK(profile.earliest(room(1), 1, kEnd) == 25);
}

TEST_CASE("a profile is as if each moment had its own number", "[property]") {
  constexpr std::size_t kMoments = 60;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t most) {
      return static_cast<Amount>(random() % (most + 1));
    };
    RoomProfile profile(room(10, 10));
    std::array<ResourceVector, kMoments> free;
    free.fill(room(10, 10));
    for (int i = 0; i < 12; ++i) {
      const Amount from = draw(kMoments - 1);
      const Amount to = from + draw(kMoments - 1 - static_cast<std::uint64_t>(from));
      const ResourceVector demand = room(draw(4), draw(4));
      const bool is_given = draw(3) == 0;
      if (is_given)
        profile.give_back(from, to, demand);
      else
        profile.take(from, to, demand);
      for (Amount at = from; at < to; ++at) {
        ResourceVector& there = free[static_cast<std::size_t>(at)];
        there = is_given ? there + demand : there - demand;
      }
      const ResourceVector wanted = room(draw(10), draw(10));
      const auto duration = 1 + draw(20);
      LedgerMs expected = 0;
      for (LedgerMs at = 0; at < static_cast<LedgerMs>(kMoments); ++at) {
        const bool fits = wanted.fits(free[static_cast<std::size_t>(at)]);
        if (!fits) expected = at + 1;
        if (fits && at + 1 == expected + duration) break;
      }
      REQUIRE(profile.earliest(wanted, duration, kEnd) == expected);
    }
  }
}

TEST_CASE("tasks that may never end wait for each other until time itself ends", "[unit]") {
  constexpr std::int64_t kForeverMs = kNever / 4;
  RoomProfile profile(room(1));
  LedgerMs before = -1;
  for (int i = 0; i < 5; ++i) {
    const auto from = profile.earliest(room(1), kForeverMs, kNever);
    REQUIRE(from);
    CHECK(*from > before);
    before = *from;
    profile.take(*from, moment_in(*from, kForeverMs), room(1));
  }
  CHECK_FALSE(profile.earliest(room(1), kForeverMs, kNever));
}

}  // namespace
}  // namespace fairwater::test::room_profile
