// A dominant share over a weight, and which of two is smaller: exact.
#pragma once

#include <compare>
#include <cstdint>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline dominant {

/// `amount / (total * weight)`: of what somebody holds, by the resource of which it holds the
/// largest part by its weight for that (Ghodsi et al., NSDI 2011, section 4.3).
struct WeightedShare {
  Amount amount = 0;  ///< >= 0
  Amount total = 1;   ///< >= 0; an amount of what is not there is more than any other share
  Weight weight = 1;  ///< >= 1
  std::size_t resource = 0;
};

/// Products of three 64-bit numbers, in 192 bits.
[[nodiscard]] inline std::strong_ordering compare(const WeightedShare& a, const WeightedShare& b) {
  using Bits = unsigned __int128;
  struct Product {
    Bits high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Product&) const = default;
  };
  const auto product = [](Amount x, Amount y, Weight z) {
    const Bits xy = static_cast<Bits>(x) * static_cast<Bits>(y);
    const auto factor = static_cast<std::uint64_t>(z);
    const Bits low = Bits{static_cast<std::uint64_t>(xy)} * factor;
    return Product{(xy >> 64) * factor + (low >> 64), static_cast<std::uint64_t>(low)};
  };
  return product(a.amount, b.total, b.weight) <=> product(b.amount, a.total, a.weight);
}

/// Of several resources alike the first counts; of nothing held the first resource's weight.
[[nodiscard]] inline WeightedShare weighted_share(const ResourceVector& held,
                                                  const ResourceVector& capacity,
                                                  const ResourceWeights& weights) {
  WeightedShare largest{.amount = 0, .total = 1, .weight = weights[0]};
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (held[r] == 0) continue;
    const WeightedShare share{
        .amount = held[r], .total = capacity[r], .weight = weights[r], .resource = r};
    if (compare(share, largest) > 0) largest = share;
  }
  return largest;
}

}  // namespace fairwater::inline policy::inline dominant
