// Orders of coordinators that are not this node's, which are told in the log, but not each: such a
// coordinator may send any number.
#pragma once

#include <cstdint>

#include "policy/core/types.hpp"

namespace fairwater::inline actors::inline agent {

class RefusedOrders {
 public:
  static constexpr std::int64_t kTellIntervalMs = 1000;

  /// Of that epoch, while the node's coordinator was of epoch `coordinators`.
  void note(const TaskKey& task, std::uint64_t epoch, std::uint64_t coordinators);
  /// Logs those that were not told yet, once within the interval.
  void tell(std::int64_t now_ms);

 private:
  std::uint64_t count_ = 0;  ///< not told yet
  TaskKey newest_;
  std::uint64_t epoch_ = 0;         ///< of the newest
  std::uint64_t coordinators_ = 0;  ///< epoch then
  std::int64_t told_at_ms_ = -kTellIntervalMs;
};

}  // namespace fairwater::inline actors::inline agent
