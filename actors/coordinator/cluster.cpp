#include "actors/coordinator/cluster.hpp"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>
#include <spdlog/spdlog.h>

#include "actors/coordinator/historian.hpp"
#include "policy/core/check.hpp"
#include "storage/past_runs.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

/// What a live job still waits for: jobs of `after` that have not succeeded.
std::vector<JobId> open_dependencies(const Ledger& ledger, const JobSpec& spec) {
  std::vector<JobId> open;
  for (const auto& id : spec.after) {
    const auto job = ledger.job(id);
    FAIRWATER_CHECK(id < ledger.next_job_id(), "a job waits for one that was submitted before");
    // What is not kept any more ended long ago, and well: this one would have ended with it.
    if (job && state_of(*job) != JobState::succeeded) open.push_back(id);
  }
  return open;
}

UnfinishedJob read_job(const Ledger& ledger, JobId id) {
  UnfinishedJob job;
  job.record = *ledger.job(id);
  if (!job.record.started_at) return job;  // no task of it was granted yet: none has a record
  for (auto& task : ledger.tasks(id)) job.tasks.emplace(task.index, std::move(task.record));
  return job;
}

/// All but what runs.
ClusterSnapshot snapshot_without_tasks(const Ledger& ledger, const ResourceCatalog& catalog) {
  ClusterSnapshot snapshot;
  snapshot.accounts = ledger.accounts();
  snapshot.tree = tree_of(ledger.tenants(), catalog);
  for (const auto& node : ledger.nodes()) snapshot.nodes.push_back(node_of(node, catalog));
  return snapshot;
}

void add_held(const UnfinishedJob& job, const ResourceCatalog& catalog, WallTime now,
              std::vector<HeldTask>& held) {
  for (const auto& [index, task] : job.tasks)
    if (task.state == TaskState::running)
      held.push_back(held_task(job.record, index, task, catalog, now));
}

/// Reads each job that has not ended once: they are what a start takes long for.
Expected<CoordinatorStart> read_start(const Ledger& ledger, const ResourceCatalog& catalog,
                                      WallTime now) try {
  CoordinatorStart start;
  ClusterSnapshot snapshot = snapshot_without_tasks(ledger, catalog);
  start.tenants = ledger.tenants();
  start.nodes = ledger.nodes();
  start.tokens = ledger.tokens();
  start.next_tenant = ledger.next_tenant_id().value;
  start.next_node = ledger.next_node_id().value;
  for (const auto& id : ledger.live_jobs()) {
    UnfinishedJob job = read_job(ledger, id);
    job.waits_for = open_dependencies(ledger, job.record.spec);
    add_held(job, catalog, now, snapshot.held);
    TenantStart& work = start.work[job.record.tenant];
    add_runs(job, work.runs);
    work.jobs.push_back(std::move(job));
  }
  start.snapshot = std::make_shared<const ClusterSnapshot>(std::move(snapshot));
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
  ClusterSnapshot snapshot = snapshot_without_tasks(ledger, catalog);
  for (const auto& id : ledger.live_jobs())
    add_held(read_job(ledger, id), catalog, now, snapshot.held);
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
  const LeaseBounds leases{settings.lease_ms,
                           std::max(settings.lease_ms, settings.longest_lease_ms)};
  const auto older = older_leases(ledger->lease_terms(), now);
  const auto terms = lease_terms(leases, settings.grace_ms, older, now);
  auto took_over = ledger->append(
      {CoordinatorStarted{epoch, settings.version, terms, settings.debts, /*counts_usage=*/true}});
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
  context->leases = leases;
  context->older_leases = older;
  context->wall_clock = context->settings.wall_clock;
  const auto threading = context->settings.ledger_threads ? Threading::own : Threading::shared;
  context->alarm = std::make_shared<StorageAlarm>();
  const ClusterSettings& set = context->settings;
  context->pace = std::make_shared<HeartbeatPace>(set.heartbeat_interval_ms, set.lease_ms,
                                                  set.heartbeats_per_second);
  std::vector<std::string> resources;
  for (const auto& kind : catalog->kinds()) resources.push_back(kind.name);
  context->names = std::make_shared<NameDirectory>(std::move(resources));
  context->reader = spawn_ledger_reader(system, threading, ledger, context->alarm);
  context->scanner = spawn_ledger_scanner(system, threading, ledger, context->alarm, *catalog,
                                          context->wall_clock, set.add_to_backup);
  context->ledger = spawn_ledger(system, threading, ledger, context->scanner, std::move(on_fatal));
  ledger->rest_history(false);
  context->historian =
      spawn_historian(system, threading, ledger, context->ledger, context->alarm, set.history);
  context->ledger_end = [ledger = std::weak_ptr<Ledger>(ledger), epoch]() -> LedgerEnd {
    const auto held = ledger.lock();
    return held ? LedgerEnd{held->end(), held->given_up(), epoch} : LedgerEnd{};
  };
  context->history = [ledger = std::weak_ptr<Ledger>(ledger)] {
    const auto held = ledger.lock();
    return held ? held->history() : HistoryStanding{};
  };
  context->room = [ledger = std::weak_ptr<Ledger>(ledger)] {
    const auto held = ledger.lock();
    return held ? held->room() : caf::error{};
  };
  Cluster cluster;
  cluster.ledger = ledger;
  cluster.context = context;
  cluster.coordinator = spawn_coordinator(system, context, std::move(*start));
  cluster.frontend = spawn_frontend(system, context, cluster.coordinator);
  return cluster;
}

void stop_cluster(Cluster& cluster) {
  cluster.ledger->rest_history(true);
  for (const auto& actor :
       {caf::actor_cast<caf::actor>(cluster.frontend),
        caf::actor_cast<caf::actor>(cluster.coordinator), cluster.context->historian,
        caf::actor_cast<caf::actor>(cluster.context->ledger),
        caf::actor_cast<caf::actor>(cluster.context->reader),
        caf::actor_cast<caf::actor>(cluster.context->scanner)})
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  cluster = {};
}

}  // namespace fairwater::inline actors::inline coordinator
