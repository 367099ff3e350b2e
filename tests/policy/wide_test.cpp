// Division with short cuts against the library's.
#include "policy/core/wide.hpp"

#include <random>

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

/// Of any size: as many are near 2^63, where the short cut ends, as anywhere else.
Wide random_wide(std::mt19937_64& random) {
  const auto bits = static_cast<unsigned>(random() % 120);
  const Wide any = (Wide{static_cast<std::int64_t>(random() >> 1)} << 64) + random();
  return any >> (126 - bits);
}

TEST_CASE("a quotient is that of plain division, whatever the numbers' size", "[property][core]") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const Wide by = random_wide(random) + 1;
    const Wide size =
        random() % 8 == 0 ? by * static_cast<Wide>(random() % 4) : random_wide(random);
    const Wide value = random() % 2 == 0 ? size : -size;
    REQUIRE((quotient(value, by) == value / by));
    const Wide floor = floor_quotient(value, by);
    REQUIRE((floor * by <= value));
    REQUIRE((value - floor * by < by));
    REQUIRE((quotient_up(value, by) == -floor_quotient(-value, by)));
  }
}

TEST_CASE("where 64 bits end division goes on", "[unit][core]") {
  constexpr Wide kMost = Wide{1} << 63;
  for (const Wide value : {kMost - 1, kMost, kMost + 1, -kMost, -kMost - 1})
    for (const Wide by : {Wide{1}, Wide{2}, kMost - 1, kMost, kMost + 1})
      CHECK((quotient(value, by) == value / by));
  CHECK((floor_quotient(-1, kMost) == -1));
  CHECK((floor_quotient(-kMost, kMost) == -1));
  CHECK((floor_quotient(-kMost - 1, kMost) == -2));
  CHECK((quotient_up(kMost - 1, kMost) == 1));
  CHECK((quotient_up(kMost + 1, kMost) == 2));
}

}  // namespace
}  // namespace fairwater::test
