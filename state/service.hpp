// When a service's task is started again after it has ended, been lost, or could not be started.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fairwater::inline state {

/// The first pause is one that a service with customers can bear; it doubles each time.
inline constexpr std::int64_t kFirstServicePause_ms = 1000;
/// A service that cannot run costs its cluster twelve starts an hour at the most, and is back five
/// minutes after it was mended.
inline constexpr std::int64_t kLongestServicePause_ms = 300'000;
/// One that ran for so long is in order, and what ended it new: pauses begin anew. Twice the
/// longest pause, so that one that fails again and again spends most of its time running before it
/// is given short pauses again.
inline constexpr std::int64_t kSettledRun_ms = 2 * kLongestServicePause_ms;

struct NextStart {
  std::uint32_t restarts = 1;  ///< in a row, with this one
  std::int64_t pause_ms = kFirstServicePause_ms;
  friend bool operator==(const NextStart&, const NextStart&) = default;
};

/// After `restarts` in a row, and a run of `ran_ms`.
[[nodiscard]] constexpr NextStart next_start(std::uint32_t restarts, std::int64_t ran_ms) {
  if (ran_ms >= kSettledRun_ms || restarts == 0) return {};
  constexpr std::uint32_t kDoublings = 9;  // 512 s are beyond the most
  const std::int64_t pause_ms = kFirstServicePause_ms << std::min(restarts, kDoublings);
  return {restarts + 1, std::min(pause_ms, kLongestServicePause_ms)};
}

}  // namespace fairwater::inline state
