#include "policy/quota/tree_weights.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline quota {

std::vector<Weight> tree_weights(std::span<const PlacedWeight> groups,
                                 std::span<const PlacedWeight> members) {
  std::vector<Wide> weights(1 + groups.size());
  for (const auto list : {groups, members})
    for (const PlacedWeight& placed : list) weights.at(placed.group) += placed.weight;
  std::vector<Wide> parts{kTreeWeight};
  const auto part_of = [&](const PlacedWeight& placed) {
    FAIRWATER_CHECK(placed.group < parts.size(), "a group is before what shares its part");
    return parts[placed.group] * placed.weight / weights[placed.group];
  };
  for (const PlacedWeight& group : groups) parts.push_back(part_of(group));
  std::vector<Weight> result;
  for (const PlacedWeight& member : members)
    result.push_back(static_cast<Weight>(std::max<Wide>(part_of(member), 1)));
  return result;
}

}  // namespace fairwater::inline policy::inline quota
