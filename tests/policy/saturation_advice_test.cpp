// Advice on histories whose truth is known: a curve with a knee, times noise, gaps and outliers.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "policy/saturation/advice.hpp"

namespace fairwater {
namespace {

/// Running time of an Amdahl job: 2 + 18 / amount.
double true_time(double amount) { return 2 + 18 / amount; }

/// A factor of `noise` up or down at most, the sum of four uniform numbers.
double noisy(double time, double noise, SplitMix64& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(random.below(1'000'001)) / 1e6 - 0.5;
  return time * std::exp(noise * sum);
}

std::vector<MeasuredPoint> history(const std::vector<double>& amounts, int runs, double noise,
                                   std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<MeasuredPoint> result;
  for (const double amount : amounts)
    for (int i = 0; i < runs; ++i)
      result.push_back({{amount}, noisy(true_time(amount), noise, random)});
  return result;
}

AdviceSettings settings() {
  AdviceSettings result;
  result.granules = {1};
  return result;
}

const std::vector<double> kOneToTen{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

std::vector<double> first_amount(const AmountToMeasure& amount) { return amount.resources; }

TEST_CASE("Advice finds the point of a noisy history and how sure it is", "[unit]") {
  std::vector<MeasuredPoint> truth;
  for (const double amount : kOneToTen) truth.push_back({{amount}, true_time(amount)});
  const std::size_t knee = saturation_point(SaturationMethod::diagonal, truth).index;
  int covered = 0;
  constexpr int kHistories = 200;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    const auto advice = advise_saturation(history(kOneToTen, 4, 0.15, seed), settings());
    REQUIRE(advice.interval);
    const auto [low, high] = advice.interval->front();
    CHECK(low <= advice.amounts[advice.point].resources[0]);
    CHECK(high >= advice.amounts[advice.point].resources[0]);
    if (low <= kOneToTen[knee] && kOneToTen[knee] <= high) ++covered;
  }
  CHECK(covered >= kHistories * 9 / 10);
}

TEST_CASE("More noise widens the interval, more runs narrow it", "[unit]") {
  const auto width = [](int runs, double noise) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto advice = advise_saturation(history(kOneToTen, runs, noise, seed), settings());
      sum += advice.interval->front().high - advice.interval->front().low;
    }
    return sum;
  };
  CHECK(width(4, 0.6) > width(4, 0.1));
  CHECK(width(20, 0.3) < width(3, 0.3));
}

TEST_CASE("An outlier is left out and named", "[unit]") {
  auto runs = history(kOneToTen, 5, 0.02, 7);
  const auto before = advise_saturation(runs, settings());
  runs[2 * 5].time *= 9;  // one run with 3 units was held up
  const auto after = advise_saturation(runs, settings());
  CHECK(after.amounts[2].outliers == 1);
  CHECK(after.amounts[2].runs == 4);
  CHECK(after.point == before.point);
  std::size_t outliers = 0;
  for (const MeasuredAmount& amount : after.amounts) outliers += amount.outliers;
  CHECK(outliers == 1);
}

TEST_CASE("Of runs in two halves none is an outlier", "[unit]") {
  auto runs = history({1, 2, 3, 5, 6}, 5, 0.01, 4);
  for (const double time : {1.0, 1.01, 10.0, 10.1}) runs.push_back({{4}, time});
  const auto advice = advise_saturation(runs, settings());
  const MeasuredAmount& halved = advice.amounts[3];
  CHECK(halved.resources == std::vector<double>{4});
  CHECK(halved.runs == 4);
  CHECK(halved.outliers == 0);
  CHECK(halved.time == Approx(std::sqrt(1.01 * 10.0)));
  CHECK(advice.interval);
}

TEST_CASE("Single runs say nothing of noise, so there is no interval", "[unit]") {
  const auto advice = advise_saturation(history(kOneToTen, 1, 0.1, 3), settings());
  CHECK_FALSE(advice.interval);
  CHECK(advice.amounts[advice.point].votes == 1);
}

