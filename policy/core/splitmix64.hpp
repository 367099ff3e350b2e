// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014): the same
// numbers from the same state everywhere. A state is an input value like any other; nothing here
// draws one by itself.
#pragma once

#include <cstdint>

namespace fairwater::inline policy::inline core {

class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t state) : state_(state) {}

  constexpr std::uint64_t next() {
    std::uint64_t mixed = (state_ += 0x9E3779B97F4A7C15U);
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31);
  }
  /// From 0 to count - 1; `count` > 0. The bias is below count / 2^64.
  constexpr std::uint64_t below(std::uint64_t count) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(next()) * count >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace fairwater::inline policy::inline core
