// The ledger actor: the only writer of the RocksDB ledger, and those that read it.
//
//   takes  Commit               from the coordinator, tenants, nodes
//   sends  Committed            once durable
//          JournalGrew          to the scanner
//   bound  every sender waits for its answer: the coordinator has at most kMaxCyclesInFlight cycles
//          out, a node one commit for each of its tasks at most, a tenant as many as the gateway
//          admits submissions; of those that stand alone kMaxQueuedCommitBytes, others are refused
//          `overloaded`
//
// Group commit: whatever gathered in the mailbox during one sync shares the next.
//
//         Commit (queue it)                 all queued bodies written and synced
//   idle ───────────────────> gathering ── Flush ────────────────────────────────> idle
//                               │  ^                        │
//                               └──┘ Commit                 └─ failed: answers carry the error
//
// Where several coordinators share the journal the store is asked by an actor of its own, so that
// one group is agreed on while the one before is written and synced. One is asked about at a time,
// and at most one that was agreed is not written yet; each is acknowledged when it is both.
//
//                        agreed
//   idle ── propose ───────────────> propose the next, write and sync, acknowledge
//             │
//             └─ refused: answers carry the error; what was agreed before is acknowledged
//
// A group is a few megabytes. Of one that the store does not take at once (etcd has a limit) each
// half is tried by itself; a single commit that is too large is refused.
// After a failure the chained commits of that generation are refused.
//
// Reading is done by two more actors: the reader looks up what is asked for by its key, the scanner
// lists. A scan goes in slices, in turn with the others, so that a long one delays a short one by
// no more than its own slices. What is damaged is an error for who asked and an alarm
// (StorageAlarm); the writer alone ends the process.
//
// All three are detached: a sync blocks its thread, a listing must delay neither a sync nor a
// look-up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include "actors/coordinator/frontend.hpp"
#include "actors/coordinator/storage_alarm.hpp"
#include "actors/message.hpp"
#include "storage/ledger.hpp"

namespace fairwater::inline state {
struct ClusterSnapshot;  // state/snapshot.hpp
}

FAIRWATER_COORDINATOR_MESSAGE(Commit)
FAIRWATER_COORDINATOR_MESSAGE(Committed)
FAIRWATER_COORDINATOR_MESSAGE(GetJob)
FAIRWATER_COORDINATOR_MESSAGE(QueryJobs)
FAIRWATER_COORDINATOR_MESSAGE(QueryProfile)
FAIRWATER_COORDINATOR_MESSAGE(QuerySums)
FAIRWATER_COORDINATOR_MESSAGE(FindRequest)
FAIRWATER_COORDINATOR_MESSAGE(FoundRequest)
FAIRWATER_COORDINATOR_MESSAGE(GetRecord)
FAIRWATER_COORDINATOR_MESSAGE(FoundRecord)
FAIRWATER_COORDINATOR_MESSAGE(TraceGrants)
FAIRWATER_COORDINATOR_MESSAGE(TracedGrants)
FAIRWATER_COORDINATOR_MESSAGE(ReadRecords)
FAIRWATER_COORDINATOR_MESSAGE(ReadLedger)
FAIRWATER_COORDINATOR_MESSAGE(ReadTenants)
FAIRWATER_COORDINATOR_MESSAGE(TenantRecords)
FAIRWATER_COORDINATOR_MESSAGE(RunVerify)
FAIRWATER_COORDINATOR_MESSAGE(RunBackup)
FAIRWATER_COORDINATOR_MESSAGE(JournalGrew)
FAIRWATER_COORDINATOR_MESSAGE(ReadSnapshot)
FAIRWATER_COORDINATOR_MESSAGE(SnapshotRead)

