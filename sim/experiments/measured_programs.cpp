#include "sim/experiments/measured_programs.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sched.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

namespace fairwater::sim::inline experiments {
namespace {

using MeasureClock = std::chrono::steady_clock;

constexpr auto kQuotaPeriod = std::chrono::milliseconds{10};
constexpr auto kStopPeriod = std::chrono::milliseconds{20};
constexpr auto kLookPeriod = std::chrono::milliseconds{1};
constexpr auto kLongestRun = std::chrono::seconds{60};
constexpr int kNotStarted = 127;

bool write_text(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return close(file) == 0 && written;
}

/// The folder of this process's control group that has the cpu controller, or none. In a container
/// the path may not be there, and the mount itself is the group.
std::optional<std::string> own_group(bool version_2) {
  std::string mount;
  std::ifstream mounts{"/proc/self/mounts"};
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words{line};
    std::string device, folder, type, options;
    words >> device >> folder >> type >> options;
    const bool has_cpu = ("," + options + ",").find(",cpu,") != std::string::npos;
    if (version_2 ? type == "cgroup2" : type == "cgroup" && has_cpu) mount = folder;
  }
  if (mount.empty()) return std::nullopt;
  std::ifstream groups{"/proc/self/cgroup"};
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_it = version_2 ? controllers.empty()
                                 : ("," + controllers + ",").find(",cpu,") != std::string::npos;
    const std::string group = mount + line.substr(second + 1);
    if (is_it && std::filesystem::is_directory(group)) return group;
  }
  return mount;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) processors.push_back(i);
  if (processors.empty()) processors.push_back(0);
  return processors;
}

/// What a child needs, made ready before the fork: afterwards nothing may allocate.
struct ChildSetup {
  std::vector<char*> arguments;
  std::string join_file;  ///< where a process joins the control group; empty: it does not
  cpu_set_t processors{};
  std::uint64_t data_bytes = 0;
};

[[noreturn]] void become_program(const ChildSetup& setup) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bool ready = sched_setaffinity(0, sizeof setup.processors, &setup.processors) == 0;
  if (!setup.join_file.empty()) {
    const int file = open(setup.join_file.c_str(), O_WRONLY | O_CLOEXEC);
    ready = ready && file >= 0 && write(file, "0", 1) == 1;
  }
  if (setup.data_bytes > 0) {
    const rlimit limit{setup.data_bytes, setup.data_bytes};
    ready = ready && setrlimit(RLIMIT_DATA, &limit) == 0;
  }
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ready = ready && dup2(nothing, stream) == stream;
  if (ready) execvp(setup.arguments[0], setup.arguments.data());
  _exit(kNotStarted);
}

caf::error failed(const std::string& program, const std::string& how) {
  return make_error(ErrorCode::unavailable, fmt::format("{} {}", program, how));
}

}  // namespace

std::string_view to_string(CpuEnforcement enforcement) {
  switch (enforcement) {
    case CpuEnforcement::quota_v1:
      return "the quota of a control group (version 1)";
    case CpuEnforcement::quota_v2:
      return "the quota of a control group (version 2)";
    case CpuEnforcement::stop_signals:
      return "binding to processors and stopping for a part of each period";
  }
  return "";
}

bool StopSchedule::should_stop(Duration passed) {
  if (running_part_ >= 1) return false;
  if (!stopped_) ran_ += passed - last_look_;
  last_look_ = passed;
  const auto begun_periods = passed / kStopPeriod + 1;
  stopped_ =
      ran_ >= std::chrono::duration_cast<Duration>(running_part_ * begun_periods * kStopPeriod);
  return stopped_;
}

/// A started program. Ends it when it still runs.
struct ProgramRunner::Child {
  std::string program;
  pid_t pid = -1;
  int status = 0;

  Child(std::string name, pid_t id) : program(std::move(name)), pid(id) {}
  Child(Child&& other) noexcept
      : program(std::move(other.program)),
        pid(std::exchange(other.pid, -1)),
        status(other.status) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (pid < 0) return;
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  [[nodiscard]] bool has_ended() {
    if (pid >= 0 && waitpid(pid, &status, WNOHANG) == pid) pid = -1;
    return pid < 0;
  }
  [[nodiscard]] bool succeeded() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  [[nodiscard]] std::string failure() const {
    if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
    if (WEXITSTATUS(status) == kNotStarted) return "could not be started";
    return fmt::format("failed with status {}", WEXITSTATUS(status));
  }
};

