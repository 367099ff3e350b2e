// Whose turn it is where the ledger counts time and parts are smaller than tasks.
#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kMany = 1;
constexpr std::uint32_t kFew = 2;

/// Of 8 slots, beside one of so much weight whose tasks never end their waiting: what `few`, of
/// weight 1, held in 1000 s.
std::int64_t held_beside(Weight weight, TimedCluster::Task task, const TenantTerms& few,
                         TimedCluster::Task its_task, const LoanRights& rights = {}) {
  TimedCluster cluster(slot_settings());
  cluster.group(1, {.place = {.group = {}, .weight = 1}, .rights = rights});
  TenantTerms in_group = few;
  in_group.place = {.group = GroupId{1}, .weight = 1};
  cluster.tenant(kMany, terms_of(weight));
  cluster.tenant(kFew, in_group);
  cluster.node(1, slots(8));
  cluster.submit(kMany, 1'000'000, task);
  cluster.submit(kFew, 1'000'000, its_task);
  cluster.run_until(1'000'000);
  return cluster.held_total(kFew);
}

TimedCluster::Task never_late(Amount slots, LedgerMs run_ms) {
  TimedCluster::Task task = task_of(slots, run_ms);
  task.patience_ms = 1'000'000'000;
  return task;
}

TEST_CASE("who is owed nothing for waiting has its part, though its tasks are larger") {
  TenantTerms few = terms_of(1);
  TimedCluster::Task task = never_late(4, 1000);
  TimedCluster::Task its_task = task;
  LoanRights rights;
  SECTION("it may not lend") { few.may_lend = false; }
  SECTION("it may not lend, and all tasks are late") {
    few.may_lend = false;
    task.patience_ms = its_task.patience_ms = 1000;
  }
  SECTION("it may not lend, and its tasks are long") {
    few.may_lend = false;
    its_task = never_late(4, 10'000);
  }
  SECTION("it may be owed a second") { few.caps.lend.unit_ms = 1000; }
  SECTION("its group may not lend") { rights.may_lend = false; }
  SECTION("it may not lend, and may owe a task") {
    few.may_lend = false;
    few.caps.borrow.unit_ms = 4000;
  }
  const std::int64_t held = held_beside(3, task, few, its_task, rights);
  // A part of two.
  CHECK(held > 1'900'000);
  CHECK(held < 2'100'000);
}

TEST_CASE("who would not owe what it takes has no turn before others") {
  TenantTerms few = terms_of(1);
  few.may_lend = false;
  SECTION("it may not borrow") { few.may_borrow = false; }
  SECTION("it may owe less than its task takes") { few.caps.borrow.unit_ms = 60'000; }
  // A part of one.
  CHECK(held_beside(7, never_late(1, 1000), few, never_late(8, 10'000)) < 1'100'000);
}

TEST_CASE("who only owes has its part, though that is less than a slot") {
  TimedCluster cluster(slot_settings());
  constexpr std::uint32_t kLast = 4;
  for (std::uint32_t tenant = 1; tenant <= kLast; ++tenant) {
    TenantTerms terms = terms_of(tenant == 1 ? 2 : tenant == 3 ? 3 : 1);
    terms.may_lend = tenant < kLast;
    cluster.tenant(tenant, terms);
  }
  cluster.node(1, slots(5));
  cluster.submit(1, 1'000'000, never_late(3, 5000));
  cluster.submit(2, 1'000'000, never_late(2, 7000));
  cluster.submit(3, 1'000'000, never_late(3, 5000));
  cluster.submit(kLast, 1'000'000, never_late(1, 5000));
  cluster.run_until(500'000);
  // Of 5/7; its quota, a whole number of slots, is 0.
  CHECK(cluster.held_total(kLast) > 250'000);
  CHECK(cluster.held_total(kLast) < 400'000);
}

}  // namespace
}  // namespace fairwater::test
