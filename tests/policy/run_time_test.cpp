// Expected run times, against a slow reading of the rule.
#include <limits>
#include <numeric>
#include <string>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "policy/prediction/planned_run.hpp"

namespace fairwater {
namespace {

constexpr TenantId kPhysics{1};
constexpr TenantId kBiology{2};

struct Run {
  std::string task_class;
  TenantId tenant;
  std::int64_t run_ms = 0;
};

/// The mean of the last `count` of these that `is_alike`; none when there are none.
template <class Alike>
std::optional<std::int64_t> slow_mean(const std::vector<Run>& runs, std::size_t count,
                                      const Alike& is_alike) {
  std::vector<std::int64_t> last;
  for (auto run = runs.rbegin(); run != runs.rend() && last.size() < count; ++run)
    if (is_alike(*run)) last.push_back(run->run_ms);
  if (last.empty()) return std::nullopt;
  return std::accumulate(last.begin(), last.end(), std::int64_t{0}) /
         static_cast<std::int64_t>(last.size());
}

std::optional<Prediction> slow_prediction(const std::vector<Run>& runs, std::size_t count,
                                          const std::string& task_class, TenantId tenant,
                                          std::optional<std::int64_t> limit_ms) {
  const auto of_class = slow_mean(runs, count, [&](const Run& run) {
    return run.tenant == tenant && run.task_class == task_class;
  });
  const auto of_tenant =
      slow_mean(runs, count, [&](const Run& run) { return run.tenant == tenant; });
  std::optional<Prediction> expected;
  if (of_class) {
    expected = Prediction{*of_class, PredictionSource::task_class};
  } else if (of_tenant) {
    expected = Prediction{*of_tenant, PredictionSource::tenant};
  } else if (limit_ms) {
    expected = Prediction{*limit_ms, PredictionSource::limit};
  }
  if (expected && limit_ms && expected->expected_ms > *limit_ms) expected->expected_ms = *limit_ms;
  return expected;
}

}  // namespace

TEST_CASE("a run time is expected from the class, else the tenant, else the limit",
          "[unit][prediction]") {
  RunTimePredictor predictor;
  CHECK(predictor.expected("sort", kPhysics, std::nullopt) == std::nullopt);
  CHECK(predictor.expected("sort", kPhysics, 5000) == Prediction{5000, PredictionSource::limit});
  predictor.finished("render", kPhysics, 100);
  CHECK(predictor.expected("sort", kPhysics, 5000) == Prediction{100, PredictionSource::tenant});
  predictor.finished("sort", kPhysics, 1000);
  CHECK(predictor.expected("sort", kPhysics, 5000) ==
        Prediction{1000, PredictionSource::task_class});
  predictor.finished("sort", kPhysics, 2000);
  predictor.finished("sort", kPhysics, 4001);
  CHECK(predictor.expected("sort", kPhysics, std::nullopt) ==
        Prediction{3000, PredictionSource::task_class});
  CHECK(predictor.expected("sort", kPhysics, 2500) ==
        Prediction{2500, PredictionSource::task_class});
  CHECK(predictor.expected("sort", kBiology, std::nullopt) == std::nullopt);
  predictor.forget(kPhysics);
  CHECK(predictor == RunTimePredictor{});
}

TEST_CASE("run times are expected as a slow reading expects them", "[property][prediction]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SplitMix64 random(seed);
    const std::size_t recent = 1 + random.below(5);
    RunTimePredictor predictor(recent);
    std::vector<Run> runs;
    for (int i = 0; i < 200; ++i) {
      const std::string task_class(1, static_cast<char>('a' + random.below(4)));
      const TenantId tenant{1 + static_cast<std::uint32_t>(random.below(3))};
      std::optional<std::int64_t> limit_ms;
      if (random.below(2) == 0) limit_ms = 1 + static_cast<std::int64_t>(random.below(2000));
      CAPTURE(seed, i);
      const auto expected = predictor.expected(task_class, tenant, limit_ms);
      REQUIRE(expected == slow_prediction(runs, recent, task_class, tenant, limit_ms));
      if (limit_ms) REQUIRE(expected->expected_ms <= *limit_ms);
      runs.push_back({task_class, tenant, static_cast<std::int64_t>(random.below(3000))});
      predictor.finished(task_class, tenant, runs.back().run_ms);
    }
  }
}

