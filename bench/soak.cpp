// Three coordinators at work for long, whose leader falls again and again: is memory flat, is the
// disk bounded, has each task run once, and does every ledger verify? (bench/README.md)
//
// Of the tasks some are real processes; the rest run nothing, on nodes of bench/load, so that a
// small machine can have the ledger's share of a large cluster's work.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/load/fleet.hpp"
#include "bench/measure.hpp"
#include "bench/soak_judgement.hpp"
#include "bench/value_of.hpp"
#include "rpc/tokens.hpp"
#include "tests/harness/cluster.hpp"
#include "tests/harness/replicas.hpp"

namespace fairwater::bench {
namespace {

using Clock = std::chrono::steady_clock;
using harness::Duration;
using nlohmann::json;

constexpr int kArchiveMib = 20;

struct Plan {
  double minutes = 30;
  std::uint32_t tasks_per_second = 500;
  std::uint32_t real_per_second = 100;  ///< of these, those that are processes
  std::uint32_t seconds_between_falls = 20;
  /// Of memory: RocksDB's write buffers, which may be full in one third alone. A leak of 28 bytes a
  /// task is more in half an hour. Of disk: the archive's bound, as it may be empty in the first
  /// third and full in the last.
  SoakBounds bounds{16, kArchiveMib};
};

/// Room for twice as many as begin in the second that each takes.
constexpr std::uint32_t kSlotsPerNode = 32;
constexpr std::int64_t kSimulatedMs = 1000;

const std::string kConfiguration =
    "lease: 15s\ngrace: 4s\nheartbeat_interval: 250ms\n" +
    fmt::format("history: {{checkpoint_every: 10000, keep_jobs: 60s, archive: {{bytes: {}MiB}}}}\n",
                kArchiveMib);

class Soak {
 public:
  explicit Soak(const Plan& plan)
      : plan_(plan),
        replicas_({.configuration = kConfiguration}),
        cluster_((replicas_.start(), agents())),
        marks_(cluster_.directory() / "marks") {
    cluster_.apply_tenants(
        "tenants: [{name: t0, weight: 3}, {name: t1, weight: 2}, {name: t2, weight: 1}]\n");
    cluster_.start_agents();
    if (simulated_per_second() > 0) start_fleet();
  }

  int run() {
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(60 * plan_.minutes));
    auto next_fall = start + std::chrono::seconds(plan_.seconds_between_falls);
    auto next_sample = start;
    for (auto second = start; Clock::now() < end; second += std::chrono::seconds(1)) {
      std::this_thread::sleep_until(second);
      if (is_behind()) continue;
      submit();
      if (Clock::now() >= next_fall) {
        fall();
        next_fall = Clock::now() + std::chrono::seconds(plan_.seconds_between_falls);
      }
      if (Clock::now() >= next_sample) {
        found_.samples.push_back(sample());
        next_sample = Clock::now() + std::chrono::seconds(5);
      }
    }
    wait_for_all();
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    figure("soak_time", took, "s");
    figure("soak_tasks", static_cast<double>(real_ + simulated_), "tasks");
    figure("soak_tasks_real", static_cast<double>(real_), "tasks");
    figure("soak_rate", static_cast<double>(real_ + simulated_) / took, "1/s");
    figure("soak_falls", falls_, "times");
    print_thirds();
    count_tasks();
    verify_ledgers();
    const auto faults = soak_faults(found_, plan_.bounds);
    for (const std::string& fault : faults) std::cerr << fault << '\n';
    return faults.empty() ? 0 : 1;
  }

 private:
  [[nodiscard]] harness::ClusterSetup agents() const {
    harness::ClusterSetup setup;
    for (const char* name : {"node1", "node2"})
      setup.agents.push_back({name, "cpu: 64, memory: 64GiB"});
    setup.data = replicas_.data("one");
    setup.addresses = replicas_.addresses();
    setup.log_limit = "1MiB";
    return setup;
  }

  [[nodiscard]] std::uint32_t simulated_per_second() const {
    return plan_.tasks_per_second - plan_.real_per_second;
  }

