// The accounts: what each event does to them, what they refuse, and that they come back as they
// were.
#include "policy/ledger/accounts.hpp"

#include <random>
#include <set>

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

constexpr TenantId kOne{1}, kTwo{2}, kThree{3};
constexpr NodeId kKeeping{7};

/// Weights 5, 3 and 2.
Accounts three_tenants() {
  Accounts accounts;
  accounts.join(kOne, 5);
  accounts.join(kTwo, 3);
  accounts.join(kThree, 2);
  return accounts;
}

/// From where the accounts stand.
Transaction transaction(const Accounts& accounts) {
  Transaction next;
  next.node = kKeeping;
  next.position_before = next.position_after = accounts.position();
  return next;
}

/// A statement that follows from the entries, repayments and loans.
void add_statement(Transaction& transaction, const Accounts& accounts, TenantId tenant) {
  Units moved = 0;
  for (const Entry& entry : transaction.entries)
    if (entry.tenant == tenant) moved += entry.units;
  for (const Repayment& repayment : transaction.repayments)
    moved += Units{repayment.creditor == tenant} * repayment.units -
             Units{repayment.debtor == tenant} * repayment.units;
  for (const Loan& loan : transaction.loans)
    moved +=
        Units{loan.borrower == tenant} * loan.units - Units{loan.lender == tenant} * loan.units;
  const Account& account = accounts.account(tenant);
  transaction.statements.push_back(
      {tenant, account.deficit, account.deficit + moved, account.repay_remainder_millionths});
}

std::string refusal(Accounts accounts, const Transaction& transaction) {
  return accounts.apply(transaction).value_or("applied");
}

