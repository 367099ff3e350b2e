// The table of IOUs against a map.
#include "policy/ledger/iou_table.hpp"

#include <map>
#include <random>

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

using Pair = IouTable::Pair;

std::map<Pair, Units> visited(const IouTable& table) {
  std::map<Pair, Units> all;
  table.visit([&](const IouTable::Entry& entry) {
    const bool is_first = all.emplace(entry.pair, entry.units).second;
    REQUIRE(is_first);
  });
  return all;
}

/// Pairs of few members, so that all of them come and go, or keys that all have one of two homes,
/// the first place and the last: the upper bits of the product tell it.
Pair random_pair(std::mt19937_64& random, bool collide) {
  if (!collide) return (Pair{1 + random() % 12} << 32) | (1 + random() % 12);
  constexpr Pair kInverse = 0xF1DE83E19937733DU;  // of the table's multiplier, modulo 2^64
  static_assert(kInverse * 0x9E3779B97F4A7C15U == 1);
  const Pair near = random() % 50;
  return kInverse * (random() % 2 == 0 ? 1 + near : ~near);
}

TEST_CASE("the table of IOUs holds what a map holds", "[property][ledger]") {
  for (const bool collide : {false, true}) {
    INFO("keys with one home: " << collide);
    std::mt19937_64 random(11);
    IouTable table;
    std::map<Pair, Units> expected;
    // It grows, then shrinks, and grows again.
    for (int i = 0; i < 20'000; ++i) {
      const Pair pair = random_pair(random, collide);
      const bool shrinks = i / 500 % 2 == 1;
      if (random() % 10 < (shrinks ? 7U : 2U)) {
        table.erase(pair);
        expected.erase(pair);
      } else {
        const auto [entry, is_new] = table.insert(pair);
        REQUIRE(is_new == !expected.contains(pair));
        REQUIRE(entry.pair == pair);
        REQUIRE(entry.units == (is_new ? 0 : expected[pair]));
        expected[pair] = entry.units = static_cast<Units>(random() % 1000);
      }
      const Pair asked = random_pair(random, collide);
      const IouTable::Entry* found = table.find(asked);
      REQUIRE((found != nullptr) == expected.contains(asked));
      if (found != nullptr) REQUIRE(found->units == expected[asked]);
      REQUIRE(table.size() == expected.size());
      if (i % 100 == 0) REQUIRE(visited(table) == expected);
    }
  }
}

}  // namespace
}  // namespace fairwater::test
