// Curves of classes whose truth is known.
#include "policy/saturation/class_curve.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

/// Runs of a program that gains up to four processors: 100, 50, 34, 25, and 25 from there on.
std::vector<ClassSample> saturating(double noise) {
  std::vector<ClassSample> samples;
  for (const double cpu : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0})
    for (const double factor : {1 - noise, 1.0, 1 + noise})
      samples.push_back({{cpu, 512}, 100 / std::min(cpu, 4.0) * factor, true});
  return samples;
}

const CurvePoint& by(const ClassCurve& curve, SaturationMethod method) {
  const auto found = std::find_if(curve.points.begin(), curve.points.end(),
                                  [&](const CurvePoint& point) { return point.method == method; });
  REQUIRE(found != curve.points.end());
  return *found;
}

ClassSample failure(std::vector<double> resources) { return {std::move(resources), 0, false}; }

}  // namespace

TEST_CASE("a curve has a point by each method, as sure as its runs agree", "[unit][curve]") {
  const ClassCurve curve = class_curve(saturating(0.01));
  CHECK(curve.amounts.size() == 8);
  CHECK(curve.varied == std::vector<std::size_t>{0});
  CHECK(curve.amounts[1].resources == std::vector<double>{2, 512});
  CHECK(curve.amounts[1].time == Approx(50));
  CHECK(curve.amounts[1].fastest == Approx(49.5));
  CHECK(curve.amounts[1].slowest == Approx(50.5));
  CHECK(curve.points.size() == 3);
  for (const auto method :
       {SaturationMethod::diagonal, SaturationMethod::origin, SaturationMethod::chord}) {
    const CurvePoint& point = by(curve, method);
    CHECK(point.amount == 2);  // three processors: the fourth gains a tenth of what it costs
    CHECK(point.confidence.value() > 0.95);
    REQUIRE(point.interval.size() == 1);
    CHECK(point.interval[0].low == 3);
  }
  const ClassCurve noisy = class_curve(saturating(0.3));
  CHECK(by(noisy, SaturationMethod::diagonal).confidence.value() <
        by(curve, SaturationMethod::diagonal).confidence.value());
}

TEST_CASE("a curve does not depend on the order of its samples", "[unit][curve]") {
  std::vector<ClassSample> samples = saturating(0.2);
  const ClassCurve one = class_curve(samples);
  std::reverse(samples.begin(), samples.end());
  const ClassCurve other = class_curve(samples);
  REQUIRE(one.points.size() == other.points.size());
  for (std::size_t i = 0; i < one.points.size(); ++i) {
    CHECK(one.points[i].amount == other.points[i].amount);
    CHECK(one.points[i].confidence == other.points[i].confidence);
  }
}

TEST_CASE("an amount where most runs fail is no point of the curve", "[unit][curve]") {
  // It fails below 128, and more than that does not pay.
  std::vector<ClassSample> samples{failure({32}), failure({64}), failure({64}), {{64}, 900, true}};
  for (const double memory : {128.0, 256.0, 512.0})
    for (const double time : {99.0, 100.0, 101.0}) samples.push_back({{memory}, time, true});
  samples.push_back(failure({512}));  // one of four: an accident
  const ClassCurve curve = class_curve(samples);
  REQUIRE(curve.amounts.size() == 5);
  CHECK_FALSE(curve.amounts[0].runs());
  CHECK_FALSE(curve.amounts[1].runs());
  CHECK(curve.amounts[1].completed == 1);
  CHECK(curve.amounts[1].time == 0);
  CHECK(curve.amounts[4].runs());
  CHECK(by(curve, SaturationMethod::diagonal).amount == 2);
  CHECK(amounts_above(curve, 2, 0) == std::vector<std::size_t>{3, 4});
  CHECK(amounts_above(curve, 0, 0) == std::vector<std::size_t>{2, 3, 4});
  CHECK(amounts_above(curve, 4, 0).empty());
}

