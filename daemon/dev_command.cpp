// Starts the cluster of `dev`, runs a command beside it, and ends both.
#include "daemon/dev_command.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/core/context.hpp"
#include "cli/core/usage_error.hpp"
#include "daemon/daemon.hpp"
#include "daemon/verb_failures.hpp"
#include "policy/core/check.hpp"
#include "process/temporary_directory.hpp"
#include "rpc/tokens.hpp"

namespace fairwater::inline daemon {
namespace {

/// The child's pid; signals are as a shell would leave them.
pid_t start_child(const std::vector<std::string>& command) {
  const pid_t child = ::fork();
  FAIRWATER_CHECK(child >= 0, "a process can be forked");
  if (child > 0) return child;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  std::_Exit(127);
}

int status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) FAIRWATER_CHECK(errno == EINTR, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs the command beside the cluster; its exit status, or that of being stopped.
int run_command(const StopSignal& stop, const std::vector<std::string>& command) {
  const pid_t child = start_child(command);
  const int watch = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  FAIRWATER_CHECK(watch >= 0, "a child can be watched");
  stop.wait(watch);
  ::close(watch);
  ::kill(child, SIGTERM);  // does nothing to a child that has ended and was not waited for
  return status_of(child);
}

Expected<std::vector<std::unique_ptr<AgentProcess>>> start_agents(caf::actor_system& system,
                                                                  const DevFlags& flags,
                                                                  const std::string& data,
                                                                  const std::string& address,
                                                                  const DaemonLog& log) {
  std::vector<std::unique_ptr<AgentProcess>> agents;
  for (std::uint32_t i = 1; i <= flags.nodes; ++i) {
    AgentConfig config;
    config.coordinator = address;
    config.name = "node" + std::to_string(i);
    config.data = data + "/" + config.name;
    config.join_token_file = data + "/coordinator/" + kJoinTokenFile;
    // One person's cluster: tasks may do what that person may.
    config.run_as_default = "agent";
    config.allow_root_tasks = true;
    // The machine's processors may be shared by time, its gpus are one node's.
    if (i > 1) config.devices["gpu"] = {};
    auto agent = AgentProcess::start(system, config, stop_at_once(log));
    if (!agent) return agent.error();
    agents.push_back(std::move(*agent));
  }
  return agents;
}

int run_dev(const DevFlags& flags) {
  use_standard_error(LogFormat::text);
  const StopSignal stop;
  const DaemonLog log{LogFormat::text};
  std::unique_ptr<TemporaryDirectory> temporary;
  if (flags.data.empty()) temporary = std::make_unique<TemporaryDirectory>();
  const std::string data = temporary ? temporary->path() : flags.data;
  DaemonActorConfig actor_config;
  caf::actor_system system{actor_config};
  CoordinatorConfig config;
  config.listen = "127.0.0.1:0";
  config.data = data + "/coordinator";
  config.join_token_lifetime_ms = 0;  // more nodes may be wanted any day, and it leaves no machine
  std::error_code failed;
  std::filesystem::create_directories(data, failed);
  if (failed)
    return refuse(make_error(ErrorCode::invalid_input,
                             "cannot make " + data + ": " + failed.message(), "data"));
  auto coordinator = CoordinatorProcess::start(system, config, true, stop_at_once(log));
  if (!coordinator) return refuse(coordinator.error());
  const auto& address = (*coordinator)->address();
  auto agents = start_agents(system, flags, data, address, log);
  if (!agents) return refuse(agents.error());
  log_isolation(log, agents->front()->isolation());

  const auto token = read_secret_file(config.data + "/" + kOperatorTokenFile);
  if (!token) return refuse(token.error());
  const auto shown = data + "/" + kOperatorTokenFile;
  if (!std::filesystem::exists(shown))
    if (auto error = write_secret_file(shown, *token)) return refuse(error);
  ::setenv("FAIRWATER_ADDRESS", address.c_str(), 1);
  ::setenv("FAIRWATER_TOKEN", token->c_str(), 1);
  int status = kExitDone;
  if (flags.command.empty()) {
    std::cout << "listening on " << address << "\nexport FAIRWATER_ADDRESS=" << address
              << "\nexport FAIRWATER_TOKEN=$(cat " << shown << ")" << std::endl;
    stop.wait();
  } else {
    status = run_command(stop, flags.command);
  }
  stop.arm_second_signal();
  agents->clear();
  coordinator->reset();
  return status;
}

}  // namespace

void add_dev(CLI::App& app, DevFlags& flags, int& status) {
  auto* verb = app.add_subcommand("dev", "a coordinator and agents in one process, to try out");
  verb->add_option("--nodes", flags.nodes, "how many agents")->check(whole_number(1, 64));
  verb->add_option("--data", flags.data, "default: a temporary directory, removed at the end");
  verb->add_flag("--exec", flags.exec,
                 "run the words that follow with FAIRWATER_ADDRESS and FAIRWATER_TOKEN "
                 "set, and stop with their exit status");
  verb->footer(
      "Examples:\n  fairwaterd dev --nodes 3\n"
      "  fairwaterd dev --nodes 2 --exec fairwater status");
  verb->callback([&] { status = run_dev(flags); });
}

}  // namespace fairwater::inline daemon
