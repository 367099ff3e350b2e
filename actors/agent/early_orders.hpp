// Orders of a newer coordinator that come before the word that it let this node in: only that tells
// which life of the ledger it leads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/agent/protocol.hpp"

namespace fairwater::inline actors::inline agent {

/// Of all orders in it.
[[nodiscard]] std::uint64_t newest_epoch(const AgentOrders& orders);

class EarlyOrders {
 public:
  /// What is beyond it is dropped: the coordinator sees that it was not carried out.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  void keep(const AgentOrders& orders);
  /// In the order in which they came; nothing is kept any more.
  [[nodiscard]] std::vector<AgentOrders> take();
  void drop() { (void)take(); }

 private:
  std::vector<AgentOrders> orders_;
  std::size_t bytes_ = 0;
};

}  // namespace fairwater::inline actors::inline agent
