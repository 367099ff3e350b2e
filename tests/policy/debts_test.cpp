// Debts that are forgiven: parts that add up, and books that stay books.
#include "policy/ledger/debts.hpp"

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

}  // namespace
}  // namespace fairwater::test
