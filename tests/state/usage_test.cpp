#include "state/usage.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <rapidcheck.h>

namespace fairwater {
namespace {

constexpr std::int64_t kDay_us = 86'400'000'000;
constexpr std::int64_t kHour_us = kDay_us / 24;

TaskResult usage_result(EndReason reason, std::int64_t finished_us = 0,
                        std::int32_t exit_code = 0) {
  TaskResult result;
  result.reason = reason;
  result.exit_code = exit_code;
  result.finished_at = {finished_us};
  return result;
}

/// Each day by itself: how much of it lies between the moments.
std::vector<DayPart> spread_slowly(std::int64_t from_ms, std::int64_t until_ms, DayNumber days) {
  constexpr std::int64_t kDay_ms = kDay_us / 1000;
  std::vector<DayPart> parts;
  for (DayNumber day = 0; day < days; ++day) {
    const std::int64_t first = std::max(from_ms, day * kDay_ms);
    const std::int64_t end = std::min(until_ms, (day + 1) * kDay_ms);
    if (first < end) parts.push_back({day, end - first});
  }
  return parts;
}

TEST_CASE("a time falls into the days that it touches", "[unit][usage]") {
  using Parts = std::vector<DayPart>;
  CHECK(spread_over_days({kHour_us}, {2 * kHour_us}) == Parts{{0, 3'600'000}});
  CHECK(spread_over_days({kDay_us - kHour_us}, {2 * kDay_us + 1'000}) ==
        Parts{{0, 3'600'000}, {1, 86'400'000}, {2, 1}});
  CHECK(spread_over_days({kHour_us}, {kDay_us}) == Parts{{0, 23 * 3'600'000}});
  CHECK(spread_over_days({kDay_us}, {kDay_us + 1'000}) == Parts{{1, 1}});
  CHECK(spread_over_days({5'000}, {5'999}).empty());
  CHECK(spread_over_days({9'000}, {5'000}).empty());
  CHECK(day_of({kDay_us - 1}) == 0);
  CHECK(day_of({kDay_us}) == 1);
}

TEST_CASE("what falls into days adds up to the whole", "[property][usage]") {
  CHECK(rc::check("as each day by itself", [] {
    constexpr DayNumber kDays = 40;
    const auto moment = rc::gen::inRange<std::int64_t>(0, kDays * kDay_us);
    // Many begin and end about a midnight.
    const auto about_midnight =
        rc::gen::map(rc::gen::pair(rc::gen::inRange<std::int64_t>(0, kDays),
                                   rc::gen::inRange<std::int64_t>(-3'000, 3'001)),
                     [](const auto& drawn) {
                       return std::max<std::int64_t>(0, drawn.first * kDay_us + drawn.second);
                     });
    const auto either = rc::gen::oneOf(moment, about_midnight);
    const std::int64_t from_us = *either;
    const std::int64_t until_us = *either;
    const auto parts = spread_over_days({from_us}, {until_us});
    RC_ASSERT(parts == spread_slowly(from_us / 1000, until_us / 1000, kDays + 1));
    std::int64_t sum = 0;
    for (const DayPart& part : parts) sum += part.ms;
    RC_ASSERT(sum == std::max<std::int64_t>(0, until_us / 1000 - from_us / 1000));
  }));
}

TEST_CASE("a clock that was set wrong touches a bounded number of days", "[unit][usage]") {
  const WallTime far{std::int64_t{9'000'000} * kDay_us / 1000 * 1000};
  const auto parts = spread_over_days({kHour_us}, far);
  REQUIRE(parts.size() == kMostDaysOfAttempt);
  CHECK(parts.back() == DayPart{kLastDay, 86'399'999});
  CHECK(parts.front().day == kLastDay - kMostDaysOfAttempt + 1);
  std::int64_t sum = 0;
  for (const DayPart& part : parts) sum += part.ms;
  CHECK(sum == (std::int64_t{kLastDay} + 1) * 86'400'000 - 1 - 3'600'000);
  CHECK(spread_over_days({-5 * kDay_us}, {1'000}) == std::vector<DayPart>{{0, 1}});
  CHECK(day_of({-kDay_us}) == 0);
}

TEST_CASE("an attempt held its room until its node says, within the records' times",
          "[unit][usage]") {
  const WallTime granted{1'000};
  const WallTime now{9'000};
  const auto until = [&](std::int64_t finished_us) {
    const TaskResult result = usage_result(EndReason::exited, finished_us);
    return held_until(granted, &result, now).microseconds;
  };
  CHECK(until(5'000) == 5'000);
  CHECK(until(1'000) == 1'000);
  CHECK(until(999) == 9'000);     // the node's clock is behind
  CHECK(until(0) == 9'000);       // it does not say
  CHECK(until(20'000) == 9'000);  // its clock is ahead
  CHECK(held_until(granted, nullptr, now) == now);
}

TEST_CASE("attempts are counted by how they ended", "[unit][usage]") {
  const auto counted = [](const TaskResult* result) {
    UsageRecord usage;
    count_outcome(usage, result);
    REQUIRE(usage.succeeded + usage.failed + usage.cancelled + usage.lost == 1);
    if (usage.succeeded == 1) return "succeeded";
    if (usage.failed == 1) return "failed";
    return usage.cancelled == 1 ? "cancelled" : "lost";
  };
  const auto ended = [&](EndReason reason, std::int32_t exit_code = 0) {
    const TaskResult result = usage_result(reason, 0, exit_code);
    return std::string(counted(&result));
  };
  CHECK(ended(EndReason::exited) == "succeeded");
  CHECK(ended(EndReason::exited, 3) == "failed");
  for (const EndReason reason : {EndReason::signalled, EndReason::memory_limit,
                                 EndReason::time_limit, EndReason::could_not_start})
    CHECK(ended(reason) == "failed");
  CHECK(ended(EndReason::cancelled) == "cancelled");
  for (const EndReason reason : {EndReason::lease_expired, EndReason::node_lost,
                                 EndReason::launch_failed, EndReason::supervisor_lost})
    CHECK(ended(reason) == "lost");
  CHECK(std::string(counted(nullptr)) == "lost");
}

}  // namespace
}  // namespace fairwater
