#include "tests/harness/child_process.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

namespace fairwater::harness {

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

int remaining_ms(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

struct StandardStreams {
  int input = -1;
  int output = -1;
  int errors = -1;
};

/// What a child needs, laid out before fork: between fork and exec nothing may allocate.
struct ExecutionPlan {
  std::vector<std::string> strings;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::string namespace_path;
};

ExecutionPlan plan(const CommandOptions& options) {
  ExecutionPlan plan;
  std::map<std::string, std::string> environment = options.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  plan.strings = options.command;
  for (const auto& [name, value] : environment) plan.strings.push_back(name + "=" + value);
  for (std::size_t i = 0; i < plan.strings.size(); ++i) {
    (i < options.command.size() ? plan.arguments : plan.environment)
        .push_back(plan.strings[i].data());
  }
  plan.arguments.push_back(nullptr);
  plan.environment.push_back(nullptr);
  if (!options.network_namespace.empty()) {
    plan.namespace_path = "/var/run/netns/" + options.network_namespace;
  }
  return plan;
}

[[noreturn]] void execute(ExecutionPlan& plan, StandardStreams streams, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  if (!plan.namespace_path.empty()) {
    const int ns = open(plan.namespace_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (ns < 0 || setns(ns, CLONE_NEWNET) != 0) _exit(127);
  }
  dup2(streams.input, STDIN_FILENO);
  dup2(streams.output, STDOUT_FILENO);
  if (streams.errors >= 0) dup2(streams.errors, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  _exit(127);
}

pid_t start(const CommandOptions& options, StandardStreams streams) {
  ExecutionPlan prepared = plan(options);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) execute(prepared, streams, parent);
  return child;
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// True when the child has ended before the deadline.
bool ended_within(pid_t pid, Duration limit) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) fail("pidfd_open");
  pollfd waiting{descriptor, POLLIN, 0};
  const auto deadline = Clock::now() + limit;
  int ready = 0;
  do {
    ready = poll(&waiting, 1, remaining_ms(deadline));
  } while (ready < 0 && errno == EINTR);
  close(descriptor);
  return ready > 0;
}

int memory_file(const char* name) {
  const int descriptor = memfd_create(name, MFD_CLOEXEC);
  if (descriptor < 0) fail("memfd_create");
  return descriptor;
}

std::string read_whole(int descriptor) {
  std::string text;
  std::array<char, 65536> block{};
  for (off_t offset = 0;;) {
    const ssize_t count = pread(descriptor, block.data(), block.size(), offset);
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
    offset += count;
  }
  close(descriptor);
  return text;
}

/// The parent's id, or -1 when the process is gone.
pid_t parent_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  // A process that goes between the two makes the reading fail, which an iterator would throw.
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const auto after_name = text.rfind(')');  // the name may itself hold parentheses
  if (after_name == std::string::npos) return -1;
  char state = 0;
  int parent = -1;
  return std::sscanf(text.c_str() + after_name + 1, " %c %d", &state, &parent) == 2 ? parent : -1;
}

}  // namespace

ChildProcess::ChildProcess(const CommandOptions& options) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int errors = -1;
  if (!options.error_file.empty()) {
    errors = open(options.error_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (errors < 0) fail(options.error_file);
  }
  pid_ = start(options, {nothing, ends[1], errors});
  output_ = ends[0];
  close(ends[1]);
  close(nothing);
  if (errors >= 0) close(errors);
}

ChildProcess::~ChildProcess() {
  if (running()) {
    send_signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

void ChildProcess::send_signal(int signal) const {
  if (status_ < 0 && kill(pid_, signal) != 0) fail("kill");
}

bool ChildProcess::running() {
  if (status_ >= 0) return false;
  int wait_status = 0;
  const pid_t ended = waitpid(pid_, &wait_status, WNOHANG);
  if (ended == pid_) status_ = exit_status(wait_status);
  if (ended < 0) status_ = 128 + SIGKILL;  // kill_descendants() has waited for it
  return status_ < 0;
}

int ChildProcess::wait(Duration limit) {
  if (status_ < 0) {
    if (!ended_within(pid_, limit)) {
      throw std::runtime_error(
          fmt::format("process {} still runs after {} ms", pid_, limit.count()));
    }
    int wait_status = 0;
    waitpid(pid_, &wait_status, 0);
    status_ = exit_status(wait_status);
  }
  return status_;
}

std::string ChildProcess::read_line(Duration limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    if (const auto newline = buffered_.find('\n'); newline != std::string::npos) {
      std::string line = buffered_.substr(0, newline);
      buffered_.erase(0, newline + 1);
      return line;
    }
    pollfd waiting{output_, POLLIN, 0};
    const int ready = poll(&waiting, 1, remaining_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw std::runtime_error(fmt::format("no line from process {} in time", pid_));
    std::array<char, 4096> block{};
    const ssize_t count = read(output_, block.data(), block.size());
    if (count <= 0) {
      throw std::runtime_error(fmt::format("process {} closed its standard output", pid_));
    }
    buffered_.append(block.data(), static_cast<std::size_t>(count));
  }
}

Completed run(const CommandOptions& options, std::string_view input, Duration limit) {
  const int input_file = memory_file("input");
  if (write(input_file, input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
    fail("input");
  }
  lseek(input_file, 0, SEEK_SET);
  const int output = memory_file("output");
  const int errors = memory_file("errors");
  const pid_t child = start(options, {input_file, output, errors});
  close(input_file);
  const bool in_time = ended_within(child, limit);
  if (!in_time) kill(child, SIGKILL);
  int wait_status = 0;
  waitpid(child, &wait_status, 0);
  Completed completed{exit_status(wait_status), read_whole(output), read_whole(errors)};
  if (!in_time) {
    throw std::runtime_error(fmt::format("{} ran longer than {} ms; it said: {}{}",
                                         fmt::join(options.command, " "), limit.count(),
                                         completed.output, completed.errors));
  }
  return completed;
}

void adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) fail("prctl");
}

std::vector<pid_t> descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0) children.emplace(parent_of(pid), pid);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

void kill_descendants(pid_t root) {
  // A process can fork between the listing and the kill: again until a listing is empty.
  const auto deadline = Clock::now() + Duration(10'000);
  while (Clock::now() < deadline) {
    const auto victims = descendants(root == 0 ? getpid() : root);
    if (victims.empty()) return;
    for (const pid_t victim : victims) kill(victim, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::this_thread::sleep_for(Duration(5));
  }
}

void wait_until(std::string_view what, Duration limit, const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > deadline) {
      throw std::runtime_error(fmt::format("not within {} ms: {}", limit.count(), what));
    }
    std::this_thread::sleep_for(Duration(20));
  }
}

}  // namespace fairwater::harness
