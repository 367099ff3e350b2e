// What the coordinator actor owns, shared by its source files. Not for others to include.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/coordinator/cluster.hpp"
#include "actors/coordinator/coordinator.hpp"
#include "actors/coordinator/record_hashes.hpp"
#include "model/tenant_nesting.hpp"
#include "policy/allocator/allocation.hpp"

namespace fairwater::inline actors::inline coordinator {
struct RunCycle {};
struct BeginAnew {};
struct NextChange {};
struct SettleTime {};
struct SettleCredits {};
/// Those that were given before the coordinator's start.
struct LeasesOver {};
}  // namespace fairwater::inline actors::inline coordinator

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::RunCycle)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::BeginAnew)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::NextChange)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::SettleTime)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::SettleCredits)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fairwater::LeasesOver)

namespace fairwater::inline actors::inline coordinator::coordination {

using CoordinatorBase =
    CoordinatorActor::extend<caf::reacts_to<RunCycle>, caf::reacts_to<BeginAnew>,
                             caf::reacts_to<NextChange>, caf::reacts_to<SettleTime>,
                             caf::reacts_to<SettleCredits>, caf::reacts_to<LeasesOver>>;

struct TenantEntry {
  TenantSpec spec;
  TenantActor actor;
};

struct NodeEntry {
  NodeRecord record;
  NodeActor actor;
  NodeState state = NodeState::down;
  bool accepts = false;
  WallTime last_heartbeat;
  std::string problem;  ///< as NodeBeat tells it
};

/// What `status` says of the nodes, but what is used on them.
struct NodeTotals {
  std::uint32_t up = 0;
  ResourceVector capacity;   ///< of those that are up
  std::vector<NodeId> down;  ///< what is held there does not count as used
};

struct TokenEntry {
  /// `changing`: being made or revoked; opens nothing.
  enum class State : std::uint8_t { good, changing };
  TokenGrant grant;
  State state = State::good;
  WallTime last_used;
};

struct CoordinatorState {
  static inline const char* name = "coordinator";
  std::shared_ptr<const ClusterContext> context;
  std::unique_ptr<Allocation> allocation;
  std::map<TenantId, TenantEntry> tenants;
  std::map<std::string, TenantId> tenant_ids;
  /// As the allocator was told, which may not be durable yet: it knows the leaves.
  TenantNesting nesting{{}};
  /// Tenants come, change and go one call after the other: what one may do depends on those before,
  /// which may still fail. Bound: each that waits is a call that the gateway has admitted, or of a
  /// tenant that leaves, which waits once.
  bool changing_tenants = false;
  std::deque<std::function<void()>> waiting_changes;
  /// Left the allocator, and with it `tenants`; back again if that does not become durable.
  std::optional<std::pair<TenantId, TenantEntry>> leaving;
  std::set<TenantId> leavers;     ///< of `tenants` those that leave, see leaving.cpp
  std::set<TenantId> letting_go;  ///< of these, who is being removed, or in turn for it
  std::map<NodeId, NodeEntry> nodes;
  std::optional<NodeTotals> node_totals;  ///< none: a node came, went or changed since
  std::uint32_t nodes_expected = 0;       ///< of `nodes` those that are not lost
  std::map<std::string, NodeId> node_ids;
  std::set<std::string> registering;          ///< nodes that are just being registered or removed
  std::map<NodeId, NodeEntry> leaving_nodes;  ///< as `leaving`
  std::map<Hash, TokenEntry> tokens;          ///< every token of the ledger
  std::uint32_t next_tenant = 1;
  std::uint32_t next_node = 1;

  /// The ledger's moment when this coordinator took over, and when that was by the actors' clock.
  LedgerMs ledger_began_ms = 0;
  caf::actor_clock::time_point began;
  bool settling = false;  ///< a settlement is on its way to the ledger
  /// While anything has grown or preempts: since when credits are to be settled.
  std::optional<caf::actor_clock::time_point> credits_since;
  bool settling_credits = false;  ///< likewise; without an answer for long, one waits there

