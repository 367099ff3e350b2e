// How long nothing starts when the leader of three coordinators falls, one figure per line (see
// bench/README.md). Each task marks its own start: the gap is what nobody who waits can miss.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/measure.hpp"
#include "tests/harness/cluster.hpp"
#include "tests/harness/network.hpp"
#include "tests/harness/replicas.hpp"
#include "tests/harness/small_disk.hpp"
#include "tests/harness/work_log.hpp"

namespace fairwater::bench {
namespace {

using harness::Duration;
using harness::Replicas;

constexpr Duration kPatience{60'000};
/// Room for a ledger, and for what counts as room to lead again.
constexpr const char* kDiskSize = "256m";

const std::vector<std::string> kOfProcesses = {"killed", "told_to_go", "stopped", "etcd_killed"};
const std::vector<std::string> kOfNetworks = {"cut_off", "unheard"};
const std::vector<std::string> kKinds = {"killed",    "told_to_go", "stopped", "etcd_killed",
                                         "disk_full", "cut_off",    "unheard"};
constexpr int kMostRounds = 10'000;

struct Plan {
  int rounds = 10;
  std::vector<std::string> kinds;  ///< empty: all
  bool etcd_leads_there = false;   ///< and the leader's member of etcd leads, too, before each fall
  int etcd_election_ms = harness::ReplicasSetup().etcd_election_ms;

  [[nodiscard]] bool has(const std::string& kind) const {
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }
  [[nodiscard]] bool has_any(const std::vector<std::string>& some) const {
    return std::any_of(some.begin(), some.end(), [&](const auto& kind) { return has(kind); });
  }
};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A file that tasks append to: it grows while work goes on.
void wait_for_growth(const std::filesystem::path& file, std::uintmax_t bytes) {
  std::error_code missing;
  const auto before = std::filesystem::file_size(file, missing);
  const auto target = (missing ? 0 : before) + bytes;
  harness::wait_until("work goes on", kPatience, [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(file, none);
    return !none && size >= target;
  });
}

/// The longest time between two starts that a moment lies in, or that begins at most so much later.
double gap_at(const std::vector<double>& starts, double moment, double until) {
  double longest = 0;
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts[i] > moment && starts[i - 1] < until)
      longest = std::max(longest, starts[i] - starts[i - 1]);
  return longest;
}

void print(const std::string& kind, const std::vector<double>& gaps) {
  const double longest = *std::max_element(gaps.begin(), gaps.end());
  figure("failover_gap_" + kind + "_p50", 1000 * quantile(gaps, 0.5), "ms");
  figure("failover_gap_" + kind + "_p99", 1000 * quantile(gaps, 0.99), "ms");
  figure("failover_gap_" + kind + "_most", 1000 * longest, "ms");
  for (double upper = 0.25; upper < longest + 0.25; upper += 0.25) {
    const auto in_bin = std::count_if(
        gaps.begin(), gaps.end(), [&](double gap) { return gap >= upper - 0.25 && gap < upper; });
    fmt::print("  below {:5.2f} s {:4} {}\n", upper, in_bin,
               std::string(static_cast<std::size_t>(in_bin), '#'));
  }
  std::cout << std::flush;
}

/// Three coordinators under work, on this machine or on hosts of a network.
class Failovers {
 public:
  explicit Failovers(const Plan& plan, const harness::Network* network,
                     std::map<std::string, std::filesystem::path> data = {})
      : replicas_({"lease: 15s\ngrace: 4s\nheartbeat_interval: 250ms\n", network, std::move(data),
                   plan.etcd_election_ms}),
        cluster_((replicas_.start(), beside(replicas_))),
        file_(cluster_.directory() / "work"),
        log_(file_) {
    cluster_.apply_tenants("tenants: [{name: steady, weight: 1}]\n");
    cluster_.start_agents();
    cluster_.submit("tenant: steady\ntasks: 100000\nresources: {cpu: 1, memory: 64MiB}\n" +
                    log_.command_line("sleep 0.05"));
  }

