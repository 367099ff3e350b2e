// A wall clock that is not followed at once when it leaps ahead: what was set wrong is mostly set
// right soon, while times that were written stay, and what was removed as too old is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "model/time.hpp"

namespace fairwater::inline model {

/// For so long a clock has to stand ahead until times that are kept follow it, and until what is
/// too old by it is removed.
inline constexpr std::chrono::hours kRecordPatience{1};
inline constexpr std::chrono::hours kRemovalPatience{24};

class PatientClock {
 public:
  struct Sources {
    std::function<WallTime()> wall = wall_time_now;
    std::function<std::int64_t()> running_ms;  ///< since some moment, by what nobody sets
    /// A leap ahead by so much was met, and is not followed yet; may be null.
    std::function<void(Milliseconds ahead)> on_leap = {};
  };
  /// Goes on from `begins`, or, without it, from what the wall clock says.
  PatientClock(Sources sources, Milliseconds patience, WallTime begins = {});

  /// That moment is over: who was behind it and leaps ahead is being set right.
  void is_past(WallTime moment);
  [[nodiscard]] WallTime now();

 private:
  const Sources sources_;
  const Milliseconds patience_;
  std::mutex mutex_;
  WallTime believed_;  // at that moment:
  std::int64_t at_ms_;
  WallTime past_;  // the latest that is known to be over
  std::optional<std::int64_t> leapt_at_ms_;
};

}  // namespace fairwater::inline model
