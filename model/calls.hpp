// The calls of a client's session: what is asked, what is answered, who may ask and who answers.
// The session's server, the client, the frontend and the coordinator follow from this table; the
// fields of requests and answers on the wire are listed in rpc/calls.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "model/backup.hpp"
#include "model/profile.hpp"
#include "model/requests.hpp"
#include "model/usage.hpp"
#include "model/verify_report.hpp"

namespace fairwater::inline model {

/// Carried out; nothing to say.
struct Done {};

struct GetStatus {
  using Answer = ClusterStatus;
  Caller caller;
};

/// How old what a coordinator shows may be. Of one that leads, nothing: empty.
struct Freshness {
  std::string follower;     ///< its name among the replicas
  std::int64_t age_ms = 0;  ///< so long ago it held all that was durable, or less
  friend bool operator==(const Freshness&, const Freshness&) = default;
};
/// Asked before something is read, it bounds how old that will be.
struct GetFreshness {
  using Answer = Freshness;
  Caller caller;
};

struct TenantList {
  std::vector<TenantInfo> tenants;  ///< by id
  bool more = false;                ///< there are others after these
};
struct ListTenants {
  using Answer = TenantList;
  Caller caller;
  TenantId after = {};  ///< for the edge, which cuts the list into pages
};

struct NodeList {
  std::vector<NodeInfo> nodes;  ///< by id
  bool more = false;
};
struct ListNodes {
  using Answer = NodeList;
  Caller caller;
  NodeId after = {};
};

struct JobAccepted {
  JobId id;
};
struct SubmitJob {
  using Answer = JobAccepted;
  Caller caller;
  JobSpec spec;
  std::string request_id = {};  ///< of which a repeated submission is told; empty: none
};

struct JobList {
  std::vector<JobRecord> jobs;  ///< as many as one message holds
  bool more = false;            ///< that was fewer than asked for, and there may be older ones
};
struct ListJobs {
  using Answer = JobList;
  Caller caller;
  JobQuery query;
};

struct ShowJob {
  using Answer = JobDetail;
  Caller caller;
  JobId id;
  std::uint32_t first_task = 0;
};

struct CancelJob {
  using Answer = Done;
  Caller caller;
  JobId id;
  std::string reason;
};

struct WaitJob {
  using Answer = JobRecord;
  Caller caller;
  JobId id;
  std::int64_t wait_ms = 0;
};

struct ExplainTask {
  using Answer = Explanation;
  Caller caller;
  JobId id;
  std::uint32_t index = 0;
};

struct ReadLog {
  using Answer = LogChunk;
  Caller caller;
  JobId id;
  std::uint32_t index = 0;
  bool standard_error = false;
  std::uint64_t offset = 0;
};

/// What of a ledger came last: tenants first, then IOUs.
struct LedgerCursor {
  TenantId tenant;
  std::uint32_t debtor = 0;
  std::uint32_t creditor = 0;
};
struct ShowLedger {
  using Answer = LedgerView;
  Caller caller;
  LedgerCursor after = {};  ///< for the edge
};

/// What the newest runs of a class took.
struct ShowProfile {
  using Answer = ClassProfile;
  Caller caller;
  std::string tenant = {};  ///< empty: the caller's
  std::string job_class;
};

struct UsageList {
  std::vector<UsageRow> rows;  ///< by group
  bool more = false;           ///< there are others after these
};
/// What was used, by attempts that have ended.
struct QueryUsage {
  using Answer = UsageList;
  Caller caller;
  UsageQuery query;
};

struct TenantsApplied {
  std::vector<TenantChange> changes;
};
struct ApplyTenants {
  using Answer = TenantsApplied;
  Caller caller;
  std::vector<TenantSpec> specs;
  bool dry_run = false;
};

/// It is gone, or `leaving`: it will be when it has no job any more and owes nothing.
struct TenantDeparture {
  bool leaving = false;
};
struct RemoveTenant {
  using Answer = TenantDeparture;
  Caller caller;
  std::string name;
};

/// The edge makes the token and keeps it; only its hash goes further.
struct CreateToken {
  using Answer = TokenInfo;
  using Shown = MadeToken;  ///< to the client
  Caller caller;
  NewToken wanted;
  Hash token_hash{};
};

struct TokenList {
  std::vector<TokenInfo> tokens;
};
struct ListTokens {
  using Answer = TokenList;
  Caller caller;
};

/// With the hash, by which the edge finds its sessions.
struct RevokedToken {
  TokenInfo info;
  Hash token_hash{};
};
/// By name or id.
struct RevokeToken {
  using Answer = RevokedToken;
  using Shown = TokenInfo;
  Caller caller;
  std::string token;
};

struct RemoveNode {
  using Answer = Done;
  Caller caller;
  std::string name;
};

struct DrainNode {
  using Answer = Done;
  Caller caller;
  std::string name;
  std::string reason;
  bool drain = true;  ///< false: undrain
  /// In so long what still runs there is stopped, and runs elsewhere; 0: it runs to its end.
  std::int64_t deadline_ms = 0;
};

struct PlanDrain {
  using Answer = Done;
  Caller caller;
  std::string name;
  std::string reason;
  WallTime begins;
  std::int64_t deadline_ms = 0;  ///< see DrainNode; from its beginning on
};

struct ReadJournal {
  using Answer = JournalPage;
  Caller caller;
  std::uint64_t since = 0;
  std::uint32_t limit = 1000;
  std::int64_t wait_ms = 0;
};

struct VerifyLedger {
  using Answer = VerifyReport;
  static constexpr bool kTakesLong = true;  ///< reads the whole journal
  Caller caller;
  bool with_archive = false;  ///< proves what was archived, too
};

/// On the coordinator's machine, in a directory that is not there yet; one at a time.
struct BackupLedger {
  using Answer = LedgerBackup;
  static constexpr bool kTakesLong = true;  ///< verifies what it made
  Caller caller;
  std::string directory;
};

/// `wrong_state` where no other coordinator could lead.
struct HandOver {
  using Answer = Done;
  Caller caller;
};

struct ShowStanding {
  using Answer = LedgerStanding;
  Caller caller;
};

/// `wrong_state` when nobody doubts the ledger.
struct TrustLedger {
  using Answer = Done;
  Caller caller;
  std::string reason;
};

/// What is forgiven of what one tenant owes, by creditor.
struct ForgivenShare {
  std::string creditor;
  Units units = 0;
  friend bool operator==(const ForgivenShare&, const ForgivenShare&) = default;
};
struct DebtsForgiven {
  std::vector<ForgivenShare> shares;
  Units left = 0;  ///< what it owes afterwards, to all
  LedgerMeasure measure;
};
struct ForgiveDebt {
  using Answer = DebtsForgiven;
  Caller caller;
  std::string debtor;
  std::string creditor = {};  ///< empty: all
  std::string amount = {};    ///< model/balances.hpp; empty: all that is owed
  std::string reason;
  bool dry_run = false;
};

// The table. Each line is X(method of schema/control.capnp, request). Who answers: the frontend, or
// the coordinator, to which the frontend passes on; both have an `answer(self, request)` for each.

/// Of every client: a tenant's, about its own, and an operator's.
#define FAIRWATER_FRONTEND_TENANT_CALLS(X) \
  X(getStatus, GetStatus)                  \
  X(listTenants, ListTenants)              \
  X(submitJob, SubmitJob)                  \
  X(listJobs, ListJobs)                    \
  X(showJob, ShowJob)                      \
  X(cancelJob, CancelJob)                  \
  X(waitJob, WaitJob)                      \
  X(explainTask, ExplainTask)              \
  X(readLog, ReadLog)                      \
  X(showLedger, ShowLedger)                \
  X(showProfile, ShowProfile)              \
  X(queryUsage, QueryUsage)                \
  X(getFreshness, GetFreshness)
#define FAIRWATER_COORDINATOR_TENANT_CALLS(X) X(listNodes, ListNodes)

/// Of an operator alone; the frontend refuses others.
#define FAIRWATER_FRONTEND_OPERATOR_CALLS(X) \
  X(readJournal, ReadJournal)                \
  X(verifyLedger, VerifyLedger)              \
  X(backupLedger, BackupLedger)              \
  X(handOver, HandOver)
#define FAIRWATER_COORDINATOR_OPERATOR_CALLS(X) \
  X(applyTenants, ApplyTenants)                 \
  X(removeTenant, RemoveTenant)                 \
  X(createToken, CreateToken)                   \
  X(listTokens, ListTokens)                     \
  X(revokeToken, RevokeToken)                   \
  X(removeNode, RemoveNode)                     \
  X(drainNode, DrainNode)                       \
  X(planDrain, PlanDrain)                       \
  X(showStanding, ShowStanding)                 \
  X(trustLedger, TrustLedger)                   \
  X(forgiveDebt, ForgiveDebt)

#define FAIRWATER_TENANT_CALLS(X)    \
  FAIRWATER_FRONTEND_TENANT_CALLS(X) \
  FAIRWATER_COORDINATOR_TENANT_CALLS(X)
#define FAIRWATER_OPERATOR_CALLS(X)    \
  FAIRWATER_FRONTEND_OPERATOR_CALLS(X) \
  FAIRWATER_COORDINATOR_OPERATOR_CALLS(X)
#define FAIRWATER_FRONTEND_CALLS(X)  \
  FAIRWATER_FRONTEND_TENANT_CALLS(X) \
  FAIRWATER_FRONTEND_OPERATOR_CALLS(X)
#define FAIRWATER_COORDINATOR_CALLS(X)  \
  FAIRWATER_COORDINATOR_TENANT_CALLS(X) \
  FAIRWATER_COORDINATOR_OPERATOR_CALLS(X)

#define FAIRWATER_CALLS(X)  \
  FAIRWATER_TENANT_CALLS(X) \
  FAIRWATER_OPERATOR_CALLS(X)

/// What a coordinator that follows answers itself, from its ledger, to those who accept that.
#define FAIRWATER_FOLLOWER_CALLS(X) \
  X(getFreshness, GetFreshness)     \
  X(getStatus, GetStatus)           \
  X(listJobs, ListJobs)             \
  X(showJob, ShowJob)               \
  X(showLedger, ShowLedger)         \
  X(queryUsage, QueryUsage)         \
  X(readJournal, ReadJournal)

/// What becomes durable before it is answered.
#define FAIRWATER_CHANGING_CALLS(X) \
  X(submitJob, SubmitJob)           \
  X(cancelJob, CancelJob)           \
  X(applyTenants, ApplyTenants)     \
  X(removeTenant, RemoveTenant)     \
  X(createToken, CreateToken)       \
  X(revokeToken, RevokeToken)       \
  X(removeNode, RemoveNode)         \
  X(drainNode, DrainNode)           \
  X(planDrain, PlanDrain)           \
  X(trustLedger, TrustLedger)       \
  X(forgiveDebt, ForgiveDebt)

/// What changes nothing, whoever asks.
#define FAIRWATER_READING_CALLS(X) \
  FAIRWATER_FOLLOWER_CALLS(X)      \
  X(listTenants, ListTenants)      \
  X(listNodes, ListNodes)          \
  X(waitJob, WaitJob)              \
  X(explainTask, ExplainTask)      \
  X(readLog, ReadLog)              \
  X(showProfile, ShowProfile)      \
  X(verifyLedger, VerifyLedger)    \
  X(listTokens, ListTokens)        \
  X(showStanding, ShowStanding)

/// What does something beside the ledger.
#define FAIRWATER_OTHER_CALLS(X) \
  X(backupLedger, BackupLedger)  \
  X(handOver, HandOver)

/// What may be asked again when its answer is lost: it changes nothing, or makes what it did the
/// first time so again (a drain's deadline counts anew, what is applied was so already).
#define FAIRWATER_REPEATABLE_CALLS(X) \
  FAIRWATER_READING_CALLS(X)          \
  X(applyTenants, ApplyTenants)       \
  X(drainNode, DrainNode)             \
  X(planDrain, PlanDrain)

/// What the client is told; the answer itself unless the request says otherwise.
template <class Request>
struct ShownTo {
  using type = typename Request::Answer;
};
template <class Request>
requires requires { typename Request::Shown; }
struct ShownTo<Request> {
  using type = typename Request::Shown;
};
template <class Request>
using ShownOf = typename ShownTo<Request>::type;

/// Whether a type is a request or an answer of the table.
#define FAIRWATER_IN_CALL(method, Request) \
  || std::is_same_v<Type, Request> || std::is_same_v<Type, Request::Answer>
template <class Type>
inline constexpr bool kInCalls = false FAIRWATER_CALLS(FAIRWATER_IN_CALL);
#undef FAIRWATER_IN_CALL

#define FAIRWATER_IS_REQUEST(method, Request) || std::is_same_v<Type, Request>
/// Whether only an operator may ask it.
template <class Type>
inline constexpr bool kForOperators = false FAIRWATER_OPERATOR_CALLS(FAIRWATER_IS_REQUEST);
/// Whether the frontend passes it on.
template <class Type>
inline constexpr bool kByCoordinator = false FAIRWATER_COORDINATOR_CALLS(FAIRWATER_IS_REQUEST);
/// Whether a coordinator that follows answers it.
template <class Type>
inline constexpr bool kByFollower = false FAIRWATER_FOLLOWER_CALLS(FAIRWATER_IS_REQUEST);
/// Whether it may be asked again when its answer is lost.
template <class Type>
inline constexpr bool kRepeatable = false FAIRWATER_REPEATABLE_CALLS(FAIRWATER_IS_REQUEST);
template <class Type>
inline constexpr bool kChanges = false FAIRWATER_CHANGING_CALLS(FAIRWATER_IS_REQUEST);
template <class Type>
inline constexpr bool kReads = false FAIRWATER_READING_CALLS(FAIRWATER_IS_REQUEST);
template <class Type>
inline constexpr bool kDoesOther = false FAIRWATER_OTHER_CALLS(FAIRWATER_IS_REQUEST);
#undef FAIRWATER_IS_REQUEST

#define FAIRWATER_IN_ONE_LIST(method, Request)                                  \
  static_assert(kChanges<Request> + kReads<Request> + kDoesOther<Request> == 1, \
                #Request " belongs into one list of what changes, reads or does something else");
FAIRWATER_CALLS(FAIRWATER_IN_ONE_LIST)
#undef FAIRWATER_IN_ONE_LIST

}  // namespace fairwater::inline model
