// What clients and agents do when an answer is lost, or the coordinator is at another address.
#include <future>

#include <catch2/catch.hpp>

#include "tests/harness/proxy.hpp"
#include "tests/scenario/support.hpp"
#include "tests/storage/free_ports.hpp"

namespace fairwater::scenario {
namespace {

using harness::ChildProcess;

/// The coordinator's command with another address to listen on.
CommandOptions listening_on(const Cluster& cluster, const std::string& address) {
  CommandOptions options = cluster.coordinator_command();
  for (std::size_t i = 0; i + 1 < options.command.size(); ++i)
    if (options.command[i] == "--listen") options.command[i + 1] = address;
  return options;
}

/// One that nobody listens on now.
std::string unused_address() { return fmt::format("127.0.0.1:{}", test::free_ports(1).front()); }

}  // namespace

TEST_CASE("a submission whose answer is lost makes one job", "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  harness::Proxy proxy(cluster.address(), "only-this-once");
  auto submission = std::async(std::launch::async, [&] {
    return cluster.fairwater({"--address", proxy.address(), "job", "submit", "--quiet", "-"},
                             job_file("steady", 1, "name: only-this-once\ncommand: [\"true\"]\n"));
  });
  harness::wait_until("the job is there", Duration(20'000),
                      [&] { return proxy.saw_marker() && cluster.list("job").size() == 1; });
  SECTION("with the connection alone") {}
  SECTION("with the coordinator, by kill -9") {
    cluster.stop_coordinator();
    cluster.start_coordinator();
  }
  proxy.cut();
  const Completed submitted = submission.get();
  INFO(submitted.errors);
  REQUIRE(submitted.status == 0);
  const json jobs = cluster.list("job");
  REQUIRE(jobs.size() == 1);
  CHECK(std::stoull(submitted.output) == jobs[0]["id"]);
  CHECK(cluster.wait({jobs[0]["id"]}) == 0);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a named submission is one job, whatever it is asked for next", "[scenario]") {
  Cluster cluster({.agents = {{"node1"}}, .tenants = tenants({{"steady", 1}})});
  cluster.start();
  const auto submit = [&](const std::string& command) {
    return cluster.fairwater({"job", "run", "--quiet", "--tenant", "steady", "--request-id",
                              "nightly-7", "--", command});
  };
  const Completed first = submit("true");
  REQUIRE(first.status == 0);
  CHECK(submit("true").output == first.output);
  const Completed other = submit("false");
  CHECK(other.status == 1);
  CHECK_THAT(other.errors, Catch::Contains("request_id"));
  CHECK(cluster.list("job").size() == 1);
}

TEST_CASE("who is let go by the one that takes over asks again", "[scenario]") {
  Cluster cluster({.tenants = tenants({{"steady", 1}})});
  cluster.start();
  const std::string both = cluster.address() + "," + unused_address();
  const auto status = [&](const std::string& addresses) {
    return cluster.fairwater({"--address", addresses, "status"}).status;
  };
  cluster.stop_coordinator();
  auto asked = std::async(std::launch::async, [&] {
    for (int turn = 0; turn < 20; ++turn) {
      const auto since = std::chrono::steady_clock::now();
      const int ended = status(both);
      // Where nobody answers for three seconds it gives up: this coordinator may take longer.
      const bool was_patient = std::chrono::steady_clock::now() - since >= Duration(2'500);
      if (ended != 3 || !was_patient) return ended;
    }
    return 3;
  });
  cluster.start_coordinator();
  CHECK(asked.get() == 0);
  cluster.stop_coordinator();
  CHECK(status(cluster.address()) == 3);
  CHECK(status(both) == 3);
}

TEST_CASE("agents and those who follow go on when the coordinator is at another address",
          "[scenario]") {
  Cluster cluster({.tenants = tenants({{"steady", 1}})});
  cluster.start();
  const std::string second = unused_address();
  const std::string both = cluster.address() + "," + second;
  const auto configuration = cluster.directory() / "node1.yaml";
  std::ofstream(configuration) << harness::AgentSetup{}.configuration
                               << fmt::format("coordinator: [\"{}\", \"{}\"]\n", cluster.address(),
                                              second);
  ChildProcess agent(
      {.command = {harness::programs_directory() / "fairwaterd", "agent", "--config", configuration,
                   "--name", "node1", "--data", cluster.directory() / "node1", "--join-token-file",
                   cluster.coordinator_data() / "join.token"},
       .error_file = cluster.directory() / "node1.log"});
  cluster.wait_for_nodes(1);
  const auto command = [&](std::vector<std::string> arguments) {
    CommandOptions options;
    options.command = {harness::programs_directory() / "fairwater", "--address", both};
    options.command.insert(options.command.end(), arguments.begin(), arguments.end());
    options.environment = {{"FAIRWATER_TOKEN", cluster.operator_token()}};
    return options;
  };
  const auto gate = cluster.directory() / "gate";
  ChildProcess follower(command({"ledger", "journal", "--follow", "--json"}));
  ChildProcess waiter(
      command({"job", "run", "--wait", "--quiet", "--tenant", "steady", "--", "bash", "-c",
               fmt::format("until [ -e {} ]; do sleep 0.1; done", gate.string())}));
  // What they say shows that both are connected: the first connection fails where nobody is there.
  json record = json::parse(follower.read_line(Duration(30'000)));
  const auto job = std::stoull(waiter.read_line(Duration(30'000)));
  ChildProcess viewer(command({"top", "--interval", "100ms", "--json"}));
  json view = json::parse(viewer.read_line(Duration(30'000)));
  harness::wait_until("the job runs", Duration(20'000),
                      [&] { return cluster.job(job)["state"] == "running"; });

  cluster.stop_coordinator();
  ChildProcess successor(listening_on(cluster, second));
  REQUIRE_THAT(successor.read_line(Duration(30'000)), Catch::StartsWith("listening on "));
  std::ofstream(gate) << "open";
  CHECK(waiter.wait(Duration(60'000)) == 0);
  int coordinators = 0;
  for (std::uint64_t next = 1;; ++next) {  // no gap, and nothing twice
    INFO(record.dump());
    REQUIRE(record["cycle"] == next);
    coordinators += record["kind"] == "coordinator_started" ? 1 : 0;
    if (record["kind"] == "tasks_finished") break;
    record = json::parse(follower.read_line(Duration(30'000)));
  }
  CHECK(coordinators == 2);
  // The first views show a task that is not done, the last one is of the second coordinator.
  const auto unfinished = [&] {
    const json& cluster_view = view.at("cluster");
    return cluster_view.at("tasks_running").get<int>() +
           cluster_view.at("tasks_pending").get<int>();
  };
  while (unfinished() > 0) view = json::parse(viewer.read_line(Duration(30'000)));
  CHECK(viewer.running());
}

}  // namespace fairwater::scenario
