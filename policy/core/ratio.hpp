// need / weight of a group in a water-fill: compared exactly, and mostly by a double alone.
#pragma once

#include <cstdint>

#include "policy/core/exact_share.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline core {

/// True when pouring `amount`, below 2^63, over weights `whole` reaches need / weight or more.
[[nodiscard]] bool is_reached(Amount need, Weight weight, Wide amount, Wide whole);

/// need / weight of one group. `need` and `weight` are 1 to 2^62.
struct Ratio {
  Amount need = 0;
  Weight weight = 1;
  std::uint32_t key = 0;   ///< settles the order of equal ratios; unique
  std::uint32_t slot = 0;  ///< a small number that the caller knows it by; unique
  /// Never falls where the exact ratio rises, so that it decides unless it is equal.
  double approximate = 0;

  [[nodiscard]] static Ratio of(Amount need, Weight weight, std::uint32_t key, std::uint32_t slot);
  [[nodiscard]] bool before(const Ratio& other) const {
    return approximate != other.approximate ? approximate < other.approximate
                                            : before_exactly(other);
  }
  [[nodiscard]] bool before_exactly(const Ratio& other) const;
  /// True when `amount` poured over `whole` rises to this ratio or above.
  [[nodiscard]] bool is_reached(Wide amount, Wide whole) const {
    return is_reached(amount, whole, approximately(amount) / approximately(whole));
  }
  /// The same, for many ratios at one height: `height` is about amount / whole.
  [[nodiscard]] bool is_reached(Wide amount, Wide whole, double height) const {
    if (approximate < height * (1 - kDoubt)) return true;
    if (approximate > height * (1 + kDoubt)) return false;
    return is_reached_exactly(amount, whole);
  }
  [[nodiscard]] bool is_reached_exactly(Wide amount, Wide whole) const {
    return fairwater::is_reached(need, weight, amount, whole);
  }

  /// Relative; far above the error of a few roundings, far below what tells most ratios apart.
  static constexpr double kDoubt = 0x1p-47;
};

/// Sums over groups.
struct RatioSums {
  Wide need = 0;
  Wide weight = 0;
  [[nodiscard]] static RatioSums of(const Ratio& ratio) { return {ratio.need, ratio.weight}; }
  RatioSums& operator+=(const RatioSums& other) {
    need += other.need;
    weight += other.weight;
    return *this;
  }
  RatioSums& operator-=(const RatioSums& other) {
    need -= other.need;
    weight -= other.weight;
    return *this;
  }
  friend RatioSums operator+(RatioSums a, const RatioSums& b) { return a += b; }
  friend RatioSums operator-(RatioSums a, const RatioSums& b) { return a -= b; }
  friend bool operator==(const RatioSums&, const RatioSums&) = default;
};

}  // namespace fairwater::inline policy::inline core
