// Which nodes may have room for a task, found in the order of their ids without a look at the
// others. Internal to policy/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// A tournament over nodes by id: each match keeps, per resource, the most that any node below it
/// has free. A match without room for any of the demands is not entered.
class NodeRooms {
 public:
  /// O(log nodes); a node whose id is not the largest yet costs O(nodes) when it comes.
  void set(NodeId node, const ResourceVector& free);
  /// Its room counts for nothing any more.
  void remove(NodeId node);
  /// One that is not known gets a place, without room; its cost is that of the first `set`.
  void add(NodeId node) { (void)add_place(node); }
  /// The node is not known any more. O(nodes).
  void forget(NodeId node);
  /// Whether it was set or added and is not forgotten.
  [[nodiscard]] bool knows(NodeId node) const { return find(node) != kNone; }
  /// As it was set last; less than nothing after `remove`. None: it is not known.
  [[nodiscard]] std::optional<ResourceVector> room_of(NodeId node) const;
  /// The first node from that id on with room for one of the demands. O(log nodes * demands), more
  /// only where nodes below one match have what is asked for in different resources.
  [[nodiscard]] std::optional<NodeId> next(NodeId from,
                                           std::span<const ResourceVector> demands) const;
  [[nodiscard]] bool has_room(NodeId node, std::span<const ResourceVector> demands) const;

 private:
  static constexpr std::size_t kRoot = 1;
  static constexpr std::size_t kNone = ~std::size_t{0};

  /// Where the node is in `ids_`.
  [[nodiscard]] std::size_t find(NodeId node) const;
  void put(std::size_t place, const ResourceVector& free);
  /// Where it is then.
  std::size_t add_place(NodeId node);
  void refresh_matches();
  void grow();
  /// The first place below the match, not before `from`.
  [[nodiscard]] std::size_t first_below(std::size_t match, std::size_t begin, std::size_t size,
                                        std::size_t from,
                                        std::span<const ResourceVector> demands) const;

  std::vector<NodeId> ids_;  ///< ascending; those that were removed stay
  std::size_t leaves_ = 0;   ///< a power of two
  /// By match, the root first; leaf i of node ids_[i] is at leaves_ + i.
  std::vector<ResourceVector> most_free_;
};

}  // namespace fairwater::inline policy::inline allocator
