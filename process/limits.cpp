#include "process/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <vector>

#include "process/cpuset.hpp"

namespace fairwater::inline process {
namespace {

constexpr std::string_view kVersion1Controllers[] = {"memory", "pids", "cpu"};

bool contains_word(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    const auto end = list.find(separator);
    if (list.substr(0, end) == word) return true;
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return false;
}

/// Where a hierarchy is mounted: version 2's for an empty controller. Empty when it is not.
std::filesystem::path mount_point(std::string_view controller) {
  const auto mounts = read_file("/proc/self/mounts");
  if (!mounts) return {};
  std::istringstream lines(*mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string device, directory, type, options;
    fields >> device >> directory >> type >> options;
    if (controller.empty() ? type == "cgroup2"
                           : type == "cgroup" && contains_word(options, controller, ','))
      return directory;
  }
  return {};
}

/// The caller's cgroup in a hierarchy. Lines of /proc/self/cgroup: `ID:CONTROLLERS:PATH`, version 2
/// with no controllers.
std::filesystem::path own_cgroup(std::string_view controller) {
  const auto mount = mount_point(controller);
  const auto content = read_file("/proc/self/cgroup");
  if (mount.empty() || !content) return {};
  std::istringstream lines(*content);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : contains_word(controllers, controller, ','))
      return mount / std::filesystem::path(line.substr(second + 1)).relative_path();
  }
  return {};
}

caf::error make_directory(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return system_error("cannot make the cgroup " + path.string(), errno);
  return caf::none;
}

/// And its parent, which is removed when a host without tasks ends: once more when that was between
/// the two.
caf::error make_member(const std::filesystem::path& path) {
  for (bool again = true;; again = false) {
    if (auto error = make_directory(path.parent_path())) return error;
    if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return caf::none;
    if (errno != ENOENT || !again)
      return system_error("cannot make the cgroup " + path.string(), errno);
  }
}

/// Version 2 hands controllers down only from a cgroup without processes of its own, so the agent
/// steps aside into a leaf first when it has to.
caf::error hand_down_controllers(const std::filesystem::path& cgroup) {
  constexpr std::string_view kWanted = "+memory +pids +cpu";
  const auto control = cgroup / "cgroup.subtree_control";
  if (!write_existing(control, kWanted)) return caf::none;
  const auto leaf = cgroup / "agent";
  if (auto error = make_directory(leaf)) return error;
  if (auto error = write_existing(leaf / "cgroup.procs", "0")) return error;
  return write_existing(control, kWanted);
}

Expected<CgroupPaths> make_version_2_parent(const std::string& name) {
  auto own = own_cgroup("");
  if (own.empty()) return make_error(ErrorCode::not_supported, "no cgroup2 file system is mounted");
  if (own.filename() == "agent") own = own.parent_path();  // stepped aside by an earlier probe
  const auto available = read_file(own / "cgroup.controllers");
  if (!available) return available.error();
  for (const std::string_view controller : kVersion1Controllers) {
    const std::string_view list = std::string_view(*available).substr(0, available->find('\n'));
    if (!contains_word(list, controller, ' '))
      return make_error(ErrorCode::not_supported,
                        "cgroup v2 has no " + std::string(controller) + " controller here");
  }
  if (auto error = hand_down_controllers(own)) return error;
  if (auto error = make_directory(own / name)) return error;
  if (auto error = hand_down_controllers(own / name)) return error;
  return CgroupPaths{{"unified", own / name}};
}

Expected<CgroupPaths> make_version_1_parent(const std::string& name) {
  CgroupPaths paths;
  for (const std::string_view controller : kVersion1Controllers)
    if (auto error = add_version_1_path(paths, controller, name)) return error;
  for (const auto& [controller, path] : paths)
    if (auto error = make_directory(path)) return error;
  return paths;
}

/// The number behind `name ` on a line of its own; 0 when absent.
std::int64_t keyed_number(const std::string& content, const std::string& name) {
  std::istringstream lines(content);
  std::string key;
  std::int64_t value = 0;
  while (lines >> key >> value)
    if (key == name) return value;
  return 0;
}

}  // namespace

