// Debts that are forgiven, capped and that shrink: parts that add up, and books that stay books.
#include "policy/ledger/debts.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "policy/ledger/accounts.hpp"

namespace fairwater::test {
namespace {

constexpr TenantId kFirst{1}, kSecond{2}, kThird{3};

TEST_CASE("a part of several debts is of each in proportion, and adds up", "[unit][debts]") {
  const std::vector<IouBook::Iou> debts{{1, 2, 10, 1}, {1, 3, 1, 2}, {1, 4, 19, 3}};
  using Parts = std::vector<ForgivenDebt>;
  CHECK(parts_of_debt(debts, 15) == Parts{{kSecond, 5}, {TenantId{4}, 10}});
  CHECK(parts_of_debt(debts, 30) == Parts{{kSecond, 10}, {kThird, 1}, {TenantId{4}, 19}});
  CHECK(parts_of_debt(debts, kUnlimited) == parts_of_debt(debts, 30));
  CHECK(parts_of_debt(debts, 1) == Parts{{TenantId{4}, 1}});
}

TEST_CASE("whatever is forgiven, nets sum to zero and nobody is on both sides",
          "[property][debts]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const std::uint64_t tenants = 2 + below(6);
    AccountsSnapshot before;
    IouBook book;
    for (int i = 0; i < 20; ++i) {
      const auto lender = static_cast<std::uint32_t>(1 + below(tenants));
      const auto borrower = static_cast<std::uint32_t>(1 + below(tenants));
      const auto units = static_cast<Units>(1 + below(std::uint64_t{1} << below(50)));
      if (lender != borrower) book.lend(lender, borrower, units);
    }
    before.ious = book.ious();
    before.last_iou_age = book.last_age();
    Accounts accounts;
    for (std::uint32_t id = 1; id <= tenants; ++id) accounts.join(TenantId{id}, 1);
    accounts.restore(before);
    for (int i = 0; i < 10; ++i) {
      const TenantId debtor{static_cast<std::uint32_t>(1 + below(tenants))};
      const auto debts = accounts.book().debts_of(debtor.value);
      if (debts.empty()) continue;
      const Units owed = -accounts.book().net(debtor.value);
      const auto wanted = static_cast<Units>(1 + below(static_cast<std::uint64_t>(2 * owed)));
      const auto parts = parts_of_debt(debts, wanted);
      Units sum = 0;
      for (const ForgivenDebt& part : parts) {
        sum += part.units;
        // Within one of its exact part.
        const Wide exact =
            Wide{accounts.book().owed(debtor.value, part.creditor.value)} * std::min(wanted, owed);
        REQUIRE(Wide{part.units} * owed - exact <= owed);
        REQUIRE(exact - Wide{part.units} * owed <= owed);
      }
      REQUIRE(sum == std::min(wanted, owed));
      const Units forgiven_before = accounts.account(debtor).forgiven_total;
      REQUIRE_FALSE(accounts.forgive(debtor, parts));
      REQUIRE(accounts.book().net(debtor.value) == sum - owed);
      REQUIRE(accounts.account(debtor).forgiven_total == forgiven_before - sum);
    }
    Units nets = 0;
    Units forgiven = 0;
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      nets += accounts.book().net(id);
      forgiven += accounts.account(TenantId{id}).forgiven_total;
      REQUIRE((accounts.book().claims_of(id).empty() || accounts.book().debts_of(id).empty()));
      // What each had in the beginning is still told by the two.
      Units net_before = 0;
      for (const IouBook::Iou& iou : before.ious) {
        if (iou.creditor == id) net_before += iou.units;
        if (iou.debtor == id) net_before -= iou.units;
      }
      REQUIRE(accounts.book().net(id) + accounts.account(TenantId{id}).forgiven_total ==
              net_before);
    }
    REQUIRE(nets == 0);
    REQUIRE(forgiven == 0);
    // As a restart finds them.
    Accounts again;
    for (std::uint32_t id = 1; id <= tenants; ++id) again.join(TenantId{id}, 1);
    again.restore(accounts.snapshot());
    REQUIRE(again.snapshot() == accounts.snapshot());
  }
}

