// What clients ask of a coordinator and what they get: the value types of the client interface, the
// same in the coordinator, on the wire (schema/control.capnp) and in the command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/history.hpp"
#include "model/job.hpp"
#include "model/journal.hpp"
#include "model/node.hpp"
#include "model/tenant.hpp"
#include "model/verify_report.hpp"

namespace fairwater::inline model {

/// Who asks, as the token said. A tenant sees and touches its own jobs only.
struct Caller {
  Role role = Role::tenant;
  TenantId tenant;  ///< set for Role::tenant
  std::string tenant_name;
  WallTime expires_at = {};  ///< of the token; not set: never
  std::string user = {};     ///< of the tenant; empty: its token names none
  /// Of one who logged in with a coordinator that follows, which judges it anew in each call.
  Hash token_hash = {};
  friend bool operator==(const Caller&, const Caller&) = default;
};

/// A token that is wanted.
struct NewToken {
  Role role = Role::tenant;
  std::string tenant;            ///< for Role::tenant
  std::string name;              ///< may be empty
  std::int64_t lifetime_ms = 0;  ///< 0: it never expires
  std::string user = {};         ///< for Role::tenant; may be empty
  friend bool operator==(const NewToken&, const NewToken&) = default;
};
/// What may be known of a token.
struct TokenInfo {
  std::string id;  ///< from its hash
  std::string name;
  Role role = Role::tenant;
  std::string tenant;
  WallTime created_at;
  WallTime expires_at;
  WallTime last_used;  ///< since the coordinator started
  std::string user = {};
  friend bool operator==(const TokenInfo&, const TokenInfo&) = default;
};
/// The only time that the token itself is seen.
struct MadeToken {
  std::string token;
  TokenInfo info;
  friend bool operator==(const MadeToken&, const MadeToken&) = default;
};

/// One of several coordinators, as the one that leads knows it.
struct ReplicaInfo {
  std::string name;
  std::string address;
  std::uint64_t cycle = 0;  ///< newest record on its disk
  std::string version;
  WallTime heard;              ///< when it last said so, by its own clock
  std::int64_t silent_ms = 0;  ///< since it was last heard of, by the clock of who answers
  friend bool operator==(const ReplicaInfo&, const ReplicaInfo&) = default;
};

/// One that lives is heard of several times in a second.
inline constexpr std::int64_t kSilentReplicaMs = 3000;

/// By which rules a coordinator deals, as its coordinator.yaml says.
struct DealingRules {
  AllocationRule allocation = AllocationRule::sequence;
  GrowthRule elastic = GrowthRule::qrea;
  Predict predict = Predict::limits;  ///< where the ledger counts time
  std::int64_t preempt_after_ms = AllocatorSettings{}.preempt_after_ms;
  bool preempts_for_min = AllocatorSettings{}.preempts_for_min;
  friend bool operator==(const DealingRules&, const DealingRules&) = default;
};

struct ClusterStatus {
  std::string cluster_id;
  std::string version;
  std::uint64_t epoch = 0;
  std::uint64_t cycle = 0;  ///< newest durable journal record
  std::uint64_t position = 0;
  bool granting = true;
  std::string why_not_granting;
  std::uint32_t tenants = 0;
  std::uint32_t nodes_up = 0;
  std::uint32_t nodes = 0;
  std::uint64_t tasks_running = 0;
  std::uint64_t tasks_pending = 0;
  NamedAmounts capacity;
  NamedAmounts used;
  std::string storage_damage;         ///< what of the ledger could not be read; empty: nothing
  std::string leader;                 ///< the coordinator that answers; empty: there is one alone
  std::vector<ReplicaInfo> replicas;  ///< by name; empty likewise
  HistoryStanding history;            ///< of the coordinator that answers
  std::optional<DealingRules> rules;  ///< none of one that follows, nor of an older version
  friend bool operator==(const ClusterStatus&, const ClusterStatus&) = default;
};

/// By how many records a replica's disk is behind what is durable; the one that leads never is.
[[nodiscard]] std::uint64_t records_behind(const ReplicaInfo& replica, const ClusterStatus& status);

/// A node that has seen what this ledger does not hold.
struct LedgerDoubt {
  std::string node;
  LedgerMark seen;
  std::string reason;
  WallTime since;
  friend bool operator==(const LedgerDoubt&, const LedgerDoubt&) = default;
};

/// Whether the ledger is taken for the newest there is, and who says otherwise.
struct LedgerStanding {
  bool trusted = true;
  std::string why;      ///< it is not
  LedgerMark end;       ///< the newest durable record
  bool copied = false;  ///< the directory is not where the last trusted coordinator left it
  std::vector<std::string> awaited;  ///< nodes that have not spoken since the start
  std::vector<LedgerDoubt> doubts;
  friend bool operator==(const LedgerStanding&, const LedgerStanding&) = default;
};

/// What the ledger's balances count: units, or unit-milliseconds.
struct LedgerMeasure {
  Accounting accounting = Accounting::units;
  /// 0: the cluster counts no processors, or slots, of which a task takes one whatever it asks for.
  std::int64_t millicores_per_unit = 0;
  friend bool operator==(const LedgerMeasure&, const LedgerMeasure&) = default;
};
[[nodiscard]] LedgerMeasure measure_of(const ClusterCreated& cluster);

struct TenantInfo {
  TenantRecord record;
  NamedAmounts request;
  NamedAmounts runtime_quota;
  NamedAmounts used;
  std::uint64_t pending_tasks = 0;
  std::uint64_t running_tasks = 0;
  Units net = 0;  ///< positive when others owe it
  LedgerMeasure measure;
  CreditAdvice credit_advice = CreditAdvice::none;  ///< of one that has no tenants
  /// TenantNesting::guaranteed(). An older coordinator tells none.
  NamedAmounts guaranteed;
  friend bool operator==(const TenantInfo&, const TenantInfo&) = default;
};

enum class ChangeKind : std::uint8_t { unchanged, added, changed, removed };
struct TenantChange {
  std::string name;
  ChangeKind kind = ChangeKind::unchanged;
  std::vector<std::string> fields;  ///< what differs, as `weight: 3 -> 5`
  friend bool operator==(const TenantChange&, const TenantChange&) = default;
};

/// One of a node's devices. One that tasks share is there once for each that has a part of it.
struct DeviceState {
  std::string name;
  std::string resource;
  bool held = false;
  TaskKey task = {};       ///< that holds it; none: another tenant's, which is not told
  std::int64_t share = 0;  ///< of it that the task has, in thousandths; 0: it is not shared
  friend bool operator==(const DeviceState&, const DeviceState&) = default;
};
[[nodiscard]] inline bool is_told(const DeviceState& device) {
  return device.held && device.task.job != JobId{};
}

struct NodeInfo {
  NodeRecord record;
  NodeState state = NodeState::down;
  NamedAmounts capacity;
  NamedAmounts free;
  std::uint64_t running_tasks = 0;
  WallTime last_heartbeat;
  std::string problem;  ///< e.g. a second agent with a copy of its data; empty: none
  std::vector<DeviceState> devices = {};  ///< as far as the node knows their names
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

struct JobQuery {
  std::string tenant;  ///< empty: all that the caller may see
  std::optional<JobState> state;
  std::uint32_t limit = 1000;  ///< newest first
  JobId before;                ///< only ids below this; 0: from the newest
  std::string user = {};       ///< empty: all users', and what has none
  friend bool operator==(const JobQuery&, const JobQuery&) = default;
};

/// A task as `job show` prints it, also one that has no record yet.
struct TaskInfo {
  std::uint32_t index = 0;
  TaskRecord record;
  std::string node;
  friend bool operator==(const TaskInfo&, const TaskInfo&) = default;
};
/// `job show` lists this many of a job's tasks.
inline constexpr std::uint32_t kMaxTasksShown = 10'000;
struct JobDetail {
  JobRecord job;
  std::vector<TaskInfo> tasks;
  bool more = false;  ///< the job has tasks after these
  /// Of the next task that waits, by its place in time; none: it is not known.
  WallTime expected_start{};
  friend bool operator==(const JobDetail&, const JobDetail&) = default;
};

struct LogChunk {
  std::string data;
  bool end = false;  ///< the task has ended and this was the last piece
  friend bool operator==(const LogChunk&, const LogChunk&) = default;
};

struct LedgerView {
  std::uint64_t cycle = 0;
  std::uint64_t position = 0;
  std::vector<TenantRecord> tenants;
  /// Names of tenants that `ious` speak of and `tenants` does not show: whom the caller owes.
  std::map<TenantId, std::string> counterparties;
  std::map<TenantId, Units> net;
  std::vector<IouBook::Iou> ious;  ///< by debtor, then creditor
  LedgerMeasure measure;
  /// Since when it counts time, if it once counted units, and what became of a unit then; 0: it was
  /// forgiven.
  WallTime counts_time_since = {};
  Units unit_ms_per_unit = 0;
  bool more = false;  ///< it goes on after these
  friend bool operator==(const LedgerView&, const LedgerView&) = default;
};

/// Names that records refer to by id.
struct NameTable {
  std::map<TenantId, std::string> tenants;
  std::map<NodeId, std::string> nodes;
  std::vector<std::string> resources;  ///< by index in a ResourceVector
  friend bool operator==(const NameTable&, const NameTable&) = default;
};
/// The part of `all` that the records refer to: it grows with them, not with the cluster.
[[nodiscard]] NameTable names_in(const std::vector<JournalRecord>& records, const NameTable& all);
struct JournalPage {
  std::vector<JournalRecord> records;
  NameTable names;
  friend bool operator==(const JournalPage&, const JournalPage&) = default;
};

/// Why a task waits, or the arithmetic of its grant.
struct Explanation {
  JobRecord job;
  TaskInfo task;
  std::vector<Obstacle> obstacles;    ///< for a pending task, first things first
  std::uint64_t grant_cycle = 0;      ///< for a placed one: the journal record,
  std::optional<Deal> deal;           ///< and the deal in it that placed the task
  std::optional<ExplainedMark> mark;  ///< for a pending one, where the ledger counts time
  LedgerMeasure measure;
  NameTable names;
  WallTime expected_start{};  ///< for a pending one, as JobDetail's
  friend bool operator==(const Explanation&, const Explanation&) = default;
};
/// As names_in() for records.
[[nodiscard]] NameTable names_in(const Explanation& explanation, const NameTable& all);

}  // namespace fairwater::inline model
