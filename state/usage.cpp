#include "state/usage.hpp"

#include <algorithm>

namespace fairwater::inline state {
namespace {

constexpr std::int64_t kMsPerDay = 86'400'000;

std::int64_t ms_of(WallTime moment) {
  return std::clamp<std::int64_t>(moment.microseconds / 1000, 0, (kLastDay + 1) * kMsPerDay - 1);
}

}  // namespace

DayNumber day_of(WallTime moment) { return static_cast<DayNumber>(ms_of(moment) / kMsPerDay); }

std::vector<DayPart> spread_over_days(WallTime from, WallTime until) {
  std::vector<DayPart> parts;
  std::int64_t begin_ms = ms_of(from);
  const std::int64_t end_ms = ms_of(until);
  if (begin_ms >= end_ms) return parts;
  const std::int64_t last = (end_ms - 1) / kMsPerDay;
  std::int64_t day = std::max(begin_ms / kMsPerDay, last - (kMostDaysOfAttempt - 1));
  for (; day <= last; ++day) {
    const std::int64_t day_ends_ms = std::min((day + 1) * kMsPerDay, end_ms);
    parts.push_back({static_cast<DayNumber>(day), day_ends_ms - begin_ms});
    begin_ms = day_ends_ms;
  }
  return parts;
}

WallTime held_until(WallTime granted, const TaskResult* result, WallTime now) {
  if (!result || result->finished_at < granted) return now;
  return std::min(result->finished_at, now);
}

void count_outcome(UsageRecord& usage, const TaskResult* result) {
  if (!result) {
    ++usage.lost;
    return;
  }
  switch (result->reason) {
    case EndReason::exited:
      ++(result->exit_code == 0 ? usage.succeeded : usage.failed);
      return;
    case EndReason::signalled:
    case EndReason::memory_limit:
    case EndReason::time_limit:
    case EndReason::could_not_start:
      ++usage.failed;
      return;
    case EndReason::cancelled:
      ++usage.cancelled;
      return;
    case EndReason::lease_expired:
    case EndReason::node_lost:
    case EndReason::launch_failed:
    case EndReason::supervisor_lost:
      ++usage.lost;
      return;
  }
}

}  // namespace fairwater::inline state
