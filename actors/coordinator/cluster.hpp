// Starts the coordinator's actors on a ledger, and stops them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>

#include "actors/coordinator/coordinator.hpp"
#include "actors/coordinator/frontend.hpp"
#include "actors/coordinator/heartbeat_pace.hpp"
#include "actors/coordinator/leadership.hpp"
#include "actors/coordinator/ledger_trust.hpp"
#include "actors/coordinator/name_directory.hpp"
#include "model/history.hpp"
#include "model/lease.hpp"
#include "state/snapshot.hpp"

namespace fairwater::inline actors::inline coordinator {

struct ClusterSettings {
  std::int64_t lease_ms = 15'000;
  std::int64_t longest_lease_ms = 0;  ///< that a job may ask for; 0: none may
  /// By class: of its jobs that ask for none; none outside of the two above.
  std::map<std::string, std::int64_t> class_leases_ms;
  DebtTerms debts;                    ///< where the ledger counts time
  Predict predict = Predict::limits;  ///< where the ledger counts time
  AllocationRule allocation = AllocationRule::sequence;
  GrowthRule growth = GrowthRule::qrea;
  std::int64_t preempt_after_ms = 30'000;
  bool preempts_for_min = true;
  HistoryLimits history;
  std::int64_t grace_ms = 10'000;
  std::int64_t heartbeat_interval_ms = 1'000;
  std::int64_t heartbeats_per_second = 4'000;  ///< see HeartbeatPace
  /// What a tenant's demand window shows, and more where much was granted since the last one.
  std::uint32_t window_tasks = 1'024;
  std::uint32_t window_ranges = 64;
  std::uint32_t max_live_jobs = 100'000;  ///< per tenant
  /// Per tenant, as spec_bytes() counts: a coordinator keeps the unfinished jobs in memory. Room
  /// for max_live_jobs of more than a kilobyte.
  std::size_t max_live_job_bytes = 128u << 20;
  std::string version;
  /// Known to this coordinator alone, over restarts too: the keys of gangs follow from it.
  std::string gang_secret;
  /// The ledger's directory is a copy, or was restored: see LedgerTrust.
  bool copied = false;
  /// It is one whose loss the operator has accepted: its new life has begun.
  bool restored = false;
  /// Where this coordinator leads others; null: it is alone.
  std::shared_ptr<const Leadership> leadership;
  /// Called from a thread of its own for every backup.
  AddFiles add_to_backup;
  /// Called from a thread of its own, once, when a copied ledger is trusted.
  std::function<void()> on_trusted;
  /// The ledger's actors get threads of their own; false for tests in virtual time.
  bool ledger_threads = true;
  std::function<WallTime()> wall_clock = wall_time_now;
};

/// What every actor of a coordinator is given; dependencies enter at spawn.
struct ClusterContext {
  ClusterSettings settings;
  std::string cluster_id;
  ResourceCatalog catalog;
  DealMode mode = DealMode::sized;
  LedgerMeasure measure;
  std::uint64_t epoch = 0;
  LeaseBounds leases;
  OlderLeases older_leases;  ///< from the start on
  LedgerActor ledger;
  LedgerReader reader;
  LedgerScanner scanner;
  caf::actor historian;
  std::shared_ptr<StorageAlarm> alarm;
  std::shared_ptr<NameDirectory> names;
  std::shared_ptr<HeartbeatPace> pace;
  std::function<LedgerEnd()> ledger_end;  ///< the newest durable record
  std::function<HistoryStanding()> history;
  std::function<caf::error()> room;  ///< as Ledger::room
  std::function<WallTime()> wall_clock = wall_time_now;
};

/// What a coordinator needs of the ledger to deal again; no node accepts yet.
[[nodiscard]] ClusterSnapshot read_snapshot(const Ledger& ledger, const ResourceCatalog& catalog,
                                            WallTime now);

struct Cluster {
  std::shared_ptr<Ledger> ledger;
  std::shared_ptr<const ClusterContext> context;
  CoordinatorActor coordinator;
  FrontendActor frontend;
};

/// Takes over as the coordinator: commits a CoordinatorStarted with the next epoch and its lease,
/// then spawns the actors with what the ledger holds. `on_fatal` is called when the cluster cannot
/// go on (see spawn_ledger).
[[nodiscard]] Expected<Cluster> start_cluster(caf::actor_system& system,
                                              std::shared_ptr<Ledger> ledger,
                                              ClusterSettings settings,
                                              std::function<void(const caf::error&)> on_fatal);
/// Ends the actors; the ledger is closed when the last of them is gone.
void stop_cluster(Cluster& cluster);

}  // namespace fairwater::inline actors::inline coordinator
