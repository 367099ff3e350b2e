// What the allocator knows, and the changes that do not need a deal. Internal to policy/: the
// public face is policy/allocator/allocator.hpp, the deal itself is policy/allocator/node_deal.hpp.
//
// Invariants
//   - the accounts hold (policy/ledger/accounts.hpp); tenants' `deficit`, `net` and remainder, and
//     the reservations of nodes that take tasks, are copies that follow them;
//   - the water level's capacity is that of accepting nodes plus what is held on the others, so
//     that a draining node's tasks do not push their tenants above a quota that cannot contain
//     them;
//   - `waiting` holds exactly the tenants with a window that is not empty, `unsettled` and
//   `deficits`
//     those with a deficit, `idle_unsettled` those of them that wait for nothing; all but
//     `deficits` in ranked order;
//   - `growing` holds exactly the tenants whose elastic jobs would grow;
//   - `rooms` has what one task may take of every node that takes tasks (room_for_one), or took
//     before the deal that goes on, but those that keep room as nodes with room for anything; and
//     what those wait for that wait;
//     `regrown_rooms` those whose room has grown since their last deal: they are looked at
//     (may_matter) whatever they have free.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/contenders.hpp"
#include "policy/allocator/device_choice.hpp"
#include "policy/allocator/device_shares.hpp"
#include "policy/allocator/node_choice.hpp"
#include "policy/allocator/node_room.hpp"
#include "policy/allocator/node_table.hpp"
#include "policy/allocator/quotas.hpp"
#include "policy/allocator/rule_rooms.hpp"
#include "policy/allocator/site_rooms.hpp"
#include "policy/allocator/tenant.hpp"
#include "policy/allocator/unheard_ends.hpp"
#include "policy/core/ranked_list.hpp"
#include "policy/core/slot_index.hpp"
#include "policy/elastic/growth.hpp"
#include "policy/ledger/accounts.hpp"
#include "policy/sequence/sequence.hpp"

namespace fairwater::inline policy::inline allocator {

/// Whether its job asks for devices by name.
[[nodiscard]] inline bool names_devices(const WaitingRange& task) {
  return task.rule != nullptr && !task.rule->devices.empty();
}

class AllocatorState {
 public:
  explicit AllocatorState(AllocatorSettings settings);

  // -- tenants
  // -------------------------------------------------------------------------------------
  void set_group(GroupId id, const GroupTerms& terms);
  void set_tenant(TenantId id, const TenantTerms& terms);
  void set_tree(const TenantTree& tree, std::span<const Accounts::Division> divided);
  Units remove_tenant(TenantId id);
  [[nodiscard]] TenantState& tenant(TenantId id);
  [[nodiscard]] const TenantState& tenant(TenantId id) const;
  [[nodiscard]] TenantState& at(std::uint32_t slot) { return tenants_[slot]; }
  [[nodiscard]] const TenantState& at(std::uint32_t slot) const { return tenants_[slot]; }
  [[nodiscard]] std::size_t slots() const { return tenants_.size(); }
  void take_back(TenantId borrower, const std::vector<Advance>& advances);
  void forgive(TenantId debtor, std::span<const ForgivenDebt> debts);
  /// After all tenants are set.
  void restore(const AccountsSnapshot& snapshot);
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }
  /// Of the accounts, up to date.
  [[nodiscard]] const LoanGroups& loan_groups();
  /// Tenants with a deficit above zero, or with one below it, in ranked order.
  [[nodiscard]] const std::set<RankKey>& unsettled(bool above_zero) const {
    return above_zero ? unsettled_above_ : unsettled_below_;
  }
  /// How much their deficits are, whatever the sign, and their slots.
  [[nodiscard]] const std::set<std::pair<Units, std::uint32_t>>& deficits() const {
    return deficits_;
  }
  [[nodiscard]] const RankedList& waiting() const { return waiting_; }
  /// Whether deals find who comes first by `contenders`, and do not look at all who wait.
  [[nodiscard]] bool looks_at_few() const {
    return !settings.looks_at_all && !allocates_by_share();
  }
  /// The same of deals of that node: before it closes, of tasks that ask for the same only some may
  /// start there.
  [[nodiscard]] bool looks_at_few(const NodeRoom& node) const {
    return looks_at_few() && node.closes_ms == kNever;
  }
  /// As the tenants are now, where deals look at few.
  [[nodiscard]] Contenders& contenders() {
    contenders_.refresh(*this);
    return contenders_;
  }
  /// All who wait are looked at, and no class of them tells of work.
  void look_for_no_work() { contenders_.look_for_no_work(); }
  /// As they were when that was called last.
  [[nodiscard]] const Contenders& contenders_of_deal() const { return contenders_; }
  /// Slots of tenants that others owe units, where the ledger counts those.
  [[nodiscard]] const std::set<std::uint32_t>& creditors() const { return creditors_; }
  /// Those of `unsettled` that wait for nothing.
  [[nodiscard]] const RankedList& idle_unsettled() const { return idle_unsettled_; }

