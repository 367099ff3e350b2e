// The experiments on QREA, at a size for tests.
#include <catch2/catch.hpp>

#include "sim/experiments/qrea_experiments.hpp"
#include "tests/sim/report_text.hpp"

namespace fairwater::sim {
namespace {

QreaPlan small_qrea_plan() {
  return {.rates = {1, 9}, .variant_rates = {7}, .samples = 3, .variant_samples = 2};
}

/// The first user took all extras and left nothing; the others left 30 of their quotas each.
ElasticRun one_takes_all() {
  ElasticRun run;
  run.accounts[0] = {.extras = 60, .earned = 0, .unused = 0};
  for (std::size_t u = 1; u < kElasticUsers; ++u)
    run.accounts[u] = {.extras = 0, .earned = 20, .unused = 30};
  return run;
}

}  // namespace

TEST_CASE("completion time halves where there is room", "[property][experiments]") {
  const auto report = measure_qrea_load(small_qrea_plan(), {});
  REQUIRE(report);
  test::check_structure(*report);
  CHECK_THAT(report->claims[0].measured, Catch::Contains("5.00 s under QREA, 10.00 s under BRA"));
  CHECK(report->claims[2].verdict == Verdict::holds);
}

TEST_CASE("the report on elastic load does not depend on the threads", "[property][experiments]") {
  ExperimentOptions one, three;
  three.threads = 3;
  CHECK(test::text_of(*measure_qrea_load(small_qrea_plan(), one)) ==
        test::text_of(*measure_qrea_load(small_qrea_plan(), three)));
}

TEST_CASE("fairness is measured by every reading", "[property][experiments]") {
  ExperimentOptions one, three;
  three.threads = 3;
  const auto report = measure_qrea_fairness(small_qrea_plan(), one);
  REQUIRE(report);
  test::check_structure(*report);
  CHECK(report->claims[1].verdict == Verdict::measured_only);
  CHECK(test::text_of(*report) == test::text_of(*measure_qrea_fairness(small_qrea_plan(), three)));
}

TEST_CASE("readings of phi by hand", "[unit][experiments]") {
  const ElasticRun unfair = one_takes_all();
  std::vector<std::string_view> names;
  for (const FairnessReading& reading : fairness_readings()) {
    names.push_back(reading.name);
    const double phi = reading.phi(unfair);
    if (reading.name == "shares") CHECK(phi == Approx(std::sqrt(1 + 3.0 / 9)));
    if (reading.name == "misplaced") CHECK(phi == Approx(1));
    if (reading.name == "credits") CHECK(phi == Approx(std::sqrt((3600 + 3 * 400) / 4.0)));
    if (reading.name == "Jain") CHECK(phi == Approx(0.75));
    if (reading.name == "ratios") CHECK(phi == Approx(2));  // 60, 0, 0, 0: deviation 30, mean 15
  }
  CHECK(names.size() == 8);
}

TEST_CASE("phi is 0 when everybody gets what it earns", "[unit][experiments]") {
  ElasticRun fair;
  for (std::size_t u = 0; u < kElasticUsers; ++u) {
    const auto part = static_cast<double>(u + 1);
    fair.accounts[u] =
        fair.contended[u] = {.extras = 2 * part, .earned = 2 * part, .unused = 3 * part};
  }
  for (const FairnessReading& reading : fairness_readings()) {
    CAPTURE(reading.name);
    CHECK(reading.phi(fair) == Approx(0).margin(1e-12));
  }
}

TEST_CASE("a run's accounts follow from its jobs", "[unit][experiments]") {
  // One user alone, few jobs: each runs with 2 units for 5 s, so 5 unit-seconds of extras a job.
  ElasticAssumptions assumptions;
  assumptions.variation = 0;
  const auto run = run_elastic({"QREA", "qrea"}, {1, 0, 0, 0}, assumptions, 1);
  REQUIRE(run);
  CHECK(run->mean_completion_s == Approx(5));
  CHECK(run->resizes_per_job == Approx(1));
  CHECK(run->failed_jobs == 0);
  CHECK(run->accounts[0].extras == Approx(100 * 5).epsilon(0.05));  // less what runs at the end
  CHECK(run->utilisation == Approx(100 * 10 / (200 * 100.0)).epsilon(0.05));
  CHECK(run->accounts[0].unused == Approx(50 * 100 - 500).epsilon(0.01));
  CHECK(run->accounts[1].unused == Approx(50 * 100));
}

TEST_CASE("decreases are relative to the first", "[unit][experiments]") {
  const Estimate decrease = relative_decrease(std::vector<double>{2, 4}, std::vector<double>{1, 3});
  CHECK(decrease.mean == Approx(1.0 / 3));
  CHECK(decrease.half_width == Approx(0));
}

}  // namespace fairwater::sim
