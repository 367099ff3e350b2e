// Points in time and durations as plain numbers with their unit in the type.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace fairwater::inline model {

using Milliseconds = std::chrono::milliseconds;

/// Wall-clock time in microseconds since 1970 UTC; 0 means "not yet".
struct WallTime {
  std::int64_t microseconds = 0;
  friend constexpr auto operator<=>(WallTime, WallTime) = default;
  constexpr explicit operator bool() const { return microseconds != 0; }
};

[[nodiscard]] inline WallTime wall_time_now() {
  return {std::chrono::duration_cast<std::chrono::microseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()};
}

/// The nearest that people can be shown: from 1970 to the end of 9999.
[[nodiscard]] constexpr WallTime shown_time(WallTime time) {
  constexpr std::int64_t kLast = 253'402'300'799'999'999;
  return {std::clamp<std::int64_t>(time.microseconds, 0, kLast)};
}
/// In UTC, without fraction and zone: `2026-11-21T01:26:53`.
[[nodiscard]] std::string utc_seconds(WallTime time);
/// With the zone: `2026-11-21T01:26:53Z`.
[[nodiscard]] inline std::string utc_text(WallTime time) { return utc_seconds(time) + "Z"; }

}  // namespace fairwater::inline model
