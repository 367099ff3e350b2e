#include "sim/experiments/list.hpp"
#include "sim/experiments/predictions.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {

TEST_CASE("predictions are judged by what was known when a task started", "[unit][experiments]") {
  // One processor, one after the other, estimates of 60 s: expected are 60, 10, 15 and 25 s by the
  // last two, and 60, 10, 20 and 30 s by the last one. The fifth has no estimate.
  Cluster cluster = test::processors({1}, {1});
  Workload workload;
  for (const TimeMs run_s : {10, 20, 30, 25, 40}) {
    workload.jobs.push_back(test::job_of(0, 0, 1, 1, run_s * 1000));
    workload.jobs.back().estimate_ms = 60'000;
  }
  workload.jobs.back().has_estimate = false;
  const auto runs = measure_predictions(cluster, workload, {2, 1});
  CHECK(runs.by_source == std::array<std::uint64_t, 3>{3, 0, 1});
  CHECK(runs.mean_run_ms == 21'250);
  CHECK(runs.limits.runs() == 4);
  CHECK(runs.limits.exceeded() == 0);
  CHECK(runs.limits.mean_absolute_ms() == (50'000 + 40'000 + 30'000 + 35'000) / 4);
  CHECK(runs.predicted[0].mean_absolute_ms() == (50'000 + 10'000 + 15'000 + 0) / 4);
  CHECK(runs.predicted[0].exceeded() == 2);
  CHECK(runs.predicted[1].mean_absolute_ms() == (50'000 + 10'000 + 10'000 + 5'000) / 4);
  CHECK(runs.predicted[1].exceeded() == 2);
}

TEST_CASE("predictions' experiment says what it misses", "[unit][experiments]") {
  CHECK(details(run_predictions({}).error()).field == "traces");
  CHECK(details(run_traces({}).error()).field == "traces");
}

}  // namespace fairwater::sim
