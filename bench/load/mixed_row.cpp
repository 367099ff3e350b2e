// All that a scheduler meets at once, checked by what the ledger says in the end.
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "bench/load/rows.hpp"
#include "bench/load/workload.hpp"

namespace fairwater::load {
namespace {

constexpr std::uint32_t kSlots = 8, kZones = 4;
constexpr double kTimeScale = 100;
constexpr std::int64_t kClaimedMs = 20'000;

struct Outcome {
  std::uint64_t jobs = 0, tasks = 0, succeeded = 0, failed = 0, cancelled = 0;
};

/// What has become of all jobs; none while one has not ended.
std::optional<Outcome> outcome_of(Client& client, std::uint32_t tenants) {
  Outcome outcome;
  for (std::uint32_t i = 0; i < tenants; ++i) {
    JobQuery query;
    query.tenant = fmt::format("t{}", i);
    query.limit = 1'000'000;
    for (const JobRecord& job : value_of(client.list_jobs(query))) {
      if (!is_terminal(state_of(job))) return std::nullopt;
      ++outcome.jobs;
      outcome.tasks += job.tasks.total;
      outcome.succeeded += job.tasks.succeeded;
      outcome.failed += job.tasks.failed;
      outcome.cancelled += job.tasks.cancelled;
    }
  }
  return outcome;
}

/// Asked of the jobs: a node that reports an end frees its room before the end is durable, so that
/// no task may wait or run while a job has not ended.
Outcome wait_for_all(Client& client, std::uint32_t tenants) {
  std::optional<Outcome> outcome;
  harness::wait_until("every job has ended", harness::Duration(180'000), [&] {
    outcome = outcome_of(client, tenants);
    return outcome.has_value();
  });
  return *outcome;
}

/// Nobody waits or runs, and what divisions owe and are owed is balanced.
void require_settled(Client& client) {
  Units net = 0;
  for (const TenantInfo& tenant : value_of(client.list_tenants())) {
    const auto& spec = tenant.record.spec;
    require_count(fmt::format("tasks of {}", spec.name),
                  tenant.pending_tasks + tenant.running_tasks, 0);
    if (spec.parent.empty()) net += tenant.net;
  }
  if (net != 0) throw std::runtime_error(fmt::format("the divisions' nets add up to {}", net));
}

}  // namespace

void mixed(const Sizes& sizes) {
  Setting setting(sizes, sizes.tenants);
  const auto tree = tenants_in_departments(sizes.tenants);
  require_count("tenants of a tree", value_of(setting.client().apply_tenants(tree, false)).size(),
                tree.size());
  FleetOptions options;
  options.nodes = std::min(100U, sizes.nodes);
  options.slots = kSlots;
  options.zones = kZones;
  options.time_scale = kTimeScale;
  Fleet& fleet = setting.start_nodes(options);
  std::vector<MixedJobs> clients;
  for (std::uint32_t i = 0; i < sizes.tenants; ++i)
    clients.emplace_back(fmt::format("t{}", i), kSlots, kZones, i);
  Crowd crowd(setting.address(), setting.tenant_tokens());
  const Watch watch(fmt::format("scale_mixed/{}", options.nodes), setting.coordinator());
  crowd.repeat(
      submit_and_maybe_cancel(
          [&](const Member& member) {
            return clients[member.number].next(kClaimedMs, member.submitted);
          },
          [&](const Member& member) { return clients[member.number].is_to_be_cancelled(); }),
      std::chrono::milliseconds(200));
  std::this_thread::sleep_for(std::chrono::duration<double>(sizes.seconds));  // of submissions
  const auto submitted = crowd.finish();
  const Outcome outcome = wait_for_all(setting.client(), sizes.tenants);
  const auto ended = static_cast<double>(outcome.succeeded + outcome.failed);
  watch.print("jobs", static_cast<double>(outcome.jobs), "1");
  watch.print("tasks", ended / watch.seconds(), "1/s");
  watch.print("cpu_per_task", watch.coordinator_cpu_seconds() * 1e6 / ended, "us");
  watch.print("cancelled", static_cast<double>(outcome.cancelled), "1");
  watch.print("failed", static_cast<double>(outcome.failed), "1");
  watch.print("submission_p99", bench::quantile(submitted.turn_ms, 0.99), "ms");
  watch.print();
  setting.require_sound_orders();
  require_no_failure(submitted);
  require_count("tasks", outcome.succeeded + outcome.failed + outcome.cancelled, outcome.tasks);
  require_count("tasks that run on", fleet.seen().running, 0);
  require_settled(setting.client());
  require_count("differences between the ledger and its journal",
                value_of(setting.client().verify_ledger()).differences.size(), 0);
}

}  // namespace fairwater::load
