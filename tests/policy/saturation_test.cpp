// The saturation point on its paper's curves and against geometry worked out another way.
#include "policy/saturation/saturation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

std::vector<MeasuredPoint> curve(const std::vector<std::pair<double, double>>& points) {
  std::vector<MeasuredPoint> result;
  for (const auto& [amount, time] : points) result.push_back({{amount}, time});
  return result;
}

/// Distance from a point to the plane through the origin whose normal is (1, .., 1): the length of
/// the point's part along the normal, found by taking away the part within the plane.
long double distance_to_plane(const std::vector<long double>& point) {
  long double mean = 0;
  for (const long double x : point) mean += x / static_cast<long double>(point.size());
  return std::sqrt(static_cast<long double>(point.size())) * mean;
}

std::vector<std::vector<long double>> scaled(const std::vector<MeasuredPoint>& points) {
  std::vector<std::vector<long double>> columns(points.front().resources.size() + 1);
  for (const MeasuredPoint& point : points) {
    for (std::size_t r = 0; r < point.resources.size(); ++r)
      columns[r].push_back(point.resources[r]);
    columns.back().push_back(point.time);
  }
  std::vector<std::vector<long double>> rows(points.size());
  for (const auto& column : columns) {
    const auto [low, high] = std::minmax_element(column.begin(), column.end());
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(*high > *low ? (column[i] - *low) / (*high - *low) : 0);
  }
  return rows;
}

std::vector<MeasuredPoint> draw_points(std::size_t resources) {
  std::vector<MeasuredPoint> points;
  const int count = draw(1, 12);
  for (int i = 0; i < count; ++i) {
    MeasuredPoint point;
    for (std::size_t r = 0; r < resources; ++r) point.resources.push_back(draw(0, 9));
    point.time = draw(0, 1000) / 8.0;
    points.push_back(point);
  }
  return points;
}

TEST_CASE("The saturation point gives its paper's curves", "[unit]") {
  const auto cpu =
      curve({{1, 20}, {2, 10}, {3, 5}, {4, 4}, {5, 3.5}, {6, 3.2}, {7, 3.1}, {8, 3.0}});
  const SaturationPoint point = saturation_point(SaturationMethod::diagonal, cpu);
  CHECK(point.index == 2);
  CHECK(point.distance[0] == Approx(1 / std::sqrt(2.0)));
  CHECK(point.distance[2] == Approx(0.2852195419912124));
  CHECK(saturation_point(SaturationMethod::origin, cpu).index == 2);
  CHECK(saturation_point(SaturationMethod::chord, cpu).index == 2);
}

TEST_CASE("Of tied points the one with the least resources is the saturation point", "[unit]") {
  // Both are the same number of scaled steps away, in either order of input.
  const auto ascending = curve({{1, 4}, {2, 2}, {3, 1}, {4, 0}});
  CHECK(saturation_point(SaturationMethod::diagonal, curve({{3, 1}, {1, 3}, {2, 2}})).index == 1);
  CHECK(saturation_point(SaturationMethod::origin, curve({{4, 0}, {1, 3}})).index == 1);
  CHECK(saturation_point(SaturationMethod::chord, ascending).index == 1);
  CHECK(saturation_point(SaturationMethod::diagonal, curve({{5, 7}})).index == 0);
  CHECK(saturation_point(SaturationMethod::diagonal, curve({{5, 7}, {5, 7}})).index == 0);
}

TEST_CASE("A chord needs two ends", "[unit]") {
  CHECK_FALSE(chord_is_defined(curve({{1, 2}})));
  CHECK_FALSE(chord_is_defined(curve({{1, 2}, {1, 3}, {1, 2}})));
  CHECK(chord_is_defined(curve({{1, 2}, {1, 3}})));
  CHECK(chord_is_defined(curve({{1, 2}, {3, 1}, {1, 2}})));
}

TEST_CASE("The chord's point is the same in any order of input", "[unit]") {
  const auto falling = curve({{8, 3}, {3, 5}, {2, 10}, {1, 20}});
  CHECK(saturation_point(SaturationMethod::chord, falling).index == 1);
  CHECK(saturation_point(SaturationMethod::chord, falling).distance[1] > 0);
  const auto mixed = curve({{3, 5}, {8, 3}, {1, 20}, {2, 10}});
  CHECK(saturation_point(SaturationMethod::chord, mixed).index == 0);
}

TEST_CASE("The saturation point is the nearest by plain geometry", "[property]") {
  check_property("saturation", 10'000, [] {
    const auto points = draw_points(static_cast<std::size_t>(draw(1, 4)));
    const auto rows = scaled(points);
    const bool diagonal = draw(0, 1) == 0;
    const SaturationPoint point =
        saturation_point(diagonal ? SaturationMethod::diagonal : SaturationMethod::origin, points);
    std::vector<long double> expected;
    for (const auto& row : rows) {
      long double squares = 0;
      for (const long double x : row) squares += x * x;
      expected.push_back(diagonal ? distance_to_plane(row) : std::sqrt(squares));
    }
    const long double least = *std::min_element(expected.begin(), expected.end());
    RC_ASSERT(std::abs(expected[point.index] - least) < 1e-9L);
    for (std::size_t i = 0; i < points.size(); ++i) {
      RC_ASSERT(std::abs(expected[i] - static_cast<long double>(point.distance[i])) < 1e-9L);
      // No tied point needs less.
      long double taken = 0, other = 0;
      for (std::size_t r = 0; r + 1 < rows[i].size(); ++r) {
        taken += rows[point.index][r];
        other += rows[i][r];
      }
      if (expected[i] < least + 1e-13L) RC_ASSERT(taken <= other + 1e-9L);
    }
  });
}

TEST_CASE("The chord's point is the farthest below the line by its area", "[property]") {
  check_property("chord", 10'000, [] {
    auto points = draw_points(1);
    points.push_back({{points.front().resources[0] + draw(1, 5)}, draw(0, 1000) / 8.0});
    std::vector<std::size_t> along(points.size());
    std::iota(along.begin(), along.end(), std::size_t{0});
    std::stable_sort(along.begin(), along.end(), [&](std::size_t a, std::size_t b) {
      return points[a].resources < points[b].resources;
    });
    const auto rows = scaled(points);
    const SaturationPoint point = saturation_point(SaturationMethod::chord, points);
    const auto &first = rows[along.front()], &last = rows[along.back()];
    const long double base = std::hypot(last[0] - first[0], last[1] - first[1]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      // Twice the triangle's area by the shoelace formula, positive below the line.
      const auto& p = rows[i];
      const long double area = first[0] * p[1] - p[0] * first[1] + p[0] * last[1] - last[0] * p[1] +
                               last[0] * first[1] - first[0] * last[1];
      RC_ASSERT(std::abs(static_cast<long double>(point.distance[i]) - area / base) < 1e-9L);
      RC_ASSERT(point.distance[i] <= point.distance[point.index] + 1e-9);
    }
  });
}

TEST_CASE("Units do not move the saturation point", "[property]") {
  check_property("units", 10'000, [] {
    auto points = draw_points(static_cast<std::size_t>(draw(1, 3)));
    const auto before = saturation_point(SaturationMethod::diagonal, points);
    const double factor = std::pow(2, draw(-8, 8));
    const double shift = draw(0, 100);
    for (MeasuredPoint& point : points) {
      point.resources[0] = point.resources[0] * factor + shift;
      point.time *= factor;
    }
    RC_ASSERT(saturation_point(SaturationMethod::diagonal, points).index == before.index);
  });
}

}  // namespace
}  // namespace fairwater
