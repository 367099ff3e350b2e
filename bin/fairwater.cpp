// The command line for tenants and operators.
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "cli/core/context.hpp"
#include "cli/front/front.hpp"

namespace {

/// A standard stream that the caller closed stays useless: else the next file or connection would
/// get its number, and what is printed with it.
void hold_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)  // open() takes the least free number, which is this one
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/// Becomes the program beside this one that has all commands; returns only where that cannot be.
int run_local(char** argv) {
  std::error_code failed;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto local = own.parent_path() / "fairwater-local";
  if (!failed) ::execv(local.c_str(), argv);
  std::cerr << "fairwater: " << local.string()
            << " does not start: " << (failed ? failed.message() : std::strerror(errno))
            << ". It belongs beside fairwater, for what is not asked of a coordinator\n";
  return fairwater::kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_streams();
  const std::vector<std::string> arguments{argv + 1, argv + argc};
  if (!fairwater::is_for_front(arguments)) return run_local(argv);
  return fairwater::run_front(arguments, std::cout, std::cerr);
}
