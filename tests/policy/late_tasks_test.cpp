// Where the ledger counts time: which late tasks come before all others, and in which order.
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "slots_cluster.hpp"

namespace fairwater::test::by_time {
namespace {

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

TEST_CASE("a place on room of its own tenant's tasks is better than one that may never come") {
  Slots cluster;
  for (const auto& [tenant, weight] : {std::pair{kA, 6}, {kB, 1}, {kC, 1}})
    cluster.weigh(tenant, weight);
  cluster.node(1, slots(4));
  cluster.submit(kC, 1, task_of(4, 1000_s));
  cluster.run_until(1_s);
  cluster.node(2, slots(4));
  cluster.submit(kB, 1, unlimited_task(2, 100'000_s));
  cluster.run_until(990_s);
  // Owed by the third, it runs one of its tasks on the first node, and has a place for the next.
  cluster.submit(kA, 10, impatient_task(3, 100_s, 5_s));
  cluster.run_until(1020_s);
  CHECK(cluster.kept_from(1, kA) == 1100_s);
  std::vector<JobId> small;
  for (int i = 0; i < 3; ++i) small.push_back(cluster.submit(kC, 1, task_of(1, 50_s)));
  cluster.run_until(1030_s);
  for (const JobId job : small) CHECK(cluster.has_started(job));
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

}  // namespace
}  // namespace fairwater::test::by_time
