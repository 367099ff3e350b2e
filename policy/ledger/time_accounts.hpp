// What tenants hold beside what belongs to them, integrated over time: the measure of a ledger that
// counts unit-milliseconds. A tenant that holds more than its part borrows, one that holds less has
// room to lend; what is borrowed is lent by all that have room, in proportion. Room that nobody
// holds is nobody's loan. (Wang, Hong, Feng, end of section 2.2: the product of amount and time is
// the measure.)
//
// Amounts are constant between events, so the integrals are exact. They are settled now and then:
// each tenant's position, in whole unit-milliseconds, goes into the book of IOUs; what rounding
// leaves stays with the tenant for the next settlement.
//
// Invariants, checked with every settlement: positions sum to zero, and so do the rests; a rest is
// less than a unit-millisecond. While the parts are held to the last unit and all may lend and
// borrow, over any stretch of time and for every tenant, exactly:
//   integral(held - part) = -(positions + rest).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/ledger/loan_groups.hpp"
#include "policy/ledger/loans.hpp"

namespace fairwater::inline policy::inline ledger {

/// Units held times milliseconds, to the millionth.
struct UnitTime {
  std::int64_t unit_ms = 0;
  std::uint32_t millionths = 0;
  /// Of micro-unit-milliseconds, not negative.
  [[nodiscard]] static UnitTime of(Wide micro);
  [[nodiscard]] Wide micro() const { return Wide{unit_ms} * kMicroUnitsPerUnit + millionths; }
  friend bool operator==(const UnitTime&, const UnitTime&) = default;
};

/// Micro-unit-milliseconds.
struct TimeAccount {
  TenantId tenant;
  std::int64_t rest = 0;  ///< of its positions so far, too little for the book
  Wide held_total = 0;    ///< integral of what it held, over all stretches that were settled
  Wide part_total = 0;    ///< of its part, likewise
  // Since the last settlement:
  Wide borrowed = 0;  ///< held beyond its part
  Wide spare = 0;     ///< of its part not held
  Wide held = 0;      ///< integral of what it held
  Wide part = 0;      ///< of its part
  friend bool operator==(const TimeAccount&, const TimeAccount&) = default;
};

/// The time accounts as plain values. What is held and whose part is what is told beside it.
struct TimeSnapshot {
  std::uint32_t resource = 0;  ///< of which time is counted, see AllocatorState
  LedgerMs now_ms = 0;
  LedgerMs settled_ms = 0;  ///< of the last settlement
  LedgerMs decayed_ms = 0;  ///< up to which debts have shrunk, or did not need to
  std::vector<TimeAccount> accounts;
  friend bool operator==(const TimeSnapshot&, const TimeSnapshot&) = default;
};

/// One tenant's part of a settlement.
struct TimeLine {
  TenantId tenant;
  Units position = 0;     ///< unit-milliseconds that go into the book: lent, or borrowed (negative)
  std::int64_t rest = 0;  ///< afterwards
  UnitTime held{};        ///< in this stretch
  UnitTime part{};        ///< in this stretch
  // Unit-milliseconds of what it lent, or below zero of what it borrowed, that are in no IOU:
  Units beyond_cap = 0;  ///< not lent in this stretch: a borrower owes all that it may
  Units decayed = 0;     ///< gone from older IOUs
  friend bool operator==(const TimeLine&, const TimeLine&) = default;
};

/// A stretch, closed. Positions sum to zero: who is below borrowed from who is above. IOUs from
/// before shrink first, if they do.
struct TimeSettlement {
  LedgerMs from_ms = 0;
  LedgerMs until_ms = 0;
  /// By tenant; of all that held anything or had a part, and of those whose IOUs shrank.
  std::vector<TimeLine> lines{};
  std::uint32_t resource = 0;  ///< of which time is counted from here on
  LedgerMs half_life_ms = 0;   ///< of debts; 0: they stay
  LedgerMs decay_ms = 0;       ///< for which they shrink in this settlement; 0: they do not
  friend bool operator==(const TimeSettlement&, const TimeSettlement&) = default;
};

/// What becomes loans by a settlement.
[[nodiscard]] std::vector<Position> positions_of(const TimeSettlement& settlement);

class TimeAccounts {
 public:
  // -- what changes, at the moment to which time has passed. Each O(log tenants), or
  // O(tenants) to join and leave.
  void join(TenantId tenant);
  /// It holds nothing, and all time is settled. What rounding left it goes to another, if there is
  /// any of both: to whom.
  std::optional<TenantId> leave(TenantId tenant);
  /// What one that may not lend leaves is lent without a claim, but for what it owes: it pays that
  /// back with it. One that may not borrow owes nothing for what it holds beyond its part, and is
  /// owed as much less.
  void set_rights(TenantId tenant, bool may_lend, bool may_borrow);
  void set_held(TenantId tenant, MicroUnits held);
  void set_part(TenantId tenant, MicroUnits part);
  /// Time passes; it never goes back.
  void pass_to(LedgerMs now_ms);

