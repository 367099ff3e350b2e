// Rows about nodes: idle ones, and busy ones whose coordinator starts anew.
#include <algorithm>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "bench/history_maker.hpp"
#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"

namespace fairwater::load {

void idle_nodes(const Sizes& sizes) {
  Setting setting(sizes, 1);
  const double before_mib = bench::resident_mib(setting.coordinator());
  const auto name = fmt::format("scale_idle/{}", sizes.nodes);
  const auto start = Clock::now();
  FleetOptions options;
  options.nodes = sizes.nodes;
  Fleet& fleet = setting.start_nodes(options);
  bench::figure(name + ".join", seconds_since(start), "s");
  // Every node has been heard once more: what joining leaves behind is over.
  const auto joined = fleet.seen().reports;
  setting.wait_for("every node reports",
                   [&](const FleetSeen& seen) { return seen.reports > joined + sizes.nodes; });
  fleet.take_samples();
  const auto reports_before = fleet.seen().reports;
  const Watch watch(name, setting.coordinator());
  std::this_thread::sleep_for(std::chrono::duration<double>(sizes.seconds));  // under measure
  const auto seen = fleet.seen();
  const auto reports = static_cast<double>(seen.reports - reports_before);
  const auto latency_ms = fleet.take_samples().report_ms;
  watch.print();
  watch.print("heartbeats", reports / watch.seconds(), "1/s");
  watch.print("cpu_per_heartbeat", watch.coordinator_cpu_seconds() * 1e6 / reports, "us");
  watch.print("memory_per_node",
              (bench::resident_mib(setting.coordinator()) - before_mib) * 1024 / sizes.nodes,
              "KiB");
  watch.print("heartbeat_p50", bench::quantile(latency_ms, 0.5), "ms");
  watch.print("heartbeat_p99", bench::quantile(latency_ms, 0.99), "ms");
  watch.print("lost_connections", static_cast<double>(seen.lost_connections), "1");
  require_count("nodes of the coordinator that are up",
                value_of(setting.client().status()).nodes_up, sizes.nodes);
}

namespace {

constexpr std::uint32_t kTenantsOfHistory = 10;
/// A task's: some of them end while there is no coordinator, and what waits takes their place.
constexpr const char* kTaskMs = "20000";

/// Nodes of one slot, all at work, and a history behind them.
Fleet& start_busy_nodes(Setting& setting, const Sizes& sizes) {
  if (sizes.waiting < sizes.nodes)
    throw std::runtime_error(fmt::format(
        "restart: --waiting {} is less than --nodes {}: each node takes a task of those that wait, "
        "and another after {} ms",
        sizes.waiting, sizes.nodes, kTaskMs));
  setting.restart_coordinator([&] {
    std::vector<std::string> names;
    for (const TenantSpec& tenant : tenants(kTenantsOfHistory)) names.push_back(tenant.name);
    bench::HistoryMaker maker(setting.data(), false, names);
    NodeAdmitted gone;  // what has ended did so there
    gone.node = NodeId{1};
    gone.spec.traits.name = "gone";
    gone.spec.capacity = {{"cpu", 1000}, {"memory", 1024}};
    gone.spec.instance = "gone";
    maker.add(gone);
    maker.add_ended(sizes.ended);
    maker.add_waiting(sizes.waiting, {"simulated", kTaskMs});
    maker.flush();
  });
  FleetOptions options;
  options.nodes = sizes.nodes;
  Fleet& fleet = setting.start_nodes(options);
  // At any moment some are between two tasks.
  setting.wait_for("49 of 50 nodes have a task", [&](const FleetSeen& seen) {
    return seen.running >= sizes.nodes - sizes.nodes / 50;
  });
  return fleet;
}

}  // namespace

void restart(const Sizes& sizes) {
  Setting setting(sizes, kTenantsOfHistory);
  Fleet& fleet = start_busy_nodes(setting, sizes);
  FleetSeen before;
  Clock::time_point start;
  setting.restart_coordinator([&] {
    start = Clock::now();
    // Then what the old one has told them is told.
    setting.wait_for("every node has lost its connection",
                     [](const FleetSeen& seen) { return seen.registered == 0; });
    before = fleet.seen();
  });
  const Watch watch(fmt::format("scale_restart/{}", sizes.nodes), setting.coordinator());
  const double listening = seconds_since(start);
  setting.wait_for("a task starts",
                   [&](const FleetSeen& seen) { return seen.launches > before.launches; });
  const double granting = seconds_since(start);
  setting.wait_for("every node is back", [&](const FleetSeen& seen) {
    return seen.registered == sizes.nodes &&
           seen.registrations >= before.registrations + sizes.nodes;
  });
  const auto seen = fleet.seen();
  watch.print("listening", listening, "s");
  watch.print("granting", granting, "s");
  watch.print("all_heard", std::chrono::duration<double>(seen.registered_at - start).count(), "s");
  watch.print("leases_ended", static_cast<double>(seen.leases_ended - before.leases_ended), "1");
  watch.print("tries_per_node", static_cast<double>(seen.tries - before.tries) / sizes.nodes, "1");
  watch.print("cpu_per_node", watch.coordinator_cpu_seconds() * 1e6 / sizes.nodes, "us");
  watch.print();
  setting.require_sound_orders();
  require_count("nodes of the coordinator that are up",
                value_of(setting.client().status()).nodes_up, sizes.nodes);
}

}  // namespace fairwater::load
