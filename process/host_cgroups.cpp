#include "process/host_cgroups.hpp"

#include <cerrno>
#include <fcntl.h>
#include <set>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "process/cpu_affinity.hpp"
#include "process/cpuset.hpp"

namespace fairwater::inline process {
namespace {

constexpr const char* kMark = "trusted.fairwater.host";
constexpr std::string_view kHostPrefix = "fairwater-";

FileDescriptor open_group(const std::filesystem::path& group) {
  return FileDescriptor(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_still_at(const FileDescriptor& opened, const std::filesystem::path& group) {
  struct stat ours {};
  struct stat there {};
  return ::fstat(opened.get(), &ours) == 0 && ::stat(group.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

bool is_marked(const FileDescriptor& group) {
  return ::fgetxattr(group.get(), kMark, nullptr, 0) >= 0;
}

bool lock(const FileDescriptor& group, int how) {
  while (::flock(group.get(), how) != 0)
    if (errno != EINTR) return false;
  return true;
}

/// Where this host has groups, and would have them in the controllers that it does not use: others
/// may. Found once: it takes a look at all mounts.
CgroupPaths everywhere(CgroupPaths own) {
  if (own.empty() || own.contains("unified")) return own;
  const std::string name = own.begin()->second.filename();
  for (const std::string controller : {"devices", "cpuset"})
    if (auto error = add_version_1_path(own, controller, name)) continue;  // is not mounted
  return own;
}

/// The names of all other hosts' groups beside these.
std::set<std::string> names_beside(const CgroupPaths& groups) {
  std::set<std::string> names;
  for (const auto& [controller, path] : groups) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored))
      if (auto name = entry.path().filename().string();
          name.starts_with(kHostPrefix) && name != path.filename())
        names.insert(std::move(name));
  }
  return names;
}

CgroupPaths beside(CgroupPaths groups, const std::string& name) {
  for (auto& [controller, path] : groups) path.replace_filename(name);
  return groups;
}

bool holds_tasks(const CgroupPaths& groups) {
  for (const auto& [controller, path] : groups) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
      if (entry.is_directory(ignored) && entry.path() != shared_cpuset(groups)) return true;
  }
  return false;
}

void remove_unclaimed(const CgroupPaths& groups) {
  CgroupClaims claims;
  std::set<std::filesystem::path> known;  // two controllers may be mounted as one
  for (const auto& [controller, path] : groups) {
    if (!known.insert(path).second) continue;
    FileDescriptor group = open_group(path);
    if (!group && errno == ENOENT) continue;
    if (!group || !is_marked(group) || !lock(group, LOCK_EX | LOCK_NB)) return;
    claims.push_back(std::move(group));
  }
  if (holds_tasks(groups)) return;
  remove_cpusets(groups);
  TaskCgroup(groups).remove();
}

/// Different for every host directory on the machine, the same for the same one: names its cgroup.
std::string cgroup_name(const std::filesystem::path& directory) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : directory.string())
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return std::string(kHostPrefix) + std::to_string(hash);
}

constexpr int kTries = 10;  ///< another host may remove them while they are nobody's

Expected<CgroupPaths> make_cgroups(const TaskHostOptions& options) {
  const std::string name = cgroup_name(options.directory);
  auto paths = make_cgroup_parent(options.limits, name);
  if (!paths) return paths.error();
  if (!options.device_files.empty())
    if (auto failed = add_device_control(*paths, name)) return failed;
  if (options.cpusets)
    if (auto failed = add_cpusets(*paths, name, usable_cpus())) return failed;
  return paths;
}

}  // namespace

std::optional<CgroupClaims> claim_cgroups(const CgroupPaths& groups,
                                          const std::filesystem::path& host_directory) {
  CgroupClaims claims;
  const std::string mark = host_directory.string();
  for (const auto& [controller, path] : groups) {
    FileDescriptor group = open_group(path);
    if (!group && errno == ENOENT) return std::nullopt;
    if (!group || !lock(group, LOCK_SH)) continue;
    if (!is_still_at(group, path)) return std::nullopt;
    if (::fsetxattr(group.get(), kMark, mark.data(), mark.size(), 0) == 0)
      claims.push_back(std::move(group));
  }
  return claims;
}

void remove_unclaimed_cgroups(const CgroupPaths& own) {
  const CgroupPaths groups = everywhere(own);
  for (const auto& name : names_beside(groups)) remove_unclaimed(beside(groups, name));
}

Expected<OwnCgroups> own_cgroups(const TaskHostOptions& options) {
  for (int tries = 0; tries < kTries; ++tries) {
    auto paths = make_cgroups(options);
    if (!paths) return paths.error();
    auto claims = claim_cgroups(*paths, options.directory);
    if (!claims) continue;
    remove_unclaimed_cgroups(*paths);
    return OwnCgroups{std::move(*paths), std::move(*claims)};
  }
  return make_error(ErrorCode::internal, "control groups were removed as often as they were made");
}

}  // namespace fairwater::inline process
