// The book of IOUs against a plain list that is searched from end to end.
#include "policy/ledger/iou_book.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;
using Member = IouBook::Member;
using Iou = IouBook::Iou;

/// IOUs in a list, oldest first; nothing kept besides.
class PlainList {
 public:
  void lend(Member from, Member to, Units units) {
    for (; units > 0; --units) lend_one(from, to);
  }
  bool repay(Member debtor, Member creditor, Units units) {
    Iou* iou = find(debtor, creditor);
    if (iou == nullptr || iou->units < units) return false;
    take(debtor, creditor, units);
    return true;
  }
  Units leave(Member leaver, const std::vector<IouBook::MemberWeight>& others) {
    std::vector<Iou> claims;
    for (const Iou& iou : list_)
      if (iou.creditor == leaver) claims.push_back(iou);
    for (const Iou& claim : claims) take(claim.debtor, leaver, claim.units);
    Weight whole = 0;
    for (const auto& other : others) whole += other.weight;
    Units forgiven = 0;
    for (const Iou& claim : claims) {
      forgiven += claim.units;
      for (const auto& other : others) {
        if (other.member == claim.debtor) continue;
        const Units part = claim.units * other.weight / whole;
        lend(other.member, claim.debtor, part);
        forgiven -= part;
      }
    }
    return forgiven;
  }
  [[nodiscard]] Units net(Member member) const {
    Units net = 0;
    for (const Iou& iou : list_) {
      if (iou.creditor == member) net += iou.units;
      if (iou.debtor == member) net -= iou.units;
    }
    return net;
  }
  [[nodiscard]] const std::vector<Iou>& by_age() const { return list_; }

 private:
  Iou* find(Member debtor, Member creditor) {
    for (Iou& iou : list_)
      if (iou.debtor == debtor && iou.creditor == creditor) return &iou;
    return nullptr;
  }
  void take(Member debtor, Member creditor, Units units) {
    find(debtor, creditor)->units -= units;
    std::erase_if(list_, [](const Iou& iou) { return iou.units == 0; });
  }
  void give(Member debtor, Member creditor) {
    Iou* iou = find(debtor, creditor);
    if (iou != nullptr)
      ++iou->units;
    else
      list_.push_back({debtor, creditor, 1, ++last_age_});
  }
  /// One unit takes each of the design's three rules literally.
  void lend_one(Member from, Member to) {
    if (find(from, to) != nullptr) return take(from, to, 1);
    Member lender = from;
    for (const Iou& iou : list_)
      if (iou.debtor == from) {
        lender = iou.creditor;
        break;
      }
    Member borrower = to;
    for (const Iou& iou : list_)
      if (iou.creditor == to) {
        borrower = iou.debtor;
        break;
      }
    if (lender != from) take(from, lender, 1);
    if (borrower != to) take(borrower, to, 1);
    give(borrower, lender);
  }

  std::vector<Iou> list_;
  std::uint64_t last_age_ = 0;
};

std::vector<Iou> of_debtor(const std::vector<Iou>& all, Member debtor) {
  std::vector<Iou> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const Iou& iou) { return iou.debtor == debtor; });
  return some;
}

std::vector<Iou> of_creditor(const std::vector<Iou>& all, Member creditor) {
  std::vector<Iou> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const Iou& iou) { return iou.creditor == creditor; });
  return some;
}

/// Units and the order of age agree; the numbers that stand for ages may differ.
bool same_in_order(const std::vector<Iou>& a, const std::vector<Iou>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Iou& x, const Iou& y) {
    return x.debtor == y.debtor && x.creditor == y.creditor && x.units == y.units;
  });
}

void check_agrees(const IouBook& book, const PlainList& model, Member members) {
  Units sum = 0;
  for (Member m = 0; m < members; ++m) {
    RC_ASSERT(book.net(m) == model.net(m));
    sum += book.net(m);
    const auto debts = book.debts_of(m);
    const auto claims = book.claims_of(m);
    RC_ASSERT(debts.empty() || claims.empty());
    RC_ASSERT(same_in_order(debts, of_debtor(model.by_age(), m)));
    RC_ASSERT(same_in_order(claims, of_creditor(model.by_age(), m)));
    for (const Iou& debt : debts) RC_ASSERT(book.owed(debt.debtor, debt.creditor) == debt.units);
  }
  RC_ASSERT(sum == 0);
  RC_ASSERT(book.ious().size() == model.by_age().size());
  RC_ASSERT(book.empty() == model.by_age().empty());
}

TEST_CASE("Loans, repayments and leaving agree with a plain list", "[property][ledger]") {
  check_property("IOU book against a plain list", 10'000, [] {
    IouBook book;
    PlainList model;
    std::map<std::pair<Member, Member>, Units> copy;
    const auto members = draw<Member>(2, 7);
    const int steps = draw(1, 30);
    for (int step = 0; step < steps; ++step) {
      const auto a = draw<Member>(0, members - 1);
      const auto b = draw<Member>(0, members - 1);
      const int what = draw(0, 9);
      if (what == 0 && book.net(a) >= 0) {
        std::vector<IouBook::MemberWeight> others;
        for (Member m = 0; m < members; ++m)
          if (m != a) others.push_back({m, Weight{1} + (m * 7 + 3) % 5});
        RC_ASSERT(book.leave(a, others) == model.leave(a, others));
      } else if (what <= 2) {
        const Units units = draw<Units>(1, 6);
        RC_ASSERT(book.repay(a, b, units) == model.repay(a, b, units));
      } else if (a != b) {
        const Units units = draw<Units>(1, 15);
        book.lend(a, b, units);
        model.lend(a, b, units);
      }
      check_agrees(book, model, members);
      for (const Iou& change : book.take_changes()) {
        copy[{change.debtor, change.creditor}] = change.units;
        if (change.units == 0) copy.erase({change.debtor, change.creditor});
      }
      std::map<std::pair<Member, Member>, Units> now;
      for (const Iou& iou : book.ious()) now[{iou.debtor, iou.creditor}] = iou.units;
      RC_ASSERT(copy == now);
    }
    IouBook restored;
    for (const Iou& iou : book.ious()) restored.restore(iou);
    RC_ASSERT(restored.ious() == book.ious());
    check_agrees(restored, model, members);
  });
}

TEST_CASE("An IOU that grows keeps its age and one that comes again is new", "[unit][ledger]") {
  IouBook book;
  book.lend(1, 0, 5);
  book.lend(2, 0, 5);
  book.lend(1, 0, 5);
  REQUIRE(book.debts_of(0).size() == 2);
  CHECK(book.debts_of(0)[0].creditor == 1);
  CHECK(book.repay(0, 1, 10));
  book.lend(1, 0, 1);
  CHECK(book.debts_of(0)[0].creditor == 2);
}

TEST_CASE("Repaying more than is owed changes nothing", "[unit][ledger]") {
  IouBook book;
  book.lend(1, 0, 5);
  book.take_changes();
  CHECK_FALSE(book.repay(0, 1, 6));
  CHECK_FALSE(book.repay(1, 0, 1));
  CHECK(book.owed(0, 1) == 5);
  CHECK(book.take_changes().empty());
}

}  // namespace
}  // namespace fairwater
