#include "policy/allocator/fair_window.hpp"

namespace fairwater::inline policy::inline allocator {

void append_range(DemandWindow& window, const WaitingRange& range) {
  if (!window.next.empty()) {
    auto& last = window.next.back();
    if (last.job == range.job && last.attempt == range.attempt &&
        last.first_index + last.count == range.first_index && !last.home && !range.home) {
      last.count += range.count;
      return;
    }
  }
  window.next.push_back(range);
}

void strike_last_repeat(DemandWindow& window) {
  auto& ranges = window.next;
  const auto is_repeat = [&](auto last) {
    return std::any_of(ranges.begin(), last,
                       [&](const WaitingRange& range) { return range.job == last->job; });
  };
  for (auto last = ranges.end(); last-- != ranges.begin();) {
    if (!is_repeat(last)) continue;
    ranges.erase(last);
    return;
  }
}

}  // namespace fairwater::inline policy::inline allocator
