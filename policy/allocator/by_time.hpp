// The second stage of a deal where the ledger counts time: which tasks go onto the node, in which
// order, and for which task the node keeps its room.
//
// Order. First come late tasks. (A task is late when its tenant says so: when it has waited about
// as long as it may run, see WaitingRange::late_in_ms.) Of them first those of tenants that hold
// less than their part and are owed what the task takes, who was kept from its part for longest
// before the others; then the longest late (late_order.hpp). By lateness alone who is late sooner,
// or is served worse and so has an older queue, would have all: a debtor whose part is smaller than
// a task holds less than its mark whenever one ends, and is not deferred. One of a tenant
// that is at its mark already is deferred: for `deferral_patiences` times as long as it had waited
// until it was late it comes in its tenant's turn, as if it were not late, unless the tenant falls
// below its mark; so is one that would take what a larger firm task waits for (give_way.hpp). Else,
// where all wait for long, the order would be that of submission, whoever holds what. After that it
// is firm, and comes before all that is not so late; but of a tenant that is at its mark one at a
// time, since a long queue is no reason to have more: the next when it has been deferred for as
// long again since that started, and behind the longest late, which goes alone for as long as it
// was deferred. What a tenant that may not borrow has at its mark waits however late it is. Then
// tenants in turns. Those below their marks (policy/allocator/time_marks.hpp) come first, then
// those at their marks but below their quotas, then the others. Among them comes first who, with
// its next task, would have least of what belongs to it:
//   (held + cost + (cost * expected time - net) / memory) / part,
// where memory is how long the next tasks of all these take on average, and in groups siblings have
// the part of those that wait for nothing (policy/allocator/group_turns.hpp). So what it is owed
// counts, and what its task would add to what it has had: a debt as large as a usual task weighs as
// much as a unit that is held. A memory in proportion to the tasks is what keeps parts that are
// smaller than a task even over time, whether tasks take seconds or days. Of a tenant that only
// owes (time_turns.hpp) the task does not count, and below its part it comes before late tasks of
// others that are owed nothing: it would else wait for as long as others have smaller tasks, or
// larger parts. What it holds beyond its part with it it owes, and then it counts.
//
// Kept room. A task for which the node has no room at its turn gets a place: the moment from which
// on the node is expected to have room for it, by when the tasks there must end and what has a
// place already (Mu'alem and Feitelson, "Utilization, predictability, workloads, and user runtime
// estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 2001: conservative backfilling;
// but places are given anew in every deal, in today's order). Others run meanwhile where they take
// no room from those with places. Of several nodes the one where it can start first keeps room, the
// lower id of two alike. A late task that has no room is the only one with a place: nothing that
// was submitted after it keeps it back, and it starts within the limits of what runs and of the
// late tasks before it, once it is not deferred any more. Room that is taken again as soon as it is
// free does not count for it, or less than another node's (taken_again.hpp). Were there more late
// tasks with places, the longest wait of real logs would grow: to 1.86 times that of easy
// backfilling with all that are firm and of tenants below their parts (LANL CM-5 by group), to 2.16
// times with those that what their tenants are owed covers (KTH SP2).
//
// With `predict: history` places go by what tasks of the kind took before, and what has not ended
// when it was to is expected to go on for as long again, up to its limit. Late tasks, and what
// starts beside their places, go by limits even then: else one that was expected to be short could
// keep a late task back, and another after that.
//
// A place of a task that takes a part of a GPU, or whole ones that tasks share, is of particular
// ones: from then on nobody else gets any of them. So is a gang's plan.
//
// What has no known limit is not expected to end. Where therefore no moment can be told, the first
// that has no room, if its tenant is below its mark or it is late, has all room kept for it as it
// becomes free. That is the node's reservation, in the accounts and so in the journal.
//
// Places with a moment follow from windows and from what runs, and a coordinator that starts anew
// gives them anew: none is stored.
//
// A deal may be asked to be quick: once nothing fits any more it gives the first 16 tenants in turn
// a place each. The others keep theirs elsewhere, or are given one by a later deal.
//
// A gang (policy/allocator/gangs.hpp) has its turn as one task of all its tasks' size, and its plan
// is its place: late, on each node that it may use. It is deferred as a task is, and until it is
// firm its plan counts as one that is not late. With the start of a gang the deal ends: its other
// nodes come first, then this one again.
//
// A node that closes (Allocator::close_node_from) takes, and keeps room for, only what has run by
// its limit before it does: no place of the others is there, and no late task keeps it.
//
// Made room. What a task that preempts made free, or is making, is for that task, before all who
// are late or have their turn: they would have had nothing of it.
//
// Guarantees go before all this (policy/allocator/place.hpp). The sequence takes no part in the
// order: the units that were placed are dealt by it afterwards, so that the journal's lines say who
// had how much more or less than its part of this deal.
//
// Internal to policy/allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policy/allocator/contenders.hpp"
#include "policy/allocator/deal_progress.hpp"
#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/late_order.hpp"
#include "policy/allocator/place.hpp"
#include "policy/allocator/room_profile.hpp"
#include "policy/allocator/turns.hpp"
#include "policy/core/ranked_list.hpp"

