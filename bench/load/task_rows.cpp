// Rows about tasks that start and end.
#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"

namespace fairwater::load {
namespace {

constexpr std::uint32_t kWindow = 64;  ///< submissions of a client at once

/// An array of so many tasks for each tenant.
void submit_arrays(Setting& setting, std::uint32_t tasks_each, std::int64_t claimed_ms) {
  Crowd crowd(setting.address(), setting.tenant_tokens());
  crowd.submit(
      [&](std::uint32_t tenant, std::uint32_t) {
        JobSpec spec = array_of(tasks_each, claimed_ms);
        spec.tenant = fmt::format("t{}", tenant);
        return spec;
      },
      1, 1);
}

void submit_single_jobs(Setting& setting, std::uint32_t jobs_each, std::int64_t claimed_ms) {
  Crowd crowd(setting.address(), setting.tenant_tokens());
  crowd.submit(
      [&](std::uint32_t tenant, std::uint32_t) {
        JobSpec spec = array_of(1, claimed_ms);
        spec.tenant = fmt::format("t{}", tenant);
        return spec;
      },
      jobs_each,
      std::max(2U, kWindow / static_cast<std::uint32_t>(setting.tenant_tokens().size())));
}

/// Tasks that end at once, as arrays or as single jobs: from the first submission to the last
/// durable end.
void measure_durable(const Sizes& sizes, const std::string& kind, std::uint32_t tenants,
                     std::uint32_t tasks_each, bool single,
                     Coordinators coordinators = Coordinators::one) {
  Setting setting(sizes, tenants, coordinators);
  FleetOptions options;
  options.nodes = std::min(100U, sizes.nodes);
  options.slots = 64;
  Fleet& fleet = setting.start_nodes(options);
  const std::uint64_t tasks = std::uint64_t{tasks_each} * tenants;
  const char* row = coordinators == Coordinators::three ? "agreed" : "durable";
  const Watch watch(fmt::format("scale_{}_{}/{}", row, kind, tenants), setting.coordinator());
  const auto start = Clock::now();
  if (single)
    submit_single_jobs(setting, tasks_each, 0);
  else
    submit_arrays(setting, tasks_each, 0);
  setting.wait_for("every task has ended",
                   [&](const FleetSeen& seen) { return seen.durable_ends >= tasks; });
  const auto seen = fleet.seen();
  const double took = std::chrono::duration<double>(seen.durable_at - start).count();
  watch.print("tasks", static_cast<double>(tasks) / took, "1/s");
  watch.print("cpu_per_task", watch.coordinator_cpu_seconds() * 1e6 / static_cast<double>(tasks),
              "us");
  watch.print("written", watch.disk_bytes_written() / static_cast<double>(tasks), "B/task");
  watch.print();
  setting.require_sound_orders();
  require_count("tasks that started", seen.launches, tasks);
  require_count("tasks that ended durably", seen.durable_ends, tasks);
}

}  // namespace

void durable_tasks(const Sizes& sizes) {
  measure_durable(sizes, "arrays", 1, sizes.tasks, false);
  measure_durable(sizes, "arrays", sizes.tenants, std::max(1U, sizes.tasks / sizes.tenants), false);
  measure_durable(sizes, "jobs", 1, sizes.jobs, true);
  measure_durable(sizes, "jobs", sizes.tenants, std::max(1U, sizes.jobs / sizes.tenants), true);
}

void agreed_tasks(const Sizes& sizes) {
  if (!has_etcd_for("agreed")) return;
  const auto three = Coordinators::three;
  measure_durable(sizes, "arrays", 1, sizes.tasks, false, three);
  measure_durable(sizes, "jobs", 1, sizes.jobs, true, three);
  measure_durable(sizes, "jobs", sizes.tenants, std::max(1U, sizes.jobs / sizes.tenants), true,
                  three);
}

void full_cluster(const Sizes& sizes) {
  constexpr std::int64_t kTaskMs = 1000;
  constexpr double kSpread = 0.5;
  Setting setting(sizes, sizes.tenants);
  FleetOptions options;
  options.nodes = sizes.nodes;
  options.spread = kSpread;
  Fleet& fleet = setting.start_nodes(options);
  // Twice what can end until the measure is over.
  const auto ends = 1000.0 / kTaskMs * sizes.nodes * (sizes.seconds + 10);
  submit_arrays(setting, static_cast<std::uint32_t>(2 * ends / sizes.tenants) + 2, kTaskMs);
  setting.wait_for("every node has ended a task",
                   [&](const FleetSeen& seen) { return seen.ends >= 2ULL * sizes.nodes; });
  fleet.take_samples();
  const Watch watch(fmt::format("scale_full/{}", sizes.nodes), setting.coordinator());
  const auto before = fleet.seen();
  std::this_thread::sleep_for(std::chrono::duration<double>(sizes.seconds));  // under measure
  const auto seen = fleet.seen();
  const double took = watch.seconds();
  const auto samples = fleet.take_samples();
  const auto ended = static_cast<double>(seen.ends - before.ends);
  watch.print("end_to_start_p50", bench::quantile(samples.end_to_start_ms, 0.5), "ms");
  watch.print("end_to_start_p99", bench::quantile(samples.end_to_start_ms, 0.99), "ms");
  watch.print("busy",
              100 * (seen.busy_slot_seconds - before.busy_slot_seconds) / took / sizes.nodes, "%");
  watch.print("ends", ended / took, "1/s");
  watch.print("cpu_per_end", watch.coordinator_cpu_seconds() * 1e6 / ended, "us");
  watch.print("written", watch.disk_bytes_written() / ended, "B/task");
  watch.print("report_p99", bench::quantile(samples.report_ms, 0.99), "ms");
  watch.print("lost_connections", static_cast<double>(seen.lost_connections), "1");
  watch.print();
  setting.require_sound_orders();
}

/// Slot by slot, as in a full cluster: a deal for each end, and each with its lines.
void journal_bytes(const Sizes& sizes) {
  constexpr std::int64_t kTaskMs = 200;
  Setting setting(sizes, sizes.tenants);
  FleetOptions options;
  options.nodes = std::min(200U, sizes.nodes);
  options.spread = 0.5;
  Fleet& fleet = setting.start_nodes(options);
  const double kept_before = setting.settled_data_bytes();
  const auto possible = 1000.0 / kTaskMs * options.nodes * sizes.seconds;
  const auto each = static_cast<std::uint32_t>(possible / sizes.tenants) + 1;
  const std::uint64_t tasks = std::uint64_t{each} * sizes.tenants;
  const Watch watch(fmt::format("scale_journal/{}", sizes.tenants), setting.coordinator());
  submit_arrays(setting, each, kTaskMs);
  setting.wait_for("every task has ended",
                   [&](const FleetSeen& seen) { return seen.durable_ends >= tasks; });
  const auto count = static_cast<double>(tasks);
  watch.print("written", watch.disk_bytes_written() / count, "B/task");
  watch.print("cpu_per_task", watch.coordinator_cpu_seconds() * 1e6 / count, "us");
  watch.print("kept", (setting.settled_data_bytes() - kept_before) / count, "B/task");
  require_count("tasks that ended durably", fleet.seen().durable_ends, tasks);
  setting.require_sound_orders();
}

void many_waiting(const Sizes& sizes) {
  constexpr std::uint32_t kNodes = 20, kSlots = 5;
  constexpr std::int64_t kTaskMs = 20;
  Setting setting(sizes, 1);
  submit_single_jobs(setting, sizes.waiting, kTaskMs);
  FleetOptions options;
  options.nodes = kNodes;
  options.slots = kSlots;
  options.spread = 0.5;
  Fleet& fleet = setting.start_nodes(options);
  const auto before = fleet.seen();
  const Watch watch(fmt::format("scale_waiting/{}", sizes.waiting), setting.coordinator());
  const auto start = Clock::now();
  setting.wait_for("half of them have ended, or enough", [&](const FleetSeen& seen) {
    return seen.durable_ends > before.durable_ends &&
           (seen.durable_ends > sizes.waiting / 2 || seconds_since(start) > sizes.seconds);
  });
  const auto ended = static_cast<double>(fleet.seen().durable_ends - before.durable_ends);
  watch.print("cpu_per_task", watch.coordinator_cpu_seconds() * 1e6 / ended, "us");
  watch.print("tasks", ended / watch.seconds(), "1/s");
  watch.print();
  setting.require_sound_orders();
}

}  // namespace fairwater::load