  // -- windows
  // -------------------------------------------------------------------------------------
  void set_window(DemandWindow window);
  void withdraw(TenantId id, JobId job);
  /// Users come in their turns again, where tasks have begun or ended since. To be called before a
  /// deal.
  void arrange_turns();
  /// A deal placed some of its tasks.
  void forget_granted(TenantState& tenant);
  /// All tasks of the range, which is in the tenant's window, have been placed. Where more of their
  /// kind wait than it shows, and a node has room for another, but none for any that it still
  /// shows, these do not count any more. O(log nodes) for each other demand until one has room, and
  /// kFewLooks nodes of each.
  void note_granted_whole(TenantState& tenant, const WindowRange& entry);
  /// Slots of tenants whose windows have run out.
  [[nodiscard]] const std::set<std::uint32_t>& run_out() const { return run_out_; }
  [[nodiscard]] Units cost(const ResourceVector& demand) const;
  /// As a window holds it.
  [[nodiscard]] WindowRange entry_of(WaitingRange range) const;

  // -- time, where the ledger counts it
  // ---------------------------------------------------------------
  [[nodiscard]] bool counts_time() const {
    return settings.accounting == Accounting::time && !allocates_by_share();
  }
  [[nodiscard]] bool allocates_by_share() const {
    return settings.allocation == AllocationRule::drf;
  }
  void pass_to(LedgerMs now_ms);
  [[nodiscard]] LedgerMs now_ms() const { return accounts_.time().now_ms(); }
  /// By the ledger's time, or from any moment.
  [[nodiscard]] LedgerMs clock_ms() const { return counts_time() ? now_ms() : clock_ms_; }
  std::optional<TimeSettlement> settle_time();
  /// Follows capacity and terms: to be called before parts are read.
  void refresh_parts();
  /// Where tenants are in groups, follows who waits: to be called before a deal's first turn.
  void refresh_turns();
  /// What was found in an earlier round of claims and debts, or of debts and parts alone, may be
  /// out of date. Each round of debts begins one of claims, too.
  [[nodiscard]] std::uint64_t claims_round() const { return claims_round_; }
  [[nodiscard]] std::uint64_t debts_round() const { return debts_round_; }

