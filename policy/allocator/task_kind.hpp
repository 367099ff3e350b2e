// What tells roughly where a task has room. Internal to policy/.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// Tasks of one kind ask for the same resources in amounts of the same binary magnitude, follow
/// the same placement rule, start as many at once, by magnitude, and may preempt tasks of the same
/// priorities: where one of them has room nowhere others of its kind hardly have. A digest: that
/// two kinds have the same is possible, and makes them one.
struct TaskKind {
  std::uint64_t digest = 0;
  friend auto operator<=>(const TaskKind&, const TaskKind&) = default;
};

/// `at_once`: tasks that start together, at least 1. `rule`: null for anywhere. `preempts_below`:
/// its priority, if they may preempt. O(what the rule names).
[[nodiscard]] TaskKind kind_of(const ResourceVector& demand, std::uint32_t at_once,
                               const PlacementRule* rule,
                               std::optional<std::int32_t> preempts_below);

}  // namespace fairwater::inline policy::inline allocator
