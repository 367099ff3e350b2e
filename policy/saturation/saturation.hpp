// The saturation point of a job class: the amount of resources beyond which more of them no longer
// pays. Bai, Lei, Zhang 2017, first stage of the two-stage allocation: the curve of running time
// over resources is scaled so that every axis runs from 0 to 1, and the point of the curve nearest
// to the plane `x + y + .. + t = 0` is taken. Two other readings of "the knee" stand beside it.
//
// O(points * axes). Distances are floating point, as the measured times are; points whose distances
// differ by less than 1e-12 count as tied, and the one with the least resources (the smallest sum
// of scaled amounts, then the first in input order) is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fairwater::inline policy::inline saturation {

enum class SaturationMethod : std::uint8_t {
  diagonal = 0,  ///< smallest `sum of scaled coordinates / sqrt(axes)`; any number of resources
  origin = 1,    ///< nearest to the origin of the scaled axes; any number of resources
  chord = 2,     ///< farthest below the line from the curve's first to its last point; one resource
};

struct MeasuredPoint {
  std::vector<double> resources;  ///< amounts in one order for all points, at least one; finite
  double time = 0;                ///< of a run, in any unit; finite
};

struct SaturationPoint {
  std::size_t index = 0;         ///< of the point taken
  std::vector<double> distance;  ///< one per point; for `chord` how far below the line
};

/// Needs at least one point, all with the same number of resources, in any order. `chord` needs one
/// resource and ends that differ (see chord_is_defined).
[[nodiscard]] SaturationPoint saturation_point(SaturationMethod method,
                                               std::span<const MeasuredPoint> points);

/// True when a line leads from the first to the last point of the curve: those with the least and
/// the largest amount; where all amounts are equal, the first and the last in input order.
[[nodiscard]] bool chord_is_defined(std::span<const MeasuredPoint> points);

}  // namespace fairwater::inline policy::inline saturation
