// Runs seeds of the cluster simulator: `cluster_soak FIRST COUNT`, or one seed with what happens in
// it: `cluster_soak --seed N`. Ends with 1 at the first seed that breaks a promise.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "tests/cluster_sim/world/world.hpp"

namespace {

using fairwater::cluster_sim::run_seed;

char running_seed[64] = "";

/// A check of the product ends the process: says in which seed.
void name_seed(int signal) {
  const auto written = ::write(STDOUT_FILENO, running_seed, std::strlen(running_seed));
  (void)written;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

bool run(std::uint64_t seed, bool verbose) {
  std::snprintf(running_seed, sizeof running_seed, "seed %llu ended the process\n",
                static_cast<unsigned long long>(seed));
  const auto result = run_seed(seed, verbose);
  if (verbose)
    std::printf(
        "hash %016llx, %llu lines, %llu records, %llu attempts, %llu rivalries, %zu messages, %.0f "
        "s\n",
        static_cast<unsigned long long>(result.log_hash),
        static_cast<unsigned long long>(result.log_lines),
        static_cast<unsigned long long>(result.journal_records),
        static_cast<unsigned long long>(result.attempts),
        static_cast<unsigned long long>(result.rivalries), result.fullest_mailbox,
        static_cast<double>(result.end_us) / 1e6);
  if (!result.violation) return true;
  std::printf("seed %llu: %s\n  ./dev soak --seed %llu\n", static_cast<unsigned long long>(seed),
              result.violation->c_str(), static_cast<unsigned long long>(seed));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::off);
  std::signal(SIGABRT, name_seed);
  std::signal(SIGSEGV, name_seed);
  if (argc == 3 && std::string(argv[1]) == "--seed")
    return run(std::strtoull(argv[2], nullptr, 10), true) ? 0 : 1;
  if (argc != 3) {
    std::fputs("usage: cluster_soak FIRST COUNT | --seed N\n", stderr);
    return 2;
  }
  const auto first = std::strtoull(argv[1], nullptr, 10);
  const auto count = std::strtoull(argv[2], nullptr, 10);
  for (auto seed = first; seed < first + count; ++seed)
    if (!run(seed, false)) return 1;
  return 0;
}
