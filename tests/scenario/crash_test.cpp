#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/steady_jobs.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

int rounds() {
  const char* given = std::getenv("FAIRWATER_ROUNDS");
  return given != nullptr ? std::atoi(given) : 20;
}

constexpr std::uint32_t kTasksPerJob = 5;

TEST_CASE(
    "kill -9 of coordinator and agents at random moments loses nothing and runs nothing twice",
    "[scenario][crash]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto milliseconds = [&](int low, int high) {
    return Duration(std::uniform_int_distribution<int>(low, high)(random));
  };
  Cluster cluster(
      {.agents = {{"node1"}, {"node2"}}, .tenants = tenants({{"steady", 1}}), .lease = "30s"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  // The rate of arrival is about half of what the nodes can do.
  SteadyJobs work(cluster, job_file("steady", kTasksPerJob, log.command_line("sleep 0.2")),
                  Duration(200));

  for (int round = 0; round < rounds(); ++round) {
    std::this_thread::sleep_for(milliseconds(50, 900));
    const int victim =
        round % 4;  // 0, 2: the coordinator; 1: an agent; 3: coordinator and agent together
    const std::string agent = round % 8 < 4 ? "node1" : "node2";
    if (victim == 1 || victim == 3) CHECK(cluster.stop_agent(agent) == 128 + SIGKILL);
    if (victim != 1) CHECK(cluster.stop_coordinator() == 128 + SIGKILL);
    std::this_thread::sleep_for(milliseconds(0, 500));
    if (victim != 1) cluster.start_coordinator();
    if (victim == 1 || victim == 3) cluster.start_agent(agent);
  }
  // A submission that met a kill waits for the next coordinator, on a busy machine for most of its
  // life.
  harness::wait_until("one job a round was acknowledged", Duration(60'000),
                      [&] { return work.acknowledged() >= static_cast<std::size_t>(rounds()); });
  const auto& acknowledged = work.stop();
  cluster.wait_for_nodes(2);

  // A submission that was cut off may or may not have been made durable: the job list says which
  // were.
  std::map<std::uint64_t, std::uint32_t> jobs;
  const json listed = cluster.list("job");
  std::vector<std::uint64_t> ids;
  for (const auto& job : listed) {
    jobs[job["id"]] = kTasksPerJob;
    ids.push_back(job["id"]);
  }
  for (const std::uint64_t id : acknowledged) {
    INFO("job " << id << " was acknowledged");
    REQUIRE(jobs.contains(id));
  }
  REQUIRE(acknowledged.size() >= static_cast<std::size_t>(rounds()));
  CHECK(cluster.wait(ids, Duration(120'000)) == 0);
  CHECK(each_ran_once(log, jobs));
  CHECK(ledger_is_sound(cluster));
  for (const json ended = cluster.list("job"); const auto& job : ended) {
    INFO(job.dump());
    CHECK(job["state"] == "succeeded");
  }
}

TEST_CASE("tasks go on while coordinator and agent are gone, and their exit status is found again",
          "[scenario][crash]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}}), .lease = "30s"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto fails = cluster.submit(job_file("steady", 1, log.command_line("sleep 1; false")));
  const auto exits = cluster.submit(job_file("steady", 1, log.command_line("sleep 1; (exit 7)")));
  harness::wait_until("both tasks have started", Duration(10'000),
                      [&] { return log.runs().size() == 2; });
  cluster.stop_agent("node1");
  cluster.stop_coordinator();
  harness::wait_until("both tasks have ended on their own", Duration(10'000), [&] {
    for (const auto& run : log.runs()) {
      if (run.ended == 0) return false;
    }
    return true;
  });
  cluster.start_coordinator();
  cluster.start_agent("node1");
  CHECK(cluster.wait({exits}) == 7);
  CHECK(cluster.wait({fails}) == 1);
  CHECK(cluster.job(exits)["task_list"][0]["exit_code"] == 7);
  CHECK(cluster.job(exits)["task_list"][0]["attempts"] == 1);
  CHECK(each_ran_once(log, {{fails, 1}, {exits, 1}}));
}

TEST_CASE(
    "SIGTERM stops coordinator and agent cleanly, and what was acknowledged is there afterwards",
    "[scenario][crash]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  const auto waiting = cluster.submit(job_file("steady", 2, "command: [sleep, \"2\"]\n"));
  CHECK(cluster.stop_coordinator(SIGTERM) == 0);
  CHECK(cluster.stop_agent("node1", SIGTERM) == 0);
  cluster.start_coordinator();
  CHECK(cluster.job(waiting)["tasks"]["total"] == 2);
  cluster.start_agent("node1");
  CHECK(cluster.wait({waiting}) == 0);
}

}  // namespace
}  // namespace fairwater::scenario
