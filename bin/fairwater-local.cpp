// All of the command line; `fairwater` starts it for what it does not do itself.
#include <iostream>

#include "cli/commands.hpp"

int main(int argc, char** argv) {
  return fairwater::run_fairwater({argv + 1, argv + argc}, std::cout, std::cerr);
}
