// Nodes that would do for a task that waits, but take none now. Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <string>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/node_room.hpp"

namespace fairwater::inline policy::inline allocator {

class ClosedNodes {
 public:
  void add(const NodeRoom& node, const ObstacleNames& names);
  [[nodiscard]] bool any() const { return count_ > 0; }
  /// Behind what the others are not: `; 2 allowed nodes that take no tasks now are: node a is down,
  /// ..`. Empty where there are none.
  [[nodiscard]] std::string text(const std::string& one_is, const std::string& more_are) const;
  /// Which ones and why, alone.
  [[nodiscard]] const std::string& list() const { return list_; }

 private:
  std::size_t count_ = 0;
  std::string list_;
};

}  // namespace fairwater::inline policy::inline allocator