  // -- growth, see growth.hpp
  // ------------------------------------------------------------------------
  /// Tenants whose elastic jobs would grow, in ranked order.
  [[nodiscard]] const RankedList& growing() const { return growing_; }
  struct Extra {
    NodeId node;
    TenantId tenant;
    ResourceVector demand;
  };
  /// Tasks by which elastic jobs have grown, but those that have been told to end.
  [[nodiscard]] const std::map<TaskKey, Extra>& extras() const { return extras_; }
  /// Tenants with something in their window that may preempt, in ranked order.
  [[nodiscard]] const RankedList& preempting() const { return preempting_; }
  /// Somebody with something in its window holds less than its min, or a group that it is in does,
  /// for which tasks preempt. O(tenants with a min that wait, and groups with one), or while a
  /// group is below its own O(tenants that wait * depth).
  [[nodiscard]] bool min_waits() const;
  [[nodiscard]] bool is_in_group_below_min(const TenantState& tenant) const;
  struct GangTask {
    TaskKey task;
    NodeId node;
    ResourceVector demand;
  };
  struct Preemptible {
    TaskKey task;
    Extra held;
    std::int32_t priority = 0;
    std::int64_t ran_ms = 0;
    /// Of a gang all of its tasks, by node: what is held is all of it.
    std::vector<GangTask> gang{};
  };
  /// What runs, may be preempted and has not been told to end; a gang as one, unless some of it has
  /// been told to. O(tasks that run).
  [[nodiscard]] std::vector<Preemptible> preemptible() const;
  /// Nodes where tasks have been told to end.
  [[nodiscard]] const std::set<NodeId>& ending_on() const { return ending_on_; }
  /// On these nodes together a gang will have room, of which some is coming: until it has come,
  /// what is free there is not for growth. Where the ledger counts time plans keep it (gangs.hpp).
  void await_gang_on(std::set<NodeId> nodes) { awaited_.push_back(std::move(nodes)); }
  void await_no_gang() { awaited_.clear(); }
  /// What will be taken below the max of each tenant, and of each group by its number, by tasks
  /// that wait within their quota and have room, or will have: nothing grows into that.
  struct Claims {
    std::map<TenantId, ResourceVector> of_tenants;
    std::vector<ResourceVector> in_groups;
  };
  void set_claims(Claims claims) { claims_ = std::move(claims); }
  [[nodiscard]] bool has_claims() const { return !claims_.of_tenants.empty(); }
  [[nodiscard]] ResourceVector claimed_by(TenantId tenant) const {
    const auto claims = claims_.of_tenants.find(tenant);
    return claims == claims_.of_tenants.end() ? ResourceVector{} : claims->second;
  }
  [[nodiscard]] ResourceVector claimed_in_group(QuotaTree::Group group) const {
    return group < claims_.in_groups.size() ? claims_.in_groups[group] : ResourceVector{};
  }
  /// O(gangs that were awaited * their nodes).
  [[nodiscard]] bool awaits_gang_on(NodeId node) const;
  /// As the rule of growth sees it.
  [[nodiscard]] GrowthStanding growth_standing(const TenantState& tenant) const;
  [[nodiscard]] GrowthTotals growth_totals() const;
  std::optional<CreditSettlement> settle_credits(std::int64_t period_ms);
  /// The deal places the task into idle room: it is held, and no quota counts it.
  void place_extra(NodeRoom& node, TenantState& tenant, const Grant& grant, const PlannedRun& run,
                   const PreemptionTerms& preemption, const std::string& user);
  [[nodiscard]] bool holds(const TaskKey& task) const { return held_.contains(task); }
  /// The task, which is held, has been told to end.
  void note_reclaim(const TaskKey& task);

  // -- room that was made by preemption (state_made_rooms.cpp)
  // ------------------------------------------------------------------------
  /// Nobody else takes it, until the job's tasks start there, or wait no longer, or nothing is
  /// coming any more with which they would have room. Without that others who are before the job
  /// would take it, whom it would preempt next. A coordinator that starts anew does not know it.
  void keep_made_room(NodeId node, const MadeRoom& room);
  /// Nothing of it is kept there any more.
  std::vector<MadeRoom> lift_made_rooms(NodeRoom& node);
  /// The node takes no tasks any more: nor is anything kept elsewhere for those who had room there.
  void forget_made_rooms(NodeRoom& node);
  /// The same on all nodes, of that job.
  std::vector<std::pair<NodeId, MadeRoom>> lift_made_rooms_of(TenantId tenant, JobId job);
  /// Tasks of the job for which room is kept.
  [[nodiscard]] std::uint32_t tasks_with_made_room(TenantId tenant, JobId job) const;
  /// Whether a node that keeps room for the job has tasks that were told to end.
  [[nodiscard]] bool made_room_is_coming(TenantId tenant, JobId job) const;
  /// The first node that keeps room for the job.
  [[nodiscard]] std::optional<NodeId> node_with_made_room(TenantId tenant, JobId job) const;
  /// What is free, or coming, below the maxes of groups that the tenants are in, and was made by
  /// preemption for these jobs: no other tenant takes it. Instead of what was promised before.
  void promise_below_maxes(std::vector<MadeRoom> promises);
  /// Of each job of the tenant, to which so many tasks are promised.
  [[nodiscard]] const std::vector<MadeRoom>& promises_below_maxes() const { return promises_; }
  /// Nodes that were not dealt may have room again.
  void note_freed_made_rooms() { freed_made_rooms_ = true; }
  /// Whether they may, since this was asked last.
  bool take_freed_made_rooms() { return std::exchange(freed_made_rooms_, false); }