TEST_CASE("a curve within the noise of its runs is flat: its point is the least amount",
          "[unit][curve]") {
  // By their medians alone the least amount would be the slowest and the next the fastest.
  std::vector<ClassSample> samples;
  const std::vector<std::pair<double, std::vector<double>>> measured{
      {1, {95, 104, 110}}, {2, {94, 98, 107}}, {4, {93, 101, 109}}, {8, {96, 100, 108}}};
  for (const auto& [cpu, times] : measured)
    for (const double time : times) samples.push_back({{cpu}, time, true});
  samples.push_back(failure({0.5}));
  const ClassCurve curve = class_curve(samples);
  CHECK(curve.flat);
  REQUIRE(curve.points.size() == 3);
  for (const CurvePoint& point : curve.points) {
    CHECK(curve.amounts[point.amount].resources == std::vector<double>{1});
    CHECK_FALSE(point.confidence);
  }
  CHECK_FALSE(class_curve(saturating(0.05)).flat);
  // Three medians apart by more than twice, of runs that are as far apart: taken from a machine
  // with other work.
  std::vector<ClassSample> busy;
  const std::vector<std::pair<double, std::vector<double>>> disturbed{
      {128, {296, 416, 457}}, {256, {241, 328, 390}}, {512, {135, 195, 505}}};
  for (const auto& [memory, times] : disturbed)
    for (const double time : times) busy.push_back({{memory}, time, true});
  CHECK(class_curve(busy).flat);
  // Of many runs one that is far off is an accident, and the curve stays one.
  std::vector<ClassSample> many;
  for (const double cpu : {1.0, 2.0})
    for (const double factor : {0.98, 0.99, 1.0, 1.01, 1.02, 9.0})
      many.push_back({{cpu}, 100 / cpu * factor, true});
  CHECK_FALSE(class_curve(many).flat);
  // Times that are all alike, whatever their logarithms are rounded to.
  std::vector<ClassSample> alike;
  for (const double cpu : {1.0, 2.0, 3.0})
    for (int run = 0; run < 3; ++run) alike.push_back({{cpu}, 0.1, true});
  CHECK(class_curve(alike).flat);
  // The same times once each: nobody knows what is noise.
  const std::vector<ClassSample> once{{{1}, 104, true}, {{2}, 98, true}, {{4}, 101, true}};
  CHECK_FALSE(class_curve(once).flat);
}

TEST_CASE("a curve that falls by less than a twentieth is flat, however sure", "[unit][curve]") {
  const auto falls_to = [](double time) {
    std::vector<ClassSample> samples;
    for (int run = 0; run < 3; ++run)
      samples.insert(samples.end(), {{{1}, 100, true}, {{2}, time + 0.1 * run, true}});
    return class_curve(samples);
  };
  CHECK(falls_to(96).flat);
  CHECK_FALSE(falls_to(94).flat);
}

TEST_CASE("chance alone makes a curve of hardly any program that gains nothing", "[unit][curve]") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.1);
  for (const int repeats : {2, 3, 10}) {
    int curves = 0;
    for (int i = 0; i < 1000; ++i) {
      std::vector<ClassSample> samples;
      for (const double cpu : {1.0, 2.0, 3.0, 4.0})
        for (int run = 0; run < repeats; ++run)
          samples.push_back({{cpu}, 100 * std::exp(noise(random)), true});
      curves += class_curve(samples).flat ? 0 : 1;
    }
    INFO(repeats);
    CHECK(curves <= 20);
  }
}

TEST_CASE("what is above an amount has as much of all else", "[unit][curve]") {
  std::vector<ClassSample> samples;
  for (const double cpu : {1.0, 2.0})
    for (const double memory : {64.0, 128.0}) samples.push_back({{cpu, memory}, 10, true});
  const ClassCurve curve = class_curve(samples);
  CHECK(curve.varied == std::vector<std::size_t>{0, 1});
  CHECK(amounts_above(curve, 0, 1) == std::vector<std::size_t>{1});
  CHECK(amounts_above(curve, 0, 0) == std::vector<std::size_t>{2});
  CHECK(curve.points.size() == 2);  // a chord is of one resource
}

TEST_CASE("without repeated runs, or with one amount, nothing is said of confidence",
          "[unit][curve]") {
  const std::vector<ClassSample> once{{{1}, 10, true}, {{2}, 6, true}, {{3}, 5, true}};
  for (const CurvePoint& point : class_curve(once).points) CHECK_FALSE(point.confidence);
  const std::vector<ClassSample> alone{{{1}, 10, true}, {{1}, 11, true}};
  const ClassCurve curve = class_curve(alone);
  REQUIRE(curve.points.size() == 2);
  CHECK(curve.points[0].amount == 0);
  CHECK_FALSE(curve.points[0].confidence);
  CHECK(curve.varied.empty());
  CHECK(class_curve(std::vector<ClassSample>{failure({1})}).points.empty());
  CHECK(class_curve({}).amounts.empty());
}

}  // namespace fairwater
