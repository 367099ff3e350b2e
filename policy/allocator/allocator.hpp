// The coordinator's allocator: a pure state machine. Events go in (tenants, nodes, windows,
// releases), deals come out. Same events in the same order, same deals, byte for byte.
//
// It runs steps 2 to 9 of a heartbeat's life (docs/architecture.md, "Life of a heartbeat"). One
// `deal` costs O(tenants with waiting tasks + slots dealt * log tenants + tasks placed * log), not
// O(tenants). Where the ledger counts time it looks at few of those who wait
// (policy/allocator/contenders.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/allocator/deal.hpp"
#include "policy/allocator/explained_mark.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/allocator/task_kind.hpp"
#include "policy/core/types.hpp"
#include "policy/elastic/growth.hpp"
#include "policy/ledger/accounts.hpp"
#include "policy/prediction/patience.hpp"
#include "policy/prediction/planned_run.hpp"

namespace fairwater::inline policy::inline allocator {

enum class DealMode : std::uint8_t {
  sized = 0,  ///< a task costs `cost_in_units`
  slots = 1,  ///< every task costs 1
};

/// What the ledger of IOUs counts.
enum class Accounting : std::uint8_t {
  units = 0,  ///< units granted, however long they are held: a deal's loans and repayments
  time = 1,   ///< unit-milliseconds held beside one's part: policy/allocator/time_marks.hpp
};

[[nodiscard]] constexpr std::string_view to_string(Accounting accounting) {
  return accounting == Accounting::time ? "time" : "units";
}

/// What decides whose task is next.
enum class AllocationRule : std::uint8_t {
  sequence = 0,  ///< quotas, the sequence and the ledger
  drf = 1,       ///< dominant shares: policy/allocator/by_share.hpp
};

[[nodiscard]] constexpr std::string_view to_string(AllocationRule rule) {
  return rule == AllocationRule::drf ? "drf" : "sequence";
}

/// Of AllocatorSettings::most_chosen_demands.
inline constexpr std::size_t kMostChosenDemands = 64;
/// Nodes that one task passes over in a cycle because they did not take it.
inline constexpr std::size_t kMostRefusals = 8;

struct AllocatorSettings {
  ResourceVector granules;  ///< 0: the cluster does not have that resource
  DealMode mode = DealMode::sized;
  std::uint32_t backups = 1;                         ///< next tasks per tenant that step 8 looks at
  ResourceVector units = ResourceVector::filled(1);  ///< ledger units per granule
  std::uint32_t incarnation = 0;                     ///< see Allocator::set_incarnation
  Accounting accounting = Accounting::units;
  DebtTerms debts;                    ///< where time is counted
  Predict predict = Predict::limits;  ///< where time is counted
  AllocationRule allocation = AllocationRule::sequence;
  GrowthRule growth = GrowthRule::qrea;
  std::int64_t deferral_patiences = kDeferralPatiences;  ///< see policy/allocator/by_time.hpp
  std::int64_t preempt_after_ms = 30'000;  ///< a task has run for so long before it is preempted
  bool preempts_for_min = true;  ///< tasks within a tenant's min preempt, whatever their jobs say
  std::vector<std::string> resources = {};  ///< names by index; empty: no device is given by name
  /// Deals look at all who wait: the same deals, slowly, to compare with.
  bool looks_at_all = false;
  /// Nodes are kept in the order of a rule for so many demands at least, and in one cycle no more
  /// of those that take shares of GPUs are chosen for: policy/allocator/node_choice.hpp. Others are
  /// for comparison.
  std::size_t most_chosen_demands = kMostChosenDemands;
  /// For more demands while they are so many nodes together, some 150 MB: moves no decision.
  std::size_t most_kept_nodes = 1 << 20;
  /// For each node and deal of a cycle, and for each node that may refuse a demand, deals that
  /// place nothing. Beyond them placement rules choose nothing more in that cycle: it has to end.
  std::size_t most_looks_in_vain = 8;
};

/// Of tenants, or of groups of tenants, that share one quota. Not a tenant: it is in no sequence
/// and has no account.
using GroupId = StrongId<struct GroupTag, std::uint32_t>;

/// Where in the tree of quotas a tenant or a group stands.
struct QuotaPlace {
  GroupId group{};    ///< whose quota it shares; none: the cluster
  Weight weight = 1;  ///< among those that share it
  /// Of single resources, in place of `weight`; 0: none of its own.
  ResourceWeights own_weights{};
  [[nodiscard]] Weight weight_of(std::size_t resource) const {
    return own_weights[resource] > 0 ? own_weights[resource] : weight;
  }
  [[nodiscard]] ResourceWeights weights() const {
    ResourceWeights all{};
    for (std::size_t r = 0; r < kMaxResources; ++r) all[r] = weight_of(r);
    return all;
  }
  friend bool operator==(const QuotaPlace&, const QuotaPlace&) = default;
};

/// Runtime quotas follow policy/quota/quota_tree.hpp. Guarantees are for tenants: a group's min is
/// in its quota alone.
struct GroupTerms {
  QuotaPlace place;
  /// None: the sum of its children's.
  std::array<std::optional<Amount>, kMaxResources> min{};
  /// Of what its tenants hold together.
  ResourceVector max = ResourceVector::filled(kUnlimited);
  /// Of its tenants together, beside others; they lend to each other as each of them may. The quota
  /// of one that may not borrow is at most its plain share of the capacity, or its min, and its
  /// tenants get nothing beyond theirs. Caps count where the ledger counts time.
  LoanRights rights{};
  friend bool operator==(const GroupTerms&, const GroupTerms&) = default;
};

struct TenantTerms {
  Weight weight = 1;  ///< in the sequence
  ResourceVector min{};
  ResourceVector max = ResourceVector::filled(kUnlimited);
  /// mu in millionths, 1..1'000'000: the part of what falls to a debtor that it pays back.
  std::uint32_t repay_millionths = 1'000'000;
  /// False: what it leaves idle is passed on to the others without a claim.
  bool may_lend = true;
  /// False: it holds at most its plain share of the capacity (by weight of all weights, level by
  /// level) or its min, and comes to owe nothing.
  bool may_borrow = true;
  /// It repays what it owes by what falls to it, and borrows nothing more.
  bool leaving = false;
  /// The most that others may owe it, and that it may owe, where the ledger counts time.
  LoanCaps caps{};
  /// None: it shares the cluster with the weight that it has in the sequence, of all resources.
  std::optional<QuotaPlace> place = std::nullopt;
  [[nodiscard]] bool lends() const { return may_lend || leaving; }
  [[nodiscard]] bool borrows() const { return may_borrow && !leaving; }
  friend bool operator==(const TenantTerms&, const TenantTerms&) = default;
};

/// All who share the cluster. The tenants' weights are those of the sequence: where there are
/// groups they follow the tree (policy/quota/tree_weights.hpp), and every tenant has a place in it.
struct TenantTree {
  struct Group {
    GroupId id;
    GroupTerms terms;
  };
  struct Tenant {
    TenantId id;
    TenantTerms terms;
  };
  std::vector<Group> groups;    ///< each after the one that it is in
  std::vector<Tenant> tenants;  ///< by id
};

/// Of WaitingRange::late_in_ms.
inline constexpr std::int64_t kNeverLate = std::numeric_limits<std::int64_t>::max();

/// Whose room a task may take, and who may take a task's: policy/allocator/reclaim.hpp.
struct PreemptionTerms {
  std::int32_t priority = 0;
  bool preempts = false;        ///< it may take the room of tasks of lower priority
  bool is_preemptible = false;  ///< those that preempt may take its room
  bool ends_as_gang = false;    ///< then with all other tasks of its job
  friend bool operator==(const PreemptionTerms&, const PreemptionTerms&) = default;
};

/// Tasks `first_index .. first_index + count - 1` of a job, alike in all that matters here.
struct WaitingRange {
  JobId job;
  std::uint32_t first_index = 0;
  std::uint32_t count = 1;
  std::uint32_t attempt = 1;
  ResourceVector demand;
  PlacementRulePtr rule;
  // Read where the ledger counts time:
  /// How long each may run: by its class's history, or by its limit. 0: not known.
  std::int64_t expected_ms = 0;
  PredictionSource expected_from = PredictionSource::limit;  ///< where `expected_ms` is known
  /// How long each holds its room at most, as far as plans go. 0: for ever. Read before a node
  /// closes, however the ledger counts.
  std::int64_t limit_ms = 0;
  /// They have waited for long when so much time has passed (negative: since then): see
  /// policy/allocator/by_time.hpp.
  std::int64_t late_in_ms = kNeverLate;
  /// How long they have waited then.
  std::int64_t patience_ms = 0;
  bool is_service = false;  ///< see PlannedRun
  /// Left to this node while that takes tasks and has room for it. None: whichever comes first.
  NodeId home{};
  /// They are all of a gang: they start at once, on whichever nodes, or not at all.
  bool is_gang = false;
  PreemptionTerms preemption = {};
  /// By which a node is chosen among those with room; not for gangs, nor while `home` has room.
  Placement placement = Placement::unset;
  std::string user = {};  ///< of the tenant; empty: none
  TaskKind kind = {};
  bool hides_alike = false;  ///< more tasks of their kind wait than the window shows
};

/// How long one of the tasks may run; 0: for ever.
[[nodiscard]] inline std::int64_t longest_run_ms(const WaitingRange& task) {
  return task.is_service ? 0 : task.limit_ms;
}

[[nodiscard]] inline QuotaPlace place_of(const TenantTerms& terms) {
  return terms.place.value_or(QuotaPlace{.group = {}, .weight = terms.weight});
}

/// The next tasks a tenant would run, in its own order.
struct DemandWindow {
  TenantId tenant;
  std::vector<WaitingRange> next;
  /// By which its elastic jobs would grow, oldest job first, then of kinds that these hide; not in
  /// `pending`.
  std::vector<WaitingRange> growth = {};
  /// Everything that waits, also beyond `next`.
  ResourceVector pending;
  std::uint64_t pending_tasks = 0;
  /// The last deal (by number) that the tenant had seen when it made this window; tasks granted
  /// later are struck from it.
  std::uint64_t seen_deal = 0;
  /// Its users come in turns, as in `next`, and go on so while tasks begin and end
  /// (policy/allocator/user_turns.hpp).
  bool takes_turns = false;
  /// Then when those in `next` were served last: UserShare::served. Of the others: never.
  std::map<std::string, std::uint64_t> served = {};
  /// What has ended and was released unheard, and what follows from it is in this window.
  std::vector<TaskKey> heard = {};
};

/// What a listing shows of a tenant.
struct TenantView {
  TenantId tenant;
  ResourceVector request;
  ResourceVector quota;
  ResourceVector used;
  std::uint64_t pending_tasks = 0;
  std::uint64_t running_tasks = 0;
  Units net = 0;      ///< where the ledger counts time, in unit-milliseconds
  Units deficit = 0;  ///< in the accounts
  Units credit = 0;   ///< for growth, in unit-milliseconds
  Units extras = 0;   ///< units that its elastic jobs hold beyond what they started with
  CreditAdvice advice = CreditAdvice::none;
  /// Where the ledger counts time, else zeros.
  MicroUnits held = 0;
  MicroUnits part = 0;  ///< what belongs to it, busy or not
  MicroUnits mark = 0;  ///< up to which it has a claim now: after what comes back, or falls due
};

/// What all tenants hold and wait for together.
struct ClusterUse {
  ResourceVector used;
  std::uint64_t pending_tasks = 0;
  std::uint64_t running_tasks = 0;
};

/// A task that has a device, or a part of one that tasks share.
struct DeviceHolder {
  TaskKey task;
  TenantId tenant;
  Amount share = 0;  ///< in thousandths; 0: the device is not shared
  friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};

struct NodeView {
  NodeId node;
  ResourceVector capacity;
  ResourceVector free;
  std::uint64_t running_tasks = 0;
  bool accepts = false;
  std::optional<TenantId> reserved_for;  ///< its room is kept for a task of that tenant
  /// Then that task is expected to have room, in the ledger's time; none: that is not known.
  std::optional<LedgerMs> reserved_from_ms = std::nullopt;
  std::map<std::string, std::vector<DeviceHolder>> device_holders = {};  ///< by its name
};

/// Why a waiting task waits: `first` is what a deal would stumble over first, `also` everything
/// else.
struct Obstacle {
  std::string code;  ///< no_node_up, placement, node_size, gang_size, gang, node_busy, device, max,
                     ///< quota, share, may_not_borrow, order
  std::string message;  ///< plain words with the numbers
  friend bool operator==(const Obstacle&, const Obstacle&) = default;
};

/// What the messages of obstacles call things. Who is not named is told by number.
struct ObstacleNames {
  std::vector<std::string> resources;  ///< by index
  std::map<GroupId, std::string> groups;
  std::map<NodeId, std::string> closed = {};  ///< why a node takes no tasks now: `is drained`
  std::map<TenantId, std::string> tenants = {};
  bool tells_of_others = true;  ///< which tasks of other tenants hold devices
};

/// When the next task of a job that waits is expected to have room.
struct PlannedStart {
  TenantId tenant;
  JobId job;
  NodeId node;
  LedgerMs at_ms = 0;  ///< in the ledger's time
};

/// A task that runs.
struct HeldTask {
  NodeId node;
  Grant grant;
  PlannedRun run{};        ///< read where the ledger counts time
  bool reclaimed = false;  ///< it has been told to end, see Allocator::reclaim
  PreemptionTerms preemption{};
  std::string user = {};  ///< of the tenant
};

struct SharedDeals {
  std::vector<Deal> deals;  ///< one for each node
  bool is_cut = false;      ///< by a bound: more may fit
};

class Allocator {
 public:
  explicit Allocator(AllocatorSettings settings);
  Allocator(const Allocator&);
  Allocator(Allocator&&) noexcept;
  Allocator& operator=(const Allocator&);
  Allocator& operator=(Allocator&&) noexcept;
  ~Allocator();

