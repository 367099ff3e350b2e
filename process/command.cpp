#include "process/command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/close_range.h>
#include <map>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "policy/gpu/node.hpp"
#include "process/cpu_affinity.hpp"
#include "process/gang_environment.hpp"
#include "process/members_file.hpp"

namespace fairwater::inline process {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const auto& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

/// The reading end does not block: the supervisor waits in poll only.
Expected<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

void reset_signals() {
  // All zero is SIG_DFL. By system call, because the C library leaves the two signals of its own
  // ignored.
  const std::array<unsigned long, 8> plain{};
  constexpr std::size_t kSignalSetBytes = 8;
  for (int signal = 1; signal < NSIG; ++signal)
    ::syscall(SYS_rt_sigaction, signal, plain.data(), nullptr, kSignalSetBytes);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void reset_limits(const Command& command) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (command.data_limit_bytes > 0) {
    const auto bytes = static_cast<rlim_t>(command.data_limit_bytes);
    const rlimit data{bytes, bytes};
    ::setrlimit(RLIMIT_DATA, &data);
  }
  ::umask(022);
}

[[noreturn]] void give_up(int report, StartFailure::Step step) {
  const StartFailure failure{step, errno};
  // Nobody is left to tell when this fails: the supervisor is gone.
  [[maybe_unused]] const ssize_t written = ::write(report, &failure, sizeof failure);
  ::_exit(127);
}

struct ChildEnds {
  int input;
  int output;
  int error;
  int report;
};

/// Whoever opens /dev/stdout by its name opens the pipe anew, which only its owner may.
void give_away_pipes(const ChildEnds& ends, const TaskUser& user) {
  for (const int pipe : {ends.output, ends.error})
    // Without it the task loses that one name for its output, and nothing else.
    [[maybe_unused]] const int changed = ::fchown(pipe, user.uid, user.gid);
}

/// Where a control group says which, the supervisor's own, which it inherited, must not narrow them
/// further: they would stay so when the group is widened.
void take_processors(const Command& command, int report) {
  if (!command.shared_cpuset.empty()) {
    if (write_existing(command.shared_cpuset / "tasks", "0")) give_up(report, StartFailure::cgroup);
    errno = unbind_from_cpus();
    if (errno != 0) give_up(report, StartFailure::processors);
  } else if (!command.cpus.empty()) {
    errno = bind_to_cpus(0, command.cpus);
    if (errno != 0) give_up(report, StartFailure::processors);
  }
}

/// Runs in the child, which has one thread and its own copy of everything.
[[noreturn]] void become(const Command& command, const TaskCgroup& cgroup, ChildEnds ends,
                         pid_t supervisor) {
  ::setsid();
  if (cgroup.enter()) give_up(ends.report, StartFailure::cgroup);
  // The kernel takes tasks before agents and supervisors when the machine runs out of memory.
  static_cast<void>(write_existing("/proc/self/oom_score_adj", "500"));
  take_processors(command, ends.report);
  reset_limits(command);
  if (command.user) {
    give_away_pipes(ends, *command.user);
    errno = become_task_user(*command.user);
    if (errno != 0) give_up(ends.report, StartFailure::user);
  }
  // After the change of user, which resets it. A supervisor that is gone by now sends nothing.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != supervisor) ::_exit(127);
  if (::chdir(command.directory.c_str()) != 0) give_up(ends.report, StartFailure::directory);
  ::dup2(ends.input, STDIN_FILENO);
  ::dup2(ends.output, STDOUT_FILENO);
  ::dup2(ends.error, STDERR_FILENO);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  reset_signals();
  const auto arguments = pointers(command.arguments);
  const auto environment = pointers(command.environment);
  environ = const_cast<char**>(environment.data());  // execvp searches the PATH of the task
  ::execvp(arguments[0], arguments.data());
  give_up(ends.report, StartFailure::program);
}

}  // namespace

