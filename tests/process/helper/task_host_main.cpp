// task_host_program supervise DIRECTORY ..        the supervisor that the tests' task hosts start
// task_host_program host DIRECTORY METHOD SCRIPT  an agent's task host: launches job 1 with `sh -c
// SCRIPT`, says so
//                                                 on standard output, and waits to be killed
#include <cstdio>
#include <string>
#include <unistd.h>

#include "process/task_process.hpp"

namespace {

int host(const char* directory, int method, const char* script) {
  fairwater::TaskHostOptions options;
  options.directory = directory;
  options.supervisor = "/proc/self/exe";
  options.users.allow_root = true;
  options.limits = static_cast<fairwater::LimitMethod>(method);
  auto opened = fairwater::TaskHost::open(options);
  if (!opened) return 1;
  fairwater::LaunchOrder order;
  order.task = {fairwater::JobId{1}, 0, 1};
  order.command = {"sh", "-c", script};
  if ((*opened)->launch(order)) return 1;
  std::puts("launched");
  std::fflush(stdout);
  for (;;) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "supervise" && argc > 2) return fairwater::supervise({argv + 2, argv + argc});
  if (mode == "host" && argc == 5) return host(argv[2], std::stoi(argv[3]), argv[4]);
  return 2;
}
