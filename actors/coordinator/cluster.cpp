#include "actors/coordinator/cluster.hpp"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "policy/core/check.hpp"
#include "storage/past_runs.hpp"

namespace fairwater {
namespace {

/// What a live job still waits for: jobs of `after` that have not succeeded.
std::vector<JobId> open_dependencies(const Ledger& ledger, const JobSpec& spec) {
  std::vector<JobId> open;
  for (const auto& id : spec.after) {
    const auto job = ledger.job(id);
    FAIRWATER_CHECK(job.has_value(), "a job waits for one that was submitted before");
    if (state_of(*job) != JobState::succeeded) open.push_back(id);
  }
  return open;
}

Expected<CoordinatorStart> read_start(const Ledger& ledger, const ResourceCatalog& catalog,
                                      WallTime now) try {
  CoordinatorStart start;
  start.snapshot = std::make_shared<const ClusterSnapshot>(read_snapshot(ledger, catalog, now));
  start.tenants = ledger.tenants();
  start.nodes = ledger.nodes();
  start.tokens = ledger.tokens();
  start.next_tenant = ledger.next_tenant_id().value;
  start.next_node = ledger.next_node_id().value;
  for (const auto& id : ledger.live_jobs()) {
    UnfinishedJob job;
    job.record = *ledger.job(id);
    for (auto& task : ledger.tasks(id)) job.tasks.emplace(task.index, std::move(task.record));
    job.waits_for = open_dependencies(ledger, job.record.spec);
    TenantStart& work = start.work[job.record.tenant];
    add_runs(job, work.runs);
    work.jobs.push_back(std::move(job));
  }
  for (const auto& tenant : start.tenants)
    start.work[tenant.id].served = ledger.served_users(tenant.id);
  const std::size_t max_tasks = kMaxPastTasks / std::max<std::size_t>(start.tenants.size(), 1);
  for (const auto& tenant : start.tenants)
    if (const auto problem =
            add_past_runs(ledger, tenant.id, std::min(max_tasks, kMaxPastTasksPerTenant),
                          start.work[tenant.id].runs))
      spdlog::warn("how long the last tasks of {} took is not known: {}", tenant.spec.name,
                   *problem);
  return start;
} catch (const StorageFault& fault) {
  return make_error(fault.code(), std::string("the ledger is damaged: ") + fault.what());
}

}  // namespace

ClusterSnapshot read_snapshot(const Ledger& ledger, const ResourceCatalog& catalog, WallTime now) {
  ClusterSnapshot snapshot;
  snapshot.accounts = ledger.accounts();
  snapshot.tree = tree_of(ledger.tenants(), catalog);
  for (const auto& node : ledger.nodes()) snapshot.nodes.push_back(node_of(node, catalog));
  for (const auto& id : ledger.live_jobs()) {
    const auto job = ledger.job(id);
    for (const auto& task : ledger.tasks(id))
      if (task.record.state == TaskState::running)
        snapshot.held.push_back(held_task(*job, task.index, task.record, catalog, now));
  }
  return snapshot;
}

Expected<Cluster> start_cluster(caf::actor_system& system, std::shared_ptr<Ledger> ledger,
                                ClusterSettings settings,
                                std::function<void(const caf::error&)> on_fatal) {
  const auto created = ledger->cluster();
  auto catalog = ResourceCatalog::make(created.resources);
  if (!catalog) return catalog.error();
  const auto epoch = ledger->epoch() + 1;
  const auto now = settings.wall_clock();
  const auto older_leases_ms = longest_lease_left_ms(ledger->lease_terms(), now);
  const LeaseTerms lease{
      settings.lease_ms, settings.grace_ms, {now.microseconds + older_leases_ms * 1000}};
  auto took_over =
      ledger->append({CoordinatorStarted{epoch, settings.version, lease, settings.debts}});
  if (!took_over) return took_over.error();

  auto start = read_start(*ledger, *catalog, now);
  if (!start) return start.error();
  auto context = std::make_shared<ClusterContext>();
  context->settings = std::move(settings);
  context->cluster_id = created.cluster_id;
  context->catalog = *catalog;
  context->mode = created.mode;
  context->measure = measure_of(created);
  context->epoch = epoch;
  context->older_leases_ms = older_leases_ms;
  context->wall_clock = context->settings.wall_clock;
  const auto threading = context->settings.ledger_threads ? Threading::own : Threading::shared;
  context->alarm = std::make_shared<StorageAlarm>();
  const ClusterSettings& set = context->settings;
  context->pace = std::make_shared<HeartbeatPace>(set.heartbeat_interval_ms, set.lease_ms,
                                                  set.heartbeats_per_second);
  std::vector<std::string> resources;
  for (const auto& kind : catalog->kinds()) resources.push_back(kind.name);
  context->names = std::make_shared<NameBook>(std::move(resources));
  context->reader = spawn_ledger_reader(system, threading, ledger, context->alarm);
  context->scanner = spawn_ledger_scanner(system, threading, ledger, context->alarm, *catalog,
                                          context->wall_clock, set.add_to_backup);
  context->ledger = spawn_ledger(system, threading, ledger, context->scanner, std::move(on_fatal));
  context->ledger_end = [ledger = std::weak_ptr<Ledger>(ledger), epoch]() -> LedgerEnd {
    const auto held = ledger.lock();
    return held ? LedgerEnd{held->end(), held->given_up(), epoch} : LedgerEnd{};
  };
  Cluster cluster;
  cluster.context = context;
  cluster.coordinator = spawn_coordinator(system, context, std::move(*start));
  cluster.frontend = spawn_frontend(system, context, cluster.coordinator);
  return cluster;
}

void stop_cluster(Cluster& cluster) {
  for (const auto& actor : {caf::actor_cast<caf::actor>(cluster.frontend),
                            caf::actor_cast<caf::actor>(cluster.coordinator),
                            caf::actor_cast<caf::actor>(cluster.context->ledger),
                            caf::actor_cast<caf::actor>(cluster.context->reader),
                            caf::actor_cast<caf::actor>(cluster.context->scanner)})
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  cluster = {};
}

}  // namespace fairwater
