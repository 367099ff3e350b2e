#include "policy/allocator/room_profile.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {

void RoomProfile::pass_to(LedgerMs now) {
  std::size_t current = 0;
  while (current + 1 < steps_.size() && steps_[current + 1].from <= now) ++current;
  steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(current));
  steps_.front().from = now;
}

void RoomProfile::grow(LedgerMs at_ms, const ResourceVector& demand) {
  if (steps_.back().from != at_ms) steps_.push_back({at_ms, steps_.back().free});
  steps_.back().free += demand;
}

std::size_t RoomProfile::split(LedgerMs at) {
  const auto found = std::lower_bound(steps_.begin(), steps_.end(), at,
                                      [](const Step& step, LedgerMs t) { return step.from < t; });
  const auto place = found - steps_.begin();
  if (found == steps_.end() || found->from != at)
    steps_.insert(found, Step{at, steps_[static_cast<std::size_t>(place) - 1].free});
  return static_cast<std::size_t>(place);
}

void RoomProfile::merge(std::size_t step) {
  if (step == 0 || steps_[step].free != steps_[step - 1].free) return;
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(step));
}

void RoomProfile::take(LedgerMs from, LedgerMs to, const ResourceVector& demand) {
  from = std::max(from, steps_.front().from);
  if (to <= from) return;
  const std::size_t first = split(from), last = split(to);
  for (std::size_t i = first; i < last; ++i) steps_[i].free -= demand;
  merge(last);
  merge(first);
}

void RoomProfile::give_back(LedgerMs from, LedgerMs to, const ResourceVector& demand) {
  take(from, to, ResourceVector{} - demand);
}

std::optional<LedgerMs> RoomProfile::earliest(const ResourceVector& demand, LedgerMs duration_ms,
                                              LedgerMs limit) const {
  LedgerMs start = steps_.front().from;
  for (std::size_t i = 0; i < steps_.size() && start < limit; ++i) {
    if (steps_[i].from - start >= duration_ms) return start;
    if (demand.fits(steps_[i].free)) continue;
    if (i + 1 == steps_.size()) return std::nullopt;
    start = steps_[i + 1].from;
  }
  if (start >= limit) return std::nullopt;
  return start;
}

}  // namespace fairwater::inline policy::inline allocator
