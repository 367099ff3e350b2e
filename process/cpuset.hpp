// Holding tasks to processors by the cpuset control group of version 1. A task that has some of its
// own has a group of its own; all others of a host share one, which is narrower while there are
// such tasks.
#pragma once

#include <filesystem>
#include <string>

#include "process/cpus.hpp"
#include "process/limits.hpp"

namespace fairwater::inline process {

/// Why this machine cannot hold tasks so; empty where it can. Probes by making and removing a
/// group.
[[nodiscard]] std::string why_no_cpusets(LimitMethod method);

/// Adds to `parent` the directory that holds a host's tasks, with all that the caller's group has,
/// and in it the group of those that share: on `cpus`, unless it was there.
[[nodiscard]] caf::error add_cpusets(CgroupPaths& parent, const std::string& name,
                                     const CpuNumbers& cpus);
/// The group of those that share; empty where there are no cpusets.
[[nodiscard]] std::filesystem::path shared_cpuset(const CgroupPaths& parent);
/// Lets a group's members run on these processors only, with all memory of the group that it is in.
/// Who is in it moves at once.
[[nodiscard]] caf::error set_cpuset(const std::filesystem::path& group, const CpuNumbers& cpus);
/// Removes both directories of a host whose tasks are gone.
void remove_cpusets(const CgroupPaths& parent);

}  // namespace fairwater::inline process
