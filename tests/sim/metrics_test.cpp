// The figures of one small run, reckoned by hand.
#include "sim/report/metrics.hpp"

#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

constexpr TimeMs kSecond = 1000;

/// Ten processors; tenant 0 of weight 1 and tenant 1 of weight 3.
///
///   s       0    5         20       30  32              50
///   held 0  4 ...........  0 .....  2   0
///   held 1  6 ...........  8 .....  2 ................. 0
///   waits      0: job 2 from 5 to 30; 1: two tasks of job 1 from 0 to 20
struct Story {
  Cluster cluster = processors({10}, {1, 3});
  Workload workload{{job_of(0, 0, 4, 1, 20 * kSecond), job_of(0, 1, 8, 1, 30 * kSecond),
                     job_of(5 * kSecond, 0, 1, 2, 2 * kSecond)}};

  RunMetrics run(MetricsOptions options, EngineOptions engine = {}) const {
    ScriptedScheduler scheduler([](TimeMs now) {
      Actions actions;
      if (now == 0)
        for (std::uint32_t i = 0; i < 4; ++i) actions.start.push_back({{0, i}, 0, 1});
      if (now == 0)
        for (std::uint32_t i = 0; i < 6; ++i) actions.start.push_back({{1, i}, 0, 1});
      if (now == 20 * kSecond) actions.start = {{{1, 6}, 0, 1}, {{1, 7}, 0, 1}};
      if (now == 30 * kSecond) actions.start = {{{2, 0}, 0, 1}};
      return actions;
    });
    scheduler.accounts[0] = {.net = -2, .lent = 1, .borrowed = 5, .repaid = 2};
    scheduler.accounts[1] = {.net = 2, .lent = 4, .borrowed = 0, .repaid = 0, .credit = 0.5};
    Recorder recorder(cluster, workload, std::move(options));
    const auto result = run_engine(cluster, workload, scheduler, recorder, engine);
    return recorder.finish(result, scheduler);
  }
};

}  // namespace

TEST_CASE("waits, slowdown and completion are told of the jobs", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond});
  CHECK(metrics.engine.end_ms == 50 * kSecond);
  CHECK(metrics.jobs.jobs == 3);
  CHECK(metrics.jobs.mean_wait_s == Approx(25.0 / 3));
  CHECK(metrics.jobs.p95_wait_s == Approx(22.5));  // of 0, 0, 25: 0.9 of the way from 0 to 25
  CHECK(metrics.jobs.max_wait_s == 25);
  // 20 s of 20; 50 s of 30; 27 s of 2, which counts as 10.
  CHECK(metrics.jobs.mean_slowdown == Approx((1 + 50.0 / 30 + 2.7) / 3));
  CHECK(metrics.jobs.mean_completion_s == Approx((20 + 50 + 27) / 3.0));
  CHECK(metrics.tenants[0].submitted == 2);
  CHECK(metrics.tenants[0].jobs.jobs == 2);
  CHECK(metrics.tenants[0].jobs.p95_wait_s == Approx(23.75));
  CHECK(metrics.tenants[0].jobs.mean_slowdown == Approx(1.85));
  CHECK(metrics.tenants[1].jobs.max_wait_s == 0);
  CHECK(metrics.tenants[1].jobs.mean_completion_s == 50);
  CHECK(metrics.unfinished_jobs == 0);
  CHECK(metrics.failed_jobs == 0);
}

TEST_CASE("a wait counts from the job's start on, whether it ends or not", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond}, {.end_ms = 31 * kSecond});
  CHECK(metrics.unfinished_jobs == 2);
  CHECK(metrics.jobs.jobs == 1);
  CHECK(metrics.jobs.max_wait_s == 25);
  CHECK(metrics.jobs.mean_wait_s == Approx(25.0 / 3));
  CHECK(metrics.jobs.mean_completion_s == 20);
  const auto none = Story{}.run({.sample_ms = 7 * kSecond}, {.end_ms = 10 * kSecond});
  CHECK(none.jobs.jobs == 0);
  CHECK(none.jobs.mean_slowdown == 0);
}

TEST_CASE("use counts up to a horizon inside a step", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond, .horizon_ms = 25 * kSecond});
  CHECK(metrics.horizon_ms == 25 * kSecond);
  CHECK(metrics.utilisation == Approx((20 * 10 + 5 * 8) / 250.0));
  CHECK(metrics.tenants[0].unit_s == 80);
  CHECK(metrics.tenants[1].unit_s == 160);
  CHECK(metrics.tenants[0].mean_share == Approx(0.32));
  CHECK(metrics.tenants[1].mean_share == Approx(0.64));
}

