// The fold of deals: deficits, IOUs and totals, and what comes back from launches that failed.
#include <catch2/catch.hpp>

#include "policy/allocator/advances.hpp"
#include "tests/storage/folded.hpp"

namespace fairwater::test {
namespace {

/// `lender` gets all slots, `borrower` uses them.
Deal lending_deal(std::uint32_t lender, std::uint32_t borrower, const TaskKey& task, Units cost) {
  Deal deal = plain_deal(0, TenantId{borrower}, {task});
  deal.free_units = cost;
  deal.grants[0].cost = cost;
  deal.lines[0].granted = 0;
  deal.lines[0].placed = cost;
  TenantLine line;
  line.tenant = TenantId{lender};
  line.granted = cost;
  deal.lines.push_back(line);
  deal.loans.push_back({TenantId{lender}, TenantId{borrower}, cost});
  return deal;
}

TEST_CASE("loans and repayments move the book and the totals", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 2);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 4)}});
  CHECK(folded.state.balances.find(balance_key(2, 1))->units == 4);
  CHECK(folded.state.accounts.book().net(1) == 4);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->lent_total == 4);
  CHECK(folded.state.tenants.find(key_of(TenantId{2}))->borrowed_total == 4);
  Deal repayment = lending_deal(1, 2, key(1, 1), 4);
  repayment.loans.clear();
  std::swap(repayment.lines[0].granted, repayment.lines[1].granted);
  repayment.lines[0].placed = 4;
  repayment.lines[0].granted = 8;
  repayment.lines[0].paid = 4;
  repayment.lines[1].received = 4;
  repayment.lines[1].rolled_back = 4;
  repayment.repayments.push_back({TenantId{2}, TenantId{1}, 4});
  folded.must_apply(Cycle{{repayment}});
  CHECK(folded.state.balances.find(balance_key(2, 1)) == nullptr);
  CHECK(folded.state.accounts.book().empty());
}

TEST_CASE("a settlement of time moves the book, and is read again as it was", "[unit][fold]") {
  TimeSettlement settlement{.from_ms = 0, .until_ms = 1000};
  settlement.lines.push_back(
      {.tenant = TenantId{1}, .position = 7, .rest = -250'000, .held = {5, 1}, .part = {12, 2}});
  settlement.lines.push_back(
      {.tenant = TenantId{2}, .position = -7, .rest = 250'000, .held = {20, 3}, .part = {13, 4}});
  Folded units;
  CHECK(units.refusal(TimeSettled{settlement}) == "time is settled in a ledger that counts units");

  Folded folded;
  folded.state.meta.cluster.accounting = Accounting::time;
  folded.must_apply(TimeSettled{settlement});
  CHECK(folded.state.accounts.book().owed(2, 1) == 7);
  const TenantRecord& one = *folded.state.tenants.find(key_of(TenantId{1}));
  CHECK(one.time_rest == -250'000);
  CHECK(one.held_total == UnitTime{5, 1});
  CHECK(one.part_total == UnitTime{12, 2});
  CHECK(folded.state.meta.ledger_ms == 1000);
  CHECK(folded.refusal(TimeSettled{settlement}) ==
        "a settlement from 0 to 1000 ms does not follow on 1000 ms");
  settlement.from_ms = settlement.until_ms = 1000;
  ++settlement.lines[0].position;
  CHECK(folded.refusal(TimeSettled{settlement}) == "what is lent is not what is borrowed");
}

TEST_CASE("what a settlement leaves for later is read again", "[unit][fold]") {
  Folded folded;
  folded.state.meta.cluster.accounting = Accounting::time;
  TimeSettlement settlement{.from_ms = 0, .until_ms = 1000, .resource = 1, .half_life_ms = 1000};
  settlement.lines = {{.tenant = TenantId{1}, .position = 7, .beyond_cap = 3},
                      {.tenant = TenantId{2}, .position = -7, .beyond_cap = -3}};
  folded.must_apply(TimeSettled{settlement});
  CHECK(folded.state.meta.time_resource == 1);
  CHECK(folded.state.meta.undecayed_ms == 0);  // nothing was owed that could have shrunk
  settlement = {.from_ms = 1000, .until_ms = 1200, .resource = 1, .half_life_ms = 1000};
  folded.must_apply(TimeSettled{settlement});
  CHECK(folded.state.meta.undecayed_ms == 200);
  settlement = {
      .from_ms = 1500, .until_ms = 2200, .resource = 0, .half_life_ms = 1000, .decay_ms = 1200};
  settlement.lines = {{.tenant = TenantId{1}, .decayed = 4},
                      {.tenant = TenantId{2}, .decayed = -4}};
  folded.must_apply(TimeSettled{settlement});
  CHECK(folded.state.meta.time_resource == 0);
  CHECK(folded.state.meta.undecayed_ms == 0);
  // 7 * 2^-1.2 is 3.047..
  CHECK(folded.state.balances.find(balance_key(2, 1))->units == 3);
  CHECK(folded.state.balances.find(balance_key(2, 1))->rest > 0);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->forgiven_total == 7);
  CHECK(folded.state.tenants.find(key_of(TenantId{2}))->forgiven_total == -7);
}

TEST_CASE("forgiven debts leave the book, and what was forgiven is kept", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 1);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 9)}});
  folded.must_apply(DebtForgiven{TenantId{2}, {{TenantId{1}, 5}}, "a broken job"});
  CHECK(folded.state.balances.find(balance_key(2, 1))->units == 4);
  const auto forgiven_total = [&](std::uint32_t id) {
    return folded.state.tenants.find(key_of(TenantId{id}))->forgiven_total;
  };
  CHECK(forgiven_total(1) == 5);
  CHECK(forgiven_total(2) == -5);
  CHECK(folded.refusal(DebtForgiven{TenantId{2}, {{TenantId{1}, 5}}, "again"}) ==
        "tenant 2 is forgiven more than it owes tenant 1");
  folded.must_apply(DebtForgiven{TenantId{2}, {{TenantId{1}, 4}}, "all of it"});
  CHECK(folded.state.balances.find(balance_key(2, 1)) == nullptr);
  // It owes nothing now, and may leave.
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  folded.must_apply(TenantRemoved{TenantId{2}, 0, 0});
}