  /// Where a tenant stands in the book of IOUs.
  using NetOf = std::function<Units(TenantId)>;
  /// The same beside those who are not in the group.
  using NetBeyond = std::function<Units(TenantId, LoanGroups::Number)>;
  /// Closes the stretch since the last settlement. What those in a group have to lend to each other
  /// they lend first, the inner groups before those around them; what goes beyond a group's rights
  /// is no loan. None when nothing was lent: the stretch is forgotten. O(tenants), and where there
  /// are groups O(IOUs * depth).
  [[nodiscard]] std::optional<TimeSettlement> settle(const NetOf& net,
                                                     const LoanGroups& groups = {},
                                                     const NetBeyond& beyond = {});
  /// As settle() left these accounts, for one that keeps them without knowing what is held. Why it
  /// cannot be: a sentence; the accounts are half changed then.
  [[nodiscard]] std::optional<std::string> apply(const TimeSettlement& settlement);

  /// Whether somebody who may not lend owes something, or one who may not borrow is owed something:
  /// settlements of short stretches do not add up to one of all of them then.
  [[nodiscard]] bool is_bounded(const NetOf& net) const;

  // -- restoring
  /// After all tenants have joined, before anything is held.
  void restore(const TimeSnapshot& snapshot);
  [[nodiscard]] TimeSnapshot snapshot() const;

  // -- views
  /// Whatever is held and belongs to whom is of this resource: who changes it changes all of them.
  void count(std::uint32_t resource) { resource_ = resource; }
  [[nodiscard]] std::uint32_t resource() const { return resource_; }
  /// Debts have shrunk up to the last settlement, or there are none that would.
  void note_decay() { decayed_ms_ = settled_ms_; }
  [[nodiscard]] LedgerMs decayed_ms() const { return decayed_ms_; }
  [[nodiscard]] LedgerMs now_ms() const { return now_ms_; }
  [[nodiscard]] LedgerMs settled_ms() const { return settled_ms_; }
  [[nodiscard]] MicroUnits held(TenantId tenant) const { return entered(tenant).held; }
  [[nodiscard]] MicroUnits part(TenantId tenant) const { return entered(tenant).part; }
  /// Up to now, also what is not settled.
  [[nodiscard]] TimeAccount account(TenantId tenant) const;
  /// Of what it held, and of its part: micro-unit-milliseconds up to now, those that its account
  /// was restored with, and also of stretches since then in which nothing was lent.
  struct Integrals {
    Wide held = 0;
    Wide part = 0;
  };
  [[nodiscard]] Integrals integrals(TenantId tenant) const;

 private:
  struct Entered {
    TimeAccount account;
    MicroUnits held = 0;
    MicroUnits part = 0;
    LedgerMs since_ms = 0;  ///< the account is up to date to there
    bool may_lend = true;
    bool may_borrow = true;
    Integrals unlent;  ///< of settled stretches that are not in the account
    // Of the stretch that is settled:
    Wide charged = 0;   ///< of what is borrowed, what becomes debts or pays claims back
    Wide lendable = 0;  ///< of what is spare, what becomes claims or pays debts back
    // Within its groups, and no more in these:
    Wide owed_in_groups = 0;
    Wide lent_in_groups = 0;
  };
  /// Of the stretch that is settled, over all tenants.
  struct Sums {
    Wide borrowed = 0;
    Wide spare = 0;
    Wide charged = 0;
    Wide lendable = 0;
    // Within its groups, and no more in these:
    Wide owed_in_groups = 0;
    Wide lent_in_groups = 0;
    void add(const Entered& entered);
  };
  /// Its place, or where it would stand.
  [[nodiscard]] std::vector<Entered>::const_iterator place_of(TenantId tenant) const;
  [[nodiscard]] const Entered& entered(TenantId tenant) const;
  [[nodiscard]] Entered& entered(TenantId tenant);
  void bring_up(Entered& entered) const;
  static void find_loans(Entered& entered, const NetOf& net);
  void lend_in_groups(const LoanGroups& groups, const NetBeyond& beyond);
  static void lend_to_each_other(const std::vector<Entered*>& members);
  /// What they have left to lend to others, and to borrow from them, within the group's rights.
  static void bound_loans(const std::vector<Entered*>& members, const LoanRights& rights,
                          const NetOf& beyond);
  /// Lays what was lent out over both sides, in whole unit-milliseconds.
  [[nodiscard]] std::vector<TimeLine> lay_out(const Sums& sums);

  std::vector<Entered> entered_;  ///< by tenant
  std::uint32_t resource_ = 0;
  LedgerMs now_ms_ = 0;
  LedgerMs settled_ms_ = 0;
  LedgerMs decayed_ms_ = 0;
};

}  // namespace fairwater::inline policy::inline ledger
