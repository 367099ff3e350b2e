#include "tests/harness/network.hpp"

#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

using harness::Network;

TEST_CASE(
    "an agent that is cut off past its lease stops its tasks, joins again, and everything runs "
    "once to its end",
    "[scenario][slow]") {
  if (const std::string obstacle = Network::obstacle(); !obstacle.empty()) {
    skip(obstacle);
    return;
  }
  const Network network({"c", "a", "b"});
  Cluster cluster({.agents = {{"node-a", "cpu: 2, memory: 1GiB", Network::name("a")},
                              {"node-b", "cpu: 2, memory: 1GiB", Network::name("b")}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "4s",
                   .heartbeat_interval = "200ms",
                   .host = "10.77.0.1",
                   .network_namespace = Network::name("c")});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto id = cluster.submit(job_file("steady", 12, log.command_line("sleep 8")));
  harness::wait_until("both nodes are full", Duration(10'000),
                      [&] { return log.runs().size() == 4; });

  network.cut("a");
  harness::wait_until("the node is down", Duration(15'000),
                      [&] { return cluster.node("node-a")["state"] == "down"; });
  network.join("a");
  cluster.wait_for_nodes(2, Duration(30'000));
  CHECK(cluster.wait({id}, Duration(120'000)) == 0);

  // Two tasks were cut off and ran again; of every task exactly one run came to its end.
  std::map<std::uint32_t, int> completed;
  for (const auto& run : log.runs()) completed[run.index] += run.ended != 0 ? 1 : 0;
  CHECK(completed.size() == 12);
  for (const auto& [index, count] : completed) {
    INFO("task " << index);
    CHECK(count == 1);
  }
  CHECK(log.runs().size() == 14);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a cable out for less than the lease costs nothing", "[scenario]") {
  if (const std::string obstacle = Network::obstacle(); !obstacle.empty()) {
    skip(obstacle);
    return;
  }
  const Network network({"c", "a"});
  Cluster cluster({.agents = {{"node-a", "cpu: 2, memory: 1GiB", Network::name("a")}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "20s",
                   .heartbeat_interval = "200ms",
                   .host = "10.77.0.1",
                   .network_namespace = Network::name("c")});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto id = cluster.submit(job_file("steady", 6, log.command_line("sleep 1")));
  harness::wait_until("the node is full", Duration(10'000), [&] { return log.runs().size() == 2; });
  network.cut("a");
  std::this_thread::sleep_for(Duration(2'000));  // the outage under test
  network.join("a");
  CHECK(cluster.wait({id}) == 0);
  CHECK(each_ran_once(log, {{id, 6}}));
}

TEST_CASE("in a chroot the network scenarios run or are skipped, and leave nothing mounted",
          "[scenario]") {
  if (!is_root_or_skips("a chroot")) return;
  if (const std::string obstacle = Network::obstacle(); !obstacle.empty()) {
    skip(obstacle);
    return;
  }
  // A root that is a plain folder, with everything of the real one but /run below it.
  const TemporaryDirectory root;
  const char* const script = R"(
    set -e
    mount --make-rprivate /
    cd "$1"
    mkdir run
    for entry in /*; do
      [ "$entry" != /run ] || continue
      if [ -L "$entry" ]; then cp -P "$entry" .; continue; fi
      [ -d "$entry" ] || continue
      mkdir ".$entry"
      mount --rbind "$entry" ".$entry"
    done
    chroot . "$2" "a cable out for less than the lease costs nothing"
    ! grep " $1/run/netns " /proc/self/mountinfo)";
  const Completed done =
      harness::run({.command = {"unshare", "--mount", "sh", "-c", script, "chroot", root.path(),
                                std::filesystem::read_symlink("/proc/self/exe")}});
  INFO(done.output << done.errors);
  CHECK(done.status == 0);
}

}  // namespace
}  // namespace fairwater::scenario
