// Why a waiting task waits. Internal to policy/; the public face is Allocator::explain_waiting.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// Everything that keeps the task from being placed now, what a deal would stumble over first in
/// front. Empty when the next deal may place it. O(nodes + window).
[[nodiscard]] std::vector<Obstacle> explain_waiting(AllocatorState& state, TenantId tenant,
                                                    JobId job, std::uint32_t index,
                                                    const ObstacleNames& names);

/// In how long the job's next task is expected to have room, by the job's place in time; none where
/// it has no place, or nobody knows. O(places of the tenant).
[[nodiscard]] std::optional<std::int64_t> starts_in_ms(const AllocatorState& state,
                                                       const TenantState& tenant, JobId job);

}  // namespace fairwater::inline policy::inline allocator
