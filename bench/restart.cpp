// How long a coordinator takes from opening its ledger until it could grant all that waits, and
// what it holds in memory then, one figure per line (see bench/README.md).
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <caf/all.hpp>
#include <fmt/format.h>

#include "actors/coordinator/cluster.hpp"
#include "bench/measure.hpp"
#include "daemon/daemon.hpp"
#include "process/temporary_directory.hpp"

namespace fairwater::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kTenants = 10;
constexpr std::uint32_t kTasksOfArray = 10'000;
constexpr std::uint32_t kTasksOfRecord = 500;
/// A record's bodies that share a write, so that a ledger is made in minutes.
constexpr std::size_t kBodiesOfAppend = 1000;
/// A hundred times what goals speak of; beyond, a disk is full before the ledger is made.
constexpr std::uint64_t kMostEnded = 1'000'000'000;
constexpr std::uint64_t kMostWaiting = 10'000'000;
constexpr std::uint32_t kMostNodes = 1'000'000;

struct Sizes {
  std::uint64_t ended = 1'000'000;
  std::uint64_t waiting = 100'000;
  std::uint32_t nodes = 5'000;
};

template <class T>
T value_of(Expected<T> expected) {
  if (!expected) throw std::runtime_error(details(expected.error()).message);
  return std::move(*expected);
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

LedgerOptions options_of(const std::string& directory, bool create) {
  LedgerOptions options;
  options.directory = directory;
  options.create = create;
  options.sync = !create;  // nothing is lost that could not be made again
  return options;
}

TenantId tenant_of(std::uint64_t number) {
  return TenantId{1 + static_cast<std::uint32_t>(number % kTenants)};
}

/// A ledger of that size, written through the same fold as any other.
class Maker {
 public:
  explicit Maker(const std::string& directory)
      : ledger_(value_of(Ledger::open(options_of(directory, true)))) {}

  void make(const Sizes& sizes) {
    found(sizes.nodes);
    for (std::uint64_t made = 0; made < sizes.ended; made += kTasksOfArray)
      add_ended(
          static_cast<std::uint32_t>(std::min<std::uint64_t>(kTasksOfArray, sizes.ended - made)));
    for (std::uint64_t i = 0; i < sizes.waiting; ++i) submit(tenant_of(i), 1);
    flush();
  }

 private:
  void found(std::uint32_t nodes) {
    add(ClusterCreated{"bench", {{"cpu", 1000}, {"memory", 1024}}, DealMode::sized});
    TenantsChanged tenants;
    for (std::uint32_t i = 0; i < kTenants; ++i) {
      TenantRecord tenant;
      tenant.id = tenant_of(i);
      tenant.spec.name = fmt::format("tenant{}", i + 1);
      tenants.tenants.push_back(tenant);
    }
    add(tenants);
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      NodeAdmitted node;
      node.node = NodeId{i};
      node.spec.traits.name = fmt::format("node{}", i);
      node.spec.capacity = {{"cpu", 64'000}, {"memory", 256'000}};
      node.spec.instance = fmt::format("instance{}", i);
      add(node);
    }
  }

  JobId submit(TenantId tenant, std::uint32_t tasks) {
    JobSpec spec;
    spec.tenant = fmt::format("tenant{}", tenant.value);
    spec.name = "bench";
    spec.command = {"/usr/bin/env", "simulate", "--input", "/data/measurements/input.json"};
    spec.environment = {{"OMP_NUM_THREADS", "4"}};
    spec.tasks_min = spec.tasks_max = tasks;
    spec.resources = {{"cpu", 1000}, {"memory", 1024}};
    add(JobSubmitted{{}, tenant, spec});
    return JobId{++jobs_};
  }

  /// An array whose tasks have all succeeded.
  void add_ended(std::uint32_t tasks) {
    const TenantId tenant = tenant_of(jobs_);
    const JobId job = submit(tenant, tasks);
    for (std::uint32_t first = 0; first < tasks; first += kTasksOfRecord) {
      Deal deal;
      deal.node = NodeId{1};
      deal.keeps_accounts = false;
      TasksFinished finished;
      finished.node = deal.node;
      for (std::uint32_t i = first; i < std::min(tasks, first + kTasksOfRecord); ++i) {
        Grant grant;
        grant.task = {job, i, 1};
        grant.tenant = tenant;
        grant.cost = 1;
        deal.grants.push_back(grant);
        TaskResult result;
        result.task = grant.task;
        result.started_at = {1'000'000};
        result.finished_at = {3'000'000};
        finished.results.push_back(result);
      }
      add(Cycle{{deal}});
      add(finished);
    }
  }

  void add(JournalBody body) {
    bodies_.push_back(std::move(body));
    entries_ += std::holds_alternative<Cycle>(bodies_.back()) ? kTasksOfRecord : 1;
    if (entries_ >= kBodiesOfAppend) flush();
  }
  void flush() {
    (void)value_of(ledger_->append(std::exchange(bodies_, {})));
    entries_ = 0;
  }

  std::unique_ptr<Ledger> ledger_;
  std::vector<JournalBody> bodies_;
  std::size_t entries_ = 0;
  std::uint64_t jobs_ = 0;
};

/// In a process of its own: what it takes is none of what is measured.
void make_ledger(const std::string& directory, const Sizes& sizes) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    try {
      Maker(directory).make(sizes);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::cerr << "no ledger was made: " << error.what() << '\n';
      ::_exit(1);
    }
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    throw std::runtime_error("no ledger was made in " + directory);
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
  const auto begin = Clock::now();
  std::shared_ptr<Ledger> ledger = value_of(Ledger::open(options_of(directory, false)));
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
  CLI::App app{"Measures a coordinator's start on a ledger with a history."};
  app.add_option("--ended", sizes.ended, "tasks that have ended, in arrays of 10,000")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, kMostEnded));
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
  if (!std::filesystem::exists(data)) make_ledger(data, sizes);
  measure(data, sizes);
  return 0;
}

}  // namespace
}  // namespace fairwater::bench

int main(int argc, char** argv) {
  return fairwater::bench::run_program("fairwater_restart", fairwater::bench::run, argc, argv);
}
