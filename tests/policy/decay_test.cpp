// Debts that shrink with time, against the same in floating point and against fewer steps.
#include "policy/ledger/decay.hpp"

#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "policy/ledger/iou_book.hpp"

namespace fairwater::test {
namespace {

constexpr LedgerMs kHour_ms = 3'600'000;

TEST_CASE("in a half-life a debt becomes half", "[unit][decay]") {
  const DecayFactor half(kHour_ms, kHour_ms);
  CHECK(half.of({.units = 1000}).units == 500);
  CHECK(half.of({.units = 1001}).units == 500);
  CHECK(half.of({.units = 1001}).rest == std::uint32_t{1} << 31);
  CHECK(half.of({.units = 1}).units == 0);
  CHECK(half.of({.units = 0}).units == 0);
  CHECK(DecayFactor(3 * kHour_ms, kHour_ms).of({.units = 800}).units == 100);
  CHECK(DecayFactor(1000 * kHour_ms, kHour_ms).of({.units = kUnlimited}).units == 0);
  // 2^-(1/2) is 0.7071067811865475244..
  const DecayFactor::Balance root =
      DecayFactor(kHour_ms / 2, kHour_ms).of({.units = 1'000'000'000'000'000'000});
  CHECK(std::abs(root.units - 707'106'781'186'547'524) <= 1);
}

TEST_CASE("a debt shrinks as it does in floating point", "[property][decay]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto half_life =
        static_cast<LedgerMs>(1 + random() % (std::uint64_t{1} << random() % 40));
    const auto passed = static_cast<LedgerMs>(1 + random() % (std::uint64_t{1} << random() % 42));
    const auto units = static_cast<Units>(random() % (std::uint64_t{1} << random() % 50));
    const long double exact =
        static_cast<long double>(units) *
        std::exp2(-static_cast<long double>(passed) / static_cast<long double>(half_life));
    const DecayFactor::Balance left = DecayFactor(passed, half_life).of({.units = units});
    INFO(units << " units for " << passed << " of " << half_life << " ms");
    REQUIRE(std::abs(static_cast<long double>(left.units) +
                     static_cast<long double>(left.rest) / 4294967296.0L - exact) < 0.02L);
  }
}

TEST_CASE("many short steps come to what one long step comes to, within a unit",
          "[property][decay]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto half_life =
        static_cast<LedgerMs>(kHour_ms + static_cast<LedgerMs>(random() % 100) * kHour_ms);
    const auto units = static_cast<Units>(random() % (std::uint64_t{1} << 40));
    DecayFactor::Balance left{.units = units};
    LedgerMs passed = 0;
    // Steps of a second, which are shorter than a ledger takes.
    for (int step = 0; step < 100'000; ++step) {
      const LedgerMs ms = 1000 + static_cast<LedgerMs>(random() % 3);
      left = DecayFactor(ms, half_life).of(left);
      passed += ms;
    }
    REQUIRE(std::abs(left.units - DecayFactor(passed, half_life).of({.units = units}).units) <= 1);
  }
}

TEST_CASE("a book that decays stays a book", "[unit][decay]") {
  IouBook book;
  book.lend(2, 1, 1000);
  book.lend(3, 1, 1);
  const auto less = book.decay(DecayFactor(kHour_ms, kHour_ms));
  CHECK(less == std::vector<IouBook::Iou>{{1, 2, 500, 1}, {1, 3, 1, 2}});
  CHECK(book.net(1) == -500);
  CHECK(book.net(2) == 500);
  CHECK(book.net(3) == 0);
  CHECK(book.ious() == std::vector<IouBook::Iou>{{1, 2, 500, 1}});
  // What is less than a unit counts when it is asked for the next time.
  (void)book.decay(DecayFactor(2 * kHour_ms, kHour_ms));
  CHECK(book.ious() == std::vector<IouBook::Iou>{{1, 2, 125, 1}});
  (void)book.decay(DecayFactor(kHour_ms, kHour_ms));
  CHECK(book.ious() == std::vector<IouBook::Iou>{{1, 2, 62, 1, std::uint32_t{1} << 31}});
  (void)book.decay(DecayFactor(100 * kHour_ms, kHour_ms));
  CHECK(book.empty());
}

}  // namespace
}  // namespace fairwater::test
