// How long a task may wait before it is late: then it comes before whatever is not so late
// (policy/allocator/by_time.hpp).
#pragma once

#include <cstdint>

namespace fairwater::inline policy::inline prediction {

/// Beside what a task may run itself.
inline constexpr std::int64_t kLeastPatienceMs = 3'600'000;
/// In place of a limit, of a task of which nobody knows how long it may run.
inline constexpr std::int64_t kUnknownRunMs = 24 * 3'600'000;

/// Of what a task may run itself. More makes waits shorter on average and the longest longer:
/// `fairwater sim reproduce patience` shows it over a range.
inline constexpr std::int64_t kPatiencePercent = 50;

/// For so many times its patience again a late task of a tenant that is at its mark comes in its
/// tenant's turn. More brings tenants nearer to their shares while all have waited for long, and
/// makes the longest waits longer; that is why it is among the least that do: `fairwater sim
/// reproduce patience` shows it over a range.
inline constexpr std::int64_t kDeferralPatiences = 4;

/// So much of what it may run itself (`limit_ms`; 0: not known), and an hour. So waits are in
/// proportion to what is asked for, and who asks for less waits less.
[[nodiscard]] constexpr std::int64_t patience_ms(std::int64_t limit_ms,
                                                 std::int64_t percent = kPatiencePercent) {
  return (limit_ms > 0 ? limit_ms : kUnknownRunMs) / 100 * percent + kLeastPatienceMs;
}

}  // namespace fairwater::inline policy::inline prediction