namespace {

/// What of the node's devices the task has; of those that a node does not know by id nothing is
/// said.
void name_devices(const NamedDevices& devices, const NamedAmounts& amounts,
                  std::map<std::string, std::string>& environment) {
  if (devices.empty()) return;
  environment["FAIRWATER_DEVICES"] = device_names(devices);
  std::vector<std::string> gpus;
  bool knows_gpus = false;
  for (const auto& [resource, ids] : devices) {
    if (resource != "gpu" && resource != kSharedGpus) continue;
    knows_gpus = true;
    gpus.insert(gpus.end(), ids.begin(), ids.end());
    if (resource == kSharedGpus && !ids.empty())
      environment["FAIRWATER_GPU_SHARE"] =
          std::to_string(std::min(shared_milli_of(amounts), kMilliPerGpu));
  }
  if (!knows_gpus) return;
  // The job's own word was about another machine's. Numbers mean what the device files say, which
  // CUDA would otherwise order by speed.
  environment["CUDA_VISIBLE_DEVICES"] = joined(gpus);
  environment.emplace("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
}

}  // namespace

Command prepare_command(const TaskOrder& order, const AttemptFile& file) {
  const LaunchOrder& launch = order.launch;
  Command command;
  command.arguments = *launch.command;
  const std::string home = order.work_directory.empty() ? "/tmp" : order.work_directory.string();
  command.directory = launch.directory.empty() ? home : launch.directory;
  command.user = order.user;
  std::map<std::string, std::string> environment{
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"HOME", home}};
  if (!order.work_directory.empty()) environment["TMPDIR"] = home + "/tmp";
  if (order.user && !order.user->name.empty())
    environment["USER"] = environment["LOGNAME"] = order.user->name;
  if (const auto cpu = launch.limits.find("cpu"); cpu != launch.limits.end() && cpu->second > 0) {
    const std::string threads = std::to_string((cpu->second + 999) / 1000);
    environment["OMP_NUM_THREADS"] = environment["GOMAXPROCS"] = threads;
  }
  for (const auto& [name, value] : launch.environment) environment[name] = value;
  environment["FAIRWATER_JOB_ID"] = std::to_string(launch.task.job.value);
  environment["FAIRWATER_TASK_INDEX"] = std::to_string(launch.task.index);
  environment["FAIRWATER_TASK_COUNT"] = std::to_string(launch.task_count);
  environment["FAIRWATER_ATTEMPT"] = file.path();
  name_devices(order.devices, launch.limits, environment);
  name_gang(launch, environment);
  if (launch.follows_members && !order.work_directory.empty())
    environment["FAIRWATER_MEMBERS"] =
        members_file(order.work_directory.parent_path(), launch.task.job).string();
  command.cpus = order.cpus;
  command.shared_cpuset = order.shared_cpuset;
  if (!order.cpus.empty()) environment["FAIRWATER_CPUS"] = to_text(order.cpus);
  for (const auto& [name, value] : environment) command.environment.push_back(name + "=" + value);
  if (const auto memory = launch.limits.find("memory");
      order.method == LimitMethod::rlimit && memory != launch.limits.end() && memory->second > 0)
    command.data_limit_bytes = (2 * memory->second + 256) << 20;
  return command;
}

Expected<StartedCommand> start_command(const Command& command, const TaskCgroup& cgroup) {
  auto output = make_pipe();
  auto error = make_pipe();
  auto report = make_pipe();
  const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!output) return output.error();
  if (!error) return error.error();
  if (!report) return report.error();
  if (!input) return system_error("cannot open /dev/null", errno);
  const pid_t supervisor = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot fork", errno);
  if (pid == 0)
    become(command, cgroup,
           {input.get(), output->writer.get(), error->writer.get(), report->writer.get()},
           supervisor);
  return StartedCommand{pid, std::move(output->reader), std::move(error->reader),
                        std::move(report->reader)};
}

StartFailureText describe(const StartFailure& failure, const Command& command) {
  const std::string why = std::strerror(failure.error_number);
  switch (failure.step) {
    case StartFailure::cgroup:
      return {EndReason::launch_failed, 126, "cannot enter the task's cgroup: " + why};
    case StartFailure::processors:
      return {EndReason::launch_failed, 126,
              "cannot run on processors " + to_text(command.cpus) + ": " + why};
    case StartFailure::user:
      return {EndReason::launch_failed, 126,
              "cannot become user " + std::to_string(command.user ? command.user->uid : 0) + ": " +
                  why};
    case StartFailure::directory:
      return {EndReason::could_not_start, 126, "directory " + command.directory + ": " + why};
    case StartFailure::program:
      break;
  }
  return {EndReason::could_not_start, failure.error_number == ENOENT ? 127 : 126,
          command.arguments[0] + ": " + why};
}

}  // namespace fairwater::inline process