  // -- nodes and held tasks
  // ------------------------------------------------------------------------
  void set_node(NodeId id, const NodeTraits& traits, const ResourceVector& capacity, bool accepts);
  void close_node_from(NodeId id, LedgerMs at_ms);
  void remove_node(NodeId id);
  [[nodiscard]] NodeRoom& node(NodeId id);
  [[nodiscard]] const NodeRoom& node(NodeId id) const;
  /// Null when it is not known. O(1).
  [[nodiscard]] const NodeRoom* find_node(NodeId id) const { return nodes_.find(id); }
  [[nodiscard]] const std::map<NodeId, NodeRoom>& nodes() const { return nodes_.by_id(); }
  [[nodiscard]] const ResourceVector& used() const { return used_; }  ///< on all nodes
  /// Of accepting nodes, and what is held on the others.
  [[nodiscard]] const ResourceVector& capacity() const { return capacity_; }
  /// The first node from that id on whose deal may change anything by itself: it may have room for
  /// the least that somebody who waits asks for, or it keeps room, or where the ledger counts time
  /// its room has grown since its last deal. Where the ledger counts units, deals of the others
  /// change nothing; where it counts time, they give places only. O(log nodes).
  [[nodiscard]] std::optional<NodeId> next_that_matters(NodeId from) const;
  [[nodiscard]] bool may_matter(NodeId node) const;
  /// A deal places the task: it is held, and waits no longer.
  void place(NodeRoom& node, TenantState& tenant, const Grant& grant, const PlannedRun& run,
             const PreemptionTerms& preemption, const std::string& user);
  void restore_held(std::span<const HeldTask> held);
  bool release(const TaskKey& task);
  /// As release; nothing grows into its room until its tenant has heard of its end.
  bool release_unheard(const TaskKey& task);
  [[nodiscard]] const UnheardEnds& unheard_ends() const { return unheard_ends_; }
  /// Whether the task's rule allows the node, and it ends before that closes if it starts now.
  [[nodiscard]] bool is_allowed_on(const NodeRoom& node, const WaitingRange& task) const {
    return (task.rule == nullptr || task.rule->allows(node.traits)) &&
           node.is_open_for(task, clock_ms());
  }
  /// False: of all that waits nothing ends before the node closes if it starts now. O(1).
  [[nodiscard]] bool something_is_in_time(const NodeRoom& node) const {
    return node.closes_ms == kNever ||
           (!shortest_runs_.empty() &&
            moment_in(clock_ms(), shortest_runs_.begin()->first) <= node.closes_ms);
  }
  /// As is_allowed_on, and the node's room is not kept for somebody else's.
  [[nodiscard]] bool may_use_room(const NodeRoom& node, const TenantState& tenant,
                                  const WaitingRange& task) const;
  /// Whether others may be preempted there for it, or give back what has grown. Where the ledger
  /// counts time what that makes is kept for it, whoever has a place, or a plan for a gang.
  [[nodiscard]] bool may_preempt_on(const NodeRoom& node, const TenantState& tenant,
                                    const WaitingRange& task) const;
  /// As may_use_room, and whether the devices that it takes are free there.
  [[nodiscard]] bool may_use(const NodeRoom& node, const TenantState& tenant,
                             const WaitingRange& task) const;
  /// Whether some node of the site has room for the task now that its rule allows and that is not
  /// kept for somebody else's.
  [[nodiscard]] bool site_has_room(const std::string& site, const TenantState& tenant,
                                   const WaitingRange& task);
  /// The same of one node, which may be gone.
  [[nodiscard]] bool node_has_room(NodeId node, const TenantState& tenant,
                                   const WaitingRange& task) const;
  /// By its tenant's own max and its groups', for what starts at once.
  [[nodiscard]] bool is_within_max(const TenantState& tenant, const WindowRange& entry) const;
  /// Below these maxes on some node, as far as kFewLooks of them tell. Not of a gang: one that
  /// waits was tried.
  [[nodiscard]] bool may_have_room(const TenantState& tenant, const WindowRange& entry);
  /// The same of any node; where more than so many have room that may not be used, the first ones
  /// tell.
  [[nodiscard]] bool somewhere_has_room(const TenantState& tenant, const WaitingRange& task,
                                        std::uint32_t most_looks = SiteRooms::kMaxNodesLookedAt);

