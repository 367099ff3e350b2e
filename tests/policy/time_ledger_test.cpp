// A ledger that counts time: the three worked cases of docs/fairness.md, and others.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;
constexpr std::uint32_t kC = 3;

/// Of two tenants alike, of which the other waits for nothing; mu is a half.
TimedCluster a_takes_sixteen_slots() {
  TimedCluster cluster(slot_settings());
  cluster.tenant(kA, terms_of(1, 500'000));
  cluster.tenant(kB, terms_of(1, 500'000));
  cluster.node(1, slots(16));
  cluster.submit(kA, 100'000, task_of(1000));
  return cluster;
}

TEST_CASE("a debt of half a second costs half a second, however long the tasks are") {
  TimedCluster cluster = a_takes_sixteen_slots();
  cluster.run_until(500);
  CHECK(cluster.held(kA) == 16);
  cluster.submit(kB, 10'000, task_of(45'000));
  cluster.run_until(1000);
  for (LedgerMs ms = 1000; ms <= 120'000; ms += 500) {
    cluster.run_until(ms);
    INFO(ms << " ms");
    REQUIRE(cluster.held(kA) == 8);
    REQUIRE(cluster.held(kB) == 8);
    REQUIRE(cluster.net(kA) == -8000);
  }
  CHECK(cluster.held_total(kA) == 968'000);
  CHECK(cluster.held_total(kB) == 952'000);
}

TEST_CASE("what was lent for a hundred seconds comes back at the rate of mu") {
  TimedCluster cluster = a_takes_sixteen_slots();
  cluster.run_until(100'000);
  CHECK(cluster.net(kA) == -800'000);
  cluster.submit(kB, 10'000, task_of(45'000));
  cluster.run_until(102'000);
  CHECK(cluster.held(kA) == 4);
  CHECK(cluster.held(kB) == 12);
  cluster.run_until(900'000);
  CHECK(cluster.held(kA) == 8);
  CHECK(cluster.held(kB) == 8);
  CHECK(std::abs(cluster.net(kA)) <= 45'000);
  CHECK(std::abs(cluster.held_total(kA) - cluster.held_total(kB)) <= 2 * 45'000);
}

TEST_CASE("a debtor that may not lend pays back, to one that may not borrow, too") {
  TenantTerms debtor = terms_of(1, 500'000);
  debtor.may_lend = GENERATE(true, false);
  TenantTerms creditor = terms_of(1, 500'000);
  creditor.may_borrow = GENERATE(true, false);
  TimedCluster cluster = a_takes_sixteen_slots();
  cluster.tenant(kA, debtor);
  cluster.tenant(kB, creditor);
  cluster.run_until(100'000);
  REQUIRE(cluster.net(kA) == -800'000);
  cluster.submit(kB, 100'000, task_of(1000));
  // Four slots a second: 200 seconds.
  cluster.run_until(250'000);
  CHECK(cluster.held(kA) == 4);
  cluster.run_until(310'000);
  CHECK(cluster.held(kA) == 8);
  CHECK(cluster.held(kB) == 8);
  CHECK(std::abs(cluster.net(kA)) <= 4000);
}

/// a and b are a group, c is beside it: half of 16 slots each.
TimedCluster group_beside_one(const LoanRights& rights) {
  TimedCluster cluster(slot_settings());
  cluster.group(1, {.place = {.group = {}, .weight = 1}, .rights = rights});
  for (const std::uint32_t tenant : {kA, kB, kC}) {
    TenantTerms terms = terms_of(tenant == kC ? 2 : 1, 500'000);
    terms.place = {.group = GroupId{tenant == kC ? 0U : 1U}, .weight = 1};
    cluster.tenant(tenant, terms);
  }
  cluster.node(1, slots(16));
  return cluster;
}

TEST_CASE("a group that may not lend is owed nothing by others, its tenants by each other") {
  TimedCluster cluster = group_beside_one({.may_lend = false});
  cluster.submit(kC, 100'000, task_of(1000));
  cluster.run_until(100'000);
  CHECK(cluster.held(kC) == 16);
  CHECK(cluster.net(kC) == 0);
  cluster.clear(kC);
  cluster.run_until(102'000);
  cluster.submit(kA, 100'000, task_of(1000));
  cluster.run_until(202'000);
  CHECK(cluster.net(kA) == -1'200'000);
  CHECK(cluster.net(kB) == 400'000);
  CHECK(cluster.net(kC) == 800'000);
  // What it owes it pays back.
  cluster.submit(kC, 100'000, task_of(1000));
  cluster.submit(kB, 100'000, task_of(1000));
  cluster.run_until(1'200'000);
  CHECK(cluster.held(kC) == 8);
  CHECK(std::abs(cluster.net(kC)) <= 8000);
}

TEST_CASE("a group that may not borrow keeps to its part and owes nothing, however long it waits") {
  TimedCluster cluster = group_beside_one({.may_borrow = false});
  auto task = task_of(1000);
  task.patience_ms = 60'000;
  cluster.submit(kA, 100'000, task);
  cluster.run_until(1'000'000);
  CHECK(cluster.held(kA) == 8);
  CHECK(cluster.net(kC) == 0);
  CHECK(cluster.net(kB) == Approx(4'000'000).epsilon(0.01));
  // What c borrows of it comes back beyond its part.
  cluster.clear(kA);
  cluster.submit(kC, 100'000, task_of(1000));
  cluster.run_until(1'101'000);
  CHECK(cluster.held(kC) == 16);
  cluster.submit(kA, 100'000, task_of(1000));
  cluster.submit(kB, 100'000, task_of(1000));
  cluster.run_until(1'110'000);
  CHECK(cluster.held(kA) + cluster.held(kB) == 12);
  cluster.run_until(1'500'000);
  CHECK(cluster.held(kA) + cluster.held(kB) == 8);
  CHECK(std::abs(cluster.net(kC)) <= 8000);
}

TEST_CASE("caps of a group bound what its tenants are owed, or owe, together") {
  const LoanCaps caps{.lend = {.unit_ms = 100'000}, .borrow = {.part_ms = 20'000}};
  TimedCluster cluster = group_beside_one({.caps = caps});
  cluster.submit(kC, 100'000, task_of(1000));
  cluster.run_until(100'000);
  CHECK(cluster.net(kC) == Approx(-100'000).margin(8000));
  cluster.clear(kC);
  cluster.submit(kA, 100'000, task_of(1000));
  cluster.run_until(300'000);
  // Eight slots for twenty seconds; what one of them owes the other is theirs.
  CHECK(cluster.net(kC) == Approx(160'000).margin(8000));
  CHECK(cluster.net(kB) > 500'000);
}

TEST_CASE("after an idle minute all are even within five, then hold their parts exactly") {
  std::mt19937_64 random(1);
  TimedCluster cluster(slot_settings());
  cluster.tenant(kA, terms_of(5, 500'000));
  cluster.tenant(kB, terms_of(3, 500'000));
  cluster.tenant(kC, terms_of(2, 500'000));
  cluster.node(1, slots(40));
  const auto submit_long = [&](std::uint32_t tenant) {
    for (int i = 0; i < 400; ++i)
      cluster.submit(tenant, 1,
                     {.demand = slots(1),
                      .run_ms = static_cast<LedgerMs>(1000 + random() % 119'001),
                      .expected_ms = 60'000});
  };
  submit_long(kA);
  cluster.submit(kB, 20'000, task_of(1500));
  cluster.run_until(60'000);
  CHECK(cluster.net(kC) == Approx(8 * 60'000));
  submit_long(kC);
  cluster.run_until(360'000);
  for (const std::uint32_t tenant : cluster.tenants()) {
    INFO("tenant " << tenant);
    CHECK(std::abs(cluster.net(tenant)) <= 120'000);
  }
  for (LedgerMs ms = 400'000; ms <= 700'000; ms += 1000) {
    cluster.run_until(ms);
    INFO(ms << " ms");
    REQUIRE(cluster.waiting(kA) > 0);
    REQUIRE(cluster.waiting(kC) > 0);
    REQUIRE(std::abs(static_cast<int>(cluster.held(kA)) - 20) <= 1);
    REQUIRE(std::abs(static_cast<int>(cluster.held(kB)) - 12) <= 1);
    REQUIRE(std::abs(static_cast<int>(cluster.held(kC)) - 8) <= 1);
  }
}

TEST_CASE("a credit of seconds takes no slot for an hour") {
  TimedCluster cluster(slot_settings());
  cluster.tenant(kA, terms_of(1));
  cluster.tenant(kB, terms_of(1));
  cluster.node(1, slots(8));
  cluster.submit(kA, 100'000, task_of(1000));
  cluster.run_until(100'000);
  REQUIRE(cluster.net(kB) == 400'000);
  cluster.submit(kB, 100, task_of(3'600'000));
  cluster.run_until(110'000);
  CHECK(cluster.held(kB) == 4);
  CHECK(cluster.view(kB).mark ==
        4 * kMicroUnitsPerUnit + cluster.view(kB).net * kMicroUnitsPerUnit / 3'600'000);
  // One whose length nobody knows is not covered either, one of a minute is.
  cluster.clear(kB);
  cluster.submit(kB, 10, {.demand = slots(1), .run_ms = 1000});
  cluster.run_until(112'000);
  CHECK(cluster.held(kB) == 4);
  cluster.clear(kB);
  cluster.submit(kB, 10, task_of(60'000));
  cluster.run_until(114'000);
  CHECK(cluster.held(kB) == 8);
}

TEST_CASE("a mark is explained by what moves it and what a credit covers") {
  TimedCluster cluster(slot_settings());
  cluster.tenant(kA, terms_of(1, 500'000));
  cluster.tenant(kB, terms_of(1));
  cluster.node(1, slots(8));
  cluster.submit(kA, 100'000, task_of(1000));
  cluster.run_until(99'000);
  cluster.submit(kB, 100, task_of(300'000));
  cluster.run_until(100'000);
  constexpr MicroUnits kSlot = kMicroUnitsPerUnit;

  // Half of the debtor's part is due, and the credit covers 4/3 of a slot for so long.
  const auto creditor = *cluster.allocator().explain_mark(TenantId{kB});
  CHECK(creditor.net == 400'000);
  CHECK(creditor.held == 5 * kSlot);
  CHECK(creditor.part == 4 * kSlot);
  CHECK(creditor.base == 4 * kSlot);
  CHECK(creditor.mark == 4 * kSlot + kSlot * 4 / 3);
  MarkMove move{.other = TenantId{kA},
                .owed = 400'000,
                .debtor_owes = 400'000,
                .debtor_part = 4 * kSlot,
                .repay_millionths = 500'000,
                .due = 2 * kSlot,
                .moved = kSlot * 4 / 3};
  CHECK(creditor.moves == std::vector{move});
  // One more would be two beyond the part: 600,000 of 400,000.
  REQUIRE(creditor.next);
  CHECK(creditor.next->cost == kSlot);
  CHECK(creditor.next->expected_ms == 300'000);
  CHECK_FALSE(creditor.next->is_covered);
  CHECK(creditor.mark == cluster.view(kB).mark);

  const auto debtor = *cluster.allocator().explain_mark(TenantId{kA});
  CHECK(debtor.mark == 4 * kSlot - kSlot * 4 / 3);
  move.other = TenantId{kB};
  CHECK(debtor.moves == std::vector{move});
  const auto why =
      cluster.allocator().explain_waiting(TenantId{kA}, debtor.next->job, debtor.next->index);
  CHECK(std::any_of(why.begin(), why.end(), [](const Obstacle& obstacle) {
    return obstacle.code == "share" &&
           obstacle.message ==
               "holds 3 of 2 millicores of cpu, its mark while it owes others: their tasks come "
               "first";
  }));

  // Once nobody waits whom they owe, debts move nothing.
  cluster.clear(kB);
  CHECK(cluster.allocator().explain_mark(TenantId{kB})->next == std::nullopt);
  CHECK(cluster.allocator().explain_mark(TenantId{kA})->mark == 4 * kSlot);
  CHECK_FALSE(Allocator(slot_settings()).explain_mark(TenantId{kA}));
}

TEST_CASE("of several resources the scarcest counts") {
  AllocatorSettings settings;
  settings.granules[kCpu] = 1;
  settings.granules[kMemory] = 1;
  TimedCluster cluster(settings);
  cluster.tenant(kA, terms_of(1));
  cluster.tenant(kB, terms_of(1));
  ResourceVector capacity = slots(8);
  capacity[kMemory] = 64;
  cluster.node(1, capacity);
  // Its processors are full, its memory is not: half of the processors are the other's.
  TimedCluster::Task task = task_of(1000);
  task.demand[kMemory] = 1;
  cluster.submit(kA, 1'000'000, task);
  cluster.run_until(10'000);
  CHECK(cluster.net(kB) == Approx(4 * 10'000));
  cluster.clear(kA);
  cluster.run_until(12'000);
  // Two hold memory, each its half of it, and hardly a processor: nobody owes anybody more.
  task.demand[kCpu] = 0;
  task.demand[kMemory] = 16;
  cluster.submit(kB, 1'000'000, task);
  cluster.submit(kA, 1'000'000, task);
  cluster.run_until(14'000);
  const double net = cluster.net(kB);
  CHECK(cluster.held(kA) == 2);
  CHECK(cluster.held(kB) == 2);
  cluster.run_until(30'000);
  CHECK(cluster.net(kB) == net);
}

TEST_CASE("a capped debt is no larger afterwards, and half of it is gone in a half-life") {
  AllocatorSettings settings = slot_settings();
  settings.debts = {.cap_part_ms = 20'000, .half_life_ms = 60'000};
  TimedCluster cluster(settings);
  cluster.tenant(kA, terms_of(1));
  cluster.tenant(kB, terms_of(1));
  cluster.node(1, slots(8));
  cluster.submit(kA, 100'000, task_of(1000));
  cluster.run_until(200'000);
  CHECK(cluster.net(kB) <= 4 * 20'000);
  CHECK(cluster.net(kB) >= 4 * 20'000 - 4000);
  cluster.clear(kA);
  cluster.run_until(202'000);
  const double owed = cluster.net(kB);
  cluster.run_until(262'000);
  CHECK(cluster.net(kB) == Approx(owed / 2).epsilon(0.001));
}

}  // namespace
}  // namespace fairwater::test
