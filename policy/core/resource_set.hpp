// The resources that a demand asks for, to walk: mostly two of eight.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline core {

/// A range over the indices of some resources, ascending.
class ResourceSet {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint8_t left) : left_(left) {}
    constexpr std::size_t operator*() const {
      return static_cast<std::size_t>(std::countr_zero(left_));
    }
    constexpr Iterator& operator++() {
      left_ = static_cast<std::uint8_t>(left_ & (left_ - 1));
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::uint8_t left_;
  };

  /// Those of which `demand` asks for more than nothing.
  [[nodiscard]] static constexpr ResourceSet asked_by(const ResourceVector& demand) {
    static_assert(kMaxResources <= 8);
    ResourceSet set;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (demand[r] > 0) set.bits_ = static_cast<std::uint8_t>(set.bits_ | (1U << r));
    return set;
  }
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(ResourceSet, ResourceSet) = default;

 private:
  std::uint8_t bits_ = 0;
};

}  // namespace fairwater::inline policy::inline core
