#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

/// Hosts as network namespaces on one switch, itself a namespace: nothing touches the machine's own
/// network.
class Network {
 public:
  explicit Network(std::vector<std::string> hosts) : Network(std::move(hosts), NothingYet()) {
    const std::string hub = name("switch");
    ip({"netns", "add", hub});
    ip({"-n", hub, "link", "add", "name", "hub", "type", "bridge"});
    ip({"-n", hub, "link", "set", "dev", "hub", "up"});
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const std::string host = name(hosts_[i]);
      ip({"netns", "add", host});
      ip({"-n", hub, "link", "add", "name", hosts_[i], "type", "veth", "peer", "name", "uplink",
          "netns", host});
      ip({"-n", hub, "link", "set", "dev", hosts_[i], "master", "hub", "up"});
      ip({"-n", host, "address", "add", fmt::format("10.77.0.{}/24", i + 1), "dev", "uplink"});
      ip({"-n", host, "link", "set", "dev", "uplink", "up"});
      ip({"-n", host, "link", "set", "dev", "lo", "up"});
    }
  }
  ~Network() {
    hosts_.emplace_back("switch");
    for (const std::string& host : hosts_)
      harness::run({.command = {"ip", "netns", "delete", name(host)}});
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] static std::string name(const std::string& host) {
    return fmt::format("fw{}-{}", getpid(), host);
  }
  /// Pulls the host's cable, or plugs it in again.
  void cut(const std::string& host) const {
    ip({"-n", name("switch"), "link", "set", "dev", host, "down"});
  }
  void join(const std::string& host) const {
    ip({"-n", name("switch"), "link", "set", "dev", host, "up"});
  }

  /// Empty when namespaces can be made here, else why not.
  [[nodiscard]] static std::string obstacle() {
    if (geteuid() != 0) return "network namespaces need root";
    const Completed made = harness::run({.command = {"ip", "netns", "add", name("probe")}});
    if (made.status != 0) return "ip netns does not work here: " + made.errors;
    harness::run({.command = {"ip", "netns", "delete", name("probe")}});
    return {};
  }

 private:
  // The destructor runs once this one is done, so that a failure on the way leaves no namespace
  // behind.
  struct NothingYet {};
  Network(std::vector<std::string> hosts, NothingYet) : hosts_(std::move(hosts)) {}

  static void ip(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ip");
    const Completed done = harness::run({.command = arguments});
    if (done.status != 0) throw std::runtime_error(done.errors);
  }
  std::vector<std::string> hosts_;
};

TEST_CASE(
    "an agent that is cut off past its lease stops its tasks, joins again, and everything runs "
    "once to its end",
    "[scenario]") {
  if (const std::string obstacle = Network::obstacle(); !obstacle.empty()) {
    skip(obstacle);
    return;
  }
  const Network network({"c", "a", "b"});
  Cluster cluster({.agents = {{"node-a", "cpu: 2, memory: 1GiB", Network::name("a")},
                              {"node-b", "cpu: 2, memory: 1GiB", Network::name("b")}},
                   .tenants = tenants({{"steady", 1}}),
                   .lease = "2s",
                   .heartbeat_interval = "200ms",
                   .host = "10.77.0.1",
                   .network_namespace = Network::name("c")});
  const WorkLog log(cluster.directory() / "work");
  cluster.start();
  const auto id = cluster.submit(job_file("steady", 12, log.command_line("sleep 3")));
  harness::wait_until("both nodes are full", Duration(10'000),
                      [&] { return log.runs().size() == 4; });

  network.cut("a");
  harness::wait_until("the node is down", Duration(15'000),
                      [&] { return cluster.node("node-a")["state"] == "down"; });
  network.join("a");
  cluster.wait_for_nodes(2, Duration(30'000));
  CHECK(cluster.wait({id}) == 0);

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
                   .lease = "8s",
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

}  // namespace
}  // namespace fairwater::scenario
