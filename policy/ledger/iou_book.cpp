#include "policy/ledger/iou_book.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/core/slot_index.hpp"
#include "policy/ledger/decay.hpp"
#include "policy/ledger/iou_table.hpp"

namespace fairwater::inline policy::inline ledger {

class IouBook::Impl {
 public:
  void restore(const Iou& iou) {
    FAIRWATER_CHECK(iou.units > 0 && iou.debtor != iou.creditor, "an IOU is positive, to another");
    const auto [entry, is_new] = ious_.insert(pair_of(iou.debtor, iou.creditor));
    FAIRWATER_CHECK(is_new, "an IOU is restored once");
    entry = {pair_of(iou.debtor, iou.creditor), iou.units, iou.age, iou.rest};
    const auto [debtor, creditor] = sides_of(iou.debtor, iou.creditor);
    link({iou.debtor, debtor}, {iou.creditor, creditor}, iou.age);
    move_net(debtor, creditor, iou.units);
    last_age_ = std::max(last_age_, iou.age);
  }

  void restore_last_age(std::uint64_t age) { last_age_ = std::max(last_age_, age); }

  // `from`'s debts say, oldest first, whom `to` will owe instead of `from`; `to`'s claims say who
  // will owe instead of `to`. Walking both at once finds every piece's debtor and creditor.
  void lend(Member from, Member to, Units units) {
    FAIRWATER_CHECK(units > 0 && from != to, "a loan is positive, to another");
    const auto [lender, borrower] = sides_of(from, to);
    if (lender.net < 0) units -= reduce_up_to(from, to, units);
    while (units > 0) {
      const bool lender_owes = lender.net < 0;
      const bool borrower_is_owed = borrower.net > 0;
      const Member creditor = lender_owes ? lender.by_age.begin()->second : from;
      const Member debtor = borrower_is_owed ? borrower.by_age.begin()->second : to;
      Units piece = units;
      if (lender_owes) piece = std::min(piece, owed(from, creditor));
      if (borrower_is_owed) piece = std::min(piece, owed(debtor, to));
      if (lender_owes) reduce(from, creditor, piece);
      if (borrower_is_owed) reduce(debtor, to, piece);
      grow({debtor, debtor == to ? borrower : side(debtor)},
           {creditor, creditor == from ? lender : side(creditor)}, piece);
      units -= piece;
    }
  }

  bool repay(Member debtor, Member creditor, Units units) {
    FAIRWATER_CHECK(units > 0, "a repayment is positive");
    if (owed(debtor, creditor) < units) return false;
    reduce(debtor, creditor, units);
    return true;
  }

  Units leave(Member leaver, const std::vector<MemberWeight>& others) {
    FAIRWATER_CHECK(net(leaver) >= 0, "a debtor may not leave");
    const std::vector<Iou> claims = claims_of(leaver);
    for (const Iou& claim : claims) reduce(claim.debtor, leaver, claim.units);

    Wide total_weight = 0;
    for (const MemberWeight& other : others) {
      FAIRWATER_CHECK(other.weight > 0 && other.member != leaver, "others have a weight and stay");
      total_weight += other.weight;
    }
    const std::uint64_t last_age_before = last_age_;
    Units forgiven = 0;
    for (const Iou& claim : claims) {
      Units kept = 0;
      for (const MemberWeight& other : others) {
        if (other.member == claim.debtor) continue;
        const auto part = static_cast<Units>(Wide{claim.units} * other.weight / total_weight);
        if (part > 0) lend(other.member, claim.debtor, part);
        kept += part;
      }
      forgiven += claim.units - kept;
    }
    close_gaps_since(last_age_before);
    return forgiven;
  }

  std::vector<Iou> decay(const DecayFactor& factor) {
    std::vector<Iou> less;
    for (const Iou& iou : ious()) {
      const DecayFactor::Balance left = factor.of({.units = iou.units, .rest = iou.rest});
      const Pair pair = pair_of(iou.debtor, iou.creditor);
      ious_.find(pair)->rest = left.rest;
      note_change(pair);
      if (left.units == iou.units) continue;
      less.push_back({iou.debtor, iou.creditor, iou.units - left.units, iou.age});
      reduce(iou.debtor, iou.creditor, iou.units - left.units);
    }
    return less;
  }

  void multiply(Units times) {
    FAIRWATER_CHECK(times >= 0, "a book is multiplied by 0 or more");
    for (const Iou& iou : ious()) {
      if (times == 0) {
        reduce(iou.debtor, iou.creditor, iou.units);
        continue;
      }
      Units more = 0;
      const bool overflow = __builtin_mul_overflow(iou.units, times - 1, &more);
      FAIRWATER_CHECK(!overflow, "an IOU fits 64 bits");
      const auto [debtor, creditor] = sides_of(iou.debtor, iou.creditor);
      if (more > 0) grow({iou.debtor, debtor}, {iou.creditor, creditor}, more);
    }
  }