  // -- what is known
  // -------------------------------------------------------------------------------
  /// Adds a group without tenants or changes its terms. The group that it is in was set before, and
  /// stays.
  void set_group(GroupId group, const GroupTerms& terms);
  /// Adds a tenant (it joins the sequence) or changes its terms.
  void set_tenant(TenantId tenant, const TenantTerms& terms);
  /// From here on these share the cluster, and no others: sets all groups and tenants. Who was
  /// known and is not among them is divided: it must hold no task and owe nothing, and what it is
  /// owed its heirs are owed. O(tenants * log) where the groups are others than before.
  void set_tree(const TenantTree& tree, std::span<const Accounts::Division> divided);
  /// The tenant leaves the sequence and the accounts; it must hold no task and owe nothing. Returns
  /// the units forgiven, see Accounts::leave: net and deficit of other tenants change.
  Units remove_tenant(TenantId tenant);
  /// Adds a node or changes it. `accepts` is false while it drains or is silent: nothing is dealt
  /// there.
  void set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                bool accepts);
  /// From that moment of the clock on nothing is to run there that starts from now on: the node
  /// takes only tasks whose limits end them before. None: it takes all again, as a new node does.
  void close_node_from(NodeId node, std::optional<LedgerMs> at_ms);
  void remove_node(NodeId node);  ///< must run no task
  /// Replaces what the tenant wants. Tasks that are held, or were granted after `seen_deal`, are
  /// struck.
  void set_window(DemandWindow window);
  /// What happens from here on happens then. Time never goes back. Where the ledger counts units,
  /// it counts from any moment.
  void pass_to(LedgerMs now_ms);
  /// Where the ledger counts time: brings the accounts up to now. What went into them, if
  /// anything did.
  /// O(tenants + loans). To be called at least once a second while time passes, and before a tenant
  /// is removed.
  std::optional<TimeSettlement> settle_time();
  /// Credits for growth over that period; what went into the accounts, if anything did. O(tenants).
  std::optional<CreditSettlement> settle_credits(std::int64_t period_ms);
  /// Strikes a cancelled job's waiting tasks at once.
  void withdraw(TenantId tenant, JobId job);
  /// A held task ended or was taken back: its room is free again. Unknown tasks are ignored
  /// (false).
  bool release(const TaskKey& task);
  /// The same of one whose tenant hears of it later: nothing grows into its room until a window
  /// says that it has (DemandWindow::heard). Room that has no such window is never grown into.
  bool release_unheard(const TaskKey& task);
  /// A held task is told to end, though no reclaim() said so. Unknown tasks are ignored.
  void note_told_to_end(const TaskKey& task);
  /// A grant's launch failed: what others advanced for it goes back to those that are still here.
  void take_back(TenantId borrower, const std::vector<Advance>& advances);
  /// None more than is owed. Where the ledger counts time, marks follow.
  void forgive(TenantId debtor, std::span<const ForgivenDebt> debts);

