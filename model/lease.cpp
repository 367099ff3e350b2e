#include "model/lease.hpp"

namespace fairwater::inline model {
namespace {

std::int64_t left_ms(std::int64_t lease_ms, std::int64_t grace_ms, WallTime older_until,
                     WallTime now) {
  const std::int64_t older_ms = (older_until.microseconds - now.microseconds) / 1000;
  if (lease_ms == 0) return std::max<std::int64_t>(older_ms, 0);
  return std::max(lease_ms + grace_ms + kDeposedAnswersMs, older_ms);
}

WallTime after(WallTime now, std::int64_t delay_ms) { return {now.microseconds + delay_ms * 1000}; }

}  // namespace

OlderLeases older_leases(const LeaseTerms& previous, WallTime now) {
  const bool all_are_as_long = previous.ordinary_ms == 0;
  const std::int64_t ordinary_ms = all_are_as_long ? previous.lease_ms : previous.ordinary_ms;
  const WallTime ordinary_until =
      all_are_as_long ? previous.older_until : previous.ordinary_older_until;
  return {left_ms(ordinary_ms, previous.grace_ms, ordinary_until, now),
          left_ms(with_drift(previous.lease_ms, ordinary_ms), previous.grace_ms,
                  previous.older_until, now)};
}

LeaseTerms lease_terms(const LeaseBounds& bounds, std::int64_t grace_ms, const OlderLeases& older,
                       WallTime now) {
  return {bounds.longest_ms, grace_ms, after(now, older.longest_ms), bounds.ordinary_ms,
          after(now, older.ordinary_ms)};
}

}  // namespace fairwater::inline model
