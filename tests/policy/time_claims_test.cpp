// Where the ledger counts time: what a creditor claims and cannot use, and what a debtor keeps.
#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kDebtor = 1;
constexpr std::uint32_t kCreditor = 2;
constexpr std::uint32_t kOther = 3;

/// Of two tenants alike, of which one waits for nothing.
TimedCluster sixteen_slots() {
  TimedCluster cluster(slot_settings());
  cluster.tenant(kDebtor, terms_of(1));
  cluster.tenant(kCreditor, terms_of(1));
  cluster.node(1, slots(16));
  cluster.submit(kDebtor, 100'000, task_of(1000));
  return cluster;
}

/// The debtor took all of them for 100 s while the other, which has a max of four, was away.
TimedCluster owes_one_with_a_max(bool may_borrow) {
  TimedCluster cluster = sixteen_slots();
  TenantTerms terms = terms_of(1);
  terms.max = slots(4);
  cluster.tenant(kCreditor, terms);
  cluster.run_until(100'000);
  REQUIRE(cluster.net(kDebtor) == -400'000);
  terms = terms_of(1);
  terms.may_borrow = may_borrow;
  cluster.tenant(kDebtor, terms);
  return cluster;
}

TEST_CASE("what a creditor cannot use its debtor has, though it may not borrow") {
  TimedCluster cluster = owes_one_with_a_max(false);
  SECTION("it is at its max") {
    cluster.submit(kCreditor, 1'000'000, task_of(1000));
    cluster.run_until(110'000);
    CHECK(cluster.held(kCreditor) == 4);
  }
  SECTION("its task is larger than any node") {
    cluster.tenant(kCreditor, terms_of(1));
    cluster.submit(kCreditor, 1, task_of(32, 1000));
    cluster.run_until(110'000);
    CHECK(cluster.view(kDebtor).mark == 0);
  }
  // By weights.
  CHECK(cluster.held(kDebtor) == 8);
  cluster.run_until(300'000);
  CHECK(cluster.held(kDebtor) == 8);
}

TEST_CASE("what a creditor cannot use its debtor has before who borrows") {
  TimedCluster cluster = owes_one_with_a_max(true);
  cluster.tenant(kOther, terms_of(1));
  cluster.submit(kCreditor, 1'000'000, task_of(1000));
  cluster.submit(kOther, 1'000'000, task_of(1000));
  cluster.run_until(110'000);
  REQUIRE(cluster.view(kDebtor).mark == 0);
  for (const std::uint32_t tenant : {kDebtor, kOther}) CHECK(cluster.held(tenant) == 6);
  cluster.run_until(300'000);
  for (const std::uint32_t tenant : {kDebtor, kOther}) CHECK(cluster.held(tenant) == 6);
}

TEST_CASE("a part is the min, and by weight of what is beyond all mins") {
  TimedCluster cluster(slot_settings());
  const auto with_min = [](Amount min) {
    TenantTerms terms = terms_of(1);
    terms.min = slots(min);
    return terms;
  };
  SECTION("of two tenants of one weight") {
    cluster.node(1, slots(8));
    cluster.tenant(1, with_min(2));
    cluster.tenant(2, with_min(0));
    cluster.run_until(1000);
    CHECK(cluster.view(1).part == 5'000'000);
    CHECK(cluster.view(2).part == 3'000'000);
  }
  SECTION("in a tree, with the sum of the mins in it") {
    cluster.group(1, {.place = {.group = {}, .weight = 2}});
    TenantTerms lasers = with_min(1);
    TenantTerms optics = with_min(0);
    TenantTerms arts = with_min(0);
    lasers.place = optics.place = QuotaPlace{.group = GroupId{1}, .weight = 1};
    arts.place = QuotaPlace{.group = {}, .weight = 1};
    cluster.tenant(2, lasers);
    cluster.tenant(3, optics);
    cluster.tenant(4, arts);
    cluster.node(1, slots(16));
    cluster.run_until(1000);
    CHECK(cluster.view(2).part == 6'000'000);
    CHECK(cluster.view(3).part == 5'000'000);
    CHECK(cluster.view(4).part == 5'000'000);
  }
}

TEST_CASE("a debtor gives its min to nobody, and nobody else gives way for it") {
  TimedCluster cluster(slot_settings());
  TenantTerms guaranteed = terms_of(1);
  guaranteed.min = slots(6);
  guaranteed.max = slots(8);
  cluster.tenant(kDebtor, terms_of(1));
  cluster.tenant(kCreditor, terms_of(1));
  cluster.tenant(kOther, terms_of(1));
  cluster.node(1, slots(24));
  // It takes the creditor's part, and the other holds its own.
  cluster.submit(kOther, 8, task_of(1'000'000));
  cluster.submit(kDebtor, 1'000'000, task_of(1000));
  cluster.run_until(100'000);
  REQUIRE(cluster.net(kOther) == 0);
  cluster.tenant(kDebtor, guaranteed);
  cluster.submit(kCreditor, 1'000'000, task_of(1000));
  cluster.run_until(110'000);
  CHECK(cluster.held(kDebtor) == 6);
  CHECK(cluster.held(kCreditor) == 10);
  CHECK(cluster.view(kCreditor).mark ==
        cluster.view(kCreditor).part + cluster.view(kDebtor).part - 6'000'000);
  const MarkMove move = cluster.allocator().explain_mark(TenantId{kDebtor})->moves.at(0);
  CHECK(move.kept_for_min == 6'000'000);
  CHECK(move.due == move.debtor_part - 6'000'000);
}

TEST_CASE("a debtor leaves its group the min, but for what it owes within it") {
  TimedCluster cluster(slot_settings());
  GroupTerms terms{.place = {.group = {}, .weight = 1}};
  terms.min[kCpu] = slots(8)[kCpu];
  cluster.group(1, terms);
  for (const std::uint32_t tenant : {kDebtor, kCreditor, kOther}) {
    TenantTerms in = terms_of(tenant == kOther ? 2 : 1);
    in.place = {.group = GroupId{tenant == kOther ? 0U : 1U}, .weight = 1};
    cluster.tenant(tenant, in);
  }
  cluster.node(1, slots(16));
  cluster.submit(kDebtor, 1'000'000, task_of(1000));
  SECTION("it owes both") {
    cluster.run_until(100'000);
    // The group's part is 12, of which it keeps 8. Of the debtor's 6 that is 4, so it gives 2 way,
    // of which 0.4 is the other's by what it owes whom.
    REQUIRE(cluster.net(kDebtor) == -1'000'000);
    cluster.submit(kOther, 1'000'000, task_of(1000));
    cluster.run_until(110'000);
    CHECK(cluster.view(kOther).mark <= 4'800'000);
    CHECK(cluster.held(kDebtor) == 11);
    CHECK(cluster.held(kOther) == 5);
  }
  SECTION("its sibling gets what it is owed") {
    cluster.submit(kOther, 1'000'000, task_of(1000));
    cluster.run_until(100'000);
    REQUIRE(cluster.net(kCreditor) == 600'000);
    cluster.submit(kCreditor, 1'000'000, task_of(1000));
    cluster.run_until(110'000);
    CHECK(cluster.held(kDebtor) == 0);
    CHECK(cluster.held(kCreditor) == 12);
  }
}

TEST_CASE("a claim goes by how long the task runs that it is for, wherever that waits") {
  TimedCluster cluster = sixteen_slots();
  SECTION("a short one in front that cannot start claims nothing for hours") {
    cluster.run_until(1000);
    cluster.submit(kCreditor, 1, task_of(32, 1));
    cluster.submit(kCreditor, 100, task_of(3'600'000));
    cluster.run_until(3000);
    REQUIRE(cluster.net(kCreditor) > 0);
    CHECK(cluster.held(kDebtor) == 8);
    CHECK(cluster.held(kCreditor) == 8);
  }
  SECTION("one in front of which nobody knows how long it runs takes no claim away") {
    cluster.run_until(100'000);
    cluster.submit(kCreditor, 1, {.demand = slots(32), .run_ms = 1000});
    cluster.submit(kCreditor, 100'000, task_of(1000));
    cluster.run_until(102'000);
    CHECK(cluster.held(kDebtor) == 0);
    CHECK(cluster.held(kCreditor) == 16);
  }
}

}  // namespace
}  // namespace fairwater::test
