#include <sys/mount.h>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

constexpr const char* kNamespaces = "/run/netns";

/// `ip netns add` makes the folder of namespaces a mount point for good. This takes it away again
/// where there was none before; while somebody else has a namespace in it, it is busy and stays.
class NamespaceFolder {
 public:
  NamespaceFolder() : was_mounted_(is_mounted()) {}
  ~NamespaceFolder() {
    if (!was_mounted_ && is_mounted()) umount(kNamespaces);
  }
  NamespaceFolder(const NamespaceFolder&) = delete;
  NamespaceFolder& operator=(const NamespaceFolder&) = delete;

 private:
  static bool is_mounted() {
    return read_file("/proc/self/mountinfo").find(fmt::format(" {} ", kNamespaces)) !=
           std::string::npos;
  }
  bool was_mounted_;
};

/// `ip` inside a namespace. `ip -n` and `ip netns exec` would change mounts first, which needs a
/// root that is a mount point: in a chroot it is none.
std::vector<std::string> ip_in(const std::string& space, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(),
                   {"nsenter", fmt::format("--net={}/{}", kNamespaces, space), "ip"});
  return arguments;
}

/// Hosts as network namespaces on one switch, itself a namespace: nothing touches the machine's own
/// network.
class Network {
 public:
  explicit Network(std::vector<std::string> hosts) : Network(std::move(hosts), NothingYet()) {
    const std::string hub = name("switch");
    run({"ip", "netns", "add", hub});
    run(ip_in(hub, {"link", "add", "name", "hub", "type", "bridge"}));
    run(ip_in(hub, {"link", "set", "dev", "hub", "up"}));
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const std::string host = name(hosts_[i]);
      run({"ip", "netns", "add", host});
      run(ip_in(hub, {"link", "add", "name", hosts_[i], "type", "veth", "peer", "name", "uplink",
                      "netns", host}));
      run(ip_in(hub, {"link", "set", "dev", hosts_[i], "master", "hub", "up"}));
      run(ip_in(host, {"address", "add", fmt::format("10.77.0.{}/24", i + 1), "dev", "uplink"}));
      run(ip_in(host, {"link", "set", "dev", "uplink", "up"}));
      run(ip_in(host, {"link", "set", "dev", "lo", "up"}));
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
    run(ip_in(name("switch"), {"link", "set", "dev", host, "down"}));
  }
  void join(const std::string& host) const {
    run(ip_in(name("switch"), {"link", "set", "dev", host, "up"}));
  }

  /// Empty when namespaces can be made here, else why not.
  [[nodiscard]] static std::string obstacle() {
    if (geteuid() != 0) return "network namespaces need root";
    const NamespaceFolder folder;
    try {
      run({"ip", "netns", "add", name("probe")});
    } catch (const std::runtime_error& why) {
      return fmt::format("ip netns does not work here: {}", why.what());
    }
    // The switch needs bridges, its cables pairs of devices.
    std::string why;
    try {
      run(ip_in(name("probe"), {"link", "add", "name", "hub", "type", "bridge"}));
      run(ip_in(name("probe"), {"link", "add", "name", "a", "type", "veth", "peer", "name", "b"}));
    } catch (const std::runtime_error& obstacle) {
      why = fmt::format("no devices can be made in a network namespace: {}", obstacle.what());
    }
    harness::run({.command = {"ip", "netns", "delete", name("probe")}});
    return why;
  }

 private:
  // The destructor runs once this one is done, so that a failure on the way leaves no namespace
  // behind.
  struct NothingYet {};
  Network(std::vector<std::string> hosts, NothingYet) : hosts_(std::move(hosts)) {}

  static void run(const std::vector<std::string>& command) {
    const Completed done = harness::run({.command = command});
    if (done.status != 0) throw std::runtime_error(done.errors);
  }
  NamespaceFolder folder_;  ///< goes last: after the namespaces in it
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
