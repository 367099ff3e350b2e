#include "sim/experiments/list.hpp"
#include "sim/experiments/starts.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {

TEST_CASE("what jobs are told of their start is held against when they start",
          "[unit][experiments]") {
  // One processor, estimates to be trusted but for the first, which is over 20 s earlier.
  Cluster cluster = test::processors({1}, {1});
  Workload workload;
  const auto submit = [&](TimeMs at_s, TimeMs run_s, TimeMs estimate_s) {
    workload.jobs.push_back(test::job_of(at_s * 1000, 0, 1, 1, run_s * 1000));
    workload.jobs.back().estimate_ms = estimate_s * 1000;
  };
  submit(0, 80, 100);
  submit(10, 50, 50);  // told 100 s at first, then 130 s behind the next, starts at 110 s
  submit(20, 30, 30);  // told 100 s, starts at 80 s
  const auto starts = measure_starts(cluster, workload,
                                     {.name = "sequence",
                                      .accounting = SequenceAccounting::time,
                                      .order = QueuePolicy::shortest_first});
  CHECK(starts.started == 3);
  CHECK(starts.waited == 2);
  CHECK(starts.told == 2);
  CHECK(starts.first_held == 1);
  CHECK(starts.last_held == 2);
  CHECK(starts.mean_late_ms == 10'000);
  CHECK(starts.mean_wait_ms == (100'000 + 60'000) / 3);
}

TEST_CASE("the experiment of starts says what it misses", "[unit][experiments]") {
  CHECK(details(run_starts({}).error()).field == "traces");
}

}  // namespace fairwater::sim