  /// `fall(leader)` brings it down, `rise(leader)` back. Nothing when the kind is not asked for.
  void measure(const std::string& kind, const Plan& plan,
               const std::function<void(const std::string&)>& fall,
               const std::function<void(const std::string&)>& rise, bool leader_changes) {
    if (!plan.has(kind)) return;
    const int rounds = plan.rounds;
    std::vector<std::pair<double, double>> falls;
    falls.reserve(static_cast<std::size_t>(rounds));
    for (int round = 0; round < rounds; ++round) {
      wait_for_growth(file_, kLinesBetween);
      const std::string leader = replicas_.wait_for_leader();
      if (plan.etcd_leads_there) {
        replicas_.lead_etcd(leader, kPatience);
        wait_for_growth(file_, kLinesBetween);
      }
      const double fell = now_seconds();
      fall(leader);
      if (leader_changes) (void)replicas_.wait_for_leader(leader, kPatience);
      wait_for_growth(file_, kLinesBetween);
      falls.emplace_back(fell, now_seconds());
      rise(leader);
      replicas_.wait_for_all(kMostBehind, kPatience);
      replicas_.wait_for_etcd(kPatience);  // or the next fall is of two machines of three
    }
    const auto runs = log_.runs();
    std::vector<double> starts;
    starts.reserve(runs.size());
    for (const auto& run : runs) starts.push_back(run.started);
    std::sort(starts.begin(), starts.end());
    std::vector<double> gaps;
    gaps.reserve(falls.size());
    for (const auto& [fell, went_on] : falls) gaps.push_back(gap_at(starts, fell, went_on));
    print(kind, gaps);
    gaps_.insert(gaps_.end(), gaps.begin(), gaps.end());
  }

  /// Around every fall so far.
  [[nodiscard]] const std::vector<double>& gaps() const { return gaps_; }

  /// How often each task was started.
  [[nodiscard]] std::map<std::pair<std::uint64_t, std::uint32_t>, int> starts() const {
    return log_.starts();
  }

  void measure_processes(const Plan& plan) {
    const auto start = [this](const std::string& leader) { replicas_.start_coordinator(leader); };
    measure(
        "killed", plan,
        [this](const std::string& leader) { replicas_.stop_coordinator(leader, SIGKILL); }, start,
        true);
    measure(
        "told_to_go", plan,
        [this](const std::string& leader) { replicas_.stop_coordinator(leader, SIGTERM); }, start,
        true);
    measure(
        "stopped", plan,
        [this](const std::string& leader) { replicas_.coordinator(leader).send_signal(SIGSTOP); },
        [this](const std::string& leader) { replicas_.coordinator(leader).send_signal(SIGCONT); },
        true);
    std::string member;
    measure(
        "etcd_killed", plan,
        [&](const std::string&) {
          member = replicas_.etcd_leader();
          replicas_.stop_etcd(member, SIGKILL);
        },
        [&](const std::string&) { replicas_.start_etcd(member); }, false);
  }

 private:
  /// Of marks, some forty bytes each.
  static constexpr std::uintmax_t kLinesBetween = 1600;
  /// Of records, while work goes on: what a coordinator lacks that is there again.
  static constexpr std::uint64_t kMostBehind = 50;

  static harness::ClusterSetup beside(const Replicas& replicas) {
    return {.agents = {{.name = "node1", .network_namespace = replicas.network_namespace("node1")},
                       {.name = "node2", .network_namespace = replicas.network_namespace("node2")}},
            .network_namespace = replicas.network_namespace("desk"),
            .data = replicas.data("one"),
            .addresses = replicas.addresses()};
  }

