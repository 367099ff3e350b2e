#include "process/cpuset.hpp"

#include <cerrno>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "process/cpu_affinity.hpp"

namespace fairwater::inline process {
namespace {

constexpr std::string_view kController = "cpuset";

/// Gives a group what the one has that it is in: a new one has nothing, and takes nobody.
caf::error inherit(const std::filesystem::path& group, const char* file) {
  const auto content = read_file(group.parent_path() / file);
  return content ? write_existing(group / file, *content) : content.error();
}

caf::error make_directory(const std::filesystem::path& group) {
  if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST)
    return system_error("cannot make the cgroup " + group.string(), errno);
  return caf::none;
}

bool has_cpus(const std::filesystem::path& group) {
  const auto cpus = read_file(group / "cpuset.cpus");
  return cpus && cpus->find_first_not_of('\n') != std::string::npos;
}

}  // namespace

std::string why_no_cpusets(LimitMethod method) {
  if (method == LimitMethod::rlimit) return "there is no control group";
  if (method == LimitMethod::cgroup_v2) return "control groups are of version 2";
  CgroupPaths parent;
  const auto error =
      add_cpusets(parent, "fairwater-probe-cpus-" + std::to_string(::getpid()), usable_cpus());
  remove_cpusets(parent);
  return error ? details(error).message : std::string();
}

caf::error add_cpusets(CgroupPaths& parent, const std::string& name, const CpuNumbers& cpus) {
  if (auto error = add_version_1_path(parent, kController, name)) return error;
  const auto& group = parent[std::string(kController)];
  if (auto error = make_directory(group)) return error;
  if (auto error = inherit(group, "cpuset.mems")) return error;
  if (auto error = inherit(group, "cpuset.cpus")) return error;
  const auto shared = shared_cpuset(parent);
  // That of an earlier host, whose tasks may run, stays as it is.
  if (has_cpus(shared)) return caf::none;
  if (auto error = make_directory(shared)) return error;
  return set_cpuset(shared, cpus);
}

std::filesystem::path shared_cpuset(const CgroupPaths& parent) {
  const auto group = parent.find(std::string(kController));
  return group == parent.end() ? std::filesystem::path() : group->second / "shared";
}

caf::error set_cpuset(const std::filesystem::path& group, const CpuNumbers& cpus) {
  if (auto error = inherit(group, "cpuset.mems")) return error;
  return write_existing(group / "cpuset.cpus", to_text(cpus));
}

void remove_cpusets(const CgroupPaths& parent) {
  const auto shared = shared_cpuset(parent);
  if (shared.empty()) return;
  ::rmdir(shared.c_str());
  ::rmdir(shared.parent_path().c_str());
}

}  // namespace fairwater::inline process
