// A coordinator's turns around the allocator: which nodes may have room for somebody, and the deals
// of one cycle. The coordinator and the simulator drive the same one, so that what the simulator
// says of a policy is what a coordinator would do.
#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "policy/allocator/allocator.hpp"

namespace fairwater {

class DealCycle {
 public:
  explicit DealCycle(Allocator allocator) : allocator_(std::move(allocator)) {}

  [[nodiscard]] Allocator& allocator() { return allocator_; }
  [[nodiscard]] const Allocator& allocator() const { return allocator_; }

  /// As Allocator::set_node. A node that does not accept is never due.
  void set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                bool accepts);
  /// As Allocator::remove_node.
  void remove_node(NodeId node);
  /// The node reported: it may have room.
  void beat(NodeId node);
  /// As Allocator::set_window. Somebody who waits makes every node due.
  void take_window(DemandWindow window);
  /// Everything may have changed.
  void consider_all_nodes() { all_are_due_ = true; }
  [[nodiscard]] bool is_due() const {
    return !due_.empty() || (all_are_due_ && !accepting_.empty());
  }

  /// Deals the nodes that are due, by id, and once more those that left work to sites that jobs
  /// prefer, until `max_deals` deals are made or these have `max_entries` (Deal::entries) together;
  /// what is left stays due. Empty when nobody can use any room.
  [[nodiscard]] std::vector<Deal> run(
      std::size_t max_deals, std::size_t max_entries = std::numeric_limits<std::size_t>::max());

 private:
  Allocator allocator_;
  std::set<NodeId> accepting_;
  std::set<NodeId> due_;
  bool all_are_due_ = false;  ///< those that accept when the next run begins
};

}  // namespace fairwater