TEST_CASE("a ledger of units becomes one of time once, balances and all", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 2);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 9)}});
  folded.must_apply(DebtForgiven{TenantId{2}, {{TenantId{1}, 2}}, "why not"});
  const std::uint64_t age = folded.state.balances.find(balance_key(2, 1))->age;
  CHECK(folded.refusal(AccountingChanged{-1}) == "balances become -1 times as large");
  CHECK_THAT(folded.refusal(AccountingChanged{kUnlimited}),
             Catch::StartsWith("balances are too large to become "));
  SECTION("at a rate") {
    folded.must_apply(AccountingChanged{600'000});
    CHECK(folded.state.balances.find(balance_key(2, 1))->units == 7 * 600'000);
    CHECK(folded.state.balances.find(balance_key(2, 1))->age == age);
    CHECK(folded.state.tenants.find(key_of(TenantId{1}))->forgiven_total == 2 * 600'000);
  }
  SECTION("or to nothing") {
    folded.must_apply(AccountingChanged{});
    CHECK(folded.state.balances.find(balance_key(2, 1)) == nullptr);
  }
  CHECK(folded.state.meta.cluster.accounting == Accounting::time);
  CHECK(folded.state.meta.counts_time_since.microseconds == folded.time_us);
  for (const TenantId tenant : {TenantId{1}, TenantId{2}}) {
    const Account& account = folded.state.accounts.account(tenant);
    CHECK(account.repay_remainder_millionths == 0);
  }
  CHECK(folded.refusal(AccountingChanged{1}) ==
        "a ledger that counts units, with tasks by their sizes, begins to count time");
  TimeSettlement settlement{.from_ms = 0, .until_ms = 1000};
  settlement.lines = {{.tenant = TenantId{1}, .position = 7},
                      {.tenant = TenantId{2}, .position = -7}};
  folded.must_apply(TimeSettled{settlement});
}

TaskResult launch_failure(const TaskKey& task) {
  TaskResult result;
  result.task = task;
  result.reason = EndReason::launch_failed;
  return result;
}

TEST_CASE("a launch that failed is neither use nor loan", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 1);
  const Deal deal = lending_deal(1, 2, key(1, 0), 4);
  folded.must_apply(Cycle{{deal}});
  const auto advances = advances_of(deal);
  REQUIRE(advances == std::vector<std::vector<Advance>>{{{TenantId{1}, 4}}});
  const auto tenant_at = [&](std::uint32_t id) {
    return *folded.state.tenants.find(key_of(TenantId{id}));
  };
  SECTION("however it is told") {
    const LaunchesFailed failed{NodeId{1}, {{launch_failure(key(1, 0)), advances[0]}}};
    folded.must_apply(failed);
    CHECK(folded.state.accounts.book().empty());
    CHECK(tenant_at(1).lent_total == 0);
    CHECK(tenant_at(2).borrowed_total == 0);
    CHECK(tenant_at(2).granted_units_total == 0);
    CHECK(folded.task(1, 0)->state == TaskState::pending);
    CHECK(folded.task(1, 0)->launch_failures == 1);
    CHECK(folded.task(1, 0)->waits_until.microseconds == folded.time_us + 1'000'000);
    CHECK(folded.refusal(failed) ==
          "task 1.0.1 does not run there, and its advances would go back");
    folded.must_apply(LaunchesFailed{NodeId{1}, {{launch_failure(key(1, 0)), {}}}});
    folded.grant(2, {key(1, 0, 2)});
    CHECK_FALSE(folded.task(1, 0)->waits_until);
  }
  SECTION("but no more goes back than it cost, and nothing of what ran") {
    CHECK_THAT(folded.refusal(LaunchesFailed{
                   NodeId{1}, {{launch_failure(key(1, 0)), {{TenantId{1}, 3}, {TenantId{3}, 2}}}}}),
               Catch::Contains("2 units of 1 that a grant of tenant 2 cost"));
    CHECK_THAT(folded.refusal(LaunchesFailed{NodeId{1}, {{success(key(1, 0)), advances[0]}}}),
               Catch::Contains("is no failed launch: it ended as exited"));
  }
}

TEST_CASE("the worked example of docs/ledger.md comes out as written", "[unit][fold]") {
  constexpr std::uint32_t a = 1;
  constexpr std::uint32_t b = 2;
  constexpr std::uint32_t c = 3;
  IouBook book;
  const auto nets = [&] { return std::vector{book.net(a), book.net(b), book.net(c)}; };
  book.lend(a, b, 4);
  CHECK(nets() == std::vector<Units>{4, -4, 0});
  book.lend(c, b, 2);
  CHECK(nets() == std::vector<Units>{4, -6, 2});
  book.lend(b, c, 3);
  CHECK(nets() == std::vector<Units>{4, -3, -1});
  CHECK(book.owed(b, a) == 3);
  CHECK(book.owed(c, a) == 1);
  CHECK(book.repay(b, a, 2));
  CHECK(nets() == std::vector<Units>{2, -1, -1});
  CHECK(book.owed(b, a) == 1);
}

TEST_CASE("an IOU that comes again is younger than those that stayed", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 2, 8);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 1), lending_deal(3, 2, key(1, 1), 1)}});
  const std::uint64_t first = folded.state.balances.find(balance_key(2, 1))->age;
  const std::uint64_t second = folded.state.balances.find(balance_key(2, 3))->age;
  CHECK(first < second);
  folded.submit(2, 1, 1);
  folded.must_apply(Cycle{{lending_deal(2, 1, key(2, 0), 1)}});  // cancels b's debt to a
  CHECK(folded.state.balances.find(balance_key(2, 1)) == nullptr);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 2), 1)}});
  CHECK(folded.state.balances.find(balance_key(2, 1))->age > second);
  CHECK(folded.state.balances.find(balance_key(2, 3))->age == second);
}

