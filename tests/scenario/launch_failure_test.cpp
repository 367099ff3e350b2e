// Nodes that cannot start tasks, and tasks that end their own supervisors.
#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

TEST_CASE("a node whose disk is full drains itself, and its tasks run elsewhere",
          "[scenario][slow]") {
  if (!is_root_or_skips("a tmpfs")) return;
  const SmallDisk disk("16m");
  const std::string one_processor = "cpu: 1, memory: 1GiB";
  Cluster cluster({.agents = {{.name = "full", .resources = one_processor, .data = disk / "data"},
                              {.name = "sound", .resources = one_processor}},
                   .tenants = tenants({{"busy", 1}, {"idle", 1}})});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  disk.fill();
  const auto id = cluster.submit(job_file("busy", 12, log.command_line("sleep 1")));
  CHECK(cluster.wait({id}) == 0);
  CHECK(each_ran_once(log, {{id, 12}}));

  int attempts = 0;
  for (const json job = cluster.job(id); const auto& task : job["task_list"]) {
    attempts += task["attempts"].get<int>();
    CHECK(task["node"] == "sound");
  }
  CHECK(attempts == 12 + 3);
  const json node = cluster.node("full");
  CHECK(node["state"] == "drained");
  CHECK_THAT(
      node["drain_reason"].get<std::string>(),
      Catch::Contains("launches in a row failed") && Catch::Contains("No space left on device"));
  const int cost = cluster.job(id)["task_list"][0]["cost"];
  CHECK(cluster.tenant("busy")["granted_units_total"] == 12 * cost);
  CHECK(ledger_is_sound(cluster));

  disk.make_room();
  CHECK(cluster.fairwater({"node", "undrain", "full"}).status == 0);
  CHECK(cluster.wait({cluster.submit(job_file("busy", 4, log.command_line("sleep 0.5")))}) == 0);
  CHECK(cluster.node("full")["state"] == "up");
}

TEST_CASE("a task that ends its supervisor or spoils its file does not run on and on",
          "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"careless", 1}})});
  cluster.start();
  const auto script = [](const std::string& text) {
    return fmt::format("command: {}\n", json({"bash", "-c", text}).dump());
  };
  const std::vector<std::uint64_t> jobs{
      cluster.submit(job_file("careless", 1, script("kill -9 $PPID; sleep 60"))),
      cluster.submit(job_file("careless", 1, script("echo > $FAIRWATER_ATTEMPT; sleep 0.1"))),
      cluster.submit(job_file("careless", 1, script("rm $FAIRWATER_ATTEMPT; sleep 0.1")))};
  const auto attempts = [&](std::uint64_t id) {
    return cluster.job(id)["task_list"][0]["attempts"].get<int>();
  };
  harness::wait_until("each ran twice", Duration(20'000), [&] {
    return std::all_of(jobs.begin(), jobs.end(), [&](auto id) { return attempts(id) >= 2; });
  });
  std::this_thread::sleep_for(Duration(4'000));  // pauses of 1, 2 and 4 seconds
  for (const auto id : jobs) {
    const json task = cluster.job(id)["task_list"][0];
    const int attempts_made = task["attempts"];
    CHECK(attempts_made <= 4);
    CHECK(task["last_result"]["reason"] == "supervisor_lost");
    CHECK(task["losses"] == attempts_made - (task["state"] == "running" ? 1 : 0));
    CHECK(cluster.fairwater({"job", "cancel", std::to_string(id)}).status == 0);
  }
  CHECK(cluster.wait(jobs) == 125);
  CHECK(cluster.node("node1")["state"] == "up");
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
