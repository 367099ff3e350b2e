#include "tests/storage/child_process.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace fairwater::test {
namespace {

constexpr int kParentDescriptor = 3;
constexpr char kVariable[] = "FAIRWATER_CHILD";

}  // namespace

ChildProcess::ChildProcess(const std::string& test_case, const std::string& argument) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pipe_ = ends[0];
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  environment.push_back(std::string(kVariable) + "=" + argument);
  std::vector<char*> variables;
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string name = test_case;
  char* arguments[] = {program.data(), name.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kParentDescriptor);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int failed =
      posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) throw std::runtime_error("the child could not be started");
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill();
    wait();
  }
  close(pipe_);
}

std::string ChildProcess::read_some(int timeout_ms) {
  pollfd waited{pipe_, POLLIN, 0};
  if (poll(&waited, 1, timeout_ms) <= 0) return {};
  char buffer[65536];
  const ssize_t size = ::read(pipe_, buffer, sizeof buffer);
  return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
}

std::string ChildProcess::read_all() {
  std::string text;
  for (std::string part = read_some(-1); !part.empty(); part = read_some(-1)) text += part;
  return text;
}

void ChildProcess::kill() { ::kill(pid_, SIGKILL); }

int ChildProcess::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string child_argument() {
  const char* argument = std::getenv(kVariable);
  return argument ? argument : "";
}

void tell_parent(const std::string& line) {
  const std::string text = line + "\n";
  if (write(kParentDescriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    std::_Exit(1);
}

}  // namespace fairwater::test