  /// The node that the task's placement rule chooses, see node_choice.hpp.
  [[nodiscard]] std::optional<NodeId> choose_node(const TenantState& tenant,
                                                  const WaitingRange& task) {
    return choices_.choose(*this, tenant, task);
  }
  [[nodiscard]] NodeChoices& choices() { return choices_; }
  /// What the task would get there by name; none: what it names is not free there now. Of shared
  /// GPUs `among` those, else of all but what is kept from it.
  [[nodiscard]] std::optional<std::vector<std::string>> devices_for(
      const NodeRoom& node, const WaitingRange& task,
      const std::vector<std::string>* among = nullptr) const;
  /// The same of one that is placed there, and so has room.
  [[nodiscard]] std::vector<std::string> devices_of_placed(
      const NodeRoom& node, const WaitingRange& task,
      const std::vector<std::string>* among = nullptr) const;
  [[nodiscard]] bool has_devices_for(const NodeRoom& node, const WaitingRange& task) const {
    return (!names_devices(task) && !takes_shares(task.demand)) ||
           devices_for(node, task).has_value();
  }
  /// The same of shared GPUs once all has ended that ends by itself. Of other devices: true.
  [[nodiscard]] bool has_shares_one_day(const NodeRoom& node, const WaitingRange& task) const;
  /// What is free of the node's shared GPUs then. None: it has none, or nobody knows.
  [[nodiscard]] std::optional<GpuNode> gpus_beside_services(const NodeRoom& node) const;
  /// The same of a node that runs nothing.
  [[nodiscard]] std::optional<GpuNode> gpus_when_empty(const NodeRoom& node) const;
  /// Of shared GPUs; kMaxResources: the cluster has none.
  [[nodiscard]] std::size_t shared_resource() const { return shared_resource_; }
  [[nodiscard]] bool takes_shares(const ResourceVector& demand) const {
    return shared_resource_ < kMaxResources && demand[shared_resource_] > 0;
  }
  /// The node's shared GPUs; null: it has told none.
  [[nodiscard]] const NodeDevices* shared_devices(const NodeRoom& node) const;
  /// Those that the task would get now, but for `kept_for_others`.
  [[nodiscard]] std::optional<ChosenShares> shares_for(
      const NodeRoom& node, const ResourceVector& demand, const PlacementRule* rule,
      const std::set<std::string>& kept_for_others) const;
  /// The same of that room.
  [[nodiscard]] std::optional<ChosenShares> shares_of(
      const NodeRoom& node, const GpuNode& room, const ResourceVector& demand,
      const PlacementRule* rule, const std::set<std::string>& kept_for_others) const;
  /// The same while `held` are held, and nothing else.
  [[nodiscard]] std::optional<ChosenShares> shares_beside(
      const NodeRoom& node, const ResourceVector& demand, const PlacementRule* rule,
      const DeviceUses& held, const std::set<std::string>& kept_for_others) const;
  /// Whose kept GPUs count.
  struct KeptFor {
    LedgerMs late_by_ms = kNever;  ///< of what is late by then
    bool all_gangs = false;        ///< also of those that had no turn in the node's last deal
  };
  /// Of the node's shared GPUs those that are kept for other jobs and would not be free in time if
  /// the task held them for so long as is expected.
  [[nodiscard]] std::set<std::string> kept_from(const NodeRoom& node, const WaitingRange& task,
                                                const KeptFor& whose) const;
  [[nodiscard]] std::set<std::string> kept_from(const NodeRoom& node,
                                                const WaitingRange& task) const {
    return kept_from(node, task, {});
  }
  /// Calls `visit(plan, share)` for each plan, but the job's own, by which the node keeps GPUs.
  template <class Visit>
  void visit_gangs_gpus(const NodeRoom& node, JobId job, const KeptFor& whose,
                        Visit&& visit) const {
    for (const NodeRoom::KeptForGang& kept : node.kept_for_gangs) {
      const GangPlan& plan = gang_plans_[kept.plan];
      if (plan.job != job && plan.late_from_ms <= whose.late_by_ms &&
          (whose.all_gangs || kept.had_turn))
        visit(plan, plan.shares[kept.share]);
    }
  }
  /// Calls `visit(node, demand)` for each task that is held. O(such).
  template <class Visit>
  void visit_held(Visit&& visit) const {
    for (const auto& [task, held] : held_) visit(held.node, held.grant.demand);
  }

