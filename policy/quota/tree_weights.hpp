// A tree of weights as one weight for each member, in proportion to its part of the tree: for what
// knows no groups, such as the sequence.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline quota {

struct PlacedWeight {
  std::uint32_t group = 0;  ///< whose part it shares: 0 the whole, n the n-th group
  Weight weight = 1;        ///< among those that share it
};

/// What all members' weights add up to, about: each is rounded down, and at least 1.
inline constexpr Weight kTreeWeight = 1'000'000'000;

/// By member. Each group is in the whole or in one before it; weights are above 0. O(groups +
/// members).
[[nodiscard]] std::vector<Weight> tree_weights(std::span<const PlacedWeight> groups,
                                               std::span<const PlacedWeight> members);

}  // namespace fairwater::inline policy::inline quota