TEST_CASE("classes that have not ended for long are forgotten, not the tenant",
          "[unit][prediction]") {
  RunTimePredictor predictor;
  predictor.finished("daily", kPhysics, 70);
  for (std::size_t i = 0; i < RunTimePredictor::kMaxClasses; ++i) {
    predictor.finished("run-" + std::to_string(i), kPhysics, 10);
    predictor.finished("daily", kPhysics, 70);
  }
  using enum PredictionSource;
  CHECK(predictor.expected("daily", kPhysics, std::nullopt) == Prediction{70, task_class});
  CHECK(predictor.expected("run-0", kPhysics, std::nullopt) == Prediction{40, tenant});
  CHECK(predictor.expected("run-1", kPhysics, std::nullopt) == Prediction{10, task_class});
}

TEST_CASE("what is expected doubles when it has passed, up to the limit", "[unit][prediction]") {
  const Prediction minute{60'000, PredictionSource::task_class};
  CHECK(expected_total_ms(minute, 0, std::nullopt) == 60'000);
  CHECK(expected_total_ms(minute, 59'999, std::nullopt) == 60'000);
  CHECK(expected_total_ms(minute, 60'000, std::nullopt) == 120'000);
  CHECK(expected_total_ms(minute, 120'000, std::nullopt) == 240'000);
  CHECK(expected_total_ms(minute, 120'000, 150'000) == 150'000);
  CHECK(expected_total_ms(minute, 150'000, 150'000) == 150'001);
  CHECK(expected_total_ms({0, PredictionSource::tenant}, 5, std::nullopt) == 8);
}

TEST_CASE("an expectation lies ahead and changes only when it has passed",
          "[property][prediction]") {
  constexpr auto kLongest = std::numeric_limits<std::int64_t>::max();
  SplitMix64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const Prediction prediction{static_cast<std::int64_t>(random.next() >> (1 + random.below(62))),
                                PredictionSource::task_class};
    const auto ran_ms = static_cast<std::int64_t>(random.next() >> (1 + random.below(62)));
    if (ran_ms == kLongest) continue;
    const auto expected = expected_total_ms(prediction, ran_ms, std::nullopt);
    CAPTURE(prediction.expected_ms, ran_ms);
    REQUIRE(expected > ran_ms);
    REQUIRE(expected >= prediction.expected_ms);
    REQUIRE(expected_total_ms(prediction, expected - 1, std::nullopt) == expected);
    const auto limit_ms = static_cast<std::int64_t>(random.next() >> (1 + random.below(62)));
    const auto limited = expected_total_ms(prediction, ran_ms, limit_ms);
    REQUIRE(limited == std::min(expected, std::max(limit_ms, ran_ms + 1)));
  }
}

TEST_CASE("a run is planned by its limit, or by history where that is wanted and known",
          "[unit][prediction]") {
  const PlannedRun known{.limit_ms = 100, .expected_ms = 30};
  CHECK(planned_run_ms(Predict::limits, known, 0) == 100);
  CHECK(planned_run_ms(Predict::limits, known, 100) == 101);
  CHECK(planned_run_ms(Predict::history, known, 0) == 30);
  CHECK(planned_run_ms(Predict::history, known, 30) == 60);
  CHECK(planned_run_ms(Predict::history, known, 60) == 100);
  CHECK(planned_run_ms(Predict::history, {.limit_ms = 100, .expected_ms = 0}, 0) == 100);
  const PlannedRun without_limit{.limit_ms = 0, .expected_ms = 30};
  CHECK(planned_run_ms(Predict::limits, without_limit, 0) == 0);
  CHECK(planned_run_ms(Predict::history, without_limit, 31) == 60);
}

TEST_CASE("errors of predictions are counted", "[unit][prediction]") {
  PredictionErrors errors;
  CHECK(errors.mean_absolute_ms() == 0);
  errors.add(1000, 400);
  errors.add(1000, 1000);
  errors.add(1000, 1301);
  CHECK(errors.runs() == 3);
  CHECK(errors.exceeded() == 1);
  CHECK(errors.mean_absolute_ms() == 300);
}

}  // namespace fairwater
