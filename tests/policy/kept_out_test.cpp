// Where the ledger counts time and everybody waits all the time: nobody is kept out by places that
// are kept for others, or by others' small tasks.
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "draw.hpp"
#include "timed_cluster.hpp"

namespace fairwater::test::kept_out {
namespace {

/// What a tenant has to run all the time, tasks one like another but for how long they take.
struct Backlog {
  Weight weight = 1;
  Amount size = 1;
  LedgerMs least_run_ms = 0;
  LedgerMs most_run_ms = 0;
  std::int64_t limit_in_runs = 2;
};

AllocatorSettings settings() {
  AllocatorSettings settings;
  settings.granules[kCpu] = 1;
  settings.granules[kMemory] = 1;
  return settings;
}

/// Tasks are late after half of their limit and a minute. The tenants are 1, 2, ..
struct Busy {
  Draw draw;
  std::vector<Backlog> backlogs;
  TimedCluster cluster{settings()};

  /// On nodes alike that have that capacity together.
  Busy(std::uint64_t seed, Amount capacity, LedgerMs for_ms, std::vector<Backlog> of,
       std::uint32_t nodes = 1)
      : draw(seed), backlogs(std::move(of)) {
    for (std::uint32_t id = 1; id <= backlogs.size(); ++id)
      cluster.tenant(id, terms_of(backlogs[id - 1].weight));
    fill(capacity, for_ms);
    for (std::uint32_t node = 1; node <= nodes; ++node) cluster.node(node, slots(capacity / nodes));
  }
  /// All at once: who asks for less time is late longer.
  void fill(Amount capacity, LedgerMs for_ms) {
    for (std::uint32_t id = 1; id <= backlogs.size(); ++id) {
      const Backlog& backlog = backlogs[id - 1];
      const Amount at_once = capacity / backlog.size;
      const LedgerMs mean_ms = (backlog.least_run_ms + backlog.most_run_ms) / 2;
      for (LedgerMs job = at_once * for_ms / mean_ms * 5 / 4; job > 0; --job) {
        const auto run_ms = draw.in<LedgerMs>(backlog.least_run_ms, backlog.most_run_ms);
        TimedCluster::Task task = task_of(backlog.size, run_ms * backlog.limit_in_runs);
        task.run_ms = run_ms;
        task.patience_ms = 60_s + task.limit_ms / 2;
        cluster.submit(id, 1, task);
      }
    }
  }
  /// What each held on average in that time.
  std::vector<double> held_between(LedgerMs from_ms, LedgerMs to_ms) {
    cluster.run_until(from_ms);
    std::vector<double> held;
    for (const std::uint32_t id : cluster.tenants())
      held.push_back(-static_cast<double>(cluster.held_total(id)));
    cluster.run_until(to_ms);
    for (const std::uint32_t id : cluster.tenants()) {
      held[id - 1] += static_cast<double>(cluster.held_total(id));
      held[id - 1] /= static_cast<double>(to_ms - from_ms);
    }
    return held;
  }
};

TEST_CASE("a place does not count on room that others take again as soon as it is free") {
  // The third has its part all the time, and is late longest whenever one of its tasks ends.
  Busy busy(GENERATE(1, 2), 32, 3000_s,
            {{1, 2, 10_s, 60_s, 2}, {2, 12, 10_s, 60_s, 2}, {1, 8, 10_s, 10_s, 2}});
  const std::vector<double> held = busy.held_between(1800_s, 3000_s);
  CHECK(held[0] < 14);
  CHECK(held[1] > 11);
  CHECK(held[2] > 5);
}

/// Within what a task is of all that time.
void check_parts(const std::vector<double>& held, const std::vector<double>& parts) {
  REQUIRE(held.size() == parts.size());
  for (std::size_t i = 0; i < held.size(); ++i) {
    INFO("tenant " << i + 1);
    CHECK(held[i] == Approx(parts[i]).margin(0.03));
  }
}

TEST_CASE("who is late sooner has no more than its part where that is less than a task", "[long]") {
  // The last asks for the least time: its tasks are late first.
  Busy one_slot(1, 1, 36'000_s,
                {{3, 1, 600_s, 600_s, 1}, {2, 1, 600_s, 600_s, 1}, {1, 1, 540_s, 540_s, 1}});
  check_parts(one_slot.held_between(12'000_s, 36'000_s), {3.0 / 6, 2.0 / 6, 1.0 / 6});
  Busy two_slots(1, 2, 36'000_s, {{5, 1, 300_s, 300_s, 1}, {1, 1, 60_s, 60_s, 1}});
  check_parts(two_slots.held_between(12'000_s, 36'000_s), {10.0 / 6, 2.0 / 6});
}

TEST_CASE("who holds a part of its part gets the rest, whatever its own tasks free meanwhile",
          "[long]") {
  // Of nodes of 4 slots a task of the first takes 3, which seldom are free at once. Parts are 9.2,
  // 11.1, 1.8 and 1.8. With places on its own room it holds 6 from 6,000 s on.
  Busy busy(1, 24, 20'000_s,
            {{5, 3, 90_s, 90_s, 3},
             {6, 1, 360_s, 1080_s, 3},
             {1, 2, 360_s, 1080_s, 3},
             {1, 2, 180_s, 180_s, 3}},
            6);
  const std::vector<double> held = busy.held_between(8'000_s, 20'000_s);
  CHECK(held[0] > 7.5);
  CHECK(held[1] > 11.5);
  CHECK(held[2] > 1.7);
  CHECK(held[3] > 1.7);
}

TEST_CASE("whose queue is younger is not behind those who are late longer but owe it", "[long]") {
  // Each submits what takes one and a half of the two slots. Who is served better has waited less.
  TimedCluster cluster(settings());
  const std::vector<Weight> weights{3, 2, 1};
  for (std::uint32_t id = 1; id <= weights.size(); ++id)
    cluster.tenant(id, terms_of(weights[id - 1]));
  cluster.node(1, slots(2));
  TimedCluster::Task task = task_of(1, 300_s);
  task.patience_ms = 600_s;
  std::vector<double> held;
  for (LedgerMs ms = 0; ms < 90'000_s; ms += 200_s) {
    cluster.run_until(ms);
    for (std::uint32_t id = 1; id <= weights.size(); ++id) {
      cluster.submit(id, 1, task);
      if (ms == 30'000_s) held.push_back(-static_cast<double>(cluster.held_total(id)));
    }
  }
  for (std::uint32_t id = 1; id <= weights.size(); ++id)
    held[id - 1] = (held[id - 1] + static_cast<double>(cluster.held_total(id))) / 59'800'000;
  check_parts(held, {6.0 / 6, 4.0 / 6, 2.0 / 6});
}

}  // namespace
}  // namespace fairwater::test::kept_out