ProgramRunner::ProgramRunner(bool without_quota) : processors_(allowed_processors()) {
  if (without_quota) return;
  const auto version_1 = own_group(false);
  if (version_1 && make_group(*version_1, "cpu.cfs_quota_us"))
    enforcement_ = CpuEnforcement::quota_v1;
  if (!group_.empty()) return;
  const auto version_2 = own_group(true);
  if (version_2 && make_group(*version_2, "cpu.max")) enforcement_ = CpuEnforcement::quota_v2;
}

ProgramRunner::~ProgramRunner() {
  if (!group_.empty()) rmdir(group_.c_str());
}

bool ProgramRunner::make_group(const std::string& parent, const std::string& quota_file) {
  std::string name = fmt::format("{}/fairwater-measure-{}-XXXXXX", parent, getpid());
  if (mkdtemp(name.data()) == nullptr) return false;
  if (access((name + "/" + quota_file).c_str(), W_OK) == 0 &&
      access((name + "/cgroup.procs").c_str(), W_OK) == 0) {
    group_ = name;
    return true;
  }
  rmdir(name.c_str());
  return false;
}

bool ProgramRunner::set_quota(double cores) const {
  const auto period = std::chrono::microseconds{kQuotaPeriod}.count();
  const auto quota = std::llround(cores * static_cast<double>(period));
  if (enforcement_ == CpuEnforcement::quota_v2)
    return write_text(group_ + "/cpu.max", fmt::format("{} {}", quota, period));
  return write_text(group_ + "/cpu.cfs_period_us", std::to_string(period)) &&
         write_text(group_ + "/cpu.cfs_quota_us", std::to_string(quota));
}

Expected<std::vector<ProgramRunner::Child>> ProgramRunner::start(
    std::span<const ProgramCommand> commands, const ProgramLimits& limits) {
  ChildSetup setup;
  setup.data_bytes = limits.data_bytes;
  if (!group_.empty()) {
    if (!set_quota(limits.cores))
      return make_error(ErrorCode::unavailable, "a cpu quota cannot be set in " + group_);
    setup.join_file = group_ + "/cgroup.procs";
  }
  const auto whole =
      std::min(processors_.size(), static_cast<std::size_t>(std::ceil(limits.cores)));
  for (std::size_t i = 0; i < std::max<std::size_t>(whole, 1); ++i)
    CPU_SET(processors_[i], &setup.processors);

  std::vector<Child> children;
  for (const ProgramCommand& command : commands) {
    setup.arguments.clear();
    for (const std::string& word : command)
      setup.arguments.push_back(const_cast<char*>(word.c_str()));
    setup.arguments.push_back(nullptr);
    const pid_t pid = fork();
    if (pid == 0) become_program(setup);
    if (pid < 0) return failed(command.front(), std::string{"cannot fork: "} + strerror(errno));
    children.emplace_back(command.front(), pid);
  }
  return children;
}

Expected<double> ProgramRunner::run(std::span<const ProgramCommand> commands,
                                    const ProgramLimits& limits) {
  const auto begin = MeasureClock::now();
  auto children = start(commands, limits);
  if (!children) return children.error();
  // With stop signals the programs run for this part of each period, on ceil(cores) processors.
  StopSchedule schedule(limits.cores / std::ceil(limits.cores));
  bool stopped = false;
  for (;;) {
    bool all_ended = true;
    for (Child& child : *children) all_ended = child.has_ended() && all_ended;
    const auto passed = MeasureClock::now() - begin;
    if (all_ended) {
      for (const Child& child : *children)
        if (!child.succeeded()) return failed(child.program, child.failure());
      return std::chrono::duration<double>(passed).count();
    }
    if (passed > kLongestRun) return failed(commands[0][0], "ran for longer than a minute");
    const bool should_stop =
        enforcement_ == CpuEnforcement::stop_signals && schedule.should_stop(passed);
    if (should_stop != stopped) {
      for (const Child& child : *children)
        if (child.pid > 0) kill(child.pid, should_stop ? SIGSTOP : SIGCONT);
      stopped = should_stop;
    }
    std::this_thread::sleep_for(kLookPeriod);
  }
}

}  // namespace fairwater::sim::inline experiments
