// Points in time and durations as plain numbers with their unit in the type.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

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

}  // namespace fairwater::inline model
