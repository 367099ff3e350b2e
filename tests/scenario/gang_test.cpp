// Gangs of real processes: whole or not at all, under kills of tasks, agents and the coordinator.
#include <csignal>
#include <set>
#include <sstream>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"
#include "tests/storage/free_ports.hpp"

namespace fairwater::scenario {
namespace {

ClusterSetup nodes_of_two(int nodes) {
  ClusterSetup setup{
      .agents = {}, .tenants = tenants({{"web", 1}}), .lease = "5s", .heartbeat_interval = "200ms"};
  for (int node = 1; node <= nodes; ++node)
    setup.agents.push_back({fmt::format("node{}", node), "cpu: 2, memory: 1GiB"});
  return setup;
}

/// Each run of a task appends its rank to `begun`, and waits for a file `enough`.
std::string waiting_gang(const Cluster& cluster, int tasks, int retries) {
  const std::string script = fmt::format(
      "echo $$ > {0}/gang.$RANK; echo $RANK >> {0}/begun; "
      "until [ -e {0}/enough ]; do sleep 0.05; done",
      cluster.directory().string());
  return fmt::format(
      "tenant: web\ngang: true\ntasks: {}\nretries: {}\ngrace: 1s\n"
      "resources: {{cpu: 1, memory: 64MiB}}\ncommand: {}\n",
      tasks, retries, json({"bash", "-c", script}).dump());
}

std::size_t tasks_begun(const Cluster& cluster) {
  std::istringstream lines(read_file(cluster.directory() / "begun"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  return count;
}

void wait_until_begun(const Cluster& cluster, std::size_t tasks) {
  harness::wait_until(fmt::format("{} tasks were begun", tasks), Duration(30'000),
                      [&] { return tasks_begun(cluster) >= tasks; });
  CHECK(tasks_begun(cluster) == tasks);
}

void kill_rank(const Cluster& cluster, int rank) {
  kill(std::stoi(read_file(cluster.directory() / fmt::format("gang.{}", rank))), SIGKILL);
}

std::set<int> attempts_of(const json& job) {
  std::set<int> attempts;
  for (const json& task : job["task_list"]) attempts.insert(task["attempts"].get<int>());
  return attempts;
}

void let_end(const Cluster& cluster, std::uint64_t gang) {
  std::ofstream(cluster.directory() / "enough") << "yes";
  CHECK(cluster.wait({gang}) == 0);
  CHECK(ledger_is_sound(cluster));
}

bool has_open_mpi_or_skips() {
  const Completed found = harness::run({.command = {"sh", "-c", "command -v mpicc mpirun"}});
  if (found.status == 0) return true;
  skip("MPI programs need mpicc and mpirun: Debian's libopenmpi-dev and openmpi-bin");
  return false;
}

/// `fairwater gang run`, as the task of that index of a gang of two.
CommandOptions gang_member(int index, int port, const std::string& key) {
  return {.command = {(harness::programs_directory() / "fairwater").string(), "gang", "run", "--",
                      "echo", "led"},
          .environment = {{"FAIRWATER_TASK_INDEX", std::to_string(index)},
                          {"FAIRWATER_TASK_COUNT", "2"},
                          {"FAIRWATER_RENDEZVOUS", fmt::format("127.0.0.1:{}", port)},
                          {"FAIRWATER_GANG_KEY", key},
                          {"PATH", "/usr/bin:/bin"}}};
}

}  // namespace

// Left out under AddressSanitizer: the page's tasks have less memory than its shadow takes.
TEST_CASE("docs/mpi.md does what it says", "[scenario][long]") {
  if (!has_open_mpi_or_skips()) return;
  Cluster cluster(nodes_of_two(2));
  cluster.start();
  check_page(cluster, "docs/mpi.md");
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("tasks of a gang take nobody else's word", "[scenario]") {
  const int port = test::free_ports(1).front();
  harness::ChildProcess first(gang_member(0, port, "the key"));
  const Completed stranger = harness::run(gang_member(1, port, "another key"));
  CHECK(stranger.status == 3);
  CHECK_THAT(stranger.errors, Catch::Contains("is not the first task of the gang"));
  CHECK(first.running());
  const Completed other = harness::run(gang_member(1, port, "the key"));
  CHECK(other.status == 0);
  CHECK(first.read_line(Duration(10'000)) == "led");
  CHECK(first.wait(Duration(10'000)) == 0);
}

TEST_CASE("docs/gangs.md does what it says", "[scenario]") {
  Cluster cluster(nodes_of_two(2));
  cluster.start();
  check_page(cluster, "docs/gangs.md");
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a gang runs again as a whole, also under a new coordinator", "[scenario]") {
  Cluster cluster(nodes_of_two(2));
  cluster.start();
  const auto gang = cluster.submit(waiting_gang(cluster, 3, 2));
  wait_until_begun(cluster, 3);
  kill_rank(cluster, 1);
  wait_until_begun(cluster, 6);
  CHECK(attempts_of(cluster.job(gang)) == std::set<int>{2});
  // Now the coordinator dies with it, and finds a gang that is to be stopped.
  kill_rank(cluster, 2);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  wait_until_begun(cluster, 9);
  CHECK(attempts_of(cluster.job(gang)) == std::set<int>{3});
  let_end(cluster, gang);
}

TEST_CASE("waiting for a failed gang tells how its task failed", "[scenario]") {
  Cluster cluster(nodes_of_two(2));
  cluster.start();
  const auto gang = cluster.submit(
      "tenant: web\ngang: true\ntasks: 3\nresources: {cpu: 1, memory: 64MiB}\n"
      "command: [bash, -c, '[ $RANK = 1 ] && exit 7; sleep 60']\n");
  CHECK(cluster.wait({gang}) == 7);
  CHECK(cluster.job(gang)["tasks"]["cancelled"] == 2);
}

TEST_CASE("a gang whose node dies starts anew on others, without a retry", "[scenario]") {
  Cluster cluster(nodes_of_two(3));
  cluster.start();
  const auto gang = cluster.submit(waiting_gang(cluster, 4, 0));
  wait_until_begun(cluster, 4);
  const std::string lost = cluster.job(gang)["task_list"][3]["node"];
  cluster.stop_agent(lost, SIGKILL);
  wait_until_begun(cluster, 8);
  const json job = cluster.job(gang);
  CHECK(attempts_of(job) == std::set<int>{2});
  for (const json& task : job["task_list"]) CHECK(task["node"] != lost);
  cluster.start_agent(lost);
  cluster.wait_for_nodes(3);
  CHECK(tasks_begun(cluster) == 8);
  let_end(cluster, gang);
}

TEST_CASE("gangs and single tasks share nodes, and every gang is granted in one record",
          "[scenario]") {
  Cluster cluster(nodes_of_two(3));
  cluster.start();
  std::vector<std::uint64_t> jobs;
  for (int i = 0; i < 4; ++i)
    for (const bool is_gang : {true, false})
      jobs.push_back(cluster.submit(
          fmt::format("tenant: web\ngang: {}\ntasks: {}\ntime_limit: 1m\n"
                      "resources: {{cpu: 1, memory: 64MiB}}\ncommand: [sleep, '0.3']\n",
                      is_gang, is_gang ? 4 + i % 3 : 5)));
  CHECK(cluster.wait(jobs) == 0);
  std::map<std::uint64_t, std::set<std::uint64_t>> records_of;
  for (const json& record : journal_of(cluster)) {
    if (record["kind"] != "cycle") continue;
    for (const json& deal : record["deals"])
      for (const json& grant : deal["grants"])
        records_of[grant["job"]].insert(record["cycle"].get<std::uint64_t>());
  }
  for (std::size_t i = 0; i < jobs.size(); i += 2) CHECK(records_of.at(jobs[i]).size() == 1);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
