// The private directories of tasks: `WORK/JOB.INDEX.ATTEMPT`, where a task starts when its job
// names no directory, with HOME at its top and TMPDIR in it. Made before the task, gone after it,
// with whatever the task left there.
//
// Nobody but its owner enters one (0700), and nobody but the host lists them (WORK is 0711 or
// 0700).
#pragma once

#include <filesystem>
#include <optional>

#include "process/task_user.hpp"

namespace fairwater::inline process {

/// Makes `WORK`. With `others_enter` other users can go through to their directories; with
/// `must_be_reached` they have to be able to: `invalid_input` (field `work_directory`) when a
/// directory above lets none of them through.
[[nodiscard]] caf::error make_work_parent(const std::filesystem::path& work, bool others_enter,
                                          bool must_be_reached);

/// Makes a task's directory and its `tmp`, owned by the task. What an earlier life left under the
/// name goes first.
[[nodiscard]] caf::error make_work_directory(const std::filesystem::path& directory,
                                             const std::optional<TaskUser>& user);

/// Removes the directory if nothing was left in it; true when it is gone. Quick.
[[nodiscard]] bool remove_empty_work_directory(const std::filesystem::path& directory);

/// Removes a tree of any depth and size with two descriptors: subdirectories are moved to the top
/// before they are emptied. Follows no link and enters no mount point: what is mounted there, or
/// cannot be removed, stays. True when all is gone. O(entries).
bool remove_tree(const std::filesystem::path& directory);

}  // namespace fairwater::inline process