TEST_CASE("no more is forgiven than is owed", "[unit][debts]") {
  const auto refusal_of = [](TenantId debtor, std::vector<ForgivenDebt> debts) {
    Accounts accounts;
    for (const TenantId tenant : {kFirst, kSecond, kThird}) accounts.join(tenant, 1);
    AccountsSnapshot snapshot;
    snapshot.ious = {{1, 2, 10, 1}};
    accounts.restore(snapshot);
    return accounts.forgive(debtor, debts).value_or("forgiven");
  };
  CHECK(refusal_of(kFirst, {{kSecond, 10}}) == "forgiven");
  CHECK(refusal_of(kFirst, {{kSecond, 11}}) == "tenant 1 is forgiven more than it owes tenant 2");
  CHECK(refusal_of(kFirst, {{kSecond, 0}}) == "tenant 1 is forgiven more than it owes tenant 2");
  CHECK(refusal_of(kFirst, {{kThird, 1}}) == "tenant 1 is forgiven more than it owes tenant 3");
  CHECK(refusal_of(TenantId{9}, {{kSecond, 1}}) == "tenant 9 does not exist");
}

TEST_CASE("a cap is so much, or so long of one's part", "[unit][debts]") {
  constexpr MicroUnits kPart = 2'500'000;
  CHECK(cap_of(DebtTerms{}, kPart) == kUnlimited);
  CHECK(cap_of(DebtTerms{.cap_part_ms = 1000}, kPart) == 2500);
  CHECK(cap_of(DebtTerms{.cap_unit_ms = 300}, kPart) == 300);
  CHECK(cap_of(DebtTerms{.cap_part_ms = 1000, .cap_unit_ms = 3000}, kPart) == 2500);
  CHECK(cap_of(DebtTerms{.cap_part_ms = 1000}, 0) == 0);
  CHECK(cap_of(DebtCap{}, kPart) == kUnlimited);
  CHECK(cap_of(DebtCap{1000, 3000}, kPart) == 2500);
  CHECK(cap_of(DebtCap{1000, 300}, kPart) == 300);
}

