// What the tasks of an elastic job on this node are told of each other: `WORK/members-JOB`, a line
// `INDEX NODE ADDRESS` for each task of the job that runs anywhere, by index. Its place is the
// variable FAIRWATER_MEMBERS. It is replaced at every change, so that a reader sees one or the
// other whole. It belongs to the host's directory, which tasks cannot change, and only their user
// reads it (0400).
#pragma once

#include <filesystem>
#include <optional>

#include "model/node.hpp"
#include "process/task_user.hpp"

namespace fairwater::inline process {

[[nodiscard]] std::filesystem::path members_file(const std::filesystem::path& work, JobId job);

/// Before the first task of the job starts here: an empty one for that user, unless there is one.
[[nodiscard]] caf::error make_members_file(const std::filesystem::path& file,
                                           const std::optional<TaskUser>& user);

/// For whoever could read it so far. Nothing happens where there is none: no task of the job runs
/// here.
[[nodiscard]] caf::error replace_members_file(const std::filesystem::path& file,
                                              const JobMembers& members);

/// The job whose members the file names; none: it is no such file.
[[nodiscard]] std::optional<JobId> job_of_members_file(const std::filesystem::path& file);

}  // namespace fairwater::inline process