  /// What one task may take of the node: of GPUs that tasks share a part of one, or empty ones.
  [[nodiscard]] ResourceVector room_for_one(const NodeRoom& node) const;
  /// The first node from that id on that may have room for the task and run it. O(log nodes).
  [[nodiscard]] std::optional<NodeId> next_with_room(NodeId from, const WaitingRange& task) const {
    return next_with_room(from, task.rule, task.demand);
  }
  [[nodiscard]] std::optional<NodeId> next_with_room(NodeId from, const PlacementRulePtr& rule,
                                                     const ResourceVector& demand) const {
    return rooms_.next(from, rule, demand);
  }

  // -- gangs, see gangs.hpp
  // ------------------------------------------------------------------------
  [[nodiscard]] const std::vector<GangPlan>& gang_plans() const { return gang_plans_; }
  /// Null: none was made since all were forgotten.
  [[nodiscard]] const GangPlan* gang_plan_of(std::uint32_t tenant_slot, JobId job) const;
  /// Whether the node keeps room for a gang other than that.
  [[nodiscard]] bool keeps_for_other_gang(const NodeRoom& node, JobId gang) const;
  /// For so many tasks of the gang the node keeps room.
  [[nodiscard]] std::uint32_t tasks_kept_on(const NodeRoom& node, JobId gang) const;
  /// Its nodes keep room by it, beside what they keep for others.
  const GangPlan& add_gang_plan(GangPlan plan);
  void forget_gang_plans();
  /// Some were since this was asked last.
  [[nodiscard]] bool take_forgotten_gang_plans() {
    return std::exchange(forgot_gang_plans_, false);
  }
  /// The gang, which has a plan, had its turn in the node's deal.
  void note_gang_turn(NodeRoom& node, JobId gang) const;
  /// All nodes together had too little room for the gang, and none has got more since.
  [[nodiscard]] bool lacks_room(JobId gang) const { return gangs_without_room_.contains(gang); }
  void note_lack_of_room(JobId gang) { gangs_without_room_.insert(gang); }

