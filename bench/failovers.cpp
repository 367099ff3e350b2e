// How long nothing starts when the leader of three coordinators falls, one figure per line (see
// bench/README.md). Each task marks its own start: the gap is what nobody who waits can miss.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "bench/measure.hpp"
#include "tests/harness/cluster.hpp"
#include "tests/harness/replicas.hpp"
#include "tests/harness/work_log.hpp"

namespace fairwater::bench {
namespace {

using harness::Duration;
using harness::Replicas;

constexpr Duration kPatience{60'000};

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

class Failovers {
 public:
  Failovers()
      : replicas_("lease: 15s\ngrace: 4s\nheartbeat_interval: 250ms\n"),
        cluster_((replicas_.start(), harness::ClusterSetup{.agents = {{"node1"}, {"node2"}},
                                                           .data = replicas_.data("one"),
                                                           .addresses = replicas_.addresses()})),
        file_(cluster_.directory() / "work"),
        log_(file_) {
    cluster_.apply_tenants("tenants: [{name: steady, weight: 1}]\n");
    cluster_.start_agents();
    cluster_.submit("tenant: steady\ntasks: 100000\nresources: {cpu: 1, memory: 64MiB}\n" +
                    log_.command_line("sleep 0.05"));
  }

  /// `fall(leader)` brings it down, `rise(leader)` back.
  void measure(const std::string& kind, int rounds,
               const std::function<void(const std::string&)>& fall,
               const std::function<void(const std::string&)>& rise, bool leader_changes) {
    std::vector<std::pair<double, double>> falls;
    falls.reserve(static_cast<std::size_t>(rounds));
    for (int round = 0; round < rounds; ++round) {
      wait_for_growth(file_, kLinesBetween);
      const std::string leader = replicas_.wait_for_leader();
      const double fell = now_seconds();
      fall(leader);
      if (leader_changes) (void)replicas_.wait_for_leader(leader);
      wait_for_growth(file_, kLinesBetween);
      falls.emplace_back(fell, now_seconds());
      rise(leader);
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
  }

  void measure_all(int rounds) {
    const auto start = [this](const std::string& leader) { replicas_.start_coordinator(leader); };
    measure(
        "killed", rounds,
        [this](const std::string& leader) { replicas_.stop_coordinator(leader, SIGKILL); }, start,
        true);
    measure(
        "told_to_go", rounds,
        [this](const std::string& leader) { replicas_.stop_coordinator(leader, SIGTERM); }, start,
        true);
    measure(
        "stopped", rounds,
        [this](const std::string& leader) { replicas_.coordinator(leader).send_signal(SIGSTOP); },
        [this](const std::string& leader) { replicas_.coordinator(leader).send_signal(SIGCONT); },
        true);
    std::string member;
    measure(
        "etcd_killed", rounds,
        [&](const std::string&) {
          member = replicas_.etcd_leader();
          replicas_.stop_etcd(member, SIGKILL);
        },
        [&](const std::string&) { replicas_.start_etcd(member); }, false);
    int twice = 0;
    for (const auto& [task, count] : log_.starts()) twice += count > 1 ? 1 : 0;
    figure("failover_tasks", static_cast<double>(log_.starts().size()), "tasks");
    figure("failover_tasks_twice", twice, "tasks");
  }

 private:
  /// Of marks, some forty bytes each.
  static constexpr std::uintmax_t kLinesBetween = 1600;

  Replicas replicas_;
  harness::Cluster cluster_;
  std::filesystem::path file_;
  harness::WorkLog log_;
};

int run(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  if (argc > 2 || rounds < 1) {
    std::cerr << "usage: fairwater_failovers [ROUNDS]   of each kind; 10 unless given\n";
    return 2;
  }
  if (!harness::has_etcd()) {
    std::cerr << "fairwater_failovers: etcd is not installed (apt-get install etcd-server)\n";
    return 1;
  }
  Failovers().measure_all(rounds);
  return 0;
}

}  // namespace
}  // namespace fairwater::bench

int main(int argc, char** argv) {
  try {
    return fairwater::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "fairwater_failovers: " << error.what() << '\n';
    return 1;
  }
}
