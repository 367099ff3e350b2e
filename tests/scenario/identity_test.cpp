// Copied data directories, an agent's and a coordinator's: nothing runs twice, and nothing is taken
// for something else.
#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

namespace fs = std::filesystem;

bool says(const Cluster& cluster, const std::string& process, const std::string& words) {
  return cluster.log_of(process).find(words) != std::string::npos;
}

TEST_CASE("of two agents with the same data one runs the tasks, and the other says why not",
          "[scenario][slow]") {
  Cluster cluster({.agents = {{"node1"}, {"copy"}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "6s",
                   .grace = "4s"});
  const WorkLog log(cluster.directory() / "work");
  cluster.start_coordinator();
  cluster.apply_tenants(tenants({{"steady", 1}}));
  cluster.start_agent("node1");
  cluster.wait_for_nodes(1);
  // Once it is marked as settled. A file may be replaced meanwhile: then it is copied anew.
  harness::wait_until("node1's directory is copied", Duration(20'000), [&] {
    const fs::path original = cluster.directory() / "node1";
    if (!fs::exists(original / "high-water") || !fs::exists(original / "place")) return false;
    std::error_code failed;
    fs::remove_all(cluster.directory() / "copy");
    fs::copy(original, cluster.directory() / "copy",
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, failed);
    return !failed;
  });
  std::string configuration = read_file(cluster.directory() / "node1.yaml");
  const auto data = configuration.find((cluster.directory() / "node1").string());
  configuration.replace(data, (cluster.directory() / "node1").string().size(),
                        (cluster.directory() / "copy").string());
  std::ofstream(cluster.directory() / "copy.yaml") << configuration;

  const auto first = cluster.submit(job_file("steady", 4, log.command_line("sleep 5")));
  cluster.start_agent("copy");
  harness::wait_until("the copy is told", Duration(20'000),
                      [&] { return says(cluster, "copy", "DUPLICATE"); });
  CHECK(says(cluster, "coordinator", "a second agent with this node's data"));
  const json problem = cluster.node("node1")["problem"];
  CHECK(problem.get<std::string>().find("copy") != std::string::npos);
  const auto second = cluster.submit(job_file("steady", 4, log.command_line("sleep 0.2")));
  CHECK(cluster.wait({first, second}) == 0);
  CHECK(each_ran_once(log, {{first, 4}, {second, 4}}));
  CHECK(fs::is_empty(cluster.directory() / "copy" / "tasks"));

  // The first goes for good: the copy takes its place, after lease and grace.
  cluster.stop_agent("node1", SIGKILL);
  const auto third = cluster.submit(job_file("steady", 4, log.command_line("sleep 0.2")));
  CHECK(cluster.wait({third}) == 0);
  CHECK(each_ran_once(log, {{first, 4}, {second, 4}, {third, 4}}));
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a restored backup does nothing before its nodes or the operator have spoken",
          "[scenario][slow]") {
  Cluster cluster({.agents = {{"node1"}, {"node2"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  const auto data = cluster.coordinator_data();
  const auto backup = cluster.directory() / "backup";
  const auto before = cluster.submit(job_file("steady", 2, "command: [sh, -c, \"echo before\"]\n"));
  REQUIRE(cluster.wait({before}) == 0);
  REQUIRE(cluster.stop_coordinator(SIGTERM) == 0);
  fs::copy(data, backup, fs::copy_options::recursive);

  // A life that will be lost: one job ends, one runs on, and both nodes are told of it.
  cluster.start_coordinator();
  const auto lost =
      cluster.submit(job_file("steady", 2, "command: [sh, -c, \"echo of the lost life\"]\n"));
  REQUIRE(cluster.wait({lost}) == 0);
  const auto running = cluster.submit(job_file("steady", 1, "command: [sleep, \"600\"]\n"));
  harness::wait_until("the job runs", Duration(10'000),
                      [&] { return cluster.job(running)["state"] == "running"; });
  const std::uint64_t cycle = cluster.ask({"status"})["cluster"]["cycle"];
  for (const auto* node : {"node1", "node2"})
    harness::wait_until(std::string(node) + " is told", Duration(20'000), [&] {
      return std::stoull(read_file(cluster.directory() / node / "high-water")) >= cycle;
    });
  REQUIRE(cluster.stop_coordinator(SIGTERM) == 0);
  fs::rename(data, cluster.directory() / "lost");
  fs::copy(backup, data, fs::copy_options::recursive);

  cluster.start_coordinator();
  harness::wait_until("both nodes doubt", Duration(20'000), [&] {
    return cluster.ask({"ledger", "doubts"})["doubts"].size() == 2;
  });
  const json standing = cluster.ask({"ledger", "doubts"});
  CHECK(standing["ledger"]["trusted"] == false);
  CHECK(standing["ledger"]["copied"] == true);
  CHECK(cluster.ask({"status"})["cluster"]["granting"] == false);
  const auto fresh_file = job_file("steady", 2, "command: [sh, -c, \"echo of the new life\"]\n");
  const Completed refused = cluster.fairwater({"job", "submit", "--json", "-"}, fresh_file);
  CHECK(refused.status == 1);
  CHECK(json::parse(refused.output)["error"]["code"] == "unavailable");
  CHECK(refused.output.find("fairwater ledger doubts") != std::string::npos);
  CHECK(cluster.fairwater({"ledger", "trust"}).status == 2);

  cluster.ask({"ledger", "trust", "--reason", "the newer one is lost"});
  cluster.wait_for_nodes(2);
  CHECK(cluster.ask({"ledger", "doubts"})["ledger"]["trusted"] == true);
  CHECK(cluster.ask({"ledger", "doubts"})["ledger"]["incarnation"] == 1);
  harness::wait_until("the lost life's task is told", Duration(20'000), [&] {
    const json report = cluster.ask({"ledger", "restored"});
    return report["tasks"].size() == 1 && report["tasks"][0]["job"] == running;
  });

  const auto fresh = cluster.submit(fresh_file);
  CHECK(fresh > running);
  CHECK(cluster.wait({fresh}) == 0);
  const auto log_of = [&](std::uint64_t job) {
    return cluster.fairwater({"job", "logs", std::to_string(job)}).output;
  };
  CHECK(log_of(fresh) == "of the new life\n");
  CHECK(log_of(before) == "before\n");
  CHECK(cluster.fairwater({"job", "show", std::to_string(lost)}).status == 1);
  CHECK(cluster.fairwater({"job", "logs", std::to_string(running)}).status == 1);
  CHECK(ledger_is_sound(cluster));

  // Its place is marked: the next start is an ordinary one.
  REQUIRE(cluster.stop_coordinator(SIGTERM) == 0);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  CHECK(cluster.ask({"ledger", "doubts"})["ledger"]["trusted"] == true);
  CHECK(cluster.wait({cluster.submit(fresh_file)}) == 0);
}

}  // namespace
}  // namespace fairwater::scenario
