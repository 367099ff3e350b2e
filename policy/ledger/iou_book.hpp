// The book of IOUs (docs/ledger.md): who owes whom how many units, with netting.
//
// Invariants, checked after every operation in O(1) per touched side: net positions sum to zero; a
// member is a debtor or a creditor, never both; every IOU is positive and never to oneself. "Oldest
// first" means the order in which IOUs came to be; an IOU that grows keeps its age, one that was
// paid off and comes again is new.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline ledger {

class DecayFactor;

class IouBook {
 public:
  using Member = std::uint32_t;

  struct Iou {
    Member debtor;
    Member creditor;
    Units units;
    /// Smaller is older; unique among all IOUs ever. Those that an operation leaves behind follow
    /// on each other.
    std::uint64_t age;
    /// What decay left of a unit, in parts of 2^32. It counts for nothing but the next decay.
    std::uint32_t rest = 0;
    friend bool operator==(const Iou&, const Iou&) = default;
  };
  struct MemberWeight {
    Member member;
    Weight weight;
  };

  IouBook();
  IouBook(const IouBook& other);
  IouBook(IouBook&&) noexcept;
  IouBook& operator=(const IouBook& other);
  IouBook& operator=(IouBook&&) noexcept;
  ~IouBook();

  /// Puts back an IOU that was read with ious(), with its age. For loading only.
  void restore(const Iou& iou);
  /// The next IOU is younger than that, too. For loading only.
  void restore_last_age(std::uint64_t age);

  /// `from` lends `units` (> 0) to `to`: (1) an IOU from -> to is cancelled first; (2) what `from`
  /// owes others takes its place as lender, oldest creditor first, and what others owe `to` takes
  /// its place as debtor, oldest first; (3) the rest is an IOU to -> from. Every other net position
  /// stays.
  void lend(Member from, Member to, Units units);
  /// Lowers an IOU. Returns false and changes nothing when more than is owed.
  [[nodiscard]] bool repay(Member debtor, Member creditor, Units units);
  /// The leaver's claims are removed, then each is spread over all `others` by weight (floor); a
  /// debtor's own part and the remainders are forgiven. Returns the units forgiven. A debtor may
  /// not leave: requires net(leaver) >= 0.
  Units leave(Member leaver, const std::vector<MemberWeight>& others);
  /// Every IOU shrinks by the factor. Returns the units by which each became less, by debtor, then
  /// creditor; `age` says nothing. O(IOUs * log).
  std::vector<Iou> decay(const DecayFactor& factor);

  /// Every IOU becomes so many times as large; with 0 they are gone. Ages stay.
  void multiply(Units times);

  [[nodiscard]] Units net(Member member) const;  ///< positive when others owe it. O(1)
  [[nodiscard]] Units owed(Member debtor, Member creditor) const;  ///< O(1)
  [[nodiscard]] std::size_t count(Member member) const;  ///< of the IOUs that it is in. O(1)
  /// The creditors of a debtor / the debtors of a creditor, oldest IOU first.
  [[nodiscard]] std::vector<Iou> debts_of(Member debtor) const;
  [[nodiscard]] std::vector<Iou> claims_of(Member creditor) const;
  /// All IOUs by debtor, then creditor.
  [[nodiscard]] std::vector<Iou> ious() const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::uint64_t last_age() const;  ///< of the youngest ever, 0 before
  /// IOUs touched since the last call, each once, with the units they have now (0: gone). For
  /// writers that keep a copy of the book.
  std::vector<Iou> take_changes();
  /// As if they had been taken.
  void forget_changes();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairwater::inline policy::inline ledger