TEST_CASE("Runs that agree to the digit give an interval of one point", "[unit]") {
  const auto advice = advise_saturation(history(kOneToTen, 3, 0, 3), settings());
  REQUIRE(advice.interval);
  CHECK(advice.interval->front().low == advice.interval->front().high);
  CHECK(advice.amounts[advice.point].votes == 1);
}

TEST_CASE("The gap beside the point is to be measured", "[unit]") {
  const auto advice = advise_saturation(history({1, 2, 8, 9, 10}, 3, 0.01, 5), settings());
  CHECK(advice.amounts[advice.point].resources[0] == 2);
  REQUIRE_FALSE(advice.measure.empty());
  CHECK(first_amount(advice.measure.front()) == std::vector<double>{5});
  CHECK(advice.measure.front().reason == MeasureReason::gap);
  for (const AmountToMeasure& amount : advice.measure)
    for (const MeasuredAmount& measured : advice.amounts)
      CHECK(amount.resources != measured.resources);
}

TEST_CASE("A point at the end of the measured range asks for more range", "[unit]") {
  // Twice the resources, half the time, to the end: no knee was seen, and the least amount wins the
  // tie.
  std::vector<MeasuredPoint> runs;
  for (const double amount : {4.0, 6.0, 8.0})
    for (int i = 0; i < 3; ++i) runs.push_back({{amount}, 100 - amount});
  const auto advice = advise_saturation(runs, settings());
  CHECK(advice.point == 0);
  REQUIRE_FALSE(advice.measure.empty());
  CHECK(advice.measure.front().reason == MeasureReason::edge);
  CHECK(first_amount(advice.measure.front()) == std::vector<double>{2});
}

TEST_CASE("Split votes ask for another run", "[unit]") {
  const auto advice = advise_saturation(history({1, 2, 3, 4, 5, 6}, 2, 0.5, 11), settings());
  CHECK(std::any_of(advice.measure.begin(), advice.measure.end(),
                    [](const auto& amount) { return amount.reason == MeasureReason::repeat; }));
  CHECK(advice.measure.size() <= 3);
}

TEST_CASE("Two resources get an interval each and gaps along both", "[unit]") {
  std::vector<MeasuredPoint> runs;
  SplitMix64 random(9);
  for (const double cpu : {1, 2, 4, 8})
    for (const double memory : {64, 128, 512})
      for (int i = 0; i < 3; ++i)
        runs.push_back({{cpu, memory}, noisy(20 / cpu + 128 / memory + 1, 0.1, random)});
  AdviceSettings two = settings();
  two.granules = {1, 64};
  two.suggestions = 20;
  const auto advice = advise_saturation(runs, two);
  REQUIRE(advice.interval);
  CHECK(advice.interval->size() == 2);
  CHECK(advice.amounts.size() == 12);
  bool along_cpu = false, along_memory = false;
  for (const AmountToMeasure& amount : advice.measure) {
    if (amount.reason != MeasureReason::gap) continue;
    along_cpu |= amount.resources[0] == 3 || amount.resources[0] == 6;
    along_memory |= amount.resources[1] == 320;
  }
  CHECK(along_cpu);
  CHECK(along_memory);
}

TEST_CASE("The same history and seed give the same advice", "[unit]") {
  const auto runs = history(kOneToTen, 3, 0.3, 21);
  const auto first = advise_saturation(runs, settings());
  const auto second = advise_saturation(runs, settings());
  AdviceSettings other = settings();
  other.seed = 2;
  const auto third = advise_saturation(runs, other);
  bool differs = false;
  for (std::size_t i = 0; i < first.amounts.size(); ++i) {
    CHECK(first.amounts[i].votes == second.amounts[i].votes);
    differs |= first.amounts[i].votes != third.amounts[i].votes;
  }
  CHECK(differs);
}

}  // namespace
}  // namespace fairwater
