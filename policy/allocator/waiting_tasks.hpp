// The waiting tasks of one job, as ranges of alike tasks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// A set of (index, attempt); memory follows the number of ranges, not of tasks. Operations are
/// O(log ranges).
class WaitingTasks {
 public:
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t attempt = 1;
    friend bool operator==(const Range&, const Range&) = default;
  };

  /// Adds tasks that are not in the set.
  void add(std::uint32_t first, std::uint32_t count, std::uint32_t attempt);
  /// Removes one task; false when it does not wait or waits for another attempt.
  bool take(std::uint32_t index, std::uint32_t attempt);
  void clear();
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool contains(std::uint32_t index) const;
  /// By index, at most `limit` ranges.
  [[nodiscard]] std::vector<Range> ranges(std::size_t limit) const;

 private:
  struct Tail {
    std::uint32_t count;
    std::uint32_t attempt;
  };
  std::map<std::uint32_t, Tail> by_first_;
  std::uint32_t size_ = 0;
};

}  // namespace fairwater::inline policy::inline allocator