  // -- the deal
  // ------------------------------------------------------------------------------------
  /// The room that the node keeps, which counts for nothing until put_reservation().
  std::optional<Reservation> lift_reservation(NodeRoom& node);
  /// No task has a place there any more, where the ledger counts time.
  void forget_places(NodeRoom& node);
  /// What was to have ended there by history, and has not, is expected to go on. O(such * log).
  void correct_ends(NodeRoom& node);
  /// As the accounts have it.
  [[nodiscard]] std::optional<Reservation> stored_reservation(NodeId node) const;
  /// Until the next deal the node's room is kept so.
  void keep_room(NodeRoom& node, const Reservation& kept);
  /// The node's reservation counts, as the accounts have it, if the node takes tasks.
  void put_reservation(NodeRoom& node);
  /// The deal is done: its record must add up, and goes into the accounts.
  void record(const Deal& deal);
  /// The node is found by what it has free now.
  void refresh_room(const NodeRoom& node);

  // -- quotas
  // --------------------------------------------------------------------------------------
  [[nodiscard]] const AllocatorQuotas& quotas() const { return quotas_; }
  /// Of what the ledger counts over time: what the tenant holds, and what starts at once costs.
  [[nodiscard]] MicroUnits held_in_time(const TenantState& tenant) const;
  [[nodiscard]] MicroUnits cost_in_time(const WindowRange& entry) const;

  AllocatorSettings settings;
  Sequence sequence;
  std::uint64_t deals = 0;  ///< number of the last deal
  std::optional<BegunGang> begun_gang;

 private:
  /// The tenant has joined the accounts, or changed there: all but quotas and position follow.
  TenantState& enter(TenantId id, const TenantTerms& terms);
  void take_off_lists(TenantState& tenant);
  /// Nobody's room is kept for it any more.
  void lift_reservations(const TenantState& leaver);
  /// The tenant has left accounts and quotas: all else but the position follows.
  void forget(TenantState& leaver);
  void refresh_capacity();
  void refresh_shape(TenantState& tenant);
  void forget_shapes(TenantState& tenant);
  void put_shortest(TenantState& tenant, LedgerMs run_ms);
  /// The lists of deficits have the tenant with that one.
  void put_deficit(TenantState& tenant, Units deficit);
  /// What decides whether, and when, it has its turn has changed, or may have.
  void note_contender(const TenantState& tenant) {
    if (looks_at_few()) contenders_.note(tenant.rank.slot);
  }
  /// After a change of tenants, groups or their terms.
  void follow_terms();
  /// After a change of groups, whose tenants stay in them.
  void follow_groups();
  /// A tenant that may not borrow holds at most its plain share of the capacity, or its min.
  void refresh_plain_shares();
  /// Brings every copy of what the last events changed up to date.
  void follow_accounts();
  void follow_account(const Account& account);
  void follow_net(IouBook::Member member);
  void follow_nets(const IouBook::Iou& changed);
  void begin_debts_round();
  /// The sequence has moved because tenants came, changed or went.
  void follow_position();
  /// What the tenant holds has changed, or of what that is counted.
  void count_held(const TenantState& tenant);
  /// Of which most is used, as a part of the capacity.
  [[nodiscard]] std::uint32_t scarcest() const;
  /// To be called after a change of window, pending or deficit.
  void refresh_lists(TenantState& tenant);
  /// Room that was made for more tasks than wait is for all again. O(nodes that keep some).
  void trim_made_rooms(TenantId tenant);
  void trim_promises(TenantId tenant);
  /// A task of the job has started.
  void use_promise(JobId job);
  /// Of the promises, whatever the quotas knew of them.
  void refresh_promises();
  /// The same, or of what it is owed.
  void refresh_claims(TenantState& tenant);
  /// Takes the room on the node and in what the tenant holds; not yet in the water level.
  void hold(NodeRoom& node, TenantState& holder, const Grant& grant, const PlannedRun& run,
            const PreemptionTerms& preemption, const std::string& user);
  /// One of the tenant's users holds so much more, or less.
  void count_user(TenantState& tenant, const std::string& user, Units more);
  static constexpr std::uint32_t kFewLooks = 64;
  [[nodiscard]] bool shows_what_has_room(const TenantState& tenant);
  void strike(TenantState& tenant, const TaskKey& task, const ResourceVector& demand,
              bool counted_as_pending);
  /// Of the tenant's users, by the window and by what was granted since.
  void take_served(TenantState& tenant, const DemandWindow& window);