  [[nodiscard]] Units net(Member member) const {
    const Side* found = find_side(member);
    return found == nullptr ? 0 : found->net;
  }
  [[nodiscard]] std::size_t count(Member member) const {
    const Side* found = find_side(member);
    return found == nullptr ? 0 : found->by_age.size();
  }
  [[nodiscard]] Units owed(Member debtor, Member creditor) const {
    const Entry* found = ious_.find(pair_of(debtor, creditor));
    return found == nullptr ? 0 : found->units;
  }
  [[nodiscard]] std::vector<Iou> debts_of(Member debtor) const {
    std::vector<Iou> debts;
    const Side* found = find_side(debtor);
    if (found == nullptr || found->net >= 0) return debts;
    debts.reserve(found->by_age.size());
    for (const auto& [age, creditor] : found->by_age) debts.push_back(iou_at(debtor, creditor));
    return debts;
  }
  [[nodiscard]] std::vector<Iou> claims_of(Member creditor) const {
    std::vector<Iou> claims;
    const Side* found = find_side(creditor);
    if (found == nullptr || found->net <= 0) return claims;
    claims.reserve(found->by_age.size());
    for (const auto& [age, debtor] : found->by_age) claims.push_back(iou_at(debtor, creditor));
    return claims;
  }
  [[nodiscard]] std::vector<Iou> ious() const {
    std::vector<Iou> all;
    all.reserve(ious_.size());
    ious_.visit([&](const Entry& entry) { all.push_back(iou_of(entry)); });
    std::sort(all.begin(), all.end(), [](const Iou& a, const Iou& b) {
      return pair_of(a.debtor, a.creditor) < pair_of(b.debtor, b.creditor);
    });
    return all;
  }
  [[nodiscard]] bool empty() const { return ious_.empty(); }
  [[nodiscard]] std::uint64_t last_age() const { return last_age_; }

  void forget_changes() { changed_.clear(); }
  std::vector<Iou> take_changes() {
    drop_repeated_changes();
    std::vector<Iou> changes;
    changes.reserve(changed_.size());
    for (const Pair pair : changed_) {
      const Entry* found = ious_.find(pair);
      changes.push_back(iou_of(found == nullptr ? Entry{.pair = pair} : *found));
    }
    changed_.clear();
    return changes;
  }

 private:
  using Pair = IouTable::Pair;
  using Entry = IouTable::Entry;
  static Pair pair_of(Member debtor, Member creditor) { return (Pair{debtor} << 32) | creditor; }
  static Iou iou_of(const Entry& entry) {
    return {static_cast<Member>(entry.pair >> 32), static_cast<Member>(entry.pair), entry.units,
            entry.age, entry.rest};
  }
  [[nodiscard]] Iou iou_at(Member debtor, Member creditor) const {
    return iou_of(*ious_.find(pair_of(debtor, creditor)));
  }
  /// A member is a debtor or a creditor, so one list by age holds its debts (net < 0) or claims
  /// (net > 0).
  struct Side {
    Units net = 0;
    std::map<std::uint64_t, Member> by_age;  ///< to the other side of the IOU
  };

  [[nodiscard]] const Side* find_side(Member member) const {
    const std::uint32_t slot = slot_of_.find(member);
    return slot == SlotIndex::kNone ? nullptr : &sides_[slot];
  }
  std::uint32_t slot_for(Member member) {
    std::uint32_t slot = slot_of_.find(member);
    if (slot == SlotIndex::kNone) {
      slot = static_cast<std::uint32_t>(sides_.size());
      slot_of_.set(member, slot);
      sides_.emplace_back();
    }
    return slot;
  }
  struct Sides {
    Side& first;
    Side& second;
  };
  /// Good until somebody has an IOU who never had any.
  Sides sides_of(Member first, Member second) {
    const std::uint32_t first_slot = slot_for(first);
    const std::uint32_t second_slot = slot_for(second);
    return {sides_[first_slot], sides_[second_slot]};
  }
  /// The same, of one that has some.
  Side& side(Member member) { return sides_[slot_of_.find(member)]; }

  struct Party {
    Member member;
    Side& side;
  };

  void grow(Party debtor, Party creditor, Units units) {
    FAIRWATER_CHECK(debtor.side.net <= 0 && creditor.side.net >= 0,
                    "a debtor or a creditor, never both");
    const Pair pair = pair_of(debtor.member, creditor.member);
    const auto [entry, is_new] = ious_.insert(pair);
    if (is_new) {
      entry.age = ++last_age_;
      link(debtor, creditor, last_age_);
    }
    const bool overflow = __builtin_add_overflow(entry.units, units, &entry.units);
    FAIRWATER_CHECK(!overflow, "an IOU fits 64 bits");
    move_net(debtor.side, creditor.side, units);
    note_change(pair);
  }

  /// Lowers an IOU of at least `units`.
  void reduce(Member debtor, Member creditor, Units units) {
    const Pair pair = pair_of(debtor, creditor);
    Entry* found = ious_.find(pair);
    FAIRWATER_CHECK(found != nullptr && found->units >= units, "no more than is owed");
    found->units -= units;
    Side& owing = side(debtor);
    Side& owed = side(creditor);
    if (found->units == 0) {
      owing.by_age.erase(found->age);
      owed.by_age.erase(found->age);
      ious_.erase(pair);
    }
    move_net(owed, owing, units);
    note_change(pair);
  }

