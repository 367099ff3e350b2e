// Where the ledger counts time: which task comes first, and for which a node keeps its room.
#include <catch2/catch.hpp>

#include "policy/allocator/site_rooms.hpp"
#include "slots_cluster.hpp"

namespace fairwater::test::by_time {
namespace {

/// Three slots of A are free at 60 s and three at 100 s, two are free now.
Slots two_slots_free() {
  Slots cluster = eight_slots({1, 1});
  cluster.submit(kA, 1, task_of(3, 60_s));
  cluster.submit(kA, 1, task_of(3, 100_s));
  return cluster;
}

TEST_CASE("a large task starts when the limits of what runs say, and what ends before runs") {
  Slots cluster = two_slots_free();
  const JobId earlier = cluster.submit(kA, 1, task_of(8, 10_s));
  const JobId large = cluster.submit(kB, 1, task_of(8, 50_s));
  CHECK(cluster.kept_from(1, kB) == 100_s);
  const JobId too_long = cluster.submit(kA, 1, task_of(1, 100_s + 1));
  const JobId in_time = cluster.submit(kA, 1, task_of(1, 100_s));
  CHECK(cluster.started_ms(in_time) == 0);
  cluster.run_until(60_s);
  const JobId too_late = cluster.submit(kA, 1, task_of(1, 40_s + 1));
  const JobId next_in_time = cluster.submit(kA, 1, task_of(3, 40_s));
  CHECK(cluster.started_ms(next_in_time) == 60_s);
  cluster.run_until(100_s - 1);
  CHECK_FALSE(cluster.has_started(large));
  cluster.run_until(200_s);
  CHECK(cluster.started_ms(large) == 100_s);
  CHECK(cluster.started_ms(too_long) >= 150_s);
  CHECK(cluster.started_ms(too_late) >= 150_s);
  // A's own large task was there first, but A holds more of its part than B.
  CHECK(cluster.started_ms(earlier) >= 150_s);
}

TEST_CASE("what fits beside a large task's place runs, however long") {
  Slots cluster = two_slots_free();
  const JobId large = cluster.submit(kB, 1, task_of(7, 50_s));
  const JobId beside = cluster.submit(kA, 2, task_of(1, 1000_s));
  REQUIRE(cluster.started_ms(beside) == 0);
  CHECK(cluster.start_of(beside)->index == 0);
  cluster.run_until(160_s);
  CHECK(cluster.started_ms(large) == 100_s);
  CHECK(cluster.started_ms(beside) == 150_s);
}

TEST_CASE("a large task starts earlier where tasks end earlier") {
  Slots cluster = eight_slots({1, 1});
  cluster.submit(kA, 1, early_task(4, 60_s, 30_s));
  cluster.submit(kA, 1, early_task(4, 100_s, 70_s));
  const JobId large = cluster.submit(kB, 1, task_of(8, 50_s));
  const JobId between = cluster.submit(kA, 1, early_task(4, 70_s, 5_s));
  cluster.run_until(120_s);
  CHECK(cluster.started_ms(between) == 30_s);
  CHECK(cluster.started_ms(large) == 70_s);
}

TEST_CASE("a task beyond its limit ends any moment now, and is waited for") {
  Slots cluster = eight_slots({1, 9});
  cluster.submit(kA, 1, early_task(6, 60_s, 90_s));
  const JobId large = cluster.submit(kB, 1, task_of(8, 50_s));
  cluster.run_until(61_s);
  const JobId small = cluster.submit(kA, 1, task_of(1, 2_s));
  cluster.run_until(100_s);
  CHECK(cluster.started_ms(large) == 90_s);
  CHECK_FALSE(cluster.has_started(small));
}

// -- by history -----------------------------------------------------------------------------------

TEST_CASE("by history a place is when tasks of the kind ended before, then later") {
  Slots cluster = eight_slots({1, 9}, Predict::history);
  cluster.submit(kA, 1, usual_task(6, 100_s, 40_s, 100_s));
  const JobId large = cluster.submit(kB, 1, usual_task(8, 50_s, 20_s, 20_s));
  CHECK(cluster.kept_from(1, kB) == 40_s);
  const JobId too_long = cluster.submit(kA, 1, usual_task(1, 100_s, 40_s + 1, 10_s));
  const JobId in_time = cluster.submit(kA, 1, usual_task(1, 100_s, 40_s, 40_s));
  CHECK(cluster.started_ms(in_time) == 0);
  CHECK_FALSE(cluster.has_started(too_long));
  cluster.run_until(41_s);
  CHECK(cluster.kept_from(1, kB) == 80_s);
  cluster.run_until(81_s);
  CHECK(cluster.kept_from(1, kB) == 100_s);
  cluster.run_until(110_s);
  CHECK(cluster.started_ms(large) == 100_s);
}

TEST_CASE("what never ran before has its place by its limit") {
  Slots cluster = eight_slots({1, 9}, Predict::history);
  cluster.submit(kA, 1, usual_task(6, 100_s, 0, 100_s));
  cluster.submit(kB, 1, usual_task(8, 50_s, 20_s, 20_s));
  CHECK(cluster.kept_from(1, kB) == 100_s);
}

TEST_CASE("a late task goes by limits whatever the history says") {
  Slots cluster = eight_slots({1, 9}, Predict::history);
  cluster.submit(kA, 1, usual_task(6, 100_s, 40_s, 100_s));
  TimedCluster::Task late = usual_task(8, 50_s, 20_s, 20_s);
  late.patience_ms = 0;
  cluster.submit(kB, 1, late);
  CHECK(cluster.kept_from(1, kB) == 100_s);
  const JobId over_limit = cluster.submit(kA, 1, usual_task(1, 100_s + 1, 10_s, 10_s));
  const JobId in_time = cluster.submit(kA, 1, usual_task(1, 100_s, 10_s, 10_s));
  CHECK(cluster.started_ms(in_time) == 0);
  CHECK_FALSE(cluster.has_started(over_limit));
}

// -- several nodes --------------------------------------------------------------------------------

/// Node 1 has two slots free, two more at 30 s and the rest at 100 s, but really at 20 s; node 2
/// has four free and the rest at 50 s.
Slots two_nodes() {
  Slots cluster = eight_slots({1, 1});
  cluster.submit(kA, 1, task_of(2, 30_s));
  cluster.submit(kA, 1, early_task(4, 100_s, 20_s));
  cluster.node(2, slots(8));
  cluster.submit(kA, 1, task_of(4, 50_s));
  return cluster;
}

TEST_CASE("a task has its place where it can start first, and moves to where it can earlier") {
  Slots cluster = two_nodes();
  const JobId large = cluster.submit(kB, 1, task_of(8, 10_s));
  CHECK(cluster.kept_from(2, kB) == 50_s);
  // Node 1 keeps nothing for it.
  const JobId on_first = cluster.submit(kA, 1, early_task(2, 1000_s, 20_s));
  const JobId waits = cluster.submit(kA, 1, task_of(4, 1000_s));
  CHECK(cluster.started_on(on_first) == 1);
  CHECK_FALSE(cluster.kept_from(1, kB));
  CHECK_FALSE(cluster.has_started(waits));
  cluster.run_until(20_s);
  CHECK(cluster.kept_from(1, kB) == 30_s);
  CHECK(cluster.started_ms(waits) == 20_s);
  CHECK(cluster.started_on(waits) == 2);
  CHECK_FALSE(cluster.kept_from(2, kB));
  cluster.run_until(60_s);
  CHECK(cluster.started_ms(large) == 30_s);
  CHECK(cluster.started_on(large) == 1);
}

TEST_CASE("of two nodes where a task can start at one time the first has its place") {
  Slots cluster;
  cluster.weigh(kA, 1);
  cluster.weigh(kB, 1);
  cluster.node(1, slots(4));
  cluster.submit(kA, 1, task_of(4, 50_s));
  cluster.node(2, slots(8));
  cluster.submit(kA, 1, task_of(4, 50_s));
  cluster.submit(kB, 1, task_of(8, 10_s));
  REQUIRE(cluster.kept_from(2, kB) == 50_s);
  cluster.node(1, slots(8));
  CHECK(cluster.kept_from(1, kB) == 50_s);
  // The other keeps nothing, nor does it after a restart.
  cluster.restart();
  cluster.run_until(1_s);
  CHECK(cluster.kept_from(1, kB) == 50_s);
  CHECK_FALSE(cluster.kept_from(2, kB));
  CHECK(cluster.started_on(cluster.submit(kA, 1, task_of(4, 1000_s))) == 2);
}

TEST_CASE("a node that is drained or lost takes no place with it") {
  Slots cluster = two_nodes();
  const JobId large = cluster.submit(kB, 1, task_of(8, 10_s));
  REQUIRE(cluster.kept_from(2, kB) == 50_s);
  const bool is_lost = GENERATE(false, true);
  if (is_lost)
    cluster.lose_node(2);
  else
    cluster.node(2, slots(8), false);
  CHECK(cluster.kept_from(1, kB) == 100_s);
  const JobId small = cluster.submit(kA, 1, task_of(2, 1000_s));
  CHECK_FALSE(cluster.has_started(small));
  cluster.run_until(100_s);
  CHECK(cluster.started_ms(large) == 30_s);
  CHECK(cluster.started_on(large) == 1);
}

TEST_CASE("a node that is drained or lost takes no place behind its first with it") {
  Slots cluster = two_nodes();
  cluster.weigh(kB, 9);
  cluster.weigh(kC, 1);
  ResourceVector with_memory = slots(8);
  with_memory[kMemory] = 1;
  cluster.node(2, with_memory);
  TimedCluster::Task there = task_of(8, 10_s);
  there.demand = with_memory;
  cluster.submit(kB, 1, there);
  cluster.submit(kC, 1, task_of(8, 10_s));
  cluster.run_until(1_s);
  REQUIRE(cluster.kept_from(2, kB) == 50_s);
  REQUIRE_FALSE(cluster.allocator().node(NodeId{1}).reserved_for);
  const bool is_lost = GENERATE(false, true);
  if (is_lost)
    cluster.lose_node(2);
  else
    cluster.node(2, with_memory, false);
  CHECK(cluster.kept_from(1, kC) == 100_s);
}

// -- limits that are not known --------------------------------------------------------------------

TEST_CASE("where nobody knows when tasks end, all room is kept for the first with a claim") {
  Slots cluster = eight_slots({1, 9});
  for (LedgerMs end = 10_s; end <= 60_s; end += 10_s) cluster.submit(kA, 1, unlimited_task(1, end));
  const JobId large = cluster.submit(kB, 1, task_of(8, 10_s));
  const JobId small = cluster.submit(kA, 1, task_of(1, 1_s));
  CHECK(cluster.allocator().node(NodeId{1}).reserved_for == TenantId{kB});
  CHECK_FALSE(cluster.kept_from(1, kB));
  cluster.run_until(80_s);
  CHECK(cluster.started_ms(large) == 60_s);
  CHECK(cluster.started_ms(small) == 70_s);
}

TEST_CASE("for one beyond its mark, of which nobody knows when it can start, no room is kept") {
  Slots cluster = eight_slots({10, 1, 10});
  cluster.submit(kC, 1, task_of(9, 1_s));  // no node is large enough; its part is others' meanwhile
  cluster.submit(kA, 4, unlimited_task(1, 100_s));
  const JobId large = cluster.submit(kA, 1, task_of(8, 10_s));
  cluster.submit(kB, 1000, unlimited_task(1, 1_s));
  for (LedgerMs ms = 1_s; ms < 100_s; ms += 500) {
    cluster.run_until(ms);
    REQUIRE(cluster.held(kA) == 4);
    REQUIRE(cluster.held(kB) == 4);
  }
  CHECK_FALSE(cluster.has_started(large));
}

// -- restarts -------------------------------------------------------------------------------------

TEST_CASE("places are the same after a restart") {
  const auto starts = [](std::optional<LedgerMs> restart_ms) {
    Slots cluster = two_nodes();
    cluster.submit(kB, 1, task_of(8, 10_s));
    cluster.weigh(kC, 1);
    cluster.submit(kC, 1, impatient_task(7, 40_s, 35_s));
    for (int i = 0; i < 20; ++i) cluster.submit(kA, 1, task_of(1 + i % 3, 5_s * (1 + i % 7)));
    if (restart_ms) {
      cluster.run_until(*restart_ms);
      cluster.restart();
    }
    cluster.run_until(300_s);
    return cluster.starts();
  };
  const auto expected = starts(std::nullopt);
  REQUIRE(expected.size() == 25);
  for (LedgerMs ms = 500; ms <= 120_s; ms += 3_s + 500) {
    INFO("restart at " << ms << " ms");
    CHECK(starts(ms) == expected);
  }
}

DemandWindow waits_for(std::uint32_t tenant, Amount size, LedgerMs limit_ms) {
  DemandWindow window;
  window.tenant = TenantId{tenant};
  window.pending = slots(size);
  window.pending_tasks = 1;
  window.next.push_back({.job = JobId{100 + tenant},
                         .count = 1,
                         .attempt = 1,
                         .demand = slots(size),
                         .rule = nullptr,
                         .expected_ms = limit_ms,
                         .limit_ms = limit_ms,
                         .late_in_ms = limit_ms,
                         .patience_ms = limit_ms});
  return window;
}

TEST_CASE("behind any number of full nodes that came back, one with room is known") {
  constexpr std::uint32_t kFull = 2 * SiteRooms::kMaxNodesLookedAt;
  AllocatorSettings settings = slot_settings();
  settings.accounting = Accounting::time;
  Allocator allocator(settings);
  for (const std::uint32_t tenant : {kA, kB}) allocator.set_tenant(TenantId{tenant}, terms_of(1));
  std::vector<HeldTask> held;
  for (std::uint32_t i = 1; i <= kFull; ++i) {
    allocator.set_node(NodeId{i}, {}, slots(3), true);
    Grant grant;
    grant.task = {JobId{1}, i, 1};
    grant.tenant = TenantId{kA};
    grant.demand = slots(2);
    held.push_back({NodeId{i}, grant, {100_s, 100_s, 0}});
  }
  allocator.set_node(NodeId{kFull + 1}, {}, slots(3), true);
  allocator.restore_held(held);
  allocator.set_window(waits_for(kB, 2, 50_s));
  allocator.set_window(waits_for(kA, 1, 1000_s));
  const auto deal = allocator.deal(NodeId{1});
  // B comes first, and can start on the last node: the first keeps it no place, and has room for A.
  REQUIRE(deal.has_value());
  REQUIRE(deal->grants.size() == 1);
  CHECK(deal->grants[0].tenant == TenantId{kA});
  CHECK_FALSE(allocator.node(NodeId{1}).reserved_for);
}

}  // namespace
}  // namespace fairwater::test::by_time
