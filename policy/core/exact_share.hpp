// Exact proportional shares: floor(amount * part / whole) for sums of many weights near 2^62, whose
// product with an amount does not fit 128 bits.
#pragma once

#include <cstdint>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline core {

/// To the nearest double or the one beside it; faster than the library's conversion where it
/// matters.
[[nodiscard]] inline double approximately(Wide value) {
  const auto low = static_cast<std::int64_t>(value);
  if (low == value) return static_cast<double>(low);
  constexpr double kTwoTo64 = 18446744073709551616.0;
  return static_cast<double>(static_cast<std::int64_t>(value >> 64)) * kTwoTo64 +
         static_cast<double>(static_cast<std::uint64_t>(value));
}

/// Lays an amount out over weights of a given sum.
///
/// A quotient is estimated in floating point; its remainder is exact in arithmetic modulo 2^64 or
/// 2^128 even where the product overflows, and says by how much the estimate is off. No division is
/// needed when the estimate is off by one or not at all, as it is for amounts below 2^50.
class ProportionalShare {
 public:
  /// Requires 0 <= amount < 2^63 and 0 < whole < 2^96.
  ProportionalShare(Amount amount, Wide whole)
      : amount_(amount),
        whole_(whole),
        ratio_(static_cast<double>(amount) / approximately(whole)),
        is_small_(whole < (Wide{1} << 61) && amount < (Amount{1} << 50)) {}

  /// floor(amount * part / whole) for 0 <= part <= whole.
  [[nodiscard]] Amount until(Wide part) const {
    return is_small_ ? small(static_cast<std::int64_t>(part)) : large(part);
  }

  /// What falls to `weight` after the weights `before`: over all weights this adds up to the
  /// amount.
  [[nodiscard]] Amount between(Wide before, Weight weight) const {
    return until(before + weight) - until(before);
  }

 private:
  [[nodiscard]] Amount small(std::int64_t part) const {
    const auto whole = static_cast<std::int64_t>(whole_);
    const auto quotient = static_cast<std::int64_t>(static_cast<double>(part) * ratio_);
    const auto remainder = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(amount_) * static_cast<std::uint64_t>(part) -
        static_cast<std::uint64_t>(quotient) * static_cast<std::uint64_t>(whole));
    return quotient + (remainder >= whole ? 1 : 0) - (remainder < 0 ? 1 : 0);
  }

  [[nodiscard]] Amount large(Wide part) const {
    using Bits = unsigned __int128;
    const Bits product = static_cast<Bits>(amount_) * static_cast<Bits>(part);
    auto quotient = static_cast<Wide>(approximately(part) * ratio_);
    for (;;) {
      const auto remainder =
          static_cast<Wide>(product - static_cast<Bits>(quotient) * static_cast<Bits>(whole_));
      if (remainder >= 0 && remainder < whole_) return static_cast<Amount>(quotient);
      const Wide step = remainder / whole_;
      quotient += remainder < 0 && remainder % whole_ != 0 ? step - 1 : step;
    }
  }

  Amount amount_;
  Wide whole_;
  double ratio_;
  bool is_small_;
};

}  // namespace fairwater::inline policy::inline core
