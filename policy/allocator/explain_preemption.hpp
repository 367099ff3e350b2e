// Why a task that preempts has not been made room for. Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// By the rules of policy/allocator/reclaim.hpp, of one task of `entry`, which is the tenant's.
/// None: it has no right to. `amount_text`: so much of a resource, with its unit. O(tasks that run
/// * log).
[[nodiscard]] std::optional<std::string> explain_preemption(
    AllocatorState& state, TenantState& tenant, const WindowRange& entry,
    const std::function<std::string(Amount, std::size_t)>& amount_text);

}  // namespace fairwater::inline policy::inline allocator