  Replicas replicas_;
  harness::Cluster cluster_;
  std::filesystem::path file_;
  harness::WorkLog log_;
  std::vector<double> gaps_;
};

/// Tasks that were started meanwhile, those of them more than once, and all gaps.
struct Outcome {
  std::size_t tasks = 0;
  std::size_t twice = 0;
  std::vector<double> gaps;
  void add(const Failovers& failovers) {
    gaps.insert(gaps.end(), failovers.gaps().begin(), failovers.gaps().end());
    const auto starts = failovers.starts();
    tasks += starts.size();
    twice += static_cast<std::size_t>(std::count_if(
        starts.begin(), starts.end(), [](const auto& task) { return task.second > 1; }));
  }
};

void measure_full_disks(const Plan& plan, Outcome& outcome) {
  std::map<std::string, harness::SmallDisk> disks;
  std::map<std::string, std::filesystem::path> data;
  for (const char* name : {"one", "two", "three"})
    data[name] = disks.try_emplace(name, kDiskSize).first->second / "data";
  Failovers failovers(plan, nullptr, data);
  failovers.measure(
      "disk_full", plan, [&](const std::string& leader) { disks.at(leader).fill(); },
      [&](const std::string& leader) { disks.at(leader).make_room(); }, true);
  outcome.add(failovers);
}

void measure_networks(const Plan& plan, Outcome& outcome) {
  const harness::Network network({"one", "two", "three", "node1", "node2", "desk"});
  Failovers failovers(plan, &network);
  failovers.measure(
      "cut_off", plan, [&](const std::string& leader) { network.cut(leader); },
      [&](const std::string& leader) { network.join(leader); }, true);
  failovers.measure(
      "unheard", plan, [&](const std::string& leader) { network.mute(leader); },
      [&](const std::string& leader) { network.unmute(leader); }, true);
  outcome.add(failovers);
}

/// As far as this machine lets it; what it does not is left out, and said.
void measure_all(const Plan& plan) {
  Outcome outcome;
  if (plan.has_any(kOfProcesses)) {
    Failovers failovers(plan, nullptr);
    failovers.measure_processes(plan);
    outcome.add(failovers);
  }
  if (plan.has("disk_full")) {
    if (geteuid() == 0)
      measure_full_disks(plan, outcome);
    else
      std::cout << "left out: disk_full needs root\n";
  }
  if (plan.has_any(kOfNetworks)) {
    std::string obstacle = harness::Network::obstacle();
    if (obstacle.empty()) obstacle = harness::Network::obstacle_to_muting();
    if (obstacle.empty())
      measure_networks(plan, outcome);
    else
      std::cout << "left out: cut_off and unheard: " << obstacle << '\n';
  }
  if (!outcome.gaps.empty()) print("all", outcome.gaps);
  figure("failover_tasks", static_cast<double>(outcome.tasks), "tasks");
  figure("failover_tasks_twice", static_cast<double>(outcome.twice), "tasks");
}

int run(int argc, char** argv) {
  Plan plan;
  CLI::App app{"Measures how long nothing starts when the leader of three coordinators falls."};
  app.add_option("rounds", plan.rounds, "falls of each kind")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostRounds));
  app.add_option("--kinds", plan.kinds, "only these; all unless given")
      ->check(CLI::IsMember(kKinds));
  app.add_flag("--etcd-leads-there", plan.etcd_leads_there,
               "the leader's member of etcd leads, too, before each fall");
  app.add_option("--etcd-election", plan.etcd_election_ms,
                 "milliseconds of --election-timeout, ten times --heartbeat-interval")
      ->capture_default_str()
      ->check(CLI::Range(50, 50'000));
  CLI11_PARSE(app, argc, argv);
  if (!harness::has_etcd()) {
    std::cerr << "fairwater_failovers: etcd is not installed (apt-get install etcd-server)\n";
    return 1;
  }
  measure_all(plan);
  return 0;
}

}  // namespace
}  // namespace fairwater::bench

int main(int argc, char** argv) {
  return fairwater::bench::run_program("fairwater_failovers", fairwater::bench::run, argc, argv);
}
