// The journal's records: everything that happened, in the order in which it became durable. All
// other stored state is a pure function of them (storage/README.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/job.hpp"
#include "model/lease.hpp"
#include "model/node.hpp"
#include "model/tenant.hpp"
#include "policy/allocator/deal.hpp"

namespace fairwater::inline model {

/// The first record of every cluster.
struct ClusterCreated {
  static constexpr std::string_view kName = "cluster_created";
  std::string cluster_id;
  std::vector<ResourceKind> resources;
  DealMode mode = DealMode::sized;
  Accounting accounting = Accounting::units;
  friend bool operator==(const ClusterCreated&, const ClusterCreated&) = default;
};
/// A coordinator took over; grants carry the epoch.
struct CoordinatorStarted {
  static constexpr std::string_view kName = "coordinator_started";
  std::uint64_t epoch = 0;
  std::string version;
  LeaseTerms lease = {};
  DebtTerms debts = {};  ///< by which it settles time
  /// What tasks use is added up from here on; older versions did not.
  bool counts_usage = false;
  friend bool operator==(const CoordinatorStarted&, const CoordinatorStarted&) = default;
};
/// Tenants added or changed, in input order. New ones come with the id they got.
struct TenantsChanged {
  static constexpr std::string_view kName = "tenants_changed";
  std::vector<TenantRecord> tenants;  ///< totals and deficit are ignored for tenants that exist
  std::uint64_t position = 0;         ///< of the sequence, afterwards
  friend bool operator==(const TenantsChanged&, const TenantsChanged&) = default;
};
struct TenantRemoved {
  static constexpr std::string_view kName = "tenant_removed";
  TenantId tenant;
  std::uint64_t position = 0;
  Units forgiven = 0;
  friend bool operator==(const TenantRemoved&, const TenantRemoved&) = default;
};
enum class Role : std::uint8_t { operator_role = 0, tenant = 1, join = 2 };
/// `operator`, `tenant`, `join`.
[[nodiscard]] std::string_view to_string(Role role);
/// A token now opens a role. Only its hash is stored.
struct TokenIssued {
  static constexpr std::string_view kName = "token_issued";
  Role role = Role::tenant;
  TenantId tenant;
  Hash token_hash{};
  std::string name = {};     ///< may be empty
  WallTime created_at = {};  ///< not set: not known
  WallTime expires_at = {};  ///< not set: never
  std::string user = {};     ///< of the tenant whose jobs it submits; empty: none
  friend bool operator==(const TokenIssued&, const TokenIssued&) = default;
};
/// It opens nothing any more.
struct TokenRevoked {
  static constexpr std::string_view kName = "token_revoked";
  Hash token_hash{};
  friend bool operator==(const TokenRevoked&, const TokenRevoked&) = default;
};
/// How a client recognises its submission when the answer was lost.
struct SubmissionRequest {
  std::string id;            ///< chosen by the client; empty: none
  std::optional<Hash> hash;  ///< of the specification as the client sent it; none without an id
  friend bool operator==(const SubmissionRequest&, const SubmissionRequest&) = default;
};
/// 1 to 64 bytes of visible ASCII; `invalid_input` of `request_id` otherwise.
[[nodiscard]] caf::error validate_request_id(std::string_view id);
struct JobSubmitted {
  static constexpr std::string_view kName = "job_submitted";
  JobId id;  ///< given by the ledger when 0
  TenantId tenant;
  JobSpec spec;
  SubmissionRequest request = {};
  friend bool operator==(const JobSubmitted&, const JobSubmitted&) = default;
};
/// Waiting tasks will not run; running ones are being stopped.
struct JobCancelled {
  static constexpr std::string_view kName = "job_cancelled";
  JobId id;
  std::string reason;
  friend bool operator==(const JobCancelled&, const JobCancelled&) = default;
};
/// The whole record of a node: what versions wrote that did not tell what had happened to it.
struct NodeChanged {
  static constexpr std::string_view kName = "node_changed";
  NodeRecord node;
  friend bool operator==(const NodeChanged&, const NodeChanged&) = default;
};
/// An agent was let in as this node: a new one, or one that says something else of itself.
struct NodeAdmitted {
  static constexpr std::string_view kName = "node_admitted";
  NodeId node;
  NodeSpec spec;
  Hash credential_hash{};
  AgentRun run;
  friend bool operator==(const NodeAdmitted&, const NodeAdmitted&) = default;
};
/// It is given nothing from here on, or from a moment on, or again.
struct NodeDrained {
  static constexpr std::string_view kName = "node_drained";
  NodeId node;
  bool draining = true;
  std::string reason;
  bool by_itself = false;  ///< launches failed there; nobody asked for it to be empty
  WallTime deadline = {};  ///< what still runs there then is reclaimed; 0: it runs on
  WallTime begins = {};    ///< it is a plan, see PlannedDrain; 0: it begins with this record
  friend bool operator==(const NodeDrained&, const NodeDrained&) = default;
};
/// It was silent for longer than lease and grace: its tasks are given out again.
struct NodeLost {
  static constexpr std::string_view kName = "node_lost";
  NodeId node;
  friend bool operator==(const NodeLost&, const NodeLost&) = default;
};
/// A lost one was heard again.
struct NodeReturned {
  static constexpr std::string_view kName = "node_returned";
  NodeId node;
  friend bool operator==(const NodeReturned&, const NodeReturned&) = default;
};
/// The run of its agent that held it is shut out for a later one.
struct NodeSuperseded {
  static constexpr std::string_view kName = "node_superseded";
  NodeId node;
  AgentRun run;  ///< the later one
  friend bool operator==(const NodeSuperseded&, const NodeSuperseded&) = default;
};
/// The node left for good: its credential opens nothing any more.
struct NodeRemoved {
  static constexpr std::string_view kName = "node_removed";
  NodeId node;
  friend bool operator==(const NodeRemoved&, const NodeRemoved&) = default;
};
/// A service's task whose attempt is over is started again in so long, once it has room.
struct ServiceRestart {
  TaskKey task;  ///< the attempt that is over
  std::int64_t in_ms = 0;
  friend bool operator==(const ServiceRestart&, const ServiceRestart&) = default;
};
struct TasksFinished {
  static constexpr std::string_view kName = "tasks_finished";
  NodeId node;
  std::vector<TaskResult> results;
  std::vector<ServiceRestart> restarts = {};  ///< the ledger notes them, and reads them nowhere
  friend bool operator==(const TasksFinished&, const TasksFinished&) = default;
};
/// A grant whose task the node could not start, with what others had advanced for it.
struct FailedLaunch {
  TaskResult result;  ///< EndReason::launch_failed
  std::vector<Advance> returned;
  friend bool operator==(const FailedLaunch&, const FailedLaunch&) = default;
};
/// Grants that came to nothing: they are neither use nor loan any more (docs/ledger.md).
struct LaunchesFailed {
  static constexpr std::string_view kName = "launches_failed";
  NodeId node;
  std::vector<FailedLaunch> launches;
  std::vector<ServiceRestart> restarts = {};  ///< as in TasksFinished
  friend bool operator==(const LaunchesFailed&, const LaunchesFailed&) = default;
};
/// Granted tasks go back to their queues: the node was lost, or never got the order.
struct TasksRequeued {
  static constexpr std::string_view kName = "tasks_requeued";
  NodeId node;
  std::vector<TaskKey> tasks;
  std::string reason;
  bool node_lost = false;                     ///< they had been ordered: counted among their losses
  std::vector<ServiceRestart> restarts = {};  ///< as in TasksFinished
  friend bool operator==(const TasksRequeued&, const TasksRequeued&) = default;
};
/// The reason of those that a ledger had granted before it was taken back, and whose node does not
/// know them any more.
inline constexpr std::string_view kReturnedFromLostLife =
    "the ledger was taken back; what became of it is not known";
/// One turn of the coordinator.
struct Cycle {
  static constexpr std::string_view kName = "cycle";
  std::vector<Deal> deals;
  friend bool operator==(const Cycle&, const Cycle&) = default;
};

/// A task of the elastic job found no work left: those that have not begun are not needed.
struct JobWindsDown {
  static constexpr std::string_view kName = "job_winds_down";
  JobId id;
  friend bool operator==(const JobWindsDown&, const JobWindsDown&) = default;
};
/// How far the elastic job's class makes use of more tasks is known, or known otherwise. What has
/// grown beyond stays.
struct GrowthLimited {
  static constexpr std::string_view kName = "growth_limited";
  JobId id;
  GrowthLimit limit = {};
  friend bool operator==(const GrowthLimited&, const GrowthLimited&) = default;
};
/// Tasks are told to end so that others get their room, or their node is empty.
struct TasksReclaimed {
  static constexpr std::string_view kName = "tasks_reclaimed";
  std::vector<Reclaim> tasks;
  bool for_drain = false;  ///< the deadline of their node's drain has come: nobody claims the room
  friend bool operator==(const TasksReclaimed&, const TasksReclaimed&) = default;
};

/// What growth in a period does to the tenants' credits.
struct CreditsSettled {
  static constexpr std::string_view kName = "credits_settled";
  CreditSettlement settlement;
  friend bool operator==(const CreditsSettled&, const CreditsSettled&) = default;
};

/// What tenants held beside their parts over a stretch of time went into the book of IOUs
/// (policy/ledger/time_accounts.hpp).
struct TimeSettled {
  static constexpr std::string_view kName = "time_settled";
  TimeSettlement settlement;
  friend bool operator==(const TimeSettled&, const TimeSettled&) = default;
};

/// An operator forgave a tenant debts, each in part or whole.
struct DebtForgiven {
  static constexpr std::string_view kName = "debt_forgiven";
  TenantId debtor;
  std::vector<ForgivenDebt> debts;
  std::string reason;
  friend bool operator==(const DebtForgiven&, const DebtForgiven&) = default;
};

/// The ledger, which counted units, counts time from here on.
struct AccountingChanged {
  static constexpr std::string_view kName = "accounting_changed";
  /// What a unit that was owed is now. 0: what was owed is forgiven.
  Units unit_ms_per_unit = 0;
  friend bool operator==(const AccountingChanged&, const AccountingChanged&) = default;
};

/// The operator vouches for this ledger although nodes have seen more than it holds, or could not
/// be asked. What it may have granted and numbered in the life that was lost is never used again.
struct LedgerTrusted {
  static constexpr std::string_view kName = "ledger_trusted";
  std::uint32_t incarnation = 0;   ///< enters every TaskKey from here on
  std::uint64_t given_up = 0;      ///< records of earlier incarnations up to here may be missing
  std::uint64_t skipped_jobs = 0;  ///< job ids that the lost life may have given away
  std::string reason;
  std::uint32_t skipped_tenants = 0;  ///< likewise: tasks' users follow from tenants' numbers
  std::uint32_t skipped_nodes = 0;
  std::uint64_t skipped_epochs = 0;  ///< of coordinators of the lost life
  friend bool operator==(const LedgerTrusted&, const LedgerTrusted&) = default;
};

/// What a node had run in a life of the ledger that was lost: nobody waits for it. Changes nothing.
struct TasksDisowned {
  static constexpr std::string_view kName = "tasks_disowned";
  NodeId node;
  std::vector<TaskResult> results;  ///< of what still ran, that it was stopped
  friend bool operator==(const TasksDisowned&, const TasksDisowned&) = default;
};

/// What follows from the records up to `number` has this hash (storage/standing_state.hpp):
/// they can be put into the archive, and the rest of the journal still proves the state.
struct Checkpointed {
  static constexpr std::string_view kName = "checkpointed";
  std::uint64_t number = 0;  ///< of a record before this one
  Hash state_hash{};
  friend bool operator==(const Checkpointed&, const Checkpointed&) = default;
};

/// It takes no jobs any more, borrows nothing more, and is removed when it has no job and owes
/// nothing; unless it is applied again before.
struct TenantLeaves {
  static constexpr std::string_view kName = "tenant_leaves";
  TenantId tenant;
  friend bool operator==(const TenantLeaves&, const TenantLeaves&) = default;
};

using JournalBody =
    std::variant<ClusterCreated, CoordinatorStarted, TenantsChanged, TenantRemoved, TokenIssued,
                 JobSubmitted, JobCancelled, NodeChanged, TasksFinished, TasksRequeued, Cycle,
                 LaunchesFailed, LedgerTrusted, TokenRevoked, NodeRemoved, NodeAdmitted,
                 NodeDrained, NodeLost, NodeReturned, NodeSuperseded, TimeSettled, DebtForgiven,
                 AccountingChanged, TasksReclaimed, CreditsSettled, JobWindsDown, TasksDisowned,
                 Checkpointed, GrowthLimited, TenantLeaves>;

struct JournalRecord {
  std::uint64_t number = 0;  ///< "cycle number": 1, 2, 3, .. without gaps
  WallTime time;
  Hash previous{};  ///< hash of the record before, zero for the first
  JournalBody body;
  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

/// About what the record takes in a message and on disk. For those that a caller's input or a
/// report makes large; all others are small.
[[nodiscard]] std::size_t approximate_bytes(const JournalBody& body);

/// Its kName, which `ledger journal` prints as `kind`.
[[nodiscard]] std::string_view kind_of(const JournalBody& body);

}  // namespace fairwater::inline model