TEST_CASE("a transaction moves deficits, claims, the position and the room that is kept",
          "[unit][accounts]") {
  Accounts accounts = three_tenants();
  Transaction first = transaction(accounts);
  // Four slots fall to a, one to b; a places 2, c places 3: b is owed a part, c borrows from a.
  first.entries = {{kOne, EntryReason::granted, 4},
                   {kTwo, EntryReason::granted, 1},
                   {kOne, EntryReason::placed, -2},
                   {kThree, EntryReason::placed, -3}};
  const std::vector<Loan> loans{{kOne, kThree, 2}};
  first.loans = loans;
  for (const TenantId tenant : {kOne, kTwo, kThree}) add_statement(first, accounts, tenant);
  first.statements[1].repay_remainder_millionths = 250'000;
  first.position_after = 5;
  first.reservation = Reservation{kTwo, ResourceVector::filled(3)};
  REQUIRE_FALSE(accounts.apply(first));
  CHECK(accounts.account(kOne).deficit == 0);
  CHECK(accounts.account(kTwo) == Account{kTwo, 1, 250'000});
  CHECK(accounts.account(kThree).deficit == -1);
  CHECK(accounts.book().owed(3, 1) == 2);
  CHECK(accounts.position() == 5);
  REQUIRE(accounts.reservation(kKeeping) != nullptr);
  CHECK(accounts.reservation(kKeeping)->tenant == kTwo);
  const Accounts::Changes& changes = accounts.take_changes();
  CHECK(std::set(changes.tenants.begin(), changes.tenants.end()) == std::set{kTwo, kThree});
  CHECK(changes.ious.size() == 1);
  CHECK(changes.nodes == std::vector{kKeeping});
  CHECK(accounts.take_changes().tenants.empty());

  Transaction second = transaction(accounts);
  const std::vector<Repayment> repayments{{kThree, kOne, 2}};
  second.repayments = repayments;
  second.entries = {{kThree, EntryReason::granted, 2}, {kOne, EntryReason::placed, -2}};
  for (const TenantId tenant : {kOne, kThree}) add_statement(second, accounts, tenant);
  REQUIRE_FALSE(accounts.apply(second));
  CHECK(accounts.book().empty());
  CHECK(accounts.reservation(kKeeping) == nullptr);
}

TEST_CASE("accounts refuse what does not add up", "[unit][accounts]") {
  const Accounts accounts = three_tenants();
  Transaction wrong = transaction(accounts);
  wrong.entries = {{kOne, EntryReason::granted, 2}, {kOne, EntryReason::placed, -1}};
  add_statement(wrong, accounts, kOne);
  CHECK(refusal(accounts, wrong) == "the entries sum to 1 units instead of none");
  wrong.entries.push_back({kTwo, EntryReason::placed, -1});
  CHECK(refusal(accounts, wrong) == "tenant 2 takes part without a line");
  wrong.statements.push_back({kTwo, 0, 0, 0});
  CHECK(refusal(accounts, wrong) == "the account of tenant 2 closes with 0 units instead of -1");
  wrong.statements.back().closing = -1;
  CHECK(refusal(accounts, wrong) == "applied");
  wrong.statements.back().opening = 1;
  CHECK(refusal(accounts, wrong) == "tenant 2 has a deficit of 0 units, not 1");

  Transaction moved = transaction(accounts);
  moved.position_after = 10;
  CHECK(refusal(accounts, moved) == "position 10 is not within the sequence's period of 10");
  moved.position_before = 3;
  CHECK(refusal(accounts, moved) == "a deal begins at position 3 of the sequence, which is at 0");
  Transaction paid = transaction(accounts);
  const std::vector<Repayment> repayments{{kOne, kTwo, 1}};
  paid.repayments = repayments;
  CHECK(refusal(accounts, paid) == "tenant 1 repays more than it owes tenant 2");
  Transaction kept = transaction(accounts);
  kept.reservation = Reservation{TenantId{9}, {}};
  CHECK(refusal(accounts, kept) == "tenant 9, for which room is kept, does not exist");
}

/// As a deal leaves it: some of `from`'s slots were used by `to`.
void deal_between(Accounts& accounts, TenantId from, TenantId to, Units units, bool as_loan) {
  Transaction next = transaction(accounts);
  next.entries = {{from, EntryReason::granted, units}, {to, EntryReason::placed, -units}};
  const std::vector<Loan> loans(as_loan ? 1 : 0, Loan{from, to, units});
  next.loans = loans;
  add_statement(next, accounts, from);
  add_statement(next, accounts, to);
  REQUIRE_FALSE(accounts.apply(next));
}

TEST_CASE("an advance goes back out of the deficits, else as a loan", "[unit][accounts]") {
  Accounts accounts = three_tenants();
  deal_between(accounts, kOne, kTwo, 3, false);
  deal_between(accounts, kOne, kTwo, 4, true);
  const auto returned = accounts.take_back(kTwo, {{kOne, 5}, {TenantId{9}, 1}});
  REQUIRE(returned.size() == 1);
  CHECK(returned[0].loan == 2);
  CHECK(accounts.account(kOne).deficit == 0);
  CHECK(accounts.account(kTwo).deficit == 0);
  CHECK(accounts.book().owed(2, 1) == 2);
}

TEST_CASE("who leaves takes deficit, claims and kept room along", "[unit][accounts]") {
  Accounts accounts = three_tenants();
  deal_between(accounts, kTwo, kOne, 7, false);
  deal_between(accounts, kTwo, kThree, 2, false);
  deal_between(accounts, kThree, kTwo, 4, false);
  Transaction keeping = transaction(accounts);
  keeping.reservation = Reservation{kTwo, ResourceVector::filled(1)};
  REQUIRE_FALSE(accounts.apply(keeping));
  // 5 of b against -7 of a and 2 of c: it comes off a's.
  CHECK(accounts.leave(kTwo) == 5);
  CHECK(accounts.account(kOne).deficit == -2);
  CHECK(accounts.account(kThree).deficit == 2);
  CHECK(accounts.reservation(kKeeping) == nullptr);
  CHECK(accounts.period() == 7);
  CHECK_FALSE(accounts.has(kTwo));
}

TEST_CASE("accounts come back from a snapshot as they were", "[property][accounts]") {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 50; ++round) {
    Accounts accounts;
    std::vector<TenantId> tenants;
    std::uint32_t joined = 0;
    for (int step = 0; step < 60; ++step) {
      if (tenants.size() < 3 || below(12) == 0) {
        tenants.push_back(TenantId{++joined});
        accounts.join(tenants.back(), static_cast<Weight>(1 + below(9)));
      } else if (below(15) == 0) {
        const std::size_t at = below(tenants.size());
        if (accounts.book().net(tenants[at].value) < 0) continue;
        accounts.leave(tenants[at]);
        tenants.erase(tenants.begin() + static_cast<std::ptrdiff_t>(at));
        REQUIRE_FALSE(accounts.move_to(below(static_cast<std::uint64_t>(accounts.period()))));
      } else {
        const TenantId from = tenants[below(tenants.size())];
        const TenantId to = tenants[below(tenants.size())];
        if (from == to) continue;
        if (below(6) == 0)
          accounts.take_back(to, {{from, static_cast<Units>(1 + below(5))}});
        else
          deal_between(accounts, from, to, static_cast<Units>(1 + below(9)), below(2) == 0);
      }
      Units nets = 0;
      Units deficits = 0;
      for (const TenantId tenant : tenants) {
        nets += accounts.book().net(tenant.value);
        deficits += accounts.account(tenant).deficit;
      }
      REQUIRE(nets == 0);
      REQUIRE(deficits == 0);
    }
    Accounts restored;
    for (const TenantId tenant : tenants) restored.join(tenant, 1);
    const AccountsSnapshot snapshot = accounts.snapshot();
    for (const TenantId tenant : tenants)
      restored.reweigh(tenant, accounts.period());  // wide enough for any position
    restored.restore(snapshot);
    CHECK(restored.snapshot() == snapshot);
    // Ages go on from the youngest there ever was.
    deal_between(accounts, tenants[0], tenants[1], 100, true);
    deal_between(restored, tenants[0], tenants[1], 100, true);
    CHECK(restored.snapshot() == accounts.snapshot());
  }
}

}  // namespace
}  // namespace fairwater::test
