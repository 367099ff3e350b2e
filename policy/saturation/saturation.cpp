#include "policy/saturation/saturation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline saturation {
namespace {

constexpr double kDistanceTie = 1e-12;

/// Coordinates in [0, 1]: the resources, then the time. An axis on which all points agree is 0.
using ScaledPoint = std::vector<double>;

std::vector<ScaledPoint> scale(std::span<const MeasuredPoint> points) {
  const std::size_t resources = points.front().resources.size();
  std::vector<ScaledPoint> scaled(points.size(), ScaledPoint(resources + 1));
  for (std::size_t axis = 0; axis <= resources; ++axis) {
    const auto value = [&](const MeasuredPoint& point) {
      return axis < resources ? point.resources[axis] : point.time;
    };
    double low = value(points.front()), high = low;
    for (const MeasuredPoint& point : points) {
      low = std::min(low, value(point));
      high = std::max(high, value(point));
    }
    if (low == high) continue;
    for (std::size_t i = 0; i < points.size(); ++i)
      scaled[i][axis] = (value(points[i]) - low) / (high - low);
  }
  return scaled;
}

double sum(const ScaledPoint& point) { return std::accumulate(point.begin(), point.end(), 0.0); }

double diagonal_distance(const ScaledPoint& point) {
  return sum(point) / std::sqrt(static_cast<double>(point.size()));
}

double origin_distance(const ScaledPoint& point) {
  double squares = 0;
  for (const double coordinate : point) squares += coordinate * coordinate;
  return std::sqrt(squares);
}

/// The ends of the curve: the points with the least and the largest amount, of equal ones the first
/// and the last in input order.
std::pair<std::size_t, std::size_t> ends(std::span<const MeasuredPoint> points) {
  const auto [least, largest] = std::minmax_element(
      points.begin(), points.end(),
      [](const auto& a, const auto& b) { return a.resources.front() < b.resources.front(); });
  return {static_cast<std::size_t>(least - points.begin()),
          static_cast<std::size_t>(largest - points.begin())};
}

double depth_below_chord(const ScaledPoint& first, const ScaledPoint& last,
                         const ScaledPoint& point) {
  const double width = last[0] - first[0], height = last[1] - first[1];
  return (width * (first[1] - point[1]) - (first[0] - point[0]) * height) /
         std::hypot(width, height);
}

/// `distance[i]` is to be small, or large when `farthest`.
std::size_t take(const std::vector<double>& distance, bool farthest,
                 const std::vector<ScaledPoint>& scaled) {
  const double sign = farthest ? -1 : 1;
  double best = sign * distance.front();
  for (const double d : distance) best = std::min(best, sign * d);
  std::size_t taken = distance.size();
  double taken_resources = 0;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    if (sign * distance[i] > best + kDistanceTie) continue;
    const double resources = sum(scaled[i]) - scaled[i].back();
    if (taken == distance.size() || resources < taken_resources - kDistanceTie) {
      taken = i;
      taken_resources = resources;
    }
  }
  return taken;
}

}  // namespace

bool chord_is_defined(std::span<const MeasuredPoint> points) {
  const auto [first, last] = ends(points);
  return points[first].resources != points[last].resources ||
         points[first].time != points[last].time;
}

SaturationPoint saturation_point(SaturationMethod method, std::span<const MeasuredPoint> points) {
  FAIRWATER_CHECK(!points.empty(), "no points");
  for (const MeasuredPoint& point : points)
    FAIRWATER_CHECK(
        !point.resources.empty() && point.resources.size() == points.front().resources.size(),
        "points differ in their resources");
  const bool chord = method == SaturationMethod::chord;
  FAIRWATER_CHECK(!chord || (points.front().resources.size() == 1 && chord_is_defined(points)),
                  "no chord");
  const std::vector<ScaledPoint> scaled = scale(points);
  SaturationPoint result;
  result.distance.reserve(points.size());
  const auto [first, last] = ends(points);
  for (const ScaledPoint& point : scaled)
    result.distance.push_back(chord ? depth_below_chord(scaled[first], scaled[last], point)
                              : method == SaturationMethod::origin ? origin_distance(point)
                                                                   : diagonal_distance(point));
  result.index = take(result.distance, chord, scaled);
  return result;
}

}  // namespace fairwater::inline policy::inline saturation
