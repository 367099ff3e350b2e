#include "tests/harness/network.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/harness/child_process.hpp"

namespace fairwater::harness {
namespace {

constexpr const char* kNamespaces = "/run/netns";
constexpr const char* kSwitch = "switch";

bool is_mounted() {
  std::ifstream file("/proc/self/mountinfo");
  const std::string mounts{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return mounts.find(fmt::format(" {} ", kNamespaces)) != std::string::npos;
}

void run_or_throw(const std::vector<std::string>& command) {
  const Completed done = run({.command = command});
  if (done.status != 0) throw std::runtime_error(done.errors);
}

/// A command inside a host's namespace. `ip -n` and `ip netns exec` would change mounts first,
/// which needs a root that is a mount point: in a chroot it is none.
std::vector<std::string> inside(const std::string& host, std::vector<std::string> command) {
  command.insert(command.begin(),
                 {"nsenter", fmt::format("--net={}/{}", kNamespaces, Network::name(host))});
  return command;
}

/// Why the commands do not work in a namespace of their own; empty when they do.
std::string obstacle_to(const std::vector<std::vector<std::string>>& commands) {
  if (geteuid() != 0) return "network namespaces need root";
  const NamespaceFolder folder;
  const std::string probe = "probe";
  try {
    run_or_throw({"ip", "netns", "add", Network::name(probe)});
  } catch (const std::runtime_error& why) {
    return fmt::format("ip netns does not work here: {}", why.what());
  }
  std::string why;
  try {
    for (const auto& command : commands) run_or_throw(inside(probe, command));
  } catch (const std::runtime_error& obstacle) {
    why = fmt::format("not possible in a network namespace here: {}", obstacle.what());
  }
  run({.command = {"ip", "netns", "delete", Network::name(probe)}});
  return why;
}

const std::vector<std::string> kAddPair = {"ip",   "link", "add",  "name", "a",
                                           "type", "veth", "peer", "name", "b"};

/// A queue that drops all that is to leave by the device.
std::vector<std::string> drop_what_leaves(const char* change, const char* device) {
  return {"tc", "qdisc", change, "dev", device, "root", "blackhole"};
}

}  // namespace

NamespaceFolder::NamespaceFolder() : was_mounted_(is_mounted()) {}
NamespaceFolder::~NamespaceFolder() {
  if (!was_mounted_ && is_mounted()) umount(kNamespaces);
}

Network::Network(std::vector<std::string> hosts) : Network(std::move(hosts), NothingYet()) {
  run_or_throw({"ip", "netns", "add", name(kSwitch)});
  run_or_throw(inside(kSwitch, {"ip", "link", "add", "name", "hub", "type", "bridge"}));
  run_or_throw(inside(kSwitch, {"ip", "link", "set", "dev", "hub", "up"}));
  for (const std::string& host : hosts_) {
    run_or_throw({"ip", "netns", "add", name(host)});
    run_or_throw(inside(kSwitch, {"ip", "link", "add", "name", host, "type", "veth", "peer", "name",
                                  "uplink", "netns", name(host)}));
    run_or_throw(inside(kSwitch, {"ip", "link", "set", "dev", host, "master", "hub", "up"}));
    run_or_throw(inside(host, {"ip", "address", "add", address(host) + "/24", "dev", "uplink"}));
    run_or_throw(inside(host, {"ip", "link", "set", "dev", "uplink", "up"}));
    run_or_throw(inside(host, {"ip", "link", "set", "dev", "lo", "up"}));
  }
}

Network::~Network() {
  hosts_.emplace_back(kSwitch);
  for (const std::string& host : hosts_) {
    try {
      run({.command = {"ip", "netns", "delete", name(host)}});
    } catch (const std::exception& why) {  // what failed before is what the test tells
      fmt::print(stderr, "{} stays: {}\n", name(host), why.what());
    }
  }
}

std::string Network::name(const std::string& host) {
  return fmt::format("fw{}-{}", getpid(), host);
}

std::string Network::address(const std::string& host) const {
  const auto found = std::find(hosts_.begin(), hosts_.end(), host);
  if (found == hosts_.end()) throw std::runtime_error("no host is called " + host);
  return fmt::format("10.77.0.{}", found - hosts_.begin() + 1);
}

void Network::cut(const std::string& host) const {
  run_or_throw(inside(kSwitch, {"ip", "link", "set", "dev", host, "down"}));
}
void Network::join(const std::string& host) const {
  run_or_throw(inside(kSwitch, {"ip", "link", "set", "dev", host, "up"}));
}
void Network::mute(const std::string& host) const {
  run_or_throw(inside(host, drop_what_leaves("add", "uplink")));
}
void Network::unmute(const std::string& host) const {
  run_or_throw(inside(host, drop_what_leaves("delete", "uplink")));
}

std::string Network::obstacle() {
  // The switch needs bridges, its cables pairs of devices.
  return obstacle_to({{"ip", "link", "add", "name", "hub", "type", "bridge"}, kAddPair});
}
std::string Network::obstacle_to_muting() {
  return obstacle_to({kAddPair, drop_what_leaves("add", "a")});
}

}  // namespace fairwater::harness
