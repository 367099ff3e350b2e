#include "actors/coordinator/launch_pauses.hpp"

#include <algorithm>

#include "policy/core/check.hpp"
#include "state/job.hpp"

namespace fairwater::inline actors::inline coordinator {

void LaunchPauses::begin() {
  is_paused_ = true;
  ++number_;
}

LaunchPauses::Pause LaunchPauses::count(std::size_t failed, std::int64_t longest_backoff_ms) {
  FAIRWATER_CHECK(failed > 0, "a pause follows on failures");
  failures_in_row_ += static_cast<std::uint32_t>(failed);
  return {number_, 2 * std::max(longest_backoff_ms, backoff_ms(failures_in_row_))};
}

bool LaunchPauses::end(std::uint64_t number) {
  if (number != number_ || !is_paused_) return false;
  is_paused_ = false;
  return true;
}

void LaunchPauses::decided() {
  failures_in_row_ = 0;
  is_paused_ = false;
}

}  // namespace fairwater::inline actors::inline coordinator
