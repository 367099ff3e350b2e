// Who comes before a tenant's next task in a cycle by dominant shares where tenants are within
// others (policy/allocator/by_share_tree.hpp). Internal to policy/allocator.
#pragma once

#include <optional>
#include <string>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// The outermost level of the tree at which siblings come first, and by which shares, if there were
/// room for all that waits and may be held. None: it is next. O(tenants * depth).
[[nodiscard]] std::optional<std::string> explain_share_in_tree(const AllocatorState& state,
                                                               const TenantState& tenant,
                                                               const WindowRange& next,
                                                               const ObstacleNames& names);

/// As messages name them.
[[nodiscard]] std::string group_name(GroupId group, const ObstacleNames& names);
[[nodiscard]] std::string plain_resource_name(std::size_t resource, const ObstacleNames& names);

}  // namespace fairwater::inline policy::inline allocator
