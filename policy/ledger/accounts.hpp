// The tenants' accounts: everything that a sequence with a ledger remembers from deal to deal. One
// machine for what is live and what is durable: the allocator applies each deal to its own
// accounts, and storage applies the deal's record to those that it keeps, by the same functions.
//
// A tenant's deficit (deficit round robin's word) is what fell to it in parts too small for a whole
// task: above zero it is due, below it the tenant has had it before its turn. What it is owed or
// owes beyond that is in the book of IOUs.
//
// Invariants, checked with every event: deficits sum to zero; the entries of a transaction sum to
// zero, and each account's closing is its opening and its entries; the position is within the
// sequence's period; nobody pays more than it owes; credits for growth sum to zero. The book has
// its own (policy/ledger/iou_book.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/core/slot_index.hpp"
#include "policy/ledger/credits.hpp"
#include "policy/ledger/debts.hpp"
#include "policy/ledger/entries.hpp"
#include "policy/ledger/iou_book.hpp"
#include "policy/ledger/loan_caps.hpp"
#include "policy/ledger/time_accounts.hpp"

namespace fairwater::inline policy::inline ledger {

struct Account {
  TenantId tenant;
  Units deficit = 0;
  std::uint32_t repay_remainder_millionths = 0;  ///< of a unit, see repayment_budget
  /// What it forgave others; below zero: what was forgiven it.
  Units forgiven_total = 0;
  Units credit = 0;  ///< for growth, in unit-milliseconds: policy/ledger/credits.hpp
  friend bool operator==(const Account&, const Account&) = default;
};

/// The accounts as plain values: what a restart, the simulator and what-if begin from. The tenants
/// and their weights are told beside it.
struct AccountsSnapshot {
  std::uint64_t position = 0;  ///< of the sequence
  std::vector<Account> tenants;
  std::vector<IouBook::Iou> ious;
  std::uint64_t last_iou_age = 0;  ///< the youngest that any IOU ever had
  std::map<NodeId, Reservation> reservations;
  TimeSnapshot time{};  ///< without accounts where the ledger counts units
  friend bool operator==(const AccountsSnapshot&, const AccountsSnapshot&) = default;
};

class Accounts {
 public:
  /// Why an event cannot be: a sentence. The accounts are half changed then.
  using Refusal = std::optional<std::string>;

  // -- tenants and nodes
  // --------------------------------------------------------------------------
  /// Among equal weights it ranks by its id.
  void join(TenantId tenant, Weight weight);
  void reweigh(TenantId tenant, Weight weight);
  /// Its deficit, less than a task, comes off the deficits on the other side, in ranked order; its
  /// claims are spread over all others (IouBook::leave), and so is its credit; what was reserved
  /// for it is free. It must not owe. Returns the units forgiven.
  Units leave(TenantId tenant);
  void remove_node(NodeId node) { change_reservation(node, std::nullopt); }
  struct Member {
    TenantId tenant;
    Weight weight = 1;
  };
  /// A tenant that has tenants from now on, which take its claims.
  struct Division {
    TenantId tenant;
    std::vector<TenantId> heirs;
  };
  /// The tree of tenants has changed. `members`: all that have an account from now on, by id; those
  /// who are new join, others may have another weight. Then those that are divided leave, who must
  /// not owe, nor be in `members`. O(members + divided * (tenants + claims)).
  void follow_tree(std::span<const Member> members, std::span<const Division> divided);
  /// Where the sequence stands after tenants came, changed or went.
  [[nodiscard]] Refusal move_to(std::uint64_t position);

  // -- deals
  // --------------------------------------------------------------------------------------
  /// O(statements, entries, loans and repayments), and O(log) per IOU touched.
  [[nodiscard]] Refusal apply(const Transaction& transaction);
  /// A grant's launch failed: what others advanced for it goes back, out of the deficits where both
  /// sides still hold it, else through the book as a loan from the borrower to the lender. Lenders
  /// that left get nothing.
  struct Returned {
    TenantId lender;
    Units loan = 0;  ///< the part that went through the book
  };
  std::vector<Returned> take_back(TenantId borrower, const std::vector<Advance>& advances);

  // -- credits for growth
  // ------------------------------------------------------------------------
  /// Its lines name tenants once, by id, and its changes are what they say.
  [[nodiscard]] Refusal apply(const CreditSettlement& settlement);

  // -- debts
  // -------------------------------------------------------------------------------------
  /// Each from its IOU, none more than is owed.
  [[nodiscard]] Refusal forgive(TenantId debtor, std::span<const ForgivenDebt> debts);

  /// The book counts something else from here on: a unit of before is so many of what it counts
  /// now, or all that was owed is gone (0).
  [[nodiscard]] Refusal convert(Units times);