  // -- after a restart
  // -----------------------------------------------------------------------------
  /// After all tenants are set.
  void restore(const AccountsSnapshot& accounts);
  /// After their nodes and tenants are set.
  void restore_held(std::span<const HeldTask> held);
  /// The ledger that was taken back to an earlier state counts a new incarnation: tasks granted
  /// from here on carry it in their keys, so that none is taken for one of the life that was lost.
  void set_incarnation(std::uint32_t incarnation);
  /// Deals are numbered on from here: tenants may have seen that many already.
  void restore_last_deal(std::uint64_t number);

  // -- the deal
  // ------------------------------------------------------------------------------------
  /// Deals the free room of one node; nothing when nobody can use any of it and it is kept for the
  /// same task as before. A deal without grants says for whom it is kept from now on. The state
  /// moves on as if the deal were durable: a caller that cannot make it so must stop. Deals are
  /// numbered from 1. `gives_all_places`: where the ledger counts time; else to the first in turn
  /// only, once nothing fits any more (policy/allocator/by_time.hpp).
  std::optional<Deal> deal(NodeId node, bool gives_all_places = true);
  /// Whether all nodes are dealt together by deal_by_share(), and never one by one.
  [[nodiscard]] bool allocates_by_share() const;
  /// See policy/allocator/by_share.hpp.
  [[nodiscard]] SharedDeals deal_by_share(std::size_t max_deals, std::size_t max_entries);
  /// Whether the last call of `deal` left a task to its own node, or to one at a site that its job
  /// prefers. Once that node was dealt, another deal of this one may find the task still waiting.
  [[nodiscard]] bool left_to_preferred() const;
  /// Whether the last call of `deal` placed tasks of a gang. Then it placed nothing after them, and
  /// another deal of the same node may.
  [[nodiscard]] bool placed_gang() const;
  /// Somebody whose window has run out has more to come within its quota: nothing is to be dealt
  /// until its next window (policy/allocator/run_out.hpp).
  [[nodiscard]] bool awaits_window() const;
  /// A cycle begins: nodes that did not take what placement rules chose them for may do so now.
  void begin_choices();
  /// To be dealt next: nodes that placement rules choose for tasks that the last call of `deal`
  /// looked at, and that still wait (policy/allocator/node_choice.hpp).
  [[nodiscard]] const std::vector<NodeId>& chosen_next() const;
  /// Whether the last call of `deal` left a task to the node that its rule chooses.
  [[nodiscard]] bool left_to_chosen() const;
  /// Whether it was the last of the nodes that a rule chose in vain: from here on in this cycle
  /// such tasks go wherever they may, also to nodes that left them to others.
  [[nodiscard]] bool gave_up_choosing() const;
  /// In this cycle rules choose nothing more: tasks go wherever they may. True: they did until now.
  bool stop_choosing();
  /// How many deals of that many nodes, beside those that placed something, may place nothing in
  /// this cycle before rules have to stop.
  [[nodiscard]] std::size_t looks_in_vain(std::size_t nodes, std::size_t deals) const;
  /// While a gang is placed only in part: the node that must be dealt next, before anything else
  /// happens. Its deal belongs into one record with those before.
  [[nodiscard]] std::optional<NodeId> next_of_gang() const;
  /// Deals idle room to elastic jobs, whatever the sequence and quotas: to be called when nothing
  /// else can be dealt. At most so many deals, and until they have so many entries together; then
  /// more may be possible. O(growing tenants * log, and nodes with room).
  [[nodiscard]] std::vector<Deal> grow(std::size_t max_deals, std::size_t max_entries);
  /// Which tasks must end for tasks within their quotas that wait, and for bounds of growth: each
  /// is named once. Their room counts as coming from then on. `for_min`: tasks within a min
  /// preempt, too. See policy/allocator/reclaim.hpp.
  [[nodiscard]] std::vector<Reclaim> reclaim(bool for_min);
  /// Somebody has grown, or who waits may preempt: reclaim() may find something, also because time
  /// passes.
  [[nodiscard]] bool may_reclaim() const;
  /// The same for mins. O(tenants with a min that wait, and groups with one), or while a group is
  /// below its own O(tenants that wait * depth).
  [[nodiscard]] bool may_reclaim_for_min() const;
  /// Room that was kept for who preempted is for all again since this was asked last, on nodes that
  /// were not dealt.
  [[nodiscard]] bool take_freed_made_rooms();
  [[nodiscard]] bool may_grow() const;  ///< somebody would
  /// Somebody would, and the node has room for it. O(ranges that would grow).
  [[nodiscard]] bool may_grow_on(NodeId node) const;
  /// All room that is kept for gangs is looked at anew. Without this it is with each settlement.
  void forget_gang_plans();
  /// Some was since this was asked last: it is kept again once all nodes have been dealt.
  [[nodiscard]] bool take_forgotten_gang_plans();
  /// The first node from that id on whose deal may do more than give places: it may have room for
  /// the least that somebody who waits asks for, or something there is to be looked at anew. Where
  /// the ledger counts units, deals of the others do nothing. O(log nodes).
  [[nodiscard]] std::optional<NodeId> next_that_matters(NodeId from) const;
  [[nodiscard]] bool may_matter(NodeId node) const;
  /// False also where it is not known. O(1).
  [[nodiscard]] bool takes_tasks(NodeId node) const;
  [[nodiscard]] std::size_t waiting_tenants() const;
  [[nodiscard]] bool counts_time() const;
  [[nodiscard]] std::uint64_t last_deal() const;

