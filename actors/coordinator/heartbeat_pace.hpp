// How often agents report when nothing ends: at most so many reports a second come from all of them
// together, so the interval grows with the nodes, but a lease holds several intervals. An agent
// hears of it with each answer; what ends it reports at once, whatever the interval.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace fairwater::inline actors::inline coordinator {

/// A lease has at least so many intervals, where the configured one lets it.
inline constexpr std::int64_t kIntervalsPerLease = 4;

class HeartbeatPace {
 public:
  HeartbeatPace(std::int64_t configured_ms, std::int64_t lease_ms, std::int64_t reports_per_second)
      : configured_ms_(configured_ms),
        longest_ms_(std::max(configured_ms, lease_ms / kIntervalsPerLease)),
        reports_per_second_(reports_per_second) {}

  /// Written by the coordinator, read by the nodes' actors.
  void set_nodes(std::uint32_t expected) { nodes_ = expected; }
  [[nodiscard]] std::int64_t interval_ms() const {
    return std::clamp(nodes_ * 1000 / reports_per_second_, configured_ms_, longest_ms_);
  }

 private:
  const std::int64_t configured_ms_;
  const std::int64_t longest_ms_;
  const std::int64_t reports_per_second_;
  std::atomic<std::int64_t> nodes_ =
      0;  ///< that are not lost: after a restart, before they are back
};

}  // namespace fairwater::inline actors::inline coordinator
