// Two numbers at a time: what every 64-bit processor has. A comparison gives all ones or zero.
#pragma once

#include <cstdint>
#include <cstring>

namespace fairwater::inline policy::inline quota {

using Doubles = double __attribute__((vector_size(16)));
using Integers = std::int64_t __attribute__((vector_size(16)));

template <class Lanes, class Element>
[[nodiscard]] Lanes load(const Element* from) {
  Lanes lanes;
  static_assert(sizeof lanes == 2 * sizeof *from);
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

}  // namespace fairwater::inline policy::inline quota
