// The private directories of tasks: `WORK/JOB.INDEX.ATTEMPT`, where a task starts when its job
// names no directory, with HOME at its top and TMPDIR in it. Made before the task, gone after it,
// with whatever the task left there.
//
// Those that were left empty are kept, some for each user, for that user's next tasks:
// `WORK/.spare/UID.GID/SLOT`. To move one costs little anywhere; to make and to remove one is most
// of a short task's start where the file system takes its time for that (ext4 without a journal
// looks past every inode that was freed in the last minutes).
//
// Nobody but its owner enters one (0700), and nobody but the host lists them (WORK is 0711 or
// 0700).
#pragma once

#include <filesystem>
#include <optional>

#include "process/file_descriptor.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline process {

/// Makes `WORK`. With `others_enter` other users can go through to their directories; with
/// `must_be_reached` they have to be able to: `invalid_input` (field `work_directory`) when a
/// directory above lets none of them through.
[[nodiscard]] caf::error make_work_parent(const std::filesystem::path& work, bool others_enter,
                                          bool must_be_reached);

/// Holds `WORK` until the descriptor closes: a host removes there what no task of its own left.
/// `storage_locked` (field `work_directory`) when another host does.
[[nodiscard]] Expected<FileDescriptor> lock_work_parent(const std::filesystem::path& work);

/// How many empty directories are kept for a user, for good.
inline constexpr int kSpareWorkDirectories = 16;

/// Makes a task's directory and its `tmp`, owned by the task, or takes a spare one. What an earlier
/// life left under the name goes first.
[[nodiscard]] caf::error make_work_directory(const std::filesystem::path& directory,
                                             const std::optional<TaskUser>& user);

/// Keeps the directory as a spare one or removes it, if nothing was left in it; true when it is
/// gone from its place. Quick. Nobody works in it any more.
[[nodiscard]] bool give_back_work_directory(const std::filesystem::path& directory,
                                            const std::optional<TaskUser>& user);

/// Removes a tree of any depth and size with two descriptors: subdirectories are moved to the top
/// before they are emptied. Follows no link and enters no mount point: what is mounted there, or
/// cannot be removed, stays. True when all is gone. O(entries).
bool remove_tree(const std::filesystem::path& directory);

}  // namespace fairwater::inline process