  // -- time, where the ledger counts it
  // ---------------------------------------------------------------
  [[nodiscard]] TimeAccounts& time() { return time_; }
  [[nodiscard]] const TimeAccounts& time() const { return time_; }
  /// Brings the accounts up to now, and counts time of that resource from here on. What is to be
  /// remembered, if anything is. O(tenants + loans * log); where debts shrink now and then
  /// O(IOUs * log).
  std::optional<TimeSettlement> settle_time(const DebtTerms& debts, std::uint32_t resource);
  /// Of its own, for settle_time(). What was settled elsewhere is within them.
  void set_caps(TenantId tenant, const LoanCaps& caps);
  /// The same of tenants together; who is in none of them may have left.
  void set_groups(LoanGroups groups) { groups_ = std::move(groups); }
  [[nodiscard]] const LoanGroups& groups() const { return groups_; }
  /// Whether what it settles next depends on how often it is called: rights bound who pays back, or
  /// all in a group. O(tenants).
  [[nodiscard]] bool has_bounded_loans() const;
  /// The same where it was settled elsewhere.
  [[nodiscard]] Refusal apply(const TimeSettlement& settlement);

  // -- restoring
  // ----------------------------------------------------------------------------------
  /// After all tenants have joined.
  void restore(const AccountsSnapshot& snapshot);
  [[nodiscard]] AccountsSnapshot snapshot() const;

  // -- views
  // --------------------------------------------------------------------------------------
  [[nodiscard]] bool has(TenantId tenant) const {
    return slot_of_.find(tenant.value) != SlotIndex::kNone;
  }
  [[nodiscard]] const Account& account(TenantId tenant) const;
  [[nodiscard]] const IouBook& book() const { return book_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] Weight period() const { return period_; }  ///< of the sequence: sum of the weights
  [[nodiscard]] const Reservation* reservation(NodeId node) const;

  /// What events changed since the last call, each at least once. For those that keep a copy.
  struct Changes {
    std::vector<TenantId> tenants;   ///< their accounts; some have left
    std::vector<IouBook::Iou> ious;  ///< as they are now, 0 units: gone
    std::vector<NodeId> nodes;       ///< their reservations
  };
  /// Good until the next event.
  [[nodiscard]] const Changes& take_changes();
  /// As if they had been taken, for those that know them.
  void forget_changes();

 private:
  struct Entered {
    Account account;
    Weight weight = 1;
    LoanCaps caps{};
    Units moved = 0;          ///< by the transaction that is being applied
    bool takes_part = false;  ///< in it: it has a statement
  };
  [[nodiscard]] static std::string name(TenantId tenant);
  /// Null: it has no account.
  [[nodiscard]] Entered* find(TenantId tenant);
  [[nodiscard]] Entered& entered(TenantId tenant);
  [[nodiscard]] std::vector<std::uint32_t> ranked_slots() const;
  template <class IsHeir>
  Units leave(TenantId tenant, IsHeir&& is_heir);
  void change_deficit(Entered& entered, Units by);
  void spread_credit(Entered& leaver, const std::vector<IouBook::MemberWeight>& heirs);
  void change_reservation(NodeId node, const std::optional<Reservation>& reservation);
  [[nodiscard]] Refusal post(const Transaction& transaction);
  [[nodiscard]] Refusal move(TenantId tenant, Units units);
  [[nodiscard]] Refusal close(const Transaction& transaction);
  /// IOUs shrink: what that is to each, positive to creditors.
  [[nodiscard]] std::map<TenantId, Units> decay(const TimeSettlement& settlement);
  void write_decay(std::map<TenantId, Units> decayed, TimeSettlement& settlement);
  /// Left until its caps; debts and claims of before may be beyond them.
  [[nodiscard]] LoanRoom loan_room(const DebtTerms& debts, TenantId tenant);
  /// What those outside of the group owe the tenant, or below zero what it owes them. O(its IOUs).
  [[nodiscard]] Units net_beyond(TenantId tenant, LoanGroups::Number group) const;
  [[nodiscard]] LedgerMs due_decay_ms(const DebtTerms& debts) const;
  /// Everything in it but the decay.
  void enter(const TimeSettlement& settlement);

  std::vector<Entered> entered_;  ///< by slot; slots of tenants that left are used again
  std::vector<std::uint32_t> free_slots_;
  SlotIndex slot_of_;  ///< by the tenant's id
  IouBook book_;
  std::uint64_t position_ = 0;
  Weight period_ = 0;
  std::map<NodeId, Reservation> reservations_;
  TimeAccounts time_;
  LoanGroups groups_;
  Changes changes_;  ///< but for the IOUs, which the book notes
  Changes taken_;
};

}  // namespace fairwater::inline policy::inline ledger
