// What a change of one group costs: passes over all groups against the incremental water level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/core/types.hpp"
#include "sim/experiments/experiment.hpp"

namespace fairwater::sim::inline experiments {

/// A group that shares one resource: no min, no max.
struct PlainGroup {
  Weight weight = 1;
  Amount request = 0;
};

/// Where the water stands: a group holds `min(request, weight * poured / weights)`.
struct RoundLevel {
  bool all_satisfied = false;
  Wide poured = 0;  ///< what is left for the groups that do not get their request
  Wide weights = 1;
  std::uint32_t rounds = 0;
};

/// The yardstick, as fair schedulers commonly do it: every round offers what is left by weight to
/// the groups still asking, and takes out those for whom the offer is enough, until it is so for
/// none. O(groups) per round. `asking` is working memory.
[[nodiscard]] RoundLevel fill_by_rounds(Amount capacity, std::span<const PlainGroup> groups,
                                        std::vector<std::uint32_t>& asking);

struct ScalingPlan {
  std::vector<std::size_t> groups;     ///< numbers of groups, at least two different ones
  std::vector<std::size_t> resources;  ///< numbers of resources, ascending
  std::uint64_t most_changes = 1;      ///< measured per method and size
  double most_seconds = 0;             ///< no further change is begun after so much processor time
};

[[nodiscard]] ExperimentReport measure_water_fill_scaling(const ScalingPlan& plan,
                                                          const ExperimentOptions& options);

}  // namespace fairwater::sim::inline experiments