  std::vector<TenantState> tenants_;  ///< by slot; slots of tenants that left are used again
  std::vector<std::uint32_t> free_slots_;
  SlotIndex slot_of_;  ///< by the tenant's id
  Accounts accounts_;
  Transaction transaction_;  ///< of the last deal; its memory is used again
  bool parts_are_stale_ = false;
  bool loan_groups_are_stale_ = false;
  std::uint64_t claims_round_ = 1;
  std::uint64_t debts_round_ = 1;
  bool waits_in_groups_ = false;   ///< somebody in a group has begun to wait, or ended
  std::uint64_t turns_round_ = 0;  ///< of debts, by which turns of those in groups count
  std::set<TenantId> may_not_borrow_;
  std::set<std::uint32_t> creditors_;
  RankedList waiting_;
  std::set<std::uint32_t> run_out_;
  Contenders contenders_;
  std::set<RankKey> unsettled_above_;
  std::set<RankKey> unsettled_below_;
  std::set<std::pair<Units, std::uint32_t>> deficits_;
  RankedList idle_unsettled_;
  RankedList growing_;
  RankedList preempting_;
  RankedList with_min_;    ///< and something in their windows
  LedgerMs clock_ms_ = 0;  ///< where the ledger counts units
  std::map<TaskKey, Extra> extras_;
  std::set<NodeId> ending_on_;
  std::vector<std::set<NodeId>> awaited_;
  Claims claims_;
  std::set<NodeId> made_on_;  ///< nodes that keep room for those who preempted
  std::vector<MadeRoom> promises_;
  bool freed_made_rooms_ = false;
  NodeTable<NodeRoom> nodes_;
  ResourceVector capacity_;  ///< the water level's
  ResourceVector used_;      ///< on all nodes
  SiteRooms site_rooms_;
  RuleRooms rooms_;
  std::set<NodeId> regrown_rooms_;
  NodeChoices choices_;
  std::set<std::pair<LedgerMs, std::uint32_t>> shortest_runs_;  ///< of who waits, and their slots
  std::vector<GangPlan> gang_plans_;
  bool forgot_gang_plans_ = false;
  std::set<JobId> gangs_without_room_;
  std::set<std::uint32_t> naming_devices_;  ///< slots of tenants whose windows name some
  std::size_t shared_resource_ = kMaxResources;
  ShareMix share_mix_;
  std::set<std::uint32_t> stale_turns_;  ///< slots of tenants, see arrange_turns()
  struct Held {
    NodeId node;
    Grant grant;
    PlannedRun run;
    LedgerMs since_ms = 0;  ///< `run.ran_ms` was true then
    LedgerMs ends_ms = kNever;
    bool reclaimed = false;
    PreemptionTerms preemption;
    LedgerMs begun_ms = 0;  ///< by the clock
    std::string user;
  };
  /// When it is expected to end, as is known now. Later than now.
  [[nodiscard]] LedgerMs expected_end(const Held& held, Predict predict) const;
  /// Devices that somebody asks for by name.
  [[nodiscard]] std::set<std::string> left_for_last() const;
  /// It takes shares of the node's GPUs from now on, or no longer.
  void count_shares(NodeRoom& node, const ResourceVector& demand, bool is_held);
  /// Of the node's shared GPUs all but those.
  [[nodiscard]] std::set<std::string> others_than(const std::vector<std::string>& names,
                                                  const NodeRoom& node) const;
  /// The node has other GPUs that tasks share, or of these others are held.
  void look_at_gpus(NodeRoom& node) const;
  std::map<TaskKey, Held> held_;
  UnheardEnds unheard_ends_;
  AllocatorQuotas quotas_;
};

}  // namespace fairwater::inline policy::inline allocator