  void start_fleet() {
    load::FleetOptions options;
    options.coordinators = replicas_.addresses();
    options.join = value_of(parse_join_token(value_of(
        read_secret_file((std::filesystem::path(replicas_.data("one")) / "join.token").string()))));
    options.slots = kSlotsPerNode;
    options.nodes =
        (2 * simulated_per_second() * kSimulatedMs / 1000 + kSlotsPerNode - 1) / kSlotsPerNode;
    const auto nodes = options.nodes;
    fleet_ = std::make_unique<load::Fleet>(std::move(options));
    harness::wait_until("simulated nodes are registered", Duration(20'000),
                        [&] { return fleet_->seen().registered == nodes; });
  }

  /// Ten seconds of work wait: the machine does not keep up.
  [[nodiscard]] bool is_behind() const {
    const std::uint64_t done = marks_written() + (fleet_ ? fleet_->seen().ends : 0);
    return real_ + simulated_ > done + 10 * plan_.tasks_per_second;
  }

  [[nodiscard]] std::uint64_t marks_written() const {
    std::error_code none;
    const auto bytes = std::filesystem::file_size(marks_, none);
    return none ? 0 : bytes / kBytesPerMark;
  }

  void submit() {
    const std::string tenant = fmt::format("tenant: t{}\n", turn_++ % 3);
    newest_.clear();
    if (plan_.real_per_second > 0) {
      const std::string script =
          "printf '%9s.%5s\\\\n' $FAIRWATER_JOB_ID $FAIRWATER_TASK_INDEX >>" + marks_.string();
      newest_.push_back(cluster_.submit(
          tenant + fmt::format("tasks: {}\nresources: {{cpu: 1, memory: 64MiB}}\nsites: [here]\n"
                               "command: [sh, -c, \"{}\"]\n",
                               plan_.real_per_second, script)));
      real_ += plan_.real_per_second;
    }
    if (!fleet_) return;
    newest_.push_back(cluster_.submit(
        tenant + fmt::format("tasks: {}\nresources: {{cpu: 1, memory: 64MiB}}\nsites: [z0]\n"
                             "command: [simulated, \"{}\"]\n",
                             simulated_per_second(), kSimulatedMs)));
    simulated_ += simulated_per_second();
  }

  /// In turn killed, told to go, and stopped until another leads.
  void fall() {
    const std::string leader = replicas_.wait_for_leader();
    switch (falls_++ % 3) {
      case 0:
        replicas_.stop_coordinator(leader, SIGKILL);
        break;
      case 1:
        replicas_.stop_coordinator(leader, SIGTERM);
        break;
      default:
        replicas_.coordinator(leader).send_signal(SIGSTOP);
        (void)replicas_.wait_for_leader(leader);
        replicas_.coordinator(leader).send_signal(SIGCONT);
        return;
    }
    (void)replicas_.wait_for_leader(leader);
    replicas_.start_coordinator(leader);
  }

  [[nodiscard]] SoakSample sample() {
    SoakSample most;
    for (const std::string& name : replicas_.names()) {
      most.memory_mib = std::max(most.memory_mib, resident_mib(replicas_.coordinator(name).pid()));
      most.disk_mib = std::max(most.disk_mib, bytes_below(replicas_.data(name)) / (1 << 20));
    }
    return most;
  }

  /// By what the tasks did: the jobs of long ago have left the history.
  void wait_for_all() {
    harness::wait_until("all tasks have ended", Duration(600'000), [&] {
      return marks_written() >= real_ && (!fleet_ || fleet_->seen().durable_ends >= simulated_);
    });
    for (const auto job : newest_)
      if (cluster_.wait({job}, Duration(60'000)) != 0)
        throw std::runtime_error(fmt::format("job {} did not end well", job));
  }

  void print_thirds() const {
    const auto thirds = thirds_of(found_.samples);
    for (std::size_t third = 0; third < thirds.size(); ++third) {
      figure(fmt::format("soak_memory_{}_third", third + 1), thirds[third].memory_mib, "MiB");
      figure(fmt::format("soak_disk_{}_third", third + 1), thirds[third].disk_mib, "MiB");
    }
  }

  /// By what the tasks themselves wrote, and what simulated nodes were told.
  void count_tasks() {
    std::map<std::string, int> starts;
    std::ifstream file(marks_);
    for (std::string mark; std::getline(file, mark);) ++starts[mark];
    found_.tasks_twice = static_cast<std::uint64_t>(std::count_if(
        starts.begin(), starts.end(), [](const auto& start) { return start.second > 1; }));
    found_.tasks_lost = real_ - starts.size();
    if (fleet_) {
      const auto seen = fleet_->seen();
      found_.tasks_twice +=
          seen.launches_told_twice + (seen.launches - std::min(seen.launches, simulated_));
      found_.tasks_lost += simulated_ - std::min(seen.durable_ends, simulated_);
      figure("soak_leases_ended", static_cast<double>(seen.leases_ended), "times");
    }
    figure("soak_tasks_twice", static_cast<double>(found_.tasks_twice), "tasks");
    figure("soak_tasks_lost", static_cast<double>(found_.tasks_lost), "tasks");
  }

  /// An idle cluster still makes a record now and then: one ledger may have it before the next is
  /// looked at.
  void verify_ledgers() {
    constexpr int kMostLooks = 3;
    for (int look = 0; look < kMostLooks && (look == 0 || !end_alike(found_.ledgers)); ++look) {
      replicas_.wait_for_all(0);
      found_.ledgers.clear();
      for (const std::string& name : replicas_.names()) found_.ledgers.push_back(verify(name));
    }
    const auto wrong = std::count_if(found_.ledgers.begin(), found_.ledgers.end(),
                                     [](const VerifiedLedger& ledger) { return !ledger.is_ok; });
    figure("soak_ledgers_wrong", static_cast<double>(wrong), "ledgers");
    figure("soak_ledgers_alike", end_alike(found_.ledgers) ? 1 : 0, "bool");
  }

  [[nodiscard]] VerifiedLedger verify(const std::string& name) const {
    const auto done = replicas_.fairwater(
        {"ledger", "verify", "--archive", "--json", "--data", replicas_.data(name)});
    VerifiedLedger ledger;
    ledger.name = name;
    const json report = json::parse(done.output, nullptr, false);
    if (!report.is_discarded()) {
      ledger.cycle = report.value("last_cycle", std::uint64_t{0});
      ledger.hash = report.value("last_hash", "");
      ledger.is_ok = report.value("ok", false) && !ledger.hash.empty();
    }
    if (!ledger.is_ok) std::cerr << name << ": " << done.output << done.errors << '\n';
    return ledger;
  }

  static constexpr std::uint64_t kBytesPerMark = 16;

  Plan plan_;
  harness::Replicas replicas_;
  harness::Cluster cluster_;
  std::filesystem::path marks_;
  std::vector<std::uint64_t> newest_;  ///< jobs
  SoakFindings found_;
  std::unique_ptr<load::Fleet> fleet_;  ///< null: no task is simulated
  std::uint64_t turn_ = 0;
  std::uint64_t real_ = 0;  ///< tasks submitted that are processes
  std::uint64_t simulated_ = 0;
  int falls_ = 0;
};

int run(int argc, char** argv) {
  Plan plan;
  CLI::App app{"Lets the leader of three coordinators fall again and again under load."};
  app.add_option("--minutes", plan.minutes)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rate", plan.tasks_per_second, "tasks a second")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--real", plan.real_per_second, "how many of them are processes")
      ->capture_default_str();
  app.add_option("--every", plan.seconds_between_falls, "seconds between two falls")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--more-memory", plan.bounds.more_memory_mib,
                 "MiB of memory that the last third may take more than the first")
      ->capture_default_str();
  app.add_option("--more-disk", plan.bounds.more_disk_mib, "the same of disk")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (plan.real_per_second > plan.tasks_per_second) {
    std::cerr << fmt::format("fairwater_soak: --real: {} is more than the {} tasks of --rate\n",
                             plan.real_per_second, plan.tasks_per_second);
    return 1;
  }
  if (!harness::has_etcd()) {
    std::cerr << "fairwater_soak: etcd is not installed (apt-get install etcd-server)\n";
    return 1;
  }
  return Soak(plan).run();
}

}  // namespace
}  // namespace fairwater::bench

int main(int argc, char** argv) {
  return fairwater::bench::run_program("fairwater_soak", fairwater::bench::run, argc, argv);
}
