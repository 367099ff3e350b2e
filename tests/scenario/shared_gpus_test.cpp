// Elastic jobs, urgent ones and gangs of real processes that share GPUs.
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/scenario/gpu_tally.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// Each node has two GPUs that tasks share.
ClusterSetup sharing_cluster(int nodes) {
  ClusterSetup setup{.agents = {},
                     .tenants = tenants({{"web", 1}, {"batch", 1}}),
                     .lease = "30s",
                     .heartbeat_interval = "200ms"};
  setup.coordinator_lines =
      "preempt_after: 1s\n"
      "resources:\n"
      "  - {name: cpu, granule: 0.1, units: 1}\n"
      "  - {name: memory, granule: 256MiB, units: 1}\n"
      "  - {name: gpu_milli, granule: 100, units: 1}\n";
  for (int i = 1; i <= nodes; ++i) {
    harness::AgentSetup node{.name = fmt::format("node{}", i), .resources = "cpu: 8, memory: 4GiB"};
    node.configuration += fmt::format("devices: {{gpu_milli: [{}, {}]}}\n", 2 * i - 2, 2 * i - 1);
    setup.agents.push_back(std::move(node));
  }
  return setup;
}

/// A job whose tasks tally what they have.
std::string sharing_job(const Cluster& cluster, const std::string& lines, int milli,
                        const std::string& body) {
  return fmt::format(
      "grace: 10s\nresources: {{cpu: 50m, memory: 16MiB, gpu_milli: {}}}\n{}command: {}\n", milli,
      lines, tallied(cluster.directory() / "tally", body));
}

std::string until(const std::filesystem::path& file) {
  return fmt::format("until [ -e {} ]; do sleep 0.05; done", file.string());
}

/// The tasks of the job that run on each GPU.
std::map<std::string, int> gpus_of(const Cluster& cluster, std::uint64_t job) {
  std::map<std::string, int> tasks;
  const json listed = cluster.job(job)["task_list"];
  for (const auto& task : listed)
    if (task["state"] == "running")
      for (const auto& name : task["devices"]) ++tasks[name.get<std::string>()];
  return tasks;
}

void wait_until_running(const Cluster& cluster, std::uint64_t job, int tasks) {
  harness::wait_until(fmt::format("{} tasks of job {} run", tasks, job), Duration(30'000),
                      [&] { return cluster.job(job)["tasks"]["running"] == tasks; });
}

std::size_t reclaimed_tasks(const Cluster& cluster) {
  std::size_t tasks = 0;
  for (const json& record : journal_of(cluster))
    if (record["kind"] == "tasks_reclaimed") tasks += record["tasks"].size();
  return tasks;
}

}  // namespace

TEST_CASE("an elastic job grows into parts of gpus and gives back a whole one", "[scenario]") {
  Cluster cluster(sharing_cluster(1));
  cluster.start();
  const auto go = cluster.directory() / "go";
  const auto elastic = cluster.submit(
      sharing_job(cluster, "tenant: web\ntasks: {min: 1, max: 9}\n", 400, until(go)));
  wait_until_running(cluster, elastic, 4);  // by the amount there would be five
  CHECK(gpus_of(cluster, elastic) == std::map<std::string, int>{{"gpu0", 2}, {"gpu1", 2}});
  const auto go_on = cluster.directory() / "go_on";
  const auto whole = cluster.submit(sharing_job(cluster, "tenant: batch\n", 1000, until(go_on)));
  wait_until_running(cluster, whole, 1);
  CHECK(cluster.job(elastic)["tasks"]["running"] == 2);
  CHECK(reclaimed_tasks(cluster) == 2);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(1);
  std::ofstream{go_on};
  CHECK(cluster.wait({whole}) == 0);
  wait_until_running(cluster, elastic, 4);
  std::ofstream{go};
  CHECK(cluster.wait({elastic}) == 0);
  CHECK(most_taken(cluster.directory() / "tally") == 1000);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("an urgent job takes the part of a gpu that it needs, of no other gpu", "[scenario]") {
  Cluster cluster(sharing_cluster(1));
  cluster.start();
  const auto go = cluster.directory() / "go";
  // Two small ones are younger, and beside one that does not give way.
  const auto large = cluster.submit(sharing_job(cluster, "tenant: batch\n", 900, until(go)));
  wait_until_running(cluster, large, 1);
  const auto kept =
      cluster.submit(sharing_job(cluster, "tenant: batch\npreemptible: false\n", 500, until(go)));
  wait_until_running(cluster, kept, 1);
  const auto small =
      cluster.submit(sharing_job(cluster, "tenant: batch\ntasks: 2\n", 200, until(go)));
  wait_until_running(cluster, small, 2);
  REQUIRE(gpus_of(cluster, small) == std::map<std::string, int>{{"gpu1", 2}});
  const auto urgent = cluster.submit(
      sharing_job(cluster, "tenant: web\npriority: 5\npreempt: true\n", 700, "sleep 0.2"));
  CHECK(cluster.wait({urgent}) == 0);
  CHECK(reclaimed_tasks(cluster) == 1);
  CHECK(cluster.job(urgent)["task_list"][0]["devices"] == json({"gpu0"}));
  CHECK(cluster.job(small)["tasks"]["running"] == 2);
  std::ofstream{go};
  CHECK(cluster.wait({large, kept, small}) == 0);
  CHECK(cluster.job(large)["task_list"][0]["attempts"] == 2);
  CHECK(most_taken(cluster.directory() / "tally") <= 1000);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a gang of parts waits for as many gpus as it needs, and starts whole", "[scenario]") {
  Cluster cluster(sharing_cluster(2));
  cluster.start();
  const auto go = cluster.directory() / "go";
  const auto halves =
      cluster.submit(sharing_job(cluster, "tenant: batch\ntasks: 3\n", 600, until(go)));
  wait_until_running(cluster, halves, 3);
  // Of all four together 2200 are free.
  const auto gang = cluster.submit(sharing_job(
      cluster, "tenant: web\ntasks: 2\ngang: true\ntime_limit: 10m\n", 700, "sleep 0.2"));
  const Completed why = cluster.fairwater({"job", "explain", std::to_string(gang)});
  CHECK_THAT(why.output, Catch::Contains("its 2 tasks start together") &&
                             Catch::Contains("there is room for 1 of them now"));
  CHECK(cluster.job(gang)["tasks"]["running"] == 0);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  std::ofstream{go};
  CHECK(cluster.wait({halves, gang}) == 0);
  std::set<std::string> gpus;
  const json tasks = cluster.job(gang)["task_list"];
  for (const auto& task : tasks) gpus.insert(task["devices"].at(0).get<std::string>());
  CHECK(gpus.size() == 2);
  const auto too_large =
      cluster.submit(sharing_job(cluster, "tenant: web\ntasks: 5\ngang: true\n", 600, "true"));
  CHECK_THAT(cluster.fairwater({"job", "explain", std::to_string(too_large)}).output,
             Catch::Contains("room for 4 of them even when empty"));
  CHECK(cluster.fairwater({"job", "cancel", std::to_string(too_large)}).status == 0);
  CHECK(most_taken(cluster.directory() / "tally") <= 1000);
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
