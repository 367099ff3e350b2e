// What the scenarios of several coordinators share.
#pragma once

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/harness/replicas.hpp"
#include "tests/scenario/steady_jobs.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {

using harness::Network;
using harness::Replicas;

/// How often a leader falls.
inline int rounds() {
  const char* given = std::getenv("FAIRWATER_ROUNDS");
  return given != nullptr ? std::atoi(given) : 8;
}

inline bool has_etcd_or_skips() {
  if (harness::has_etcd()) return true;
  skip("several coordinators need etcd");
  return false;
}

inline const std::string kConfiguration = "lease: 15s\ngrace: 4s\nheartbeat_interval: 250ms\n";
/// After a change of the leader nothing is lost within lease and grace, so work goes on meanwhile.
inline const Duration kPatience{90'000};

/// Agents and the command line, with all addresses.
inline ClusterSetup beside(const Replicas& replicas) {
  return {.agents = {{.name = "node1", .network_namespace = replicas.network_namespace("node1")},
                     {.name = "node2", .network_namespace = replicas.network_namespace("node2")}},
          .network_namespace = replicas.network_namespace("desk"),
          .data = replicas.data("one"),
          .addresses = replicas.addresses()};
}

/// All of it, with one tenant; returns when the nodes are up.
inline void start(Replicas& replicas, Cluster& cluster) {
  replicas.start();
  cluster.apply_tenants(tenants({{"steady", 1}}));
  cluster.start_agents();
}

/// Keeps the nodes busy.
inline std::string steady_work(const WorkLog& log) {
  return job_file("steady", 4, log.command_line("sleep 0.1"));
}

/// All that was taken in ran once, and all that was acknowledged was taken in.
inline void check_work(const Cluster& cluster, const WorkLog& log,
                       const std::vector<std::uint64_t>& acknowledged) {
  std::map<std::uint64_t, std::uint32_t> tasks;
  std::vector<std::uint64_t> ids;
  for (const json listed = cluster.list("job"); const auto& job : listed) {
    tasks[job["id"]] = job["tasks"]["total"];
    ids.push_back(job["id"]);
  }
  for (const std::uint64_t id : acknowledged) {
    INFO("job " << id << " was acknowledged");
    REQUIRE(tasks.contains(id));
  }
  CHECK(cluster.wait(ids, kPatience) == 0);
  CHECK(each_ran_once(log, tasks));
}

/// Every coordinator's own ledger is sound, and all hold the same records, as many of them.
inline void check_ledgers(Replicas& replicas) {
  for (const auto& name : replicas.names()) CHECK(replicas.stop_coordinator(name, SIGKILL) != 0);
  // What was committed last may be on the leader's disk alone so far: each reads it at its start.
  for (const auto& name : replicas.names()) replicas.start_coordinator(name);
  (void)replicas.wait_for_leader();
  replicas.wait_for_all(0);
  // Without a majority nothing is added any more, and each can still be read.
  for (const char* member : {"one", "two"}) CHECK(replicas.stop_etcd(member, SIGKILL) != 0);
  std::set<std::string> journals;
  for (const auto& name : replicas.names()) {
    const auto journal =
        replicas.fairwater({"ledger", "journal", "--stale", "--json"}, replicas.address(name));
    INFO(name << ": " << journal.errors);
    REQUIRE(journal.status == 0);
    journals.insert(journal.output);
  }
  CHECK(journals.size() == 1);
  std::set<std::uint64_t> records;
  for (const auto& name : replicas.names()) CHECK(replicas.stop_coordinator(name, SIGKILL) != 0);
  for (const auto& name : replicas.names()) {
    const auto verified =
        replicas.fairwater({"ledger", "verify", "--json", "--data", replicas.data(name)});
    INFO(name << ": " << verified.output << verified.errors);
    REQUIRE(verified.status == 0);
    const json report = json::parse(verified.output);
    CHECK(report["ok"] == true);
    records.insert(report["cycles"].get<std::uint64_t>());
  }
  CHECK(records.size() == 1);
}

/// What `fairwater` prints while it goes on, in a file.
class Following {
 public:
  Following(const Replicas& replicas, const Cluster& cluster, std::vector<std::string> arguments)
      : replicas_(replicas),
        arguments_(std::move(arguments)),
        file_(cluster.directory() / (arguments_.back() + ".followed")),
        process_({.command = command(),
                  .environment = {{"FAIRWATER_ADDRESS", replicas.addresses()},
                                  {"FAIRWATER_TOKEN", cluster.operator_token()}}}) {}

  /// What it has printed is all that there is, each once and in that order.
  void check() {
    const Completed asked = replicas_.fairwater(with({"--json"}));
    INFO(asked.errors);
    REQUIRE(asked.status == 0);
    harness::wait_until("the follower has told of all", Duration(20'000),
                        [&] { return read_file(file_).size() >= asked.output.size(); });
    CHECK(process_.running());
    const std::string followed = read_file(file_);
    const auto parts = std::mismatch(asked.output.begin(), asked.output.end(), followed.begin());
    INFO("it differs from: " << std::string(parts.first, asked.output.end()).substr(0, 500));
    CHECK(parts.first == asked.output.end());
  }

 private:
  [[nodiscard]] std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(), arguments_.begin(), arguments_.end());
    return more;
  }
  [[nodiscard]] std::vector<std::string> command() const {
    std::vector<std::string> words{"bash", "-c", "exec \"$@\" >'" + file_.string() + "'", "bash",
                                   harness::programs_directory() / "fairwater"};
    for (const auto& word : with({"--follow", "--json"})) words.push_back(word);
    return words;
  }

  const Replicas& replicas_;
  std::vector<std::string> arguments_;
  std::filesystem::path file_;
  harness::ChildProcess process_;
};

/// One job that runs as long as the scenario wants, and a client that waits for it.
class AwaitedJob {
 public:
  AwaitedJob(const Replicas& replicas, const Cluster& cluster, const WorkLog& log)
      : gate_(cluster.directory() / "gate"),
        job_(cluster.submit(
            job_file("steady", 1,
                     log.command_line("until [ -e " + gate_.string() + " ]; do sleep 0.1; done")))),
        waiting_({.command = {harness::programs_directory() / "fairwater", "job", "wait",
                              std::to_string(job_)},
                  .environment = {{"FAIRWATER_ADDRESS", replicas.addresses()},
                                  {"FAIRWATER_TOKEN", cluster.operator_token()}}}) {}
  void check() {
    CHECK(waiting_.running());
    std::ofstream(gate_) << "open";
    CHECK(waiting_.wait(kPatience) == 0);
  }

 private:
  std::filesystem::path gate_;
  std::uint64_t job_;
  harness::ChildProcess waiting_;
};

}  // namespace fairwater::scenario
