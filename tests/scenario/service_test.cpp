// Services of real processes: killed, with their nodes, under a coordinator that is killed,
// drained.
#include <csignal>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

ClusterSetup two_nodes() {
  return {.agents = {{"node1", "cpu: 2, memory: 1GiB"}, {"node2", "cpu: 2, memory: 1GiB"}},
          .tenants = tenants({{"web", 1}}),
          .lease = "5s",
          .heartbeat_interval = "200ms"};
}

/// Each run writes its process id and appends it to `all`.
std::string serving(const Cluster& cluster) {
  const std::string script = fmt::format(
      "echo $$ > {0}/pid.$FAIRWATER_TASK_INDEX; echo $$ >> {0}/all; while :; do sleep 0.1; done",
      cluster.directory().string());
  return fmt::format(
      "tenant: web\nkind: service\ngrace: 1s\nresources: {{cpu: 1, memory: 64MiB}}\ncommand: {}\n",
      json({"bash", "-c", script}).dump());
}

std::size_t starts(const Cluster& cluster) {
  std::istringstream lines(read_file(cluster.directory() / "all"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  return count;
}

pid_t pid_of(const Cluster& cluster, int index = 0) {
  return std::stoi(read_file(cluster.directory() / fmt::format("pid.{}", index)));
}

void wait_for_starts(const Cluster& cluster, std::size_t count) {
  harness::wait_until(fmt::format("it was started {} times", count), Duration(30'000),
                      [&] { return starts(cluster) >= count; });
  CHECK(starts(cluster) == count);
}

bool is_alive(pid_t pid) {
  const std::string stat = read_file(fmt::format("/proc/{}/stat", pid));
  return !stat.empty() && stat.find(") Z ") == std::string::npos;
}

json only_task(const Cluster& cluster, std::uint64_t id) { return cluster.job(id)["task_list"][0]; }

}  // namespace

TEST_CASE("a service whose process is killed comes back on its node, also under a new coordinator",
          "[scenario]") {
  Cluster cluster(two_nodes());
  cluster.start();
  const auto id = cluster.submit(serving(cluster));
  wait_for_starts(cluster, 1);
  const json first = only_task(cluster, id);
  for (std::size_t ends = 1; ends <= 2; ++ends) {
    kill(pid_of(cluster), SIGKILL);
    wait_for_starts(cluster, ends + 1);
    const json task = only_task(cluster, id);
    CHECK(task["attempts"] == ends + 1);
    CHECK(task["node"] == first["node"]);
    CHECK(task["exit_code"] == 128 + SIGKILL);
    CHECK(task["restarts"] == ends);
  }
  // The third pause is 4 s: the coordinator dies within it.
  kill(pid_of(cluster), SIGKILL);
  harness::wait_until("it backs off", Duration(10'000),
                      [&] { return only_task(cluster, id)["state"] == "pending"; });
  const json waiting = only_task(cluster, id);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(2);
  const json now = only_task(cluster, id);
  if (now["state"] == "pending") CHECK(now["waits_until"] == waiting["waits_until"]);
  wait_for_starts(cluster, 4);
  const json back = only_task(cluster, id);
  CHECK(harness::seconds_since_1970(back["started_at"]) >=
        harness::seconds_since_1970(waiting["waits_until"]) - 0.05);
  CHECK(is_alive(pid_of(cluster)));

  CHECK(cluster.fairwater({"job", "cancel", std::to_string(id)}).status == 0);
  CHECK(cluster.wait({id}) == 125);
  CHECK(starts(cluster) == 4);
  CHECK_FALSE(is_alive(pid_of(cluster)));
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a service whose node dies is started elsewhere, once the first one is dead",
          "[scenario]") {
  Cluster cluster(two_nodes());
  cluster.start();
  const auto id = cluster.submit(serving(cluster));
  wait_for_starts(cluster, 1);
  const std::string node = only_task(cluster, id)["node"];
  const pid_t first = pid_of(cluster);
  cluster.stop_agent(node, SIGKILL);
  wait_for_starts(cluster, 2);
  CHECK_FALSE(is_alive(first));
  const json task = only_task(cluster, id);
  CHECK(task["node"] != node);
  CHECK(task["losses"] == 1);
  cluster.start_agent(node);
  cluster.wait_for_nodes(2);
  CHECK(is_alive(pid_of(cluster)));
  CHECK(starts(cluster) == 2);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a drained node's services move, and its batch tasks end there", "[scenario]") {
  Cluster cluster(two_nodes());
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto service = cluster.submit(serving(cluster));
  wait_for_starts(cluster, 1);
  const std::string node = only_task(cluster, service)["node"];
  const auto batch = cluster.submit(job_file("web", 3, log.command_line("sleep 3")));
  harness::wait_until("the batch tasks run", Duration(10'000),
                      [&] { return log.runs().size() == 3; });
  const pid_t first = pid_of(cluster);
  CHECK(cluster.fairwater({"node", "drain", node, "--reason", "new disk"}).status == 0);
  harness::wait_until("it is gone from the node", Duration(10'000),
                      [&] { return !is_alive(first); });
  CHECK(cluster.wait({batch}) == 0);
  CHECK(each_ran_once(log, {{batch, 3}}));
  wait_for_starts(cluster, 2);
  CHECK(only_task(cluster, service)["node"] != node);
  CHECK(only_task(cluster, service)["restarts"] == 0);
  harness::wait_until("the node is drained", Duration(10'000),
                      [&] { return cluster.node(node)["state"] == "drained"; });
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("what runs at the deadline of a drain runs elsewhere, under a new coordinator, too",
          "[scenario]") {
  Cluster cluster(two_nodes());
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto gate = cluster.directory() / "gate";
  const auto stays = cluster.submit(job_file(
      "web", 1, log.command_line("until [ -e " + gate.string() + " ]; do sleep 0.1; done")));
  harness::wait_until("it runs", Duration(10'000), [&] { return log.runs().size() == 1; });
  const std::string node = only_task(cluster, stays)["node"];
  CHECK(cluster.fairwater({"node", "drain", node, "--reason", "new disk", "--deadline", "1500ms"})
            .status == 0);
  CHECK(cluster.node(node)["drain_deadline"].is_string());
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(1);
  harness::wait_until("the node is drained", Duration(30'000),
                      [&] { return cluster.node(node)["state"] == "drained"; });
  std::ofstream(gate) << "open";
  CHECK(cluster.wait({stays}) == 0);
  const json task = only_task(cluster, stays);
  CHECK(task["node"] != node);
  CHECK(task["attempts"] == 2);
  REQUIRE(log.runs().size() == 2);
  CHECK(log.runs()[0].ended == 0);  // it was stopped
  CHECK(cluster.fairwater({"node", "undrain", node}).status == 0);
  CHECK(cluster.node(node)["drain_deadline"].is_null());
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("docs/services.md does what it says", "[scenario]") {
  Cluster cluster(two_nodes());
  cluster.start();
  check_page(cluster, "docs/services.md");
  CHECK(ledger_is_sound(cluster));
}

}  // namespace fairwater::scenario
