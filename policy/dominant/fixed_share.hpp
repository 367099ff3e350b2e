// Parts of a cluster as fixed-point numbers, for sums of shares that were scaled: exact fractions
// would grow with every sibling. Whole numbers alone, so that the same comes out everywhere and
// what is added can be taken away again.
//
// A share is kept to 2^-80 of the cluster, each operation rounding down once; a group of thousands
// of siblings is off by less than 2^-66. Shares by weight are compared to 2^-64, so that what is
// equal counts as equal; a millicore of a million processors, over a weight of 10^9, is 2^-60.
// Where one sharer's weights for two resources are further apart than 2^14 to 1, a group around it
// may be off by that much more, and of two that are equal the wrong one may come first.
#pragma once

#include <algorithm>
#include <cstdint>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline dominant {

using FixedShare = unsigned __int128;

inline constexpr int kShareBits = 80;
inline constexpr FixedShare kWholeShare = FixedShare{1} << kShareBits;
/// Of what is not there, and whatever is larger.
inline constexpr FixedShare kMostShare = kWholeShare * 64;

/// part / whole to all places. The whole is at most kMostShare and not 0, the quotient below 2^48.
[[nodiscard]] inline FixedShare long_division(FixedShare part, FixedShare whole) {
  constexpr int kStep = kShareBits / 2;
  FixedShare ratio = part / whole;
  FixedShare rest = part % whole;
  for (int step = 0; step < 2; ++step) {
    rest <<= kStep;
    ratio = (ratio << kStep) + rest / whole;
    rest %= whole;
  }
  return ratio;
}

/// part / whole. Both are at most kMostShare.
[[nodiscard]] inline FixedShare fixed_ratio(FixedShare part, FixedShare whole) {
  if (part == 0) return 0;
  if (whole == 0 || part / whole >= kMostShare / kWholeShare) return kMostShare;
  return long_division(part, whole);
}

/// part * weight / whole, where that is 2^32 at most. The rest as above, the weight 1 to 2^32.
[[nodiscard]] inline FixedShare weighted_ratio(FixedShare part, Weight weight, FixedShare whole) {
  return part == 0 ? 0 : long_division(part * static_cast<FixedShare>(weight), whole);
}

/// held / total; of nothing held none.
[[nodiscard]] inline FixedShare fixed_share(Amount held, Amount total) {
  return fixed_ratio(static_cast<FixedShare>(std::max<Amount>(held, 0)),
                     static_cast<FixedShare>(std::max<Amount>(total, 0)));
}

/// share * factor, at most kMostShare. Requires share <= kMostShare.
[[nodiscard]] inline FixedShare scaled(FixedShare share, FixedShare factor) {
  const auto low = [](FixedShare value) { return FixedShare{static_cast<std::uint64_t>(value)}; };
  const FixedShare share_high = share >> 64;
  const FixedShare factor_high = factor >> 64;
  const FixedShare one = low(share) * factor_high;
  const FixedShare other = share_high * low(factor);
  const FixedShare middle = (low(share) * low(factor) >> 64) + low(one) + low(other);
  const FixedShare high = share_high * factor_high + (one >> 64) + (other >> 64) + (middle >> 64);
  constexpr int kHighBits = 2 * 64 - kShareBits;
  if (high >= kMostShare >> kHighBits) return kMostShare;
  return (high << kHighBits) + (low(middle) >> (kShareBits - 64));
}

/// A share over a weight of 1 to 2^32, to the 2^-64 to which they are compared.
[[nodiscard]] inline FixedShare by_weight(FixedShare share, Weight weight) {
  constexpr int kMore = 40;
  constexpr int kLess = kShareBits + kMore - 64;
  const FixedShare exact = (share << kMore) / static_cast<FixedShare>(weight);
  return (exact + (FixedShare{1} << (kLess - 1))) >> kLess;
}

}  // namespace fairwater::inline policy::inline dominant