namespace fairwater::inline policy::inline allocator {

class PlaceByTime {
 public:
  PlaceByTime(DealProgress& deal, PlaceStage& place) : deal_(deal), place_(place) {}

  struct Kept {
    std::optional<Reservation> first;  ///< for whom room is kept until the next deal
    bool for_ever = false;             ///< no moment can be told when it is enough
  };
  /// The node has no places yet; `made_rooms`: lifted for the deal; `kept_before`: for whom its
  /// last deal kept its room. O((classes of those who wait, others, tasks placed, and while none
  /// that is late may start tenants with such) * log) where deals look at few, else O(tenants that
  /// wait + tasks placed * log).
  Kept run(const std::vector<MadeRoom>& made_rooms, const std::optional<Reservation>& kept_before);

 private:
  struct Candidate {
    TenantState* tenant = nullptr;
    std::uint32_t cursor = 0;
    /// With the task at the cursor: grants to others do not move it, nor the turn.
    AllocatorQuotas::Standing standing = AllocatorQuotas::Standing::within;
    Turn turn{};
    bool is_looked_at = false;  ///< else the turn is one at best, and the standing not known
    /// In its class those behind it that are like it: they have its turn at best, and so come when
    /// it has had it.
    Contenders::Order::const_iterator twin{};
    Contenders::Order::const_iterator last_twin{};
  };
  /// Those of a class that are no candidates yet.
  struct Stream {
    const Contenders::Order* order = nullptr;
    Contenders::Order::const_iterator next;
    [[nodiscard]] bool is_empty() const { return next == order->end(); }
  };
  /// How long tasks take on average.
  struct Expected {
    Wide sum_ms = 0;
    std::int64_t known = 0;
    void add(Wide ms, std::int64_t tasks) {
      sum_ms += ms;
      known += tasks;
    }
    /// 0: not known.
    void add(std::int64_t ms) { add(ms, ms == 0 ? 0 : 1); }
    [[nodiscard]] std::int64_t mean_ms() const {
      return known == 0 ? 0 : static_cast<std::int64_t>(sum_ms / known);
    }
  };
  struct Late {
    TenantState* tenant = nullptr;
    std::uint32_t range = 0;
    LateOrder order;
  };
  /// Its tenant has its part, or what a larger task leaves of it.
  [[nodiscard]] bool is_at_mark(TenantState& tenant, const WindowRange& entry);
  void place_late();
  [[nodiscard]] std::optional<Late> first_late();
  void look_for_late(TenantState& tenant, std::optional<Late>& first);
  void look_for_late(std::uint32_t number, std::optional<Late>& first);
  void look_for_late_few(std::optional<Late>& first);
  /// While its tenant is at its mark. O(the tenant's window).
  [[nodiscard]] LedgerMs deferred_until_ms(const TenantState& tenant,
                                           const WindowRange& entry) const;
  [[nodiscard]] bool is_deferred(TenantState& tenant, const WindowRange& entry);
  /// Of one that is deferred, when it is firm.
  [[nodiscard]] LedgerMs counts_late_from_ms(TenantState& tenant, const WindowRange& entry);
  void find_candidates();
  void add_candidate(TenantState& tenant, Expected& expected);
  void place_in_turns();
  void look_at_turn(Candidate& candidate);
  [[nodiscard]] bool comes_later(std::size_t a, std::size_t b) const;
  void push(std::size_t candidate);
  [[nodiscard]] std::size_t pop();
  /// Takes the next in turn out of the queue, of all candidates and streams; none: nobody is left.
  [[nodiscard]] std::optional<std::size_t> take_first();
  [[nodiscard]] static bool is_before(const Candidate& candidate, const Stream& stream);
  /// The next one of the stream is a candidate now, and those like it are its twins.
  void take_next(Stream& stream);
  /// The first of its twins is a candidate now.
  void take_twin(std::size_t candidate);
  void take(Contenders::Order::const_iterator taken, Contenders::Order::const_iterator last_twin);
  /// Places the task, or begins the gang; false when it has to wait.
  bool start(TenantState& tenant, std::uint32_t range, GrantStep step);
  [[nodiscard]] bool has_begun_gang() const { return deal_.state.begun_gang.has_value(); }
  [[nodiscard]] bool may_start(const TenantState& tenant, const WindowRange& entry);
  [[nodiscard]] std::vector<KeptPlace>::iterator place_of(TenantState& tenant,
                                                          const WaitingRange& task);
  /// From when on the node is expected to have room for the task; kNever: that is not known.
  [[nodiscard]] LedgerMs room_from(const WaitingRange& task,
                                   const std::optional<ExpectedShares>& shares) const;
  /// Gives the task, which has no room now, a place. False: the node closes before it had run.
  /// `is_taken_again`: the place counts on such room, so any other is better.
  bool keep_room(TenantState& tenant, const WindowRange& entry, bool has_claim,
                 bool is_taken_again = false);
  /// What others take again before the late task has it is not kept for it. False: its place counts
  /// on what is taken again all the same.
  [[nodiscard]] bool leave_taken_again(const TenantState& tenant, const WindowRange& late);
  /// Whether the gang, which has a plan, could have tasks here, too.
  [[nodiscard]] bool may_use_node(const TenantState& tenant, const WindowRange& gang) const;
  void keep_gang_room(TenantState& tenant, const WindowRange& gang, bool has_claim);
  /// Places so far count for nothing.
  void forget_places();
  ClaimantIndex take_part(TenantState& tenant, std::uint32_t range, GrantStep step);
  void place(TenantState& tenant, std::uint32_t range, GrantStep step);

  DealProgress& deal_;
  PlaceStage& place_;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> queue_;  ///< of candidates, a heap with the next in turn in front
  std::vector<Stream> streams_;
  std::vector<RankKey> late_;
  std::optional<RoomProfile> profile_;  ///< once there is a place
  std::set<const EndingTask*> left_;    ///< whose room is taken again, and so is not in the profile
  std::size_t places_ = 0;
  std::int64_t memory_ms_ = 0;
  bool is_closed_ = false;  ///< nobody else gets a place
  bool keeps_all_ = false;  ///< nothing else is placed
  /// Late gangs that may not run here or have no plan; late jobs that wait for a device.
  std::vector<JobId> elsewhere_;
  Predict predict_ = Predict::limits;
  std::optional<Reservation> kept_before_;
  std::optional<Reservation> kept_;
};

}  // namespace fairwater::inline policy::inline allocator