TEST_CASE("without a horizon use counts up to the last arrival", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond});
  CHECK(metrics.horizon_ms == 5 * kSecond);
  CHECK(metrics.utilisation == Approx(1));
  CHECK(metrics.tenants[0].unit_s == 20);
}

TEST_CASE("a horizon beyond the end ends there", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond, .horizon_ms = 500 * kSecond});
  CHECK(metrics.horizon_ms == 50 * kSecond);
  CHECK(metrics.tenants[1].unit_s == 240);
  CHECK(metrics.utilisation == Approx((80 + 4 + 240) / 500.0));
}

TEST_CASE("where all work is there from the start, use counts up to the end", "[unit][metrics]") {
  const Cluster cluster = processors({4}, {1});
  const Workload workload{{job_of(0, 0, 6, 1, 10 * kSecond)}};
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0) actions.start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1}, {{0, 2}, 0, 1}, {{0, 3}, 0, 1}};
    if (now == 10 * kSecond) actions.start = {{{0, 4}, 0, 1}, {{0, 5}, 0, 1}};
    return actions;
  });
  Recorder recorder(cluster, workload, {.sample_ms = kSecond});
  const auto result = run_engine(cluster, workload, scheduler, recorder, {});
  const auto metrics = recorder.finish(result, scheduler);
  CHECK(metrics.horizon_ms == 20 * kSecond);
  CHECK(metrics.utilisation == Approx(0.75));
  CHECK(metrics.tenants[0].mean_share == Approx(0.75));
}

TEST_CASE("nobody is entitled to more than its max", "[unit][metrics]") {
  // It asks for all four processors and may have one: one is what it should hold.
  Cluster cluster = processors({4}, {1});
  cluster.tenants[0].terms.max[kCpu] = 1000;
  const Workload workload{{job_of(0, 0, 4, 1, 10 * kSecond)}};
  const auto deviation = [&](std::uint32_t at_once) {
    ScriptedScheduler scheduler([&](TimeMs now) {
      Actions actions;
      const auto first = static_cast<std::uint32_t>(now / (10 * kSecond)) * at_once;
      for (std::uint32_t i = first; i < std::min(first + at_once, 4U); ++i)
        actions.start.push_back({{0, i}, 0, 1});
      return actions;
    });
    Recorder recorder(cluster, workload, {.sample_ms = kSecond});
    const auto result = run_engine(cluster, workload, scheduler, recorder, {});
    return recorder.finish(result, scheduler).largest_deviation;
  };
  CHECK(deviation(1) == 0);
  CHECK(deviation(4) == Approx(0.75));
}

TEST_CASE("deviation is the distance to the water level", "[unit][metrics]") {
  // Up to 20 s 0 may have 1/4 and has 0.4; up to 30 s it wants 0.2, may have it, and has nothing.
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond});
  CHECK(metrics.largest_deviation == Approx(0.2));
  CHECK(metrics.mean_deviation == Approx((0.15 * 20 + 0.2 * 10) / 50));
}

TEST_CASE("Jain's index is of windows in which two waited all the time", "[unit][metrics]") {
  // Both wait from 5 to 20, one step of the engine. Their shares over weights are 0.4 and 0.2.
  const auto metrics =
      Story{}.run({.sample_ms = 7 * kSecond,
                   .windows_ms = {4 * kSecond, 3 * kSecond, 10 * kSecond, 16 * kSecond}});
  REQUIRE(metrics.fairness.size() == 4);
  CHECK(metrics.fairness[0].windows == 3);  // 8, 12, 16 to 20
  CHECK(metrics.fairness[1].windows == 4);  // 6, 9, 12, 15 to 18
  CHECK(metrics.fairness[2].windows == 1);  // 10 to 20
  CHECK(metrics.fairness[3].windows == 0);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(metrics.fairness[i].mean_jain == Approx(0.36 / (2 * (0.16 + 0.04))));
    CHECK(metrics.fairness[i].least_jain == Approx(0.9));
  }
  CHECK(metrics.fairness[3].mean_jain == 1);
}