std::string_view to_string(LimitMethod method) {
  switch (method) {
    case LimitMethod::cgroup_v2:
      return "cgroup_v2";
    case LimitMethod::cgroup_v1:
      return "cgroup_v1";
    case LimitMethod::rlimit:
      return "rlimit";
  }
  return "rlimit";
}

LimitProbe probe_limits() {
  const std::string name = "fairwater-probe-" + std::to_string(::getpid());
  LimitProbe probe;
  for (const LimitMethod method : {LimitMethod::cgroup_v2, LimitMethod::cgroup_v1}) {
    auto parent = make_cgroup_parent(method, name);
    if (parent) {
      TaskCgroup member(cgroup_member(*parent, "probe"));
      auto error = member.create({{"cpu", 100}, {"memory", 16}});
      member.remove();
      TaskCgroup(*parent).remove();
      if (!error) {
        probe.method = method;
        return probe;
      }
      parent = error;
    }
    if (!probe.why.empty()) probe.why += "; ";
    probe.why += details(parent.error()).message;
  }
  return probe;
}

Expected<CgroupPaths> make_cgroup_parent(LimitMethod method, const std::string& name) {
  switch (method) {
    case LimitMethod::cgroup_v2:
      return make_version_2_parent(name);
    case LimitMethod::cgroup_v1:
      return make_version_1_parent(name);
    case LimitMethod::rlimit:
      break;
  }
  return CgroupPaths{};
}

caf::error add_version_1_path(CgroupPaths& paths, std::string_view controller,
                              const std::string& name) {
  const auto own = own_cgroup(controller);
  if (own.empty())
    return make_error(ErrorCode::not_supported,
                      "cgroup v1 has no " + std::string(controller) + " hierarchy mounted");
  paths[std::string(controller)] = own / name;
  return caf::none;
}

caf::error add_device_control(CgroupPaths& parent, const std::string& name) {
  if (auto error = add_version_1_path(parent, "devices", name)) return error;
  return make_directory(parent["devices"]);
}

CgroupPaths cgroup_member(const CgroupPaths& parent, const std::string& name) {
  CgroupPaths paths;
  for (const auto& [controller, path] : parent) paths[controller] = path / name;
  return paths;
}

std::filesystem::path TaskCgroup::of(const std::string& controller, const char* file) const {
  const auto found = paths_.find(controller);
  return found == paths_.end() ? std::filesystem::path() : found->second / file;
}

caf::error TaskCgroup::create(const NamedAmounts& limits,
                              const std::vector<std::string>& denied_devices,
                              const CpuNumbers& cpus) {
  for (const auto& [controller, path] : paths_) {
    if (auto error = make_member(path)) return error;
  }
  if (const auto group = paths_.find("cpuset"); group != paths_.end())
    if (auto error = set_cpuset(group->second, cpus)) return error;
  const auto amount = [&](const char* name) {
    const auto found = limits.find(name);
    return found == limits.end() ? Amount{0} : found->second;
  };
  const Amount cpu = amount("cpu");
  const Amount memory = amount("memory");
  const std::string memory_bytes = std::to_string(memory << 20);
  std::vector<std::pair<std::filesystem::path, std::string>> settings;
  if (paths_.contains("unified")) {
    settings.emplace_back(of("unified", "pids.max"), std::to_string(kMaxThreadsPerTask));
    if (cpu > 0)
      settings.emplace_back(of("unified", "cpu.weight"),
                            std::to_string(std::clamp<Amount>(cpu / 10, 1, 10000)));
    if (memory > 0) {
      settings.emplace_back(of("unified", "memory.max"), memory_bytes);
      settings.emplace_back(of("unified", "memory.swap.max"), "0");
      settings.emplace_back(of("unified", "memory.oom.group"), "1");
    }
  } else if (paths_.contains("pids")) {
    settings.emplace_back(of("pids", "pids.max"), std::to_string(kMaxThreadsPerTask));
    if (cpu > 0)
      settings.emplace_back(of("cpu", "cpu.shares"),
                            std::to_string(std::clamp<Amount>(cpu * 1024 / 1000, 2, 262144)));
    if (memory > 0) {
      settings.emplace_back(of("memory", "memory.limit_in_bytes"), memory_bytes);
      settings.emplace_back(of("memory", "memory.memsw.limit_in_bytes"), memory_bytes);
    }
  }
  for (const std::string& number : denied_devices)
    settings.emplace_back(of("devices", "devices.deny"), number + " rwm");
  for (const auto& [file, value] : settings) {
    auto error = write_existing(file, value);
    // A kernel without swap accounting lacks the two swap files; then there is no swap to bound
    // either.
    if (error && details(error).code == ErrorCode::not_found &&
        file.string().find("sw") != std::string::npos)
      continue;
    if (error) return error;
  }
  return caf::none;
}

