#include "policy/allocator/waiting_tasks.hpp"

#include <iterator>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {

void WaitingTasks::add(std::uint32_t first, std::uint32_t count, std::uint32_t attempt) {
  if (count == 0) return;
  auto next = by_first_.lower_bound(first);
  FAIRWATER_CHECK(next == by_first_.end() || next->first >= first + count, "task waits twice");
  size_ += count;
  if (next != by_first_.begin()) {
    auto before = std::prev(next);
    FAIRWATER_CHECK(before->first + before->second.count <= first, "task waits twice");
    if (before->first + before->second.count == first && before->second.attempt == attempt) {
      first = before->first;
      count += before->second.count;
      by_first_.erase(before);
    }
  }
  if (next != by_first_.end() && next->first == first + count && next->second.attempt == attempt) {
    count += next->second.count;
    by_first_.erase(next);
  }
  by_first_[first] = {count, attempt};
}

bool WaitingTasks::take(std::uint32_t index, std::uint32_t attempt) {
  auto range = by_first_.upper_bound(index);
  if (range == by_first_.begin()) return false;
  --range;
  const auto [first, tail] = *range;
  if (index >= first + tail.count || tail.attempt != attempt) return false;
  by_first_.erase(range);
  if (index > first) by_first_[first] = {index - first, attempt};
  const std::uint32_t after = first + tail.count - index - 1;
  if (after > 0) by_first_[index + 1] = {after, attempt};
  --size_;
  return true;
}

void WaitingTasks::clear() {
  by_first_.clear();
  size_ = 0;
}

bool WaitingTasks::contains(std::uint32_t index) const {
  auto range = by_first_.upper_bound(index);
  if (range == by_first_.begin()) return false;
  --range;
  return index < range->first + range->second.count;
}

std::vector<WaitingTasks::Range> WaitingTasks::ranges(std::size_t limit) const {
  std::vector<Range> result;
  for (const auto& [first, tail] : by_first_) {
    if (result.size() == limit) break;
    result.push_back({first, tail.count, tail.attempt});
  }
  return result;
}

}  // namespace fairwater::inline policy::inline allocator
