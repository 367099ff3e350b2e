#include "cli/gang/programs.hpp"

#include <cstring>
#include <iostream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fairwater::inline cli::inline gang {
namespace {

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!added.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

kj::Promise<int> run_program(kj::UnixEventPort& port, const std::vector<std::string>& command,
                             const std::map<std::string, std::string>& added) {
  const std::vector<std::string> environment = environment_with(added);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, command.front().c_str(), nullptr, nullptr,
                                    pointers_to(command).data(), pointers_to(environment).data());
  if (failed != 0) {
    std::cerr << "fairwater: " << command.front() << ": " << std::strerror(failed) << std::endl;
    return 127;
  }
  auto child = kj::heap<kj::Maybe<pid_t>>(pid);
  auto ended = port.onChildExit(*child);
  return ended.attach(kj::mv(child)).then([](int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  });
}

}  // namespace fairwater::inline cli::inline gang
