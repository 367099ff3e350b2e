// The guard of a host: one small process outside the family of agent, fork server and supervisors,
// for what they cannot do when they are killed or stopped, and what is done once for all tasks.
//
//   lease    kills what still runs `kGuardDelayMs` after the supervisors should have, each task by
//            its own lease, through control groups, or by what tasks have in their environment; and
//            supervisors that are stopped
//   memory   measures all tasks in one look over /proc, where no cgroup bounds them (MemoryBoard)
//
//   fork server -- forks twice --> guard --> takes over from the guard of an earlier host
//        ends  <---- socket pair ---->  ends: no task runs and the fork server is gone
//   (starts another)
//
// It wakes up when the lease is over, when the fork server ends, and, while tasks are measured, ten
// times a second.
#pragma once

#include <cstdint>
#include <filesystem>

#include "process/file_descriptor.hpp"
#include "process/limits.hpp"

namespace fairwater::inline process {

/// Starts the guard of a host whose tasks' cgroups are members of `cgroup_parent`. The descriptor
/// reads as ended when the guard has; the guard takes the end of all its copies for the end of the
/// fork server. For a process with one thread.
[[nodiscard]] Expected<FileDescriptor> start_guard(const std::filesystem::path& host_directory,
                                                   const CgroupPaths& cgroup_parent);

}  // namespace fairwater::inline process