  bool cycle_due = false;
  std::uint32_t cycles_in_flight = 0;
  std::uint64_t generation = 1;  ///< see Commit::generation
  bool beginning_anew = false;
  // While the allocator is being rebuilt:
  std::vector<TaskKey> told_to_end_meanwhile;
  std::vector<TaskKey> released_meanwhile;
  std::string why_not_granting;  ///< empty: granting
  LedgerTrust trust;
  RecordHashes record_hashes;
  bool vouching = false;           ///< an operator's word is being made durable
  std::uint64_t last_session = 0;  ///< of agents; see AgentReport::session
};

using CoordinatorSelf = CoordinatorBase::stateful_pointer<CoordinatorState>;

// -- the calls that the coordinator answers: departures.cpp, leaving.cpp, nodes.cpp,
// tenant_debts.cpp, tenants.cpp, tokens.cpp, trust.cpp, views.cpp

#define FAIRWATER_ANSWER(method, Request) \
  caf::result<Request::Answer> answer(CoordinatorSelf self, const Request& request);
FAIRWATER_COORDINATOR_CALLS(FAIRWATER_ANSWER)
#undef FAIRWATER_ANSWER

// -- cycle.cpp -----------------------------------------------------------------------------------

/// Runs a cycle once the mailbox's present content has been taken: heartbeats that gather share it.
void schedule_cycle(CoordinatorSelf self);
void run_cycle(CoordinatorSelf self);
/// Everything may have changed: looks at every node that takes tasks.
void consider_all_nodes(CoordinatorSelf self);
/// Commits what depends on the allocator's present state; a failure begins anew from the ledger.
void commit_chained(CoordinatorSelf self, JournalBody body,
                    std::function<void(const Committed&)> then,
                    std::function<void(const caf::error&)> failed);
void begin_anew(CoordinatorSelf self);
std::unique_ptr<Allocation> make_allocation(const AllocatorSettings& settings,
                                            const ClusterSnapshot& snapshot);
/// Makes the cycle anew of what is durable, on the nodes that are known.
void rebuild(CoordinatorState& state, ClusterSnapshot snapshot, std::uint64_t last_deal);
/// A node is there now, or no longer, or is looked at anew: `change` is 1 or -1. Paces the
/// heartbeats.
void expect_node(CoordinatorState& state, const NodeEntry& node, int change);
/// The cycle follows what is known of the node.
void set_node(CoordinatorSelf self, const NodeEntry& node);
void take_beat(CoordinatorSelf self, const NodeBeat& beat);
void take_window(CoordinatorSelf self, DemandWindow& window);
caf::result<Done> withdraw(CoordinatorSelf self, const Withdraw& request);

// -- time.cpp ------------------------------------------------------------------------------------

/// From here on the ledger's time passes: from where it had come when it was durable last. While no
/// coordinator looks on it stands still.
void begin_time(CoordinatorSelf self, LedgerMs ledger_ms);
/// What happens from here on happens now.
void pass_time(CoordinatorSelf self);
/// The ledger's time as it goes on by the actors' clock; where the ledger counts units, time since
/// this coordinator began.
LedgerMs clock_ms(CoordinatorSelf self);
/// Brings the accounts up to now, and makes it durable.
void settle_time(CoordinatorSelf self);
/// The same each second.
void settle_on_time(CoordinatorSelf self);

/// From here on credits are settled each second, and what must end is looked for, as long as
/// anything has grown or preempts.
void count_credits(CoordinatorSelf self);
void settle_credits(CoordinatorSelf self);

// -- tenant_debts.cpp ----------------------------------------------------------------------------

/// In the allocator and to the ledger in one turn.
void forgive(CoordinatorSelf self, DebtForgiven forgiven,
             std::function<void(const Committed&)> then,
             std::function<void(const caf::error&)> failed);

// -- launches.cpp --------------------------------------------------------------------------------

/// What others advanced for the grants goes back, in the allocator and in the ledger alike.
caf::result<FailedLaunchesSettled> settle_failed_launches(CoordinatorSelf self,
                                                          const SettleFailedLaunches& request);

// -- trust.cpp -----------------------------------------------------------------------------------

/// From the start, when all nodes are known.
void watch_trust(CoordinatorSelf self);
/// Changes `trust`; when the ledger is trusted with it, granting begins.
void change_trust(CoordinatorSelf self, const std::function<void()>& change);
bool may_grant(const CoordinatorState& state);
/// `unavailable`, with kLedgerField, while the ledger may not be the newest.
caf::error refuse_untrusted(const CoordinatorState& state);

// -- registration.cpp ----------------------------------------------------------------------------

/// Whether the peer may be the node that it names; changes nothing.
caf::result<Done> judge_credential(CoordinatorSelf self, const AgentCredential& shown);
caf::result<NodeRegistered> register_node(CoordinatorSelf self, const RegisterNode& request);

// -- nodes.cpp -----------------------------------------------------------------------------------

void add_node(CoordinatorSelf self, NodeRecord record, std::vector<AssignedTask> assigned);

// -- admission.cpp -------------------------------------------------------------------------------

caf::result<TenantAddress> find_tenant(const CoordinatorState& state, const FindTenant& request);
caf::result<TenantAddress> admit_job(const CoordinatorState& state, const AdmitJob& request);
/// `{cpu: 1, memory: 2 GiB}`
std::string text_of(const NamedAmounts& amounts);
/// `a, b, c`
std::string list_of(const std::vector<std::string>& names);

// -- tenants.cpp ---------------------------------------------------------------------------------

/// `unavailable`: what depends on the allocator's state cannot be made durable now.
caf::error not_granting(const CoordinatorState& state);
/// Who is within whom, of `tenants` once these have come or changed.
TenantNesting nesting_after(const CoordinatorState& state,
                            const std::vector<TenantRecord>& changed);
/// The same as they are.
TenantNesting nesting_of(const CoordinatorState& state);
void add_tenant(CoordinatorSelf self, const TenantRecord& record, TenantStart start);
/// Begins the change when those before it have ended; each ends with end_turn().
void in_turn(CoordinatorSelf self, std::function<void()> change);
inline void end_turn(CoordinatorSelf self) { self->send(self, NextChange{}); }
template <class Answer>
void end_turn(CoordinatorSelf self, caf::typed_response_promise<Answer> promise, Answer answer) {
  promise.deliver(std::move(answer));
  end_turn(self);
}
template <class Answer>
void end_turn(CoordinatorSelf self, caf::typed_response_promise<Answer> promise,
              const caf::error& error) {
  promise.deliver(error);
  end_turn(self);
}
/// Lets the change of tenants that waits longest begin.
void next_change(CoordinatorSelf self);
/// The allocator deals by the tree from here on; clients see it when it is durable.
void deal_by(CoordinatorState& state, TenantNesting nesting,
             const std::vector<Accounts::Division>& divided);
/// Those that have no tenants any more run jobs again.
std::vector<TenantId> emptied_by(const TenantNesting& before, const TenantNesting& after);
/// They admit jobs again.
void reinstate(CoordinatorSelf self, const std::vector<TenantId>& tenants);
/// The record is durable: directory and actor follow it.
void take_tenant(CoordinatorSelf self, const TenantRecord& record);

// -- leaving.cpp ---------------------------------------------------------------------------------

/// `wrong_state` while the tenant runs tasks or owes.
caf::error check_may_leave(const CoordinatorState& state, TenantId id);
/// What a settlement rounds may make one who owes nothing a debtor of one unit-millisecond.
void forgive_rounding(CoordinatorSelf self, TenantId id);
/// Notes whether the tenant leaves.
void note_leaver(CoordinatorState& state, const TenantRecord& record);
/// Removes it if it leaves and nothing keeps it any more. O(log tenants).
void consider_leaver(CoordinatorSelf self, TenantId id);
/// The same of all. O(those that leave).
void consider_leavers(CoordinatorSelf self);
/// The allocator is about to be rebuilt: a tenant whose removal failed is there again.
void take_back_leaver(CoordinatorSelf self);

// -- departures.cpp ------------------------------------------------------------------------------

/// As take_back_leaver, for nodes.
void take_back_leaving_nodes(CoordinatorSelf self);

// -- tokens.cpp ----------------------------------------------------------------------------------

/// What the token opens; `unauthenticated` when it is not known or has expired.
Expected<TokenGrant> use_token(CoordinatorState& state, const Hash& hash);
caf::result<Caller> log_in(CoordinatorState& state, const Login& request);
/// Their tenant was removed.
void forget_tokens_of(CoordinatorState& state, TenantId tenant);

// -- views.cpp -----------------------------------------------------------------------------------

/// For `status`. O(tenants), and O(nodes) once after a node came, went or changed.
ClusterStatus describe_cluster(CoordinatorState& state);
TenantViews describe_tenants(const CoordinatorState& state, const DescribeTenants& request);
WaitingDescription explain_waiting(const CoordinatorState& state, const ExplainWaiting& request);
/// Of the job's next task, by its place in time; none where it has no place, or no moment is known.
WallTime expected_start(const CoordinatorState& state, TenantId tenant, JobId job);

}  // namespace fairwater::inline actors::inline coordinator::coordination