namespace fairwater::inline actors::inline coordinator {

/// Of commits that wait for their group: some seconds of a slow disk.
inline constexpr std::size_t kMaxQueuedCommitBytes = 64u << 20;

/// Make these records durable, in order, together.
struct Commit {
  std::vector<JournalBody> bodies;
  /// Commits of one generation depend on each other: after one failed, later ones are refused. 0:
  /// stands alone.
  std::uint64_t generation = 0;
};
struct Committed {
  std::vector<Receipt> receipts;
  std::uint64_t number = 0;  ///< of the newest record
};

using LedgerActor = caf::typed_actor<caf::replies_to<Commit>::with<Committed>>;

// -- reading --------------------------------------------------------------------------------------

/// Tasks `first` to `first + count - 1` of a job, as far as it has them.
struct TaskRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
/// `not_found` for an unknown job. The answer has the tasks of the range.
struct GetJob {
  JobId id;
  TaskRange tasks;
};
/// `tenant` none: of all tenants.
struct QueryJobs {
  TenantId tenant;
  JobQuery query;
};
/// What the newest runs of a tenant's class took. The answer names the tenant as here.
struct QueryProfile {
  TenantId tenant;
  std::string tenant_name;
  std::string job_class;
};
/// What was used. `of`: whose caller sees nothing else, with all that are in it; none: an operator.
struct QuerySums {
  UsageQuery query;
  TenantId of;
};
/// The tenant's submission with this request id, if it is remembered.
struct FindRequest {
  TenantId tenant;
  std::string id;
};
struct FoundRequest {
  std::optional<RequestRecord> first;
};
struct GetRecord {
  std::uint64_t number = 0;
};
struct FoundRecord {
  JournalRecord record;
};
/// Waits up to `wait_ms` for the first record.
struct ReadRecords {
  std::uint64_t since = 0;
  std::uint32_t limit = 1000;
  std::int64_t wait_ms = 0;
};
/// Where the tasks that run on `node` under these keys got their slots from. Others are left out.
struct TraceGrants {
  NodeId node;
  std::vector<TaskKey> tasks;
};
struct TracedGrant {
  TaskKey task;
  TenantId tenant;
  std::vector<Advance> advances;
  std::uint32_t troubles_before = 0;  ///< launch failures and losses
};
struct TracedGrants {
  std::vector<TracedGrant> grants;
};
struct ReadLedger {};
/// By id; those that are not known are left out.
struct ReadTenants {
  std::vector<TenantId> tenants;
};
struct TenantRecords {
  std::vector<TenantRecord> tenants;
};
struct RunVerify {
  VerifyScope scope = VerifyScope::database;
};
/// See Ledger::backup. `wrong_state` while another is being made.
struct RunBackup {
  std::string directory;
};
/// For a coordinator that has to begin anew from what is durable.
struct ReadSnapshot {};
struct SnapshotRead {
  std::shared_ptr<const ClusterSnapshot> snapshot;
};
/// From the writer after every group.
struct JournalGrew {
  std::uint64_t number = 0;
};

/// Look-ups by key: none costs more than a job's tasks in one answer.
using LedgerReader = caf::typed_actor<
    caf::replies_to<GetJob>::with<JobDetail>, caf::replies_to<FindRequest>::with<FoundRequest>,
    caf::replies_to<GetRecord>::with<FoundRecord>, caf::replies_to<TraceGrants>::with<TracedGrants>,
    caf::replies_to<ReadTenants>::with<TenantRecords>,
    caf::replies_to<ReadLedger>::with<LedgerView>>;
/// Listings. Verifying and backups get threads of their own: two to verify, and one backup;
/// `overloaded` and `wrong_state` beyond.
using LedgerScanner = caf::typed_actor<
    caf::replies_to<QueryJobs>::with<JobList>, caf::replies_to<QueryProfile>::with<ClassProfile>,
    caf::replies_to<QuerySums>::with<UsageList>, caf::replies_to<ReadRecords>::with<JournalPage>,
    caf::replies_to<RunVerify>::with<VerifyReport>, caf::replies_to<RunBackup>::with<LedgerBackup>,
    caf::replies_to<ReadSnapshot>::with<SnapshotRead>, caf::reacts_to<JournalGrew>>;

/// Whether an actor that blocks gets a thread of its own; shared only in tests on virtual time.
enum class Threading : bool { shared, own };

/// `on_fatal` is called, from the actor's thread, when a write's outcome became unknown.
[[nodiscard]] LedgerActor spawn_ledger(caf::actor_system& system, Threading threading,
                                       std::shared_ptr<Ledger> ledger, LedgerScanner scanner,
                                       std::function<void(const caf::error&)> on_fatal);
[[nodiscard]] LedgerReader spawn_ledger_reader(caf::actor_system& system, Threading threading,
                                               std::shared_ptr<const Ledger> ledger,
                                               std::shared_ptr<StorageAlarm> alarm);
[[nodiscard]] LedgerScanner spawn_ledger_scanner(caf::actor_system& system, Threading threading,
                                                 std::shared_ptr<const Ledger> ledger,
                                                 std::shared_ptr<StorageAlarm> alarm,
                                                 ResourceCatalog catalog,
                                                 std::function<WallTime()> wall_clock,
                                                 AddFiles add_to_backup);

}  // namespace fairwater::inline actors::inline coordinator
