// The command line for tenants and operators.
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

#include "cli/commands.hpp"

namespace {

/// A standard stream that the caller closed stays useless: else the next file or connection would
/// get its number, and what is printed with it.
void hold_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)  // open() takes the least free number, which is this one
      (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_streams();
  return fairwater::run_fairwater({argv + 1, argv + argc}, std::cout, std::cerr);
}
