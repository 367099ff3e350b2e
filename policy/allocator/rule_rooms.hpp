// Which nodes may have room for what waits: of all nodes, and of those that a placement rule
// allows. Where half of a cluster is idle and nobody may use it, only the other half is looked at.
// Internal to policy/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/node_rooms.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/allocator/waiting_shapes.hpp"

namespace fairwater::inline policy::inline allocator {

/// Whether both name the same sites in the same order, and ask for the same labels in the same
/// words.
[[nodiscard]] bool names_same_nodes(const PlacementRulePtr& a, const PlacementRulePtr& b);

/// What tasks with one rule ask for at least.
struct RuleShape {
  PlacementRulePtr rule;
  ResourceVector least;
};

/// Beside the rooms of all nodes those of each of a few rules. What waits with another rule stands
/// among all nodes: it is found on more nodes than may run it, never on fewer.
class RuleRooms {
 public:
  /// Where a shape stands.
  struct Place {
    std::size_t rule = 0;
    ResourceVector least;
  };

  /// Before `set` when a node comes, and when it describes itself otherwise. O(rules * log nodes),
  /// O(nodes) where a rule allows it no more.
  void set_traits(NodeId node, const NodeTraits& traits);
  /// O(rules * log nodes).
  void set(NodeId node, const ResourceVector& free);
  void remove(NodeId node);

  /// Somebody waits for that. `nodes(visit)` calls `visit` with each node's id and traits, by id: a
  /// rule that gets rooms of its own costs O(nodes).
  template <class Nodes>
  [[nodiscard]] Place add(const RuleShape& shape, const Nodes& nodes) {
    std::size_t at = find(shape.rule);
    if (at == kAnywhere && wants_rooms(shape.rule) && may_make_rooms()) {
      at = make_rooms(shape.rule);
      nodes([&](NodeId node, const NodeTraits& traits) { enter(at, node, traits); });
    }
    rooms_of_[at].shapes.add(shape.least);
    return {at, shape.least};
  }
  void remove(const Place& place);
  /// Whether what waits with that rule and stands there would stand better if it came anew.
  [[nodiscard]] bool has_better_place(const Place& place, const PlacementRulePtr& rule) const {
    return place.rule == kAnywhere && wants_rooms(rule) &&
           (find(rule) != kAnywhere || may_make_rooms());
  }

  /// The first node from that id on with room for the least of what waits, among those that may run
  /// it. O(rules * log nodes).
  [[nodiscard]] std::optional<NodeId> next_that_matters(NodeId from) const;
  [[nodiscard]] bool may_matter(NodeId node) const;
  /// The same for one task with that rule, which may be null.
  [[nodiscard]] std::optional<NodeId> next(NodeId from, const PlacementRulePtr& rule,
                                           const ResourceVector& demand) const {
    return rooms_of_[find(rule)].rooms.next(from, {&demand, 1});
  }

 private:
  static constexpr std::size_t kAnywhere = 0;
  /// Each costs every change of a node's room, and up to 128 bytes or twice that of each node that
  /// it allows.
  static constexpr std::size_t kMostRules = 16;
  /// A change of a node's room pays for so many looks at nodes: rooms for ever new rules never cost
  /// much more than what happens anyway.
  static constexpr std::size_t kLooksPerChange = 16;

  struct Rooms {
    PlacementRulePtr rule;  ///< null: of all nodes
    NodeRooms rooms;
    WaitingShapes shapes;
    std::uint64_t left_at = 0;  ///< by `changes_`, when the last that waited left
  };

  /// Where what waits with the rule stands now.
  [[nodiscard]] std::size_t find(const PlacementRulePtr& rule) const;
  [[nodiscard]] static bool wants_rooms(const PlacementRulePtr& rule);
  [[nodiscard]] bool may_make_rooms() const;
  [[nodiscard]] std::size_t make_rooms(const PlacementRulePtr& rule);
  void enter(std::size_t at, NodeId node, const NodeTraits& traits);
  /// Of those with a rule, where nobody waits any more, the one that was left first.
  [[nodiscard]] std::size_t left_first() const;

  std::vector<Rooms> rooms_of_{1};  ///< kAnywhere first
  std::size_t nodes_ = 0;           ///< that ever came
  std::uint64_t changes_ = 0;
  std::size_t looks_ = 0;  ///< that are paid for
};

}  // namespace fairwater::inline policy::inline allocator
