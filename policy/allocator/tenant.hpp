// What the allocator knows of one tenant. Internal to policy/.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/rule_rooms.hpp"
#include "policy/allocator/user_share.hpp"
#include "policy/core/ranked_list.hpp"
#include "policy/core/resource_set.hpp"
#include "policy/quota/quota_tree.hpp"

namespace fairwater::inline policy::inline allocator {

/// No moment of the ledger's time.
inline constexpr LedgerMs kNever = std::numeric_limits<LedgerMs>::max();

/// So much later, or never.
[[nodiscard]] constexpr LedgerMs moment_in(LedgerMs now_ms, std::int64_t later_ms) {
  return later_ms > 0 && now_ms > kNever - later_ms ? kNever : now_ms + later_ms;
}

struct WindowRange {
  WaitingRange range;
  ResourceSet asks;
  Units cost = 1;                    ///< of what starts at once: a task, or a whole gang
  LedgerMs late_from_ms = kNever;    ///< from then on they come before others
  LedgerMs firm_from_ms = kNever;    ///< from then on even where their tenant is at its mark
  std::uint32_t starts_at_once = 1;  ///< tasks
  [[nodiscard]] bool is_gang() const { return range.is_gang; }
  /// 0: it is firm as soon as it is late.
  [[nodiscard]] LedgerMs deferral_ms() const { return firm_from_ms - late_from_ms; }
  [[nodiscard]] Units task_cost() const { return cost / starts_at_once; }
  /// By all that start at once.
  [[nodiscard]] Amount asked_at_once(std::size_t resource) const {
    Amount asked = 0;
    const bool is_too_much =
        __builtin_mul_overflow(range.demand[resource], static_cast<Amount>(starts_at_once), &asked);
    return is_too_much ? kUnlimited : std::min(asked, kUnlimited);
  }
};

/// So many of a gang's tasks on a node.
struct GangShare {
  NodeId node;
  std::uint32_t tasks = 0;
  std::vector<std::string> gpus = {};  ///< where they share some: they get no others
};

/// Where a gang's tasks have room together, see policy/allocator/gangs.hpp. Without shares:
/// nowhere.
struct GangPlan {
  std::uint32_t tenant_slot = 0;
  JobId job;
  LedgerMs from_ms = kNever;
  LedgerMs late_from_ms = kNever;  ///< of the gang; of one that is deferred, when it is firm
  std::vector<GangShare> shares;
  Predict predict = Predict::limits;  ///< by which others must end before
};

/// A gang of which some tasks are placed. Nothing else happens until all are.
struct BegunGang {
  std::uint32_t tenant_slot = 0;
  JobId job;
  GrantStep step = GrantStep::allowance;
  bool beyond_quota = false;
  std::vector<GangShare> rest;         ///< the next one last
  std::vector<std::string> gpus = {};  ///< of the node that is dealt, see GangShare
};

/// Where room is kept for a job's tasks, where the ledger counts time.
struct KeptPlace {
  JobId job;  ///< none: it is not known, after a restart
  NodeId node;
  LedgerMs from_ms = kNever;       ///< the task is expected to have room then
  LedgerMs late_from_ms = kNever;  ///< of the task; of one that is deferred, when it is firm
  bool is_taken_again = false;     ///< its room is: taken_again.hpp
};

/// A grant that the tenant's window may not have heard of yet.
struct UnseenGrant {
  std::uint64_t deal = 0;
  TaskKey task;
  ResourceVector demand;
  bool is_growth = false;
  std::string user = {};
};

/// What a tenant holds of one resource and may hold: follows from its state, and lies together
/// because a deal looks at it for all who wait.
struct Holding {
  Amount counted = 0;  ///< of what it holds, the part that counts against its quota
  Amount wanted = 0;   ///< min(request, max), see policy/quota/water_fill.hpp
  Amount base = 0;     ///< min(wanted, min)
  Amount left = 0;     ///< up to its own max; -1 in a group: to be looked up, see has_room
};

/// How debts of time move a tenant's mark, see policy/allocator/time_marks.hpp.
struct TimeReturns {
  std::uint64_t round = 0;  ///< of looking: older than the state's, it is out of date
  MicroUnits due = 0;       ///< what its debtors could give way
  MicroUnits back = 0;      ///< and do, as far as its credit covers its shortest tasks
  MicroUnits away = 0;      ///< by which it gives way to its creditors
};

/// Of what belongs to a tenant, what it does not give way to whom it owes.
struct KeptForMins {
  MicroUnits own = 0;  ///< for its own min
  struct OfGroup {
    QuotaTree::Group group;
    MicroUnits kept = 0;
  };
  /// Of each group with a min that it is in its share of that: to those who are not in it, too.
  std::vector<OfGroup> of_groups;
};

/// What belongs to a tenant and what it is owed, as its turns count them.
struct TurnPart {
  MicroUnits part = 0;
  Units net = 0;
};

/// What a tenant's debtors could give way to it, whether it waits or not.
struct DueFromDebtors {
  std::uint64_t round = 0;  ///< of debts: older than the state's, it is out of date
  MicroUnits due = 0;
};

/// What a deal looks at for all who wait comes first: it fills a cache line, and the holdings of
/// two resources another.
struct alignas(64) TenantState {
  TenantId id;
  bool has_min = false;          ///< of any resource
  bool preempts = false;         ///< something in its window may
  bool group_may_borrow = true;  ///< as every group that it is in may
  bool has_place = false;  ///< its quota follows from a place in the tree, not from its weight
  RankKey rank;
  Units deficit = 0;  ///< in the accounts
  Units net = 0;      ///< in their book
  std::vector<WindowRange> window;
  std::uint64_t pending_tasks = 0;
  std::uint64_t running_tasks = 0;
  std::uint64_t seen_deal = 0;                              ///< of the window
  std::vector<UnseenGrant> unseen;                          ///< later than `seen_deal`, by deal
  alignas(64) std::array<Holding, kMaxResources> holdings;  ///< see AllocatorQuotas
  /// Per resource the least that any task in the window asks for: where this does not fit, nothing
  /// does.
  ResourceVector least_demand = ResourceVector::filled(kUnlimited);
  /// The same of those with each placement rule.
  std::vector<RuleShape> least_of_rules;
  /// Where AllocatorState has these among those of all who wait; none while it waits for nothing
  /// that is within its max, see AllocatorState::refresh_shape.
  std::vector<RuleRooms::Place> known_shapes;
  /// Of the tasks in its window those that end soonest by their limits; kNever: none has one.
  LedgerMs shortest_run_ms = kNever;
  LedgerMs known_shortest_ms = kNever;  ///< as the state's list has it
  ResourceVector pending;
  ResourceVector used;               ///< but what elastic jobs have grown by
  ResourceVector used_beyond_quota;  ///< part of `used`
  ResourceVector ending;             ///< part of `used`: tasks that have been told to end
  ResourceVector grown;              ///< counts against its max, and nowhere else
  ResourceVector ending_grown;       ///< part of `grown`: likewise
  ResourceVector reserved;           ///< of all reservations for it
  TenantTerms terms;
  QuotaTree::Group group = QuotaTree::kRoot;     ///< whose quota it shares
  std::uint32_t repay_remainder_millionths = 0;  ///< in the accounts
  TimeReturns returns;
  MicroUnits part = 0;              ///< where the ledger counts time, what belongs to it
  TurnPart turn;                    ///< while it waits and is in a group, see GroupTurns
  LedgerMs first_late_ms = kNever;  ///< nothing in its window is late before
  LedgerMs last_firm_ms = 0;        ///< when it was at its mark, and a firm task of its started
  std::vector<WindowRange> growth;  ///< see DemandWindow
  Units extras = 0;                 ///< what `grown` costs
  Units credit = 0;                 ///< in the accounts
  std::vector<KeptPlace> kept;      ///< where the ledger counts time, one for each job
  /// The shortest that any task in its window is expected to run, 0 where that is known of none,
  /// while it waits and others owe it; else -1. What its debtors give way for follows from it.
  std::int64_t claims_for_ms = -1;
  UserShares users;                     ///< who hold something or are in the window
  std::set<std::string> named_devices;  ///< that its window asks for
  bool takes_turns = false;             ///< see DemandWindow
  bool shows_no_room = false;           ///< its window, see AllocatorState::note_granted_whole
  Units known_deficit = 0;              ///< as AllocatorState has it among all deficits
  DueFromDebtors due_from_debtors;      ///< in what would be padding: deals walk over tenants
  KeptForMins kept_for_mins;            ///< of its part
  /// Of some resource it holds less, but for what has grown.
  [[nodiscard]] bool is_below_min() const {
    for (std::size_t r = 0; has_min && r < kMaxResources; ++r)
      if (used[r] < terms.min[r]) return true;
    return false;
  }
  /// All that its window showed and has room was granted, and it has more. The next window, which
  /// it sends when it has seen the grants, will show that.
  [[nodiscard]] bool has_run_out() const {
    return pending_tasks > 0 && !unseen.empty() &&
           (shows_no_room ||
            std::none_of(window.rbegin(), window.rend(),
                         [](const WindowRange& entry) { return entry.range.count > 0; }));
  }
  /// What starts at once of it; groups may have a max of their own.
  [[nodiscard]] bool is_within_own_max(const WindowRange& entry) const {
    for (const std::size_t r : entry.asks)
      if (used[r] + grown[r] > terms.max[r] - entry.asked_at_once(r)) return false;
    return true;
  }
  [[nodiscard]] bool waits() const { return pending_tasks > 0 || !window.empty(); }
  /// However long its tasks wait.
  [[nodiscard]] bool may_exceed_quota() const { return terms.may_borrow && group_may_borrow; }
  /// It gets beyond its quota what nobody else can use.
  [[nodiscard]] bool takes_what_is_left() const { return terms.borrows() && group_may_borrow; }
  [[nodiscard]] ResourceVector held_against_quota() const { return used - used_beyond_quota; }
  [[nodiscard]] ResourceVector held_in_all() const { return used + grown; }
};

}  // namespace fairwater::inline policy::inline allocator