  // -- views
  // ---------------------------------------------------------------------------------------
  [[nodiscard]] TenantView tenant(TenantId tenant) const;
  [[nodiscard]] NodeView node(NodeId node) const;
  [[nodiscard]] ClusterUse use() const;  ///< O(tenants)
  [[nodiscard]] const Accounts& accounts() const;
  [[nodiscard]] const IouBook& book() const { return accounts().book(); }
  [[nodiscard]] std::uint64_t position() const { return accounts().position(); }
  /// True when a task of this size could run on some node if that node were empty.
  [[nodiscard]] bool could_ever_fit(const ResourceVector& demand, const PlacementRule* rule) const;
  /// Everything that keeps this waiting task from being placed now, first things first.
  [[nodiscard]] std::vector<Obstacle> explain_waiting(TenantId tenant, JobId job,
                                                      std::uint32_t index,
                                                      const ObstacleNames& names = {}) const;
  /// Of the jobs that have a place in time whose moment is known: policy/allocator/by_time.hpp.
  /// O(tenants that wait + places).
  [[nodiscard]] std::vector<PlannedStart> planned_starts() const;
  /// In how long the job's next task is expected to have room, if that is known. O(places of the
  /// tenant).
  [[nodiscard]] std::optional<std::int64_t> starts_in_ms(TenantId tenant, JobId job) const;
  /// Where the ledger counts time. O(IOUs of the tenant, and of its creditors after a change).
  [[nodiscard]] std::optional<ExplainedMark> explain_mark(TenantId tenant) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline policy::inline allocator
