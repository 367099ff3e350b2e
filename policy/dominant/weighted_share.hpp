// A dominant share over a weight, and which of two is smaller: exact.
#pragma once

#include <compare>
#include <cstdint>

#include "policy/core/types.hpp"
#include "policy/dominant/drf.hpp"

namespace fairwater::inline policy::inline dominant {

/// `amount / (total * weight)`: of what somebody holds, by the resource of which it holds the
/// largest part (Ghodsi et al., NSDI 2011, section 4.3, with a weight that is alike for all).
struct WeightedShare {
  Amount amount = 0;  ///< >= 0
  Amount total = 1;   ///< >= 0; an amount of what is not there is more than any other share
  Weight weight = 1;  ///< >= 1
};

[[nodiscard]] inline WeightedShare weighted_share(const ResourceVector& held,
                                                  const ResourceVector& capacity, Weight weight) {
  if (held.is_zero()) return {.amount = 0, .total = 1, .weight = weight};
  const std::size_t r = dominant_resource(held, capacity);
  return {.amount = held[r], .total = capacity[r], .weight = weight};
}

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

}  // namespace fairwater::inline policy::inline dominant
