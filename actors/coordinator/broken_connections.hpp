// Connections of an agent that end on the orders they should bring. Pure: no clock, no messages.
#pragma once

#include <chrono>
#include <cstdint>

namespace fairwater::inline actors::inline coordinator {

class BrokenConnections {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// So many in a row: a network that comes and goes breaks some, but hardly this often.
  /// Reconnecting takes an agent some seconds then, less than any lease.
  static constexpr std::uint32_t kMost = 5;

  /// The connection of this session ended before the agent took its orders; one counts once.
  void broke(std::uint64_t session, TimePoint now);
  void took_orders() { in_row_ = 0; }
  /// The agent is tried again when it was spared orders for `pause`.
  void forgive(TimePoint now, std::chrono::milliseconds pause);
  /// The node is given nothing: its orders cannot be taken.
  [[nodiscard]] bool are_too_many() const { return in_row_ >= kMost; }

 private:
  std::uint32_t in_row_ = 0;
  std::uint64_t last_session_ = 0;
  TimePoint last_at_;
};

}  // namespace fairwater::inline actors::inline coordinator
