// Whose a control group is, and whether that host still lives. A host marks its groups with its
// directory and keeps them locked. Those of one that was killed for good are locked by nobody: the
// next host that starts beside them removes them, when nothing is left in them.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "process/file_descriptor.hpp"
#include "process/limits.hpp"
#include "process/task_process.hpp"

namespace fairwater::inline process {

/// Locks that a host keeps for as long as it lives; they go with its process.
using CgroupClaims = std::vector<FileDescriptor>;

/// Locks and marks the groups that hold a host's tasks. Nothing when one of them was removed
/// meanwhile: make them again. Where groups take no mark (the host is not root) nobody removes
/// them, and none is claimed.
[[nodiscard]] std::optional<CgroupClaims> claim_cgroups(
    const CgroupPaths& groups, const std::filesystem::path& host_directory);

/// Removes the groups of other hosts beside `own` that no host claims any more and no task is in,
/// nor one whose end was not seen yet. Those that are not marked stay: an earlier version may run.
/// O(groups beside it).
void remove_unclaimed_cgroups(const CgroupPaths& own);

struct OwnCgroups {
  CgroupPaths paths;
  CgroupClaims claims;
};
/// Makes and claims the groups of this host's tasks, and removes what hosts left that are gone for
/// good.
[[nodiscard]] Expected<OwnCgroups> own_cgroups(const TaskHostOptions& options);

}  // namespace fairwater::inline process
