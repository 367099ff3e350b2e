// What those who wait ask for at least, each shape once: where none of these fits, nothing does.
// Internal to policy/.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

class WaitingShapes {
 public:
  /// Each O(log shapes).
  void add(const ResourceVector& shape);
  void remove(const ResourceVector& shape);
  /// All of them; where there are many, one that is as small in each resource as the smallest.
  /// Where nobody waits, one that nothing but boundless room has room for.
  [[nodiscard]] std::span<const ResourceVector> least() const { return least_; }
  [[nodiscard]] bool empty() const { return shapes_.empty(); }

 private:
  /// More would cost as much to look at as a node that has no room.
  static constexpr std::size_t kMostShapes = 8;
  void refresh();

  std::map<std::array<Amount, kMaxResources>, std::uint32_t> shapes_;  ///< and of how many
  /// Per resource of how many shapes each amount is.
  std::array<std::map<Amount, std::uint32_t>, kMaxResources> amounts_;
  std::vector<ResourceVector> least_{ResourceVector::filled(kUnlimited)};
};

}  // namespace fairwater::inline policy::inline allocator
