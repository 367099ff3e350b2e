// Where the ledger counts time: which task comes first, and for which a node keeps its room.
#include <initializer_list>
#include <optional>

#include <catch2/catch.hpp>

#include "timed_cluster.hpp"

namespace fairwater::test::by_time {
namespace {

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;
constexpr std::uint32_t kC = 3;
constexpr std::uint32_t kD = 4;

/// So many slots for so long, as its limit says.
/// One that ends before its limit.
TimedCluster::Task early_task(Amount size, LedgerMs limit_ms, LedgerMs run_ms) {
  TimedCluster::Task task = task_of(size, limit_ms);
  task.run_ms = run_ms;
  return task;
}

TimedCluster::Task unlimited_task(Amount size, LedgerMs run_ms) {
  return {.demand = slots(size), .run_ms = run_ms};
}

TimedCluster::Task impatient_task(Amount size, LedgerMs limit_ms, LedgerMs patience_ms) {
  TimedCluster::Task task = task_of(size, limit_ms);
  task.patience_ms = patience_ms;
  return task;
}

/// One of a kind that took so long before.
TimedCluster::Task usual_task(Amount size, LedgerMs limit_ms, LedgerMs expected_ms,
                              LedgerMs run_ms) {
  return {
      .demand = slots(size), .run_ms = run_ms, .expected_ms = expected_ms, .limit_ms = limit_ms};
}

struct Slots : TimedCluster {
  explicit Slots(Predict predict = Predict::limits) : TimedCluster(settings(predict)) {}
  static AllocatorSettings settings(Predict predict) {
    AllocatorSettings settings;
    settings.predict = predict;
    settings.granules[kCpu] = 1;
    settings.granules[kMemory] = 1;
    return settings;
  }
  void weigh(std::uint32_t id, Weight weight) {
    TenantTerms terms;
    terms.weight = weight;
    tenant(id, terms);
  }
  [[nodiscard]] bool has_started(JobId job) const { return start_of(job).has_value(); }
  /// When it started; -1 when it has not.
  [[nodiscard]] LedgerMs started_ms(JobId job) const {
    const auto start = start_of(job);
    return start ? start->at_ms : -1;
  }
  /// Where it started; 0 when it has not.
  [[nodiscard]] std::uint32_t started_on(JobId job) const {
    const auto start = start_of(job);
    return start ? start->node : 0;
  }
  [[nodiscard]] std::optional<LedgerMs> kept_from(std::uint32_t node, std::uint32_t tenant) const {
    const NodeView view = allocator().node(NodeId{node});
    return view.reserved_for == TenantId{tenant} ? view.reserved_from_ms : std::nullopt;
  }
};

/// On one node, for tenants with these weights.
Slots eight_slots(std::initializer_list<Weight> weights, Predict predict = Predict::limits) {
  Slots cluster(predict);
  std::uint32_t tenant = 0;
  for (const Weight weight : weights) cluster.weigh(++tenant, weight);
  cluster.node(1, slots(8));
  return cluster;
}

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

// -- late tasks -----------------------------------------------------------------------------------

TEST_CASE("of late tasks those come first that are owed, by how long their parts were kept") {
  Slots cluster = eight_slots({1, 5, 5, 1});
  cluster.submit(kC, 1, task_of(1, 100_s));
  cluster.submit(kA, 1, task_of(7, 100_s));
  const JobId late = cluster.submit(kD, 1, impatient_task(8, 20_s, 5_s));
  const JobId owed_less = cluster.submit(kC, 1, impatient_task(8, 20_s, 10_s));
  const JobId owed = cluster.submit(kB, 1, impatient_task(8, 20_s, 15_s));
  cluster.run_until(200_s);
  CHECK(cluster.started_ms(owed) == 100_s);
  CHECK(cluster.started_ms(owed_less) == 120_s);
  CHECK(cluster.started_ms(late) == 140_s);
}

TEST_CASE("late tasks come first, and of them the longest late") {
  // None is owed as much as it takes.
  Slots cluster = eight_slots({1, 9, 1, 1});
  cluster.submit(kA, 1, task_of(8, 100_s));
  const JobId behind = cluster.submit(kB, 1, task_of(8, 20_s));
  const JobId late = cluster.submit(kD, 1, impatient_task(8, 20_s, 10_s));
  cluster.run_until(1_s);
  const JobId later_but_longer_late = cluster.submit(kC, 1, impatient_task(8, 20_s, 5_s));
  CHECK(cluster.kept_from(1, kB) == 100_s);
  cluster.run_until(6_s);
  CHECK(cluster.kept_from(1, kC) == 100_s);
  cluster.run_until(150_s);
  CHECK(cluster.started_ms(later_but_longer_late) == 100_s);
  CHECK(cluster.started_ms(late) == 120_s);
  CHECK(cluster.started_ms(behind) == 140_s);
}

TEST_CASE("a tenant's late task comes before the others of its window") {
  Slots cluster = eight_slots({1, 1});
  cluster.submit(kA, 1, task_of(8, 100_s));
  const JobId first = cluster.submit(kB, 1, task_of(8, 20_s));
  const JobId late = cluster.submit(kB, 1, impatient_task(8, 20_s, 10_s));
  cluster.run_until(150_s);
  CHECK(cluster.started_ms(late) == 100_s);
  CHECK(cluster.started_ms(first) == 120_s);
}

/// A holds its half until 100 s, B its own until 50 s; A's next task is late, B's is not.
struct LateAtItsMark {
  Slots cluster = eight_slots({1, 1});
  JobId late, other;
  explicit LateAtItsMark(LedgerMs patience_ms) {
    cluster.submit(kA, 1, task_of(4, 100_s));
    cluster.submit(kB, 1, task_of(4, 50_s));
    late = cluster.submit(kA, 1, impatient_task(4, 20_s, patience_ms));
    other = cluster.submit(kB, 1, task_of(4, 30_s));
    cluster.run_until(120_s);
  }
};

TEST_CASE("a late task of a tenant at its mark comes in its tenant's turn") {
  const LateAtItsMark deferred(60_s / (1 + kDeferralPatiences));
  CHECK(deferred.cluster.started_ms(deferred.other) == 50_s);
  CHECK(deferred.cluster.started_ms(deferred.late) == 80_s);
}

TEST_CASE("a late task that was deferred for long comes before others, whatever its tenant holds") {
  const LedgerMs patience_ms = 45_s / (1 + kDeferralPatiences);
  const LateAtItsMark firm(patience_ms);
  CHECK(firm.cluster.started_ms(firm.late) == 50_s);
  CHECK(firm.cluster.started_ms(firm.other) == 70_s);
}

TEST_CASE("a late task that has room nowhere keeps its tenant's others back for a while only") {
  Slots cluster = eight_slots({1, 1});
  cluster.submit(kA, 1, task_of(4, 100_s));
  cluster.submit(kB, 1, task_of(4, 50_s));
  const LedgerMs patience_ms = 45_s / (1 + 2 * kDeferralPatiences);
  cluster.submit(kA, 1, impatient_task(9, 20_s, patience_ms));
  cluster.run_until(1);
  const JobId late = cluster.submit(kA, 1, impatient_task(4, 20_s, patience_ms));
  cluster.submit(kB, 1, task_of(4, 30_s));
  cluster.run_until(120_s);
  CHECK(cluster.started_ms(late) == 50_s);
}

TEST_CASE("a late gang of a tenant at its mark is deferred as a task is") {
  const auto start_ms = [](LedgerMs patience_ms) {
    Slots cluster = eight_slots({1, 1});
    cluster.submit(kA, 1, task_of(4, 100_s));
    cluster.submit(kB, 1, task_of(4, 50_s));
    TimedCluster::Task gang = impatient_task(2, 20_s, patience_ms);
    gang.is_gang = true;
    const JobId late = cluster.submit(kA, 2, gang);
    cluster.submit(kB, 1, task_of(4, 30_s));
    cluster.run_until(120_s);
    return cluster.started_ms(late);
  };
  CHECK(start_ms(60_s / (1 + kDeferralPatiences)) == 80_s);
  CHECK(start_ms(45_s / (1 + kDeferralPatiences)) == 50_s);
}

TEST_CASE("the plan of a deferred gang takes nothing from what is late") {
  Slots cluster = eight_slots({1, 1, 1});
  cluster.submit(kA, 1, task_of(3, 100_s));
  cluster.submit(kB, 1, task_of(5, 50_s));
  // It is late first, but its tenant holds its part.
  TimedCluster::Task gang = impatient_task(2, 60_s, 15_s);
  gang.is_gang = true;
  const JobId deferred = cluster.submit(kA, 2, gang);
  const JobId late = cluster.submit(kC, 1, impatient_task(5, 30_s, 20_s));
  cluster.run_until(200_s);
  CHECK(cluster.started_ms(late) == 50_s);
  CHECK(cluster.started_ms(deferred) == 80_s);
}

TEST_CASE("a queue that has been late for long is no reason to hold more") {
  const bool of_gangs = GENERATE(false, true);
  const auto held_of_first = [of_gangs](std::initializer_list<Weight> weights) {
    Slots cluster = eight_slots(weights);
    TimedCluster::Task task = impatient_task(1, 10_s, 20_s);
    task.is_gang = of_gangs;
    for (const std::uint32_t tenant : cluster.tenants())
      for (int job = 0; job < (of_gangs ? 2500 : 1); ++job)
        cluster.submit(tenant, of_gangs ? 2 : 5000, task);
    cluster.run_until(1000_s);
    const std::int64_t before = cluster.held_total(kA);
    cluster.run_until(5000_s);
    return static_cast<double>(cluster.held_total(kA) - before) / static_cast<double>(4000_s);
  };
  CHECK(held_of_first({3, 1}) == Approx(6).margin(0.1));
  if (of_gangs) return;
  // Less than a task is its part.
  CHECK(held_of_first({3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}) ==
        Approx(24.0 / 41).margin(0.1));
}

TEST_CASE("who owes several all of its part has no late task before theirs") {
  Slots cluster = eight_slots({2, 1, 1});
  cluster.submit(kA, 1000, impatient_task(7, 10_s, 10_s));
  cluster.submit(kB, 1000, impatient_task(3, 10_s, 20_s));
  cluster.submit(kC, 1000, impatient_task(2, 10_s, 20_s));
  cluster.run_until(1000_s);
  const std::int64_t before = cluster.held_total(kB);
  cluster.run_until(3000_s);
  CHECK(cluster.held_total(kB) - before > 2000_s);
  CHECK(std::abs(cluster.net(kA)) < 2 * 10'000 * 7);
}

TEST_CASE("a long late queue of small tasks does not keep larger late ones out") {
  Slots cluster = eight_slots({3, 1});
  // They end one by one, so that each time its tenant is below its mark by one.
  for (int i = 0; i < 3000; ++i)
    cluster.submit(kA, 1, impatient_task(1, 5_s + i * 7 % 16 * 1_s, 20_s));
  const std::uint32_t size = GENERATE(3U, 5U);
  cluster.submit(kB, 500, impatient_task(size, 20_s, 25_s));
  cluster.run_until(200_s);
  const std::int64_t before = cluster.held_total(kB), before_of_a = cluster.held_total(kA);
  cluster.run_until(2200_s);
  CHECK(static_cast<double>(cluster.held_total(kB) - before) / static_cast<double>(2000_s) ==
        Approx(2).margin(0.2));
  CHECK(static_cast<double>(cluster.held_total(kA) - before_of_a) / static_cast<double>(2000_s) ==
        Approx(6).margin(0.6));
}

TEST_CASE("nobody gives way to a late task whose tenant has its part") {
  Slots cluster = eight_slots({1, 1});
  for (int i = 0; i < 3000; ++i)
    cluster.submit(kA, 1, impatient_task(1, 5_s + i * 7 % 16 * 1_s, 20_s));
  for (int i = 0; i < 3000; ++i) cluster.submit(kB, 1, impatient_task(1, 10_s, 25_s));
  cluster.submit(kB, 500, impatient_task(5, 20_s, 25_s));
  cluster.run_until(200_s);
  const std::int64_t before = cluster.held_total(kB);
  cluster.run_until(2200_s);
  CHECK(static_cast<double>(cluster.held_total(kB) - before) / static_cast<double>(2000_s) ==
        Approx(4).margin(0.3));
}

TEST_CASE("while a late task has no room nothing else has a place") {
  Slots cluster = eight_slots({1, 1, 1});
  cluster.submit(kA, 1, task_of(4, 100_s));
  const JobId late = cluster.submit(kC, 1, impatient_task(6, 20_s, 10_s));
  const JobId other = cluster.submit(kB, 1, task_of(7, 30_s));
  // It fits beside the one, not beside the other.
  const JobId small = cluster.submit(kA, 1, task_of(2, 1000_s));
  cluster.run_until(10_s - 1);
  CHECK_FALSE(cluster.has_started(small));
  cluster.run_until(200_s);
  CHECK(cluster.started_ms(small) == 10_s);
  CHECK(cluster.started_ms(late) == 100_s);
  CHECK_FALSE(cluster.has_started(other));
}

TEST_CASE("a tenant's place on one node does not cost its late task the other") {
  Slots cluster;
  cluster.weigh(kA, 1);
  cluster.weigh(kB, 1);
  ResourceVector with_memory = slots(1);
  with_memory[kMemory] = 1;
  cluster.node(1, slots(8));
  cluster.node(2, with_memory);
  // Small ones of A fill the large node all the time. Those of B wait for the other one.
  for (int i = 0; i < 200; ++i) cluster.submit(kA, 1, task_of(1, 7_s + 500 * (i * 5 % 8)));
  TimedCluster::Task other = task_of(1, 3_s);
  other.demand = with_memory;
  cluster.submit(kB, 500, other);
  cluster.run_until(31_s);
  const JobId large = cluster.submit(kB, 1, impatient_task(8, 20_s, 0));
  cluster.run_until(100_s);
  CHECK(cluster.started_on(large) == 1);
  CHECK(cluster.started_ms(large) > 31_s);
  CHECK(cluster.started_ms(large) <= 31_s + 10'500);
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

}  // namespace
}  // namespace fairwater::test::by_time
