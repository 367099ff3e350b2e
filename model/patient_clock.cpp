#include "model/patient_clock.hpp"

#include <algorithm>
#include <utility>

namespace fairwater::inline model {
namespace {

/// What clocks are corrected by while they go on is no leap.
constexpr std::int64_t kLeap_us = 60'000'000;

}  // namespace

PatientClock::PatientClock(Sources sources, Milliseconds patience, WallTime begins)
    : sources_(std::move(sources)),
      patience_(patience),
      believed_(begins ? begins : sources_.wall()),
      at_ms_(sources_.running_ms()),
      past_(believed_) {}

void PatientClock::is_past(WallTime moment) {
  const std::lock_guard lock(mutex_);
  past_ = std::max(past_, moment);
}

WallTime PatientClock::now() {
  const std::lock_guard lock(mutex_);
  const WallTime wall = sources_.wall();
  const std::int64_t running_ms = sources_.running_ms();
  believed_.microseconds += (running_ms - at_ms_) * 1000;
  at_ms_ = running_ms;
  const std::int64_t ahead_us = wall.microseconds - believed_.microseconds;
  const bool leaps = ahead_us > kLeap_us && believed_ >= past_;
  if (leaps && !leapt_at_ms_) {
    leapt_at_ms_ = running_ms;
    if (sources_.on_leap) sources_.on_leap(Milliseconds(ahead_us / 1000));
  }
  if (!leaps || running_ms - *leapt_at_ms_ >= patience_.count()) {
    leapt_at_ms_.reset();
    believed_ = wall;
  }
  past_ = std::max(past_, believed_);
  return believed_;
}

}  // namespace fairwater::inline model
