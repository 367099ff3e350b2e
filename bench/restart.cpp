// How long a coordinator takes from opening its ledger until it could grant all that waits, and
// what it holds in memory then, one figure per line (see bench/README.md).
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <caf/all.hpp>
#include <fmt/format.h>

#include "actors/coordinator/cluster.hpp"
#include "bench/history_maker.hpp"
#include "bench/measure.hpp"
#include "bench/value_of.hpp"
#include "daemon/daemon.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kTenants = 10;
/// A hundred times what goals speak of; beyond, a disk is full before the ledger is made.
constexpr std::uint64_t kMostEnded = 1'000'000'000;
constexpr std::uint64_t kMostWaiting = 10'000'000;
constexpr std::uint32_t kMostNodes = 1'000'000;

struct Sizes {
  std::uint64_t ended = 1'000'000;
  std::uint64_t cut_every = 0;  ///< of these, history is archived; 0: it is not
  std::uint64_t waiting = 100'000;
  std::uint32_t nodes = 5'000;
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void make_ledger(const std::string& directory, const Sizes& sizes) {
  TenantsChanged tenants;
  std::vector<std::string> names;
  for (std::uint32_t i = 1; i <= kTenants; ++i) {
    TenantRecord tenant;
    tenant.id = TenantId{i};
    tenant.spec.name = names.emplace_back(fmt::format("tenant{}", i));
    tenants.tenants.push_back(tenant);
  }
  HistoryMaker maker(directory, true, names);
  maker.add(ClusterCreated{"bench", {{"cpu", 1000}, {"memory", 1024}}, DealMode::sized});
  maker.add(tenants);
  for (std::uint32_t i = 1; i <= sizes.nodes; ++i) {
    NodeAdmitted node;
    node.node = NodeId{i};
    node.spec.traits.name = fmt::format("node{}", i);
    node.spec.capacity = {{"cpu", 64'000}, {"memory", 256'000}};
    node.spec.instance = fmt::format("instance{}", i);
    maker.add(node);
  }
  maker.add_ended(sizes.ended, sizes.cut_every);
  maker.add_waiting(sizes.waiting, {"/usr/bin/env", "simulate"});
  maker.flush();
}

/// `fairwater ledger verify --archive`, by itself. Before anything else is in this process's
/// memory: a program's most begins with that of the process that started it.
void verify(const std::string& directory) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fairwater";
  const auto begin = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // figures alone go there
    ::execl(program.c_str(), "fairwater", "ledger", "verify", "--data", directory.c_str(),
            "--archive", nullptr);
    ::_exit(127);
  }
  int status = 0;
  struct rusage used {};
  if (::wait4(child, &status, 0, &used) != child || status != 0)
    throw std::runtime_error(program + " does not verify the ledger in " + directory);
  figure("restart_verify", ms_since(begin), "ms");
  figure("restart_verify_memory", static_cast<double>(used.ru_maxrss) / 1024, "MiB");
}

/// Until all that waits stands in the tenants' windows: then the first node that comes is granted
/// what it has room for.
void wait_for_windows(caf::actor_system& system, const CoordinatorActor& coordinator,
                      std::uint64_t waiting) {
  caf::scoped_actor self(system);
  std::uint64_t seen = 0;
  std::string failed;
  do {
    self->request(coordinator, caf::infinite, DescribeCluster{})
        .receive([&](const ClusterStatus& status) { seen = status.tasks_pending; },
                 [&](const caf::error& error) { failed = details(error).message; });
    if (!failed.empty()) throw std::runtime_error(failed);
  } while (seen < waiting);
}

void measure(const std::string& directory, const Sizes& sizes) {
  DaemonActorConfig actor_config;
  caf::actor_system system{actor_config};
  LedgerOptions options;
  options.directory = directory;
  const auto begin = Clock::now();
  std::shared_ptr<Ledger> ledger = value_of(Ledger::open(options));
  figure("restart_open", ms_since(begin), "ms");
  const auto started = Clock::now();
  Cluster cluster =
      value_of(start_cluster(system, std::move(ledger), {}, [](const caf::error& why) {
        std::cerr << "the ledger failed: " << details(why).message << '\n';
        std::_Exit(1);
      }));
  figure("restart_read", ms_since(started), "ms");
  wait_for_windows(system, cluster.coordinator, sizes.waiting);
  figure("restart_ready", ms_since(begin), "ms");
  figure("restart_cpu", 1000 * cpu_seconds(::getpid()), "ms");
  figure("restart_memory", resident_mib(::getpid()), "MiB");
  stop_cluster(cluster);
}

int run(int argc, char** argv) {
  Sizes sizes;
  std::string data;
  bool verifies = false;
  CLI::App app{"Measures a coordinator's start on a ledger with a history."};
  app.add_option("--ended", sizes.ended, "tasks that have ended, in arrays of 10,000")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, kMostEnded));
  app.add_option("--cut-every", sizes.cut_every,
                 "history is archived after so many of these; 0: it is not")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, kMostEnded));
  app.add_flag("--verify", verifies, "measure `fairwater ledger verify --archive`, too");
  app.add_option("--waiting", sizes.waiting, "jobs of one task that wait")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, kMostWaiting));
  app.add_option("--nodes", sizes.nodes, "known nodes")
      ->capture_default_str()
      ->check(CLI::Range(1U, kMostNodes));
  app.add_option("--data", data,
                 "where the ledger is kept; one that is there is used again, of whatever size");
  CLI11_PARSE(app, argc, argv);
  use_standard_error(LogFormat::text);
  const TemporaryDirectory temporary;
  if (data.empty()) data = temporary / "ledger";
  if (!std::filesystem::exists(data))
    run_apart("making a ledger in " + data, [&] { make_ledger(data, sizes); });
  if (verifies) verify(data);
  measure(data, sizes);
  return 0;
}

}  // namespace
}  // namespace fairwater::bench

int main(int argc, char** argv) {
  return fairwater::bench::run_program("fairwater_restart", fairwater::bench::run, argc, argv);
}
