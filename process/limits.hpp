// Holding a task to its amounts: cgroups of version 2 or 1, or only what a process can limit itself
// to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/resources.hpp"
#include "process/cpus.hpp"
#include "process/file_descriptor.hpp"

namespace fairwater::inline process {

/// How this machine can hold a task to its amounts.
enum class LimitMethod : std::uint8_t { cgroup_v2 = 0, cgroup_v1 = 1, rlimit = 2 };
[[nodiscard]] std::string_view to_string(LimitMethod method);

/// Probes by making and removing a cgroup; says in `why` what keeps a better method from being
/// used.
struct LimitProbe {
  LimitMethod method = LimitMethod::rlimit;
  std::string why;
};
[[nodiscard]] LimitProbe probe_limits();

/// Threads and processes per task where cgroups count them: a fork bomb ends in its own task.
inline constexpr std::int64_t kMaxThreadsPerTask = 8192;

/// A cgroup's directory per hierarchy: `unified` in version 2; `memory`, `pids`, `cpu` in
/// version 1, and where tasks are held to theirs `devices` and `cpuset`. Empty with `rlimit`.
using CgroupPaths = std::map<std::string, std::filesystem::path>;

/// Makes the directory under the caller's own cgroup that holds a host's tasks, and lets it limit
/// them.
[[nodiscard]] Expected<CgroupPaths> make_cgroup_parent(LimitMethod method, const std::string& name);
/// Adds the path of a host's directory in a controller of version 1, without making it;
/// `not_supported` where that is not mounted.
[[nodiscard]] caf::error add_version_1_path(CgroupPaths& paths, std::string_view controller,
                                            const std::string& name);
/// Adds the directory that holds a host's tasks in the devices controller of version 1.
[[nodiscard]] caf::error add_device_control(CgroupPaths& parent, const std::string& name);
/// The paths of a member of `parent`.
[[nodiscard]] CgroupPaths cgroup_member(const CgroupPaths& parent, const std::string& name);

/// One task's cgroup. All calls are harmless when there are no paths.
class TaskCgroup {
 public:
  TaskCgroup() = default;
  explicit TaskCgroup(CgroupPaths paths) : paths_(std::move(paths)) {}

  /// Makes it and sets its limits. `limits` as in LaunchOrder: cpu in millicores is a weight (idle
  /// cpu may be used), memory in MiB is a bound, without swap. What is denied are numbers of device
  /// files, as `c 195:0`, for which there must be a `devices` controller; with a `cpuset` it runs
  /// on these processors.
  [[nodiscard]] caf::error create(const NamedAmounts& limits,
                                  const std::vector<std::string>& denied_devices = {},
                                  const CpuNumbers& cpus = {});
  /// Puts the calling process, which has one thread, in.
  [[nodiscard]] caf::error enter() const;
  /// Readable when the memory limit killed somebody; empty where the kernel kills the whole task by
  /// itself.
  [[nodiscard]] FileDescriptor memory_event() const;

  /// Sends a signal to every member but `told`, who has had it; SIGKILL also keeps them from
  /// forking.
  void signal_all(int signal, pid_t told = 0) const;
  [[nodiscard]] bool populated() const { return !members().empty(); }
  /// Kills every member and returns when all are gone; for a task whose supervisor is no more.
  void kill_and_wait() const;

  [[nodiscard]] bool memory_limit_hit() const;
  /// As the kernel charges it, page cache included; 0 when unknown.
  [[nodiscard]] std::int64_t peak_memory_kib() const;
  /// Does nothing while it has members.
  void remove() const;
  [[nodiscard]] bool empty() const { return paths_.empty(); }

 private:
  [[nodiscard]] std::filesystem::path of(const std::string& controller, const char* file) const;
  [[nodiscard]] std::string members() const;
  CgroupPaths paths_;
};

/// Kills the processes and returns when they are gone, or after five seconds each.
void kill_processes_and_wait(const std::vector<pid_t>& pids);

/// Kills and awaits whom `look` finds until it finds nobody, since who was seen may have forked
/// before. Bounded, for processes that the kernel does not let go of.
void kill_until_gone(const std::function<std::vector<pid_t>()>& look);

}  // namespace fairwater::inline process