TEST_CASE("a window counts those who begin to wait at its very start", "[unit][metrics]") {
  // Both have one of two tasks running from the start; then the first has two at once.
  const Cluster cluster = processors({4}, {1, 1});
  const Workload workload{{job_of(0, 0, 4, 1, 10 * kSecond), job_of(0, 1, 3, 1, 10 * kSecond)}};
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0) actions.start = {{{0, 0}, 0, 1}, {{1, 0}, 0, 1}};
    if (now == 10 * kSecond) actions.start = {{{0, 1}, 0, 1}, {{0, 2}, 0, 1}, {{1, 1}, 0, 1}};
    if (now == 20 * kSecond) actions.start = {{{0, 3}, 0, 1}, {{1, 2}, 0, 1}};
    return actions;
  });
  Recorder recorder(cluster, workload, {.sample_ms = kSecond, .windows_ms = {10 * kSecond}});
  const auto result = run_engine(cluster, workload, scheduler, recorder, {});
  const auto metrics = recorder.finish(result, scheduler);
  // 0 to 10: 1 and 1; 10 to 20: 2 and 1; from 20 on nobody waits.
  CHECK(metrics.fairness[0].windows == 2);
  CHECK(metrics.fairness[0].mean_jain == Approx((1 + 0.9) / 2));
  CHECK(metrics.fairness[0].least_jain == Approx(0.9));
}

TEST_CASE("samples are what is true just before their moment", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond});
  const double held[7][2] = {{4, 6}, {4, 6}, {0, 8}, {0, 8}, {0, 2}, {0, 2}, {0, 2}};
  const double sums[7][2] = {{28, 42},  {56, 84},  {80, 128}, {80, 184},
                             {84, 210}, {84, 224}, {84, 238}};
  const std::uint64_t waiting[7][2] = {{1, 2}, {1, 2}, {1, 0}, {1, 0}, {0, 0}, {0, 0}, {0, 0}};
  REQUIRE(metrics.samples.size() == 7);
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t tenant = 0; tenant < 2; ++tenant) {
      CAPTURE(i, tenant);
      const auto& sample = metrics.samples[i][tenant];
      CHECK(sample.held_units == held[i][tenant]);
      CHECK(sample.share == Approx(held[i][tenant] / 10));
      CHECK(sample.cumulative_unit_s == Approx(sums[i][tenant]));
      CHECK(sample.waiting_tasks == waiting[i][tenant]);
      CHECK(sample.net == (tenant == 0 ? -2 : 2));
      CHECK(sample.credit == (tenant == 0 ? 0 : 0.5));
    }
  CHECK(metrics.tenants[0].time_in_debt_s == 49);
  CHECK(metrics.tenants[1].time_in_debt_s == 0);
  CHECK(metrics.time_in_debt_s == 49);
  CHECK(metrics.lent == 5);
  CHECK(metrics.repaid == 2);
}

TEST_CASE("jobs that would have come after the run's end are not unfinished", "[unit][metrics]") {
  const auto metrics = Story{}.run({.sample_ms = 7 * kSecond}, {.end_ms = 4 * kSecond});
  CHECK(metrics.tenants[0].submitted + metrics.tenants[1].submitted == 2);
  CHECK(metrics.unfinished_jobs == 2);
}

TEST_CASE("jobs that a run leaves behind are unfinished, and killed ones failed",
          "[unit][metrics]") {
  const auto metrics =
      Story{}.run({.sample_ms = 7 * kSecond, .horizon_ms = 50 * kSecond}, {.end_ms = 31 * kSecond});
  CHECK(metrics.jobs.jobs == 1);
  CHECK(metrics.unfinished_jobs == 2);
  CHECK(metrics.horizon_ms == 31 * kSecond);
  CHECK(metrics.tenants[0].unit_s == 82);
  CHECK(metrics.tenants[1].unit_s == 202);

  const Cluster cluster = processors({2}, {1});
  const Workload workload{{job_of(0, 0, 1, 2, 10 * kSecond), job_of(4 * kSecond, 0, 1, 1, 0)}};
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 4 * kSecond) actions.kill = {{0, 0}};
    if (now <= 4 * kSecond) actions.start = {{{0, 0}, 0, 1}};
    return actions;
  });
  Recorder recorder(cluster, workload, {.sample_ms = kSecond});
  const auto result = run_engine(cluster, workload, scheduler, recorder, {.end_ms = 20 * kSecond});
  const auto killed = recorder.finish(result, scheduler);
  CHECK(killed.failed_jobs == 1);
  CHECK(killed.tenants[0].killed_tasks == 1);
  CHECK(killed.tenants[0].jobs.jobs == 1);
  CHECK(killed.tenants[0].jobs.max_wait_s == 0);
  CHECK(killed.tenants[0].jobs.mean_completion_s == 14);
  CHECK(killed.unfinished_jobs == 1);  // the other one never started
}

}  // namespace fairwater::sim
