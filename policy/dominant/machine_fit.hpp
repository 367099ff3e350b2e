// How well a task fits a machine by DRFH's best fit (policy/dominant/gdrf.hpp), and when two
// machines count as alike.
#pragma once

#include "policy/dominant/machine_load.hpp"

namespace fairwater::inline policy::inline dominant {

/// Scores closer than this to the best one, relative to it, tie: rounding is a hundredth of it.
inline constexpr double kScoreTie = 1e-14;

/// sum over r of |demand_r / demand_1 - free_r / free_1|, times demand_1, which is the same for all
/// machines; the task has room. All over one denominator: one division of whole numbers, so that
/// equal distances are equal as doubles too.
[[nodiscard]] inline double fit_distance(const PlacedUser& user, const ResourceVector& free) {
  const std::size_t first = user.first_resource;
  Wide distance = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    const Wide difference = Wide{user.demand[r]} * free[first] - Wide{free[r]} * user.demand[first];
    distance += difference < 0 ? -difference : difference;
  }
  return static_cast<double>(distance) / static_cast<double>(free[first]);
}

}  // namespace fairwater::inline policy::inline dominant
