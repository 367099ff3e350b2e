// Why a waiting task waits. Internal to policy/; the public face is Allocator::explain_waiting.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater {

/// Everything that keeps the task from being placed now, what a deal would stumble over first in
/// front. Empty when the next deal may place it. O(nodes + window).
[[nodiscard]] std::vector<Obstacle> explain_waiting(AllocatorState& state, TenantId tenant,
                                                    JobId job, std::uint32_t index);

}  // namespace fairwater
