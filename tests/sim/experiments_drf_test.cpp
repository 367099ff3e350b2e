// DRF's worked examples, and the helpers that the experiments share.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "sim/experiments/list.hpp"
#include "sim/experiments/parallel.hpp"
#include "sim/report/statistics.hpp"
#include "tests/sim/report_text.hpp"

namespace fairwater::sim {

TEST_CASE("both worked examples of DRF come out", "[unit][experiments]") {
  const auto report = run_drf({});
  REQUIRE(report);
  test::check_structure(*report);
  CHECK(report->claims[0].verdict == Verdict::holds);
  CHECK_THAT(report->claims[0].measured, Catch::StartsWith("A places 2 and B 2, with dominant "
                                                           "shares of 0.7500 and 0.7500; 8 cpu "
                                                           "and 14 memory"));
  CHECK(report->claims[1].verdict == Verdict::holds);
  CHECK_THAT(report->claims[1].measured, Catch::StartsWith("A places 3 and B 2"));
}

TEST_CASE("filling on never places less than the early stop", "[property][experiments]") {
  ExperimentOptions options;
  options.seeds = 20;
  const auto report = run_drf(options);
  REQUIRE(report);
  const auto& table = std::get<Table>(report->items.at(1));
  CHECK(table.rows.size() == 15);
  bool some_more = false;
  for (const auto& row : table.rows) {
    CHECK(std::stod(row[3]) >= std::stod(row[2]));
    some_more = some_more || std::stod(row[3]) > std::stod(row[2]);
  }
  CHECK(some_more);
}

TEST_CASE("the report on DRF does not depend on the threads", "[property][experiments]") {
  ExperimentOptions one, three;
  three.threads = 3;
  CHECK(test::text_of(*run_drf(one)) == test::text_of(*run_drf(three)));
}

TEST_CASE("a mean's interval follows Student's t", "[unit][experiments]") {
  const std::vector<double> samples{1, 2, 3, 4, 5};
  const Estimate mean = estimate(samples);
  CHECK(mean.mean == Approx(3));
  CHECK(mean.half_width == Approx(2.776445 * std::sqrt(2.5 / 5)));
  CHECK(estimate(std::vector<double>{7}).half_width == 0);
  const Estimate difference = estimate_difference(samples, std::vector<double>{0, 1, 2, 3, 4});
  CHECK(difference.low() == Approx(1));
  CHECK(difference.high() == Approx(1));
}

TEST_CASE("every index is worked on once and progress comes in order", "[unit][experiments]") {
  ExperimentOptions options;
  options.threads = 4;
  std::vector<double> progress;
  options.progress = [&](double done) { progress.push_back(done); };
  std::vector<int> calls(100);
  for_each_index(calls.size(), options, 0.5, 1, [&](std::size_t i) { ++calls[i]; });
  CHECK(calls == std::vector<int>(100, 1));
  CHECK(std::is_sorted(progress.begin(), progress.end()));
  CHECK(progress.front() > 0.5);
  CHECK(progress.back() == 1);
}

}  // namespace fairwater::sim