  /// Keeps a change once or more, and not many more than there are IOUs that changed.
  void note_change(Pair pair) {
    if (changed_.size() == changed_.capacity()) {
      drop_repeated_changes();
      changed_.reserve(2 * changed_.size() + 16);
    }
    changed_.push_back(pair);
  }
  void drop_repeated_changes() {
    // Loans of many to many come in order.
    if (!std::is_sorted(changed_.begin(), changed_.end()))
      std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  }

  /// An operation of many loans can use up IOUs that it made itself: the others move up, so that
  /// ages say what operations left behind, whatever they went through.
  void close_gaps_since(std::uint64_t age) {
    std::map<std::uint64_t, Pair> fresh;
    for (const Pair pair : changed_)
      if (const Entry* found = ious_.find(pair); found != nullptr && found->age > age)
        fresh.emplace(found->age, pair);
    last_age_ = age;
    for (const auto& [old_age, pair] : fresh) {
      Entry& entry = *ious_.find(pair);
      const Iou iou = iou_of(entry);
      const Party debtor{iou.debtor, side(iou.debtor)};
      const Party creditor{iou.creditor, side(iou.creditor)};
      debtor.side.by_age.erase(old_age);
      creditor.side.by_age.erase(old_age);
      entry.age = ++last_age_;
      link(debtor, creditor, last_age_);
    }
  }

  /// Lowers an IOU by at most `units`; returns by how much.
  Units reduce_up_to(Member debtor, Member creditor, Units units) {
    const Units cancelled = std::min(units, owed(debtor, creditor));
    if (cancelled > 0) reduce(debtor, creditor, cancelled);
    return cancelled;
  }

  static void link(const Party& debtor, const Party& creditor, std::uint64_t age) {
    const bool linked = debtor.side.by_age.emplace(age, creditor.member).second &&
                        creditor.side.by_age.emplace(age, debtor.member).second;
    FAIRWATER_CHECK(linked, "an IOU's age is unique");
  }

  /// Moves `units` of net position from one member to another, so the sum stays zero, and checks
  /// that the two are what their IOUs say: nobody's net has IOUs of the other sign or none at all.
  static void move_net(Side& giver, Side& taker, Units units) {
    const bool overflow = __builtin_sub_overflow(giver.net, units, &giver.net) ||
                          __builtin_add_overflow(taker.net, units, &taker.net);
    FAIRWATER_CHECK(!overflow, "a net position fits 64 bits");
    check_pure(giver);
    check_pure(taker);
  }
  static void check_pure(const Side& side) {
    FAIRWATER_CHECK((side.net == 0) == side.by_age.empty(),
                    "a net position is the sum of its IOUs");
  }

  IouTable ious_;
  SlotIndex slot_of_;
  std::vector<Side> sides_;    ///< by slot, of everybody who ever had an IOU
  std::vector<Pair> changed_;  ///< some repeatedly
  std::uint64_t last_age_ = 0;
};

IouBook::IouBook() : impl_(std::make_unique<Impl>()) {}
IouBook::IouBook(const IouBook& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
IouBook::IouBook(IouBook&&) noexcept = default;
IouBook& IouBook::operator=(const IouBook& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
IouBook& IouBook::operator=(IouBook&&) noexcept = default;
IouBook::~IouBook() = default;

void IouBook::restore(const Iou& iou) { impl_->restore(iou); }
void IouBook::restore_last_age(std::uint64_t age) { impl_->restore_last_age(age); }
void IouBook::lend(Member from, Member to, Units units) { impl_->lend(from, to, units); }
bool IouBook::repay(Member debtor, Member creditor, Units units) {
  return impl_->repay(debtor, creditor, units);
}
Units IouBook::leave(Member leaver, const std::vector<MemberWeight>& others) {
  return impl_->leave(leaver, others);
}
std::vector<IouBook::Iou> IouBook::decay(const DecayFactor& factor) { return impl_->decay(factor); }
void IouBook::multiply(Units times) { impl_->multiply(times); }
Units IouBook::net(Member member) const { return impl_->net(member); }
Units IouBook::owed(Member debtor, Member creditor) const { return impl_->owed(debtor, creditor); }
std::vector<IouBook::Iou> IouBook::debts_of(Member debtor) const { return impl_->debts_of(debtor); }
std::vector<IouBook::Iou> IouBook::claims_of(Member creditor) const {
  return impl_->claims_of(creditor);
}
std::vector<IouBook::Iou> IouBook::ious() const { return impl_->ious(); }
bool IouBook::empty() const { return impl_->empty(); }
std::uint64_t IouBook::last_age() const { return impl_->last_age(); }
std::size_t IouBook::count(Member member) const { return impl_->count(member); }
void IouBook::forget_changes() { impl_->forget_changes(); }
std::vector<IouBook::Iou> IouBook::take_changes() { return impl_->take_changes(); }

}  // namespace fairwater::inline policy::inline ledger