TEST_CASE("a book that counts something else is as many times as large", "[unit][debts]") {
  Accounts accounts;
  for (const TenantId tenant : {kFirst, kSecond, kThird}) accounts.join(tenant, 1);
  AccountsSnapshot snapshot;
  snapshot.tenants = {{kFirst, 3, 400'000, -5}, {kSecond, -3, 0, 5}};
  snapshot.ious = {{1, 2, 10, 4}, {1, 3, 1, 2}};
  snapshot.last_iou_age = 7;
  accounts.restore(snapshot);
  Accounts forgiven = accounts;
  REQUIRE_FALSE(accounts.convert(1000));
  CHECK(accounts.book().ious() == std::vector<IouBook::Iou>{{1, 2, 10'000, 4}, {1, 3, 1000, 2}});
  CHECK(accounts.book().net(1) == -11'000);
  CHECK(accounts.book().last_age() == 7);
  CHECK(accounts.account(kFirst) == Account{kFirst, 3, 0, -5000});
  CHECK(accounts.account(kSecond) == Account{kSecond, -3, 0, 5000});
  REQUIRE_FALSE(accounts.convert(1));
  CHECK(accounts.book().net(1) == -11'000);
  REQUIRE_FALSE(forgiven.convert(0));
  CHECK(forgiven.book().empty());
  CHECK(forgiven.account(kFirst) == Account{kFirst, 3, 0, 0});
}

/// Accounts of tenants 1, 2, .. beside a slow count of what they held and what was theirs, and
/// beside accounts that know the journal alone.
struct Watched {
  std::mt19937_64 random;
  std::uint32_t tenants;
  DebtTerms debts;
  Accounts accounts = joined();
  Accounts stored = joined();
  std::vector<MicroUnits> held = std::vector<MicroUnits>(tenants, 0);
  std::vector<MicroUnits> parts = std::vector<MicroUnits>(tenants, 0);
  std::vector<Wide> deviation = std::vector<Wide>(tenants, 0);  ///< integral of held - part
  std::vector<LoanCaps> caps = std::vector<LoanCaps>(tenants);
  std::uint64_t decays = 0;
  std::uint64_t capped = 0;
  std::uint64_t capped_by_lenders = 0;

  [[nodiscard]] Accounts joined() const {
    Accounts fresh;
    for (std::uint32_t i = 1; i <= tenants; ++i) fresh.join(TenantId{i}, 1);
    return fresh;
  }
  static TenantId id(std::size_t i) { return TenantId{static_cast<std::uint32_t>(i + 1)}; }
  std::uint64_t below(std::uint64_t bound) { return random() % bound; }

  /// The same room as before in other hands.
  void share_out(std::vector<MicroUnits>& amounts, MicroUnits capacity) {
    for (std::size_t i = 0; i + 1 < tenants; ++i) {
      amounts[i] = static_cast<MicroUnits>(below(static_cast<std::uint64_t>(capacity) + 1));
      capacity -= amounts[i];
    }
    amounts.back() = capacity;
    for (std::size_t i = 0; i < tenants; ++i) {
      accounts.time().set_held(id(i), held[i]);
      accounts.time().set_part(id(i), parts[i]);
    }
  }
  void pass(LedgerMs ms) {
    accounts.time().pass_to(accounts.time().now_ms() + ms);
    for (std::size_t i = 0; i < tenants; ++i) deviation[i] += Wide{held[i] - parts[i]} * ms;
  }
  /// Somebody has other caps from now on.
  void draw_caps() {
    const auto draw = [&] {
      DebtCap cap;
      if (below(2) == 0) cap.part_ms = static_cast<LedgerMs>(1 + below(20'000));
      if (below(3) == 0) cap.unit_ms = static_cast<Units>(1 + below(500'000));
      return cap;
    };
    const std::size_t i = below(tenants);
    caps[i] = {.lend = draw(), .borrow = draw()};
    accounts.set_caps(id(i), caps[i]);
  }
  Units claim(std::size_t i) const { return std::max<Units>(accounts.book().net(id(i).value), 0); }
  Units debt(std::size_t i) const { return std::max<Units>(-accounts.book().net(id(i).value), 0); }
  void settle() {
    std::vector<Units> owed;
    std::vector<Units> claimed;
    for (std::size_t i = 0; i < tenants; ++i) {
      owed.push_back(debt(i));
      claimed.push_back(claim(i));
    }
    const auto settlement =
        accounts.settle_time(debts, static_cast<std::uint32_t>(below(20) == 0 ? below(3) : 0));
    for (std::size_t i = 0; i < tenants; ++i) {
      REQUIRE(debt(i) <= std::max(owed[i], std::min(cap_of(debts, parts[i]),
                                                    cap_of(caps[i].borrow, parts[i]))));
      REQUIRE(claim(i) <= std::max(claimed[i], cap_of(caps[i].lend, parts[i])));
    }
    if (!settlement) return;
    decays += settlement->decay_ms > 0;
    for (const TimeLine& line : settlement->lines) {
      capped += line.beyond_cap < 0;
      const auto i = static_cast<std::size_t>(line.tenant.value - 1);
      capped_by_lenders += line.beyond_cap > 0 && claim(i) == cap_of(caps[i].lend, parts[i]);
    }
    REQUIRE(stored.apply(*settlement).value_or("") == "");
    REQUIRE(stored.book().ious() == accounts.book().ious());
    REQUIRE(stored.time().resource() == accounts.time().resource());
  }
  /// integral(held - part) = -net - forgiven, with what is not settled and what rounding left.
  void check() const {
    Units nets = 0;
    Units forgiven = 0;
    for (std::size_t i = 0; i < tenants; ++i) {
      const TimeAccount time = accounts.time().account(id(i));
      const Units net = accounts.book().net(id(i).value);
      const Units total = accounts.account(id(i)).forgiven_total;
      REQUIRE(Wide{net + total} * kMicroUnitsPerUnit + time.rest + time.spare - time.borrowed ==
              -deviation[i]);
      REQUIRE(stored.account(id(i)).forgiven_total == total);
      nets += net;
      forgiven += total;
    }
    REQUIRE(nets == 0);
    REQUIRE(forgiven == 0);
  }
  /// As a coordinator that begins anew from what is stored; what was not settled is lost to it.
  void restart() {
    pass(0);
    settle();
    Accounts again = joined();
    again.restore(stored.snapshot());
    Accounts stored_again = joined();
    stored_again.restore(stored.snapshot());
    REQUIRE(stored_again.snapshot() == stored.snapshot());
    for (std::size_t i = 0; i < tenants; ++i) {
      again.time().set_held(id(i), held[i]);
      again.time().set_part(id(i), parts[i]);
      again.set_caps(id(i), caps[i]);
    }
    // What nobody lent since the last record is in nobody's account.
    for (std::size_t i = 0; i < tenants; ++i) {
      const TimeAccount time = again.time().account(id(i));
      deviation[i] = -(Wide{again.book().net(id(i).value) + again.account(id(i)).forgiven_total} *
                           kMicroUnitsPerUnit +
                       time.rest);
    }
    accounts = std::move(again);
    stored = std::move(stored_again);
  }
};

TEST_CASE("what was held beside one's part is the net and what was forgiven, exactly",
          "[property][debts]") {
  std::uint64_t decays = 0;
  std::uint64_t capped = 0;
  std::uint64_t capped_by_lenders = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    DebtTerms debts;
    if (random() % 4 != 0) debts.half_life_ms = static_cast<LedgerMs>(1 + random() % 200'000);
    if (random() % 2 != 0) debts.cap_part_ms = static_cast<LedgerMs>(1 + random() % 20'000);
    if (random() % 3 == 0) debts.cap_unit_ms = static_cast<Units>(1 + random() % 500'000);
    const auto tenants = static_cast<std::uint32_t>(2 + random() % 6);
    Watched watched{.random = random, .tenants = tenants, .debts = debts};
    const auto capacity = static_cast<MicroUnits>(1 + random() % 100) * kMicroUnitsPerUnit;
    watched.share_out(watched.parts, capacity);
    watched.share_out(watched.held, capacity);
    for (int step = 0; step < 80; ++step) {
      watched.pass(static_cast<LedgerMs>(watched.below(1000)));
      if (watched.below(10) == 0) watched.share_out(watched.parts, capacity);
      if (watched.below(2) == 0) watched.share_out(watched.held, capacity);
      if (watched.below(2) == 0) watched.settle();
      if (seed % 2 == 0 && watched.below(12) == 0) watched.draw_caps();
      if (watched.below(12) == 0) watched.restart();
      watched.check();
    }
    decays += watched.decays;
    capped += watched.capped;
    capped_by_lenders += watched.capped_by_lenders;
  }
  CHECK(decays > 1000);
  CHECK(capped > 1000);
  CHECK(capped_by_lenders > 100);
}

TEST_CASE("however often it is settled, an idle cluster's debts shrink alike",
          "[property][debts]") {
  const DebtTerms debts{.half_life_ms = 7 * 86'400'000};
  const auto left_after = [&](LedgerMs period) {
    Accounts accounts;
    for (const TenantId tenant : {kFirst, kSecond, kThird}) accounts.join(tenant, 1);
    AccountsSnapshot snapshot;
    snapshot.ious = {{1, 2, 987'654'321'012, 1}, {1, 3, 57'600'000, 2}};
    accounts.restore(snapshot);
    for (LedgerMs passed = 0; passed < 5 * 86'400'000; passed += period) {
      accounts.time().pass_to(accounts.time().now_ms() + period);
      (void)accounts.settle_time(debts, 0);
    }
    return accounts.book().ious();
  };
  const auto once = left_after(5 * 86'400'000);
  REQUIRE(once.size() == 2);
  CHECK(once[1].units == 35'107'593);  // 57.6e6 * 2^(-5/7)
  for (const LedgerMs period : {LedgerMs{200'000}, LedgerMs{3'600'000}, LedgerMs{86'400'000}}) {
    const auto often = left_after(period);
    REQUIRE(often.size() == once.size());
    for (std::size_t i = 0; i < once.size(); ++i)
      CHECK(std::abs(often[i].units - once[i].units) <= 1);
  }
}

TEST_CASE("a settlement whose debts shrink otherwise is refused", "[unit][debts]") {
  const auto refusal_of = [](const std::function<void(TimeSettlement&)>& change) {
    Accounts accounts;
    for (const TenantId tenant : {kFirst, kSecond}) accounts.join(tenant, 1);
    AccountsSnapshot snapshot;
    snapshot.ious = {{1, 2, 10, 1}};
    accounts.restore(snapshot);
    TimeSettlement settlement{
        .from_ms = 0, .until_ms = 1000, .half_life_ms = 1000, .decay_ms = 1000};
    settlement.lines = {{.tenant = kFirst, .decayed = -5}, {.tenant = kSecond, .decayed = 5}};
    change(settlement);
    return accounts.apply(settlement).value_or("applied");
  };
  CHECK(refusal_of([](TimeSettlement&) {}) == "applied");
  CHECK(refusal_of([](TimeSettlement& changed) { changed.lines[1].decayed = 4; }) ==
        "of tenant 2 decay 5 unit-milliseconds, not 4");
  CHECK(refusal_of([](TimeSettlement& changed) { changed.lines.pop_back(); }) ==
        "debts of tenant 2 shrink without a line");
  CHECK(refusal_of([](TimeSettlement& changed) { changed.half_life_ms = 0; }) ==
        "debts shrink for 1000 ms with a half-life of 0 ms");
  CHECK(refusal_of([](TimeSettlement& changed) { changed.lines[0].beyond_cap = -1; }) ==
        "what is not lent is not what is not borrowed");
}

}  // namespace
}  // namespace fairwater::test
