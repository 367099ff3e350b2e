// For always-on checks: that they end the process, and what they say.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace fairwater::test {

/// Runs it in a child process, which must end by SIGABRT; what it said before.
inline std::string last_words(const std::function<void()>& fatal) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int number : {SIGABRT, SIGSEGV}) std::signal(number, SIG_DFL);
    dup2(ends[1], STDERR_FILENO);
    fatal();
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t size = read(ends[0], buffer, sizeof buffer); size > 0;
       size = read(ends[0], buffer, sizeof buffer))
    said.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  INFO(said);
  CHECK(WIFSIGNALED(status));
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  return said;
}

}  // namespace fairwater::test
