// Division of 128-bit numbers that are mostly small: without the library's routine where 64 bits
// hold both.
#pragma once

#include <cstdint>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline core {

/// value / by, rounded towards zero. Requires by > 0.
[[nodiscard]] inline Wide quotient(Wide value, Wide by) {
  const auto small_value = static_cast<std::int64_t>(value);
  const auto small_by = static_cast<std::int64_t>(by);
  if (small_value == value && small_by == by) return small_value / small_by;
  return value / by;
}

/// The same, rounded down.
[[nodiscard]] inline Wide floor_quotient(Wide value, Wide by) {
  const Wide rounded = quotient(value, by);
  return rounded * by > value ? rounded - 1 : rounded;
}

/// The same, rounded up.
[[nodiscard]] inline Wide quotient_up(Wide value, Wide by) {
  const Wide rounded = quotient(value, by);
  return rounded * by < value ? rounded + 1 : rounded;
}

}  // namespace fairwater::inline policy::inline core
