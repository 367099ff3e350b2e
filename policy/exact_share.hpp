// Exact proportional shares: floor(amount * part / whole) for sums of many weights near 2^62, whose
// product with an amount does not fit 128 bits.
#pragma once

#include <cstdint>

#include "policy/types.hpp"

namespace fairwater {

/// floor(amount * part / whole) for 0 <= part <= whole, 0 < whole < 2^96 and 0 <= amount < 2^63.
[[nodiscard]] inline Amount share_until(Amount amount, Wide part, Wide whole) {
  using Bits = unsigned __int128;
  if (part >> 64 == 0)
    return static_cast<Amount>(static_cast<Bits>(amount) * static_cast<Bits>(part) /
                               static_cast<Bits>(whole));
  // The product may exceed 128 bits, but the remainder does not: it is exact in arithmetic modulo
  // 2^128 once the quotient is nearly right, and says by how much the quotient is off.
  const double ratio = static_cast<double>(part) / static_cast<double>(whole);
  auto quotient = static_cast<Amount>(static_cast<double>(amount) * ratio);
  const Bits product = static_cast<Bits>(amount) * static_cast<Bits>(part);
  for (;;) {
    const auto remainder =
        static_cast<Wide>(product - static_cast<Bits>(quotient) * static_cast<Bits>(whole));
    if (remainder >= 0 && remainder < whole) return quotient;
    const Wide step = remainder / whole;
    quotient += static_cast<Amount>(remainder < 0 && remainder % whole != 0 ? step - 1 : step);
  }
}

/// The part of `amount` that falls to `weight` when weights are laid end to end and rounded
/// cumulatively: shares over all weights add up to `amount`.
[[nodiscard]] inline Amount share_between(Amount amount, Wide before, Weight weight, Wide whole) {
  return share_until(amount, before + weight, whole) - share_until(amount, before, whole);
}

}  // namespace fairwater
