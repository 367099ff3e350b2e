// What an agent starts beside itself: forks a supervisor per task. A program of its own, because a
// fork costs what the process has mapped, and the daemon has RocksDB and Cap'n Proto.
#include <cstdio>
#include <cstring>

#include "process/task_process.hpp"

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "supervise") == 0)
    return fairwater::supervise({argv + 2, argv + argc});
  std::fprintf(stderr, "fairwater-supervisor: is started by fairwaterd agent, not by hand\n");
  return 2;
}
