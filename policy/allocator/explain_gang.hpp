// Why a gang that waits has no room for all of its tasks together. Internal to policy/allocator.
#pragma once

#include <optional>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// `gang_size`: no waiting makes room for all of it. `node_busy`: none but the end of services.
/// `gang`: not now. O(nodes).
[[nodiscard]] std::optional<Obstacle> explain_gang(const AllocatorState& state,
                                                   const WindowRange& gang,
                                                   const ObstacleNames& names);

}  // namespace fairwater::inline policy::inline allocator