caf::error TaskCgroup::enter() const {
  // In version 1 a thread that moves only itself is spared the lock on every fork of the machine,
  // for which moving a process waits tens of milliseconds. Right after its fork the process is this
  // one thread.
  const char* const members = paths_.contains("unified") ? "cgroup.procs" : "tasks";
  for (const auto& [controller, path] : paths_)
    if (auto error = write_existing(path / members, "0")) return error;
  return caf::none;
}

FileDescriptor TaskCgroup::memory_event() const {
  if (!paths_.contains("memory")) return {};
  FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const FileDescriptor control(
      ::open(of("memory", "memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  if (!event || !control) return {};
  const std::string request = std::to_string(event.get()) + " " + std::to_string(control.get());
  if (write_existing(of("memory", "cgroup.event_control"), request)) return {};
  return event;
}

std::string TaskCgroup::members() const {
  if (paths_.empty()) return {};
  const auto content = read_file(paths_.begin()->second / "cgroup.procs");
  return content ? *content : std::string();
}

void TaskCgroup::signal_all(int signal, pid_t told) const {
  if (signal == SIGKILL) {
    if (paths_.contains("unified") && !write_existing(of("unified", "cgroup.kill"), "1")) return;
    // Nobody can fork ahead of the kills any more. A cgroup that is gone already needs neither.
    static_cast<void>(write_existing(
        paths_.contains("pids") ? of("pids", "pids.max") : of("unified", "pids.max"), "0"));
  }
  std::istringstream pids(members());
  for (pid_t pid = 0; pids >> pid;)
    if (pid > 0 && pid != told) ::kill(pid, signal);
}

void TaskCgroup::kill_and_wait() const {
  kill_until_gone([this] {
    std::vector<pid_t> pids;
    std::istringstream seen(members());
    for (pid_t pid = 0; seen >> pid;) pids.push_back(pid);
    if (!pids.empty()) signal_all(SIGKILL);
    return pids;
  });
}

bool TaskCgroup::memory_limit_hit() const {
  if (paths_.empty()) return false;
  const auto content = read_file(paths_.contains("unified") ? of("unified", "memory.events")
                                                            : of("memory", "memory.oom_control"));
  return content && keyed_number(*content, "oom_kill") > 0;
}

std::int64_t TaskCgroup::peak_memory_kib() const {
  if (paths_.empty()) return 0;
  const auto content =
      read_file(paths_.contains("unified") ? of("unified", "memory.peak")
                                           : of("memory", "memory.max_usage_in_bytes"));
  if (!content) return 0;
  std::int64_t bytes = 0;
  std::from_chars(content->data(), content->data() + content->size(), bytes);
  return bytes / 1024;
}

void TaskCgroup::remove() const {
  for (const auto& [controller, path] : paths_) ::rmdir(path.c_str());
}

void kill_processes_and_wait(const std::vector<pid_t>& pids) {
  constexpr int kKernelPatienceMs =
      5000;  // a process in uninterruptible sleep ends when its device answers
  std::vector<FileDescriptor> opened;
  for (const pid_t pid : pids) {
    FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) continue;  // gone
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
    opened.push_back(std::move(process));
  }
  for (const FileDescriptor& process : opened) {
    pollfd ended{process.get(), POLLIN, 0};
    while (::poll(&ended, 1, kKernelPatienceMs) < 0 && errno == EINTR) {
    }
  }
}

void kill_until_gone(const std::function<std::vector<pid_t>()>& look) {
  constexpr int kMaxRounds = 16;
  std::vector<pid_t> seen = look();
  for (int round = 0; round < kMaxRounds && !seen.empty(); ++round, seen = look())
    kill_processes_and_wait(seen);
}

}  // namespace fairwater::inline process
