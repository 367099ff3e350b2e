// Whole numbers at random, from a seed.
#pragma once

#include <cstdint>
#include <random>

namespace fairwater::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  template <class Integer = std::uint32_t>
  Integer in(std::int64_t from, std::int64_t to) {
    return static_cast<Integer>(
        from + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1)));
  }
  bool one_in(std::uint64_t n) { return random_() % n == 0; }

 private:
  std::mt19937_64 random_;
};

}  // namespace fairwater::test
