#include "bench/load/setting.hpp"

#include <iostream>
#include <stdexcept>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/load/loopback.hpp"
#include "bench/load/workload.hpp"
#include "bench/measure.hpp"
#include "daemon/connection_limits.hpp"
#include "rpc/tokens.hpp"

namespace fairwater::load {
namespace {

constexpr harness::Duration kPatience{180'000};
/// Of a process that has a connection per node: its threads, files and pipes.
constexpr std::uint64_t kOtherDescriptors = 500;

void require_descriptors(std::uint64_t connections) {
  raise_descriptor_limit();
  const auto limit = descriptor_limit();
  if (connections + kOtherDescriptors > limit)
    throw std::runtime_error(fmt::format(
        "{} connections want more descriptors than a process may have here ({}): a node has a "
        "connection of its own, and the coordinator is one process",
        connections, limit));
}

std::unique_ptr<harness::Replicas> start_replicas(const Sizes& sizes) {
  std::string configuration = "lease: 15s\ngrace: 5s\nheartbeat_interval: 1s\n";
  if (!sizes.accounting.empty()) configuration += "accounting: " + sizes.accounting + "\n";
  auto replicas =
      std::make_unique<harness::Replicas>(harness::ReplicasSetup{.configuration = configuration});
  replicas->start();
  return replicas;
}

harness::ClusterSetup setup_of(const Sizes& sizes, std::uint32_t tenants,
                               const harness::Replicas* replicas) {
  require_descriptors(sizes.nodes + sizes.followers + sizes.pollers + tenants);
  harness::ClusterSetup setup;
  setup.lease = "15s";
  setup.grace = "5s";
  setup.heartbeat_interval = "1s";
  setup.accounting = sizes.accounting;
  if (replicas == nullptr) return setup;
  setup.data = replicas->data(replicas->wait_for_leader());
  setup.addresses = replicas->addresses();
  return setup;
}

}  // namespace

void require_count(const std::string& what, std::uint64_t counted, std::uint64_t expected) {
  if (counted != expected)
    throw std::runtime_error(fmt::format("{}: {} instead of {}", what, counted, expected));
}

void require_no_failure(const CrowdSeen& seen) {
  if (seen.failures > 0)
    throw std::runtime_error(
        fmt::format("{} calls failed, the first one with: {}", seen.failures, seen.first_failure));
}

bool has_etcd_for(const char* row) {
  if (harness::has_etcd()) return true;
  std::cerr << fmt::format("load: no etcd here: {} is left out\n", row);
  return false;
}

Setting::Setting(const Sizes& sizes, std::uint32_t tenant_count, Coordinators coordinators)
    : replicas_(coordinators == Coordinators::three ? start_replicas(sizes) : nullptr),
      leader_(replicas_ ? replicas_->wait_for_leader() : ""),
      cluster_(setup_of(sizes, tenant_count, replicas_.get())) {
  if (!replicas_) cluster_.start_coordinator();
  client_ = value_of(Client::connect(address(), operator_token()));
  const auto specs = tenants(tenant_count);
  require_count("tenants", value_of(client_->apply_tenants(specs, false)).size(), tenant_count);
  for (const TenantSpec& tenant : specs) {
    NewToken wanted;
    wanted.tenant = tenant.name;
    tenant_tokens_.push_back(value_of(client_->create_token(wanted)).token);
  }
}

Fleet& Setting::start_nodes(FleetOptions options) {
  options.coordinators = address();
  options.join = value_of(parse_join_token(
      value_of(read_secret_file((cluster_.coordinator_data() / "join.token").string()))));
  const auto nodes = options.nodes;
  fleet_ = std::make_unique<Fleet>(std::move(options));
  wait_for(fmt::format("{} nodes are registered", nodes),
           [nodes](const FleetSeen& seen) { return seen.registered == nodes; });
  return *fleet_;
}

void Setting::wait_for(const std::string& what, std::function<bool(const FleetSeen&)> reached) {
  harness::wait_until(what, kPatience, [&] { return reached(fleet_->seen()); });
}

void Setting::require_sound_orders() {
  const auto seen = fleet_->seen();
  require_count("tasks beyond a node's capacity", seen.launches_beyond_capacity, 0);
  require_count("tasks that a node was told twice", seen.launches_told_twice, 0);
}

void Setting::restart_coordinator(const std::function<void()>& meanwhile) {
  client_.reset();
  cluster_.stop_coordinator();
  meanwhile();
  cluster_.start_coordinator();
  client_ = value_of(Client::connect(address(), operator_token()));
}

double Setting::settled_data_bytes() {
  for (int i = 0; i < 2; ++i) {
    const auto before = fleet_->seen().registrations;
    const auto nodes = fleet_->options().nodes;
    restart_coordinator();
    wait_for("every node is back", [&](const FleetSeen& seen) {
      return seen.registered == nodes && seen.registrations >= before + nodes;
    });
  }
  return bench::bytes_below(cluster_.coordinator_data());
}

Watch::Watch(std::string name, pid_t coordinator)
    : name_(std::move(name)), pid_(coordinator), coordinator_(coordinator), load_(::getpid()) {}

void Watch::print() const {
  const double took = seconds();
  print("coordinator_cores", coordinator_.cpu_seconds() / took, "cores");
  print("load_cores", load_.cpu_seconds() / took, "cores");
  print("coordinator_memory", bench::resident_mib(pid_), "MiB");
}

void Watch::print(const std::string& what, double value, const std::string& unit) const {
  bench::figure(name_ + "." + what, value, unit);
}

}  // namespace fairwater::load
