// What an attempt that has ended adds to the sums of usage. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.hpp"
#include "model/usage.hpp"

namespace fairwater::inline state {

/// A clock that was set wrong may make an attempt as long as it likes: it touches so many days at
/// most.
inline constexpr DayNumber kMostDaysOfAttempt = 3660;

/// Part of a time that falls into one day.
struct DayPart {
  DayNumber day = 0;
  std::int64_t ms = 0;
  friend bool operator==(const DayPart&, const DayPart&) = default;
};

/// The day (UTC) that holds the moment; the first or last day for moments beyond them.
[[nodiscard]] DayNumber day_of(WallTime moment);

/// The milliseconds between two moments, by the days that they fall into, ascending; nothing when
/// `until` is not later. The parts add up exactly: each moment is rounded down to its millisecond.
/// Of more than kMostDaysOfAttempt the earliest one kept takes what was before it.
[[nodiscard]] std::vector<DayPart> spread_over_days(WallTime from, WallTime until);

/// Until when an attempt that was granted at `granted` held its room: to when its node says that it
/// ended, so that nobody pays for a coordinator that was down when it did, unless that is not
/// between the grant and `now`, by a clock that is wrong. `result` null: it was given back.
[[nodiscard]] WallTime held_until(WallTime granted, const TaskResult* result, WallTime now);

/// Counts one attempt among those that ended so. `result` null: it was given back.
void count_outcome(UsageRecord& usage, const TaskResult* result);

}  // namespace fairwater::inline state
