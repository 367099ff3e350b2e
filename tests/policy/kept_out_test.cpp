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

  Busy(std::uint64_t seed, Amount capacity, LedgerMs for_ms, std::vector<Backlog> of)
      : draw(seed), backlogs(std::move(of)) {
    for (std::uint32_t id = 1; id <= backlogs.size(); ++id)
      cluster.tenant(id, terms_of(backlogs[id - 1].weight));
    fill(capacity, for_ms);
    cluster.node(1, slots(capacity));
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
  CHECK(held[0] < 16);
  CHECK(held[1] > 8);
  CHECK(held[2] > 7);
}

}  // namespace
}  // namespace fairwater::test::kept_out