TEST_CASE("a leaver's claims are spread, its tokens go, its id stays used", "[unit][fold]") {
  Folded folded;
  Hash hash{};
  folded.must_apply(TokenIssued{Role::tenant, TenantId{1}, hash});
  folded.submit(1, 2, 1);
  folded.must_apply(Cycle{{lending_deal(1, 2, key(1, 0), 9)}});
  CHECK(folded.refusal(TenantRemoved{TenantId{2}, 0, 0}) ==
        "tenant 'b' leaves while a job of its lives");
  folded.must_apply(TasksFinished{NodeId{1}, {success(key(1, 0))}});
  CHECK(folded.refusal(TenantRemoved{TenantId{2}, 0, 0}) == "tenant 'b' leaves while it owes");
  // Nine units spread by weight over b (3, forgiven: its own) and c (2): c gets floor(9 * 2 / 5)
  // = 3.
  folded.must_apply(TenantRemoved{TenantId{1}, 0, 6});
  CHECK(folded.state.balances.find(balance_key(2, 3))->units == 3);
  CHECK(folded.state.tokens.find(token_key(hash)) == nullptr);
  CHECK(folded.state.accounts.period() == 5);
  CHECK(folded.refusal(TenantsChanged{{tenant(1, "again", 1)}, 0}) ==
        "the id 1 was given to another tenant before");
}

TEST_CASE("a policy without accounts grants and moves no units", "[unit][fold]") {
  Folded folded;
  folded.submit(1, 1, 2);
  const AccountsSnapshot before = folded.state.accounts.snapshot();
  Deal deal;
  deal.node = NodeId{1};
  deal.keeps_accounts = false;
  deal.grants = plain_deal(0, TenantId{1}, {key(1, 0)}).grants;
  folded.must_apply(Cycle{{deal}});
  CHECK(folded.state.accounts.snapshot() == before);
  CHECK(folded.state.tenants.find(key_of(TenantId{1}))->granted_units_total == 1);
  CHECK(folded.job(1).tasks.running == 1);
}

}  // namespace
}  // namespace fairwater::test
