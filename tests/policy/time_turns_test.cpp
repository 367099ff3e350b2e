// Whose turn it is where the ledger counts time and parts are smaller than tasks.
#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kMany = 1;
constexpr std::uint32_t kFew = 2;

TEST_CASE("who is owed nothing for waiting has its part, though its tasks are larger") {
  TenantTerms few = terms_of(1);
  LedgerMs few_run_ms = 1000;
  LedgerMs patience_ms = 1'000'000'000;
  SECTION("it may not lend") { few.may_lend = false; }
  SECTION("it may not lend, and all tasks are late") {
    few.may_lend = false;
    patience_ms = 1000;
  }
  SECTION("it may not lend, and its tasks are long") {
    few.may_lend = false;
    few_run_ms = 10'000;
  }
  SECTION("it may be owed a second") { few.caps.lend.unit_ms = 1000; }
  TimedCluster cluster(slot_settings());
  cluster.tenant(kMany, terms_of(3));
  cluster.tenant(kFew, few);
  cluster.node(1, slots(8));
  const auto submit = [&](std::uint32_t tenant, LedgerMs run_ms) {
    TimedCluster::Task task = task_of(4, run_ms);
    task.patience_ms = patience_ms;
    cluster.submit(tenant, 1'000'000, task);
  };
  submit(kMany, 1000);
  submit(kFew, few_run_ms);
  cluster.run_until(1'000'000);
  // A part of two.
  CHECK(cluster.held_total(kFew) > 1'900'000);
  CHECK(cluster.held_total(kFew) < 2'100'000);
}

}  // namespace
}  // namespace fairwater::test
