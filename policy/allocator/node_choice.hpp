// By which rule a task's node is chosen among those that have room for it, and the nodes in the
// order of each rule that somebody asks for.
//
// Rules. All go by what the node would be like with the task on it, or is before it comes:
//   gdrf      a node of the task's type before others, then the largest f (Xue, Hu, Xu 2016, as
//             policy/dominant/gdrf.hpp has it)
//   best_fit  the node whose room is most alike to the demand (DRFH: Wang, Li, Liang 2014, as in
//             the same header)
//   spread    the node that is least full then
//   pack      the node that is fullest then
//   kByOffer  the node with the cheapest policy/gpu/offer.hpp
// Full: of the resources that the task asks for, the one of which the largest part is used, in
// millionths, rounded down. Of several nodes that are alike the lowest id. Earlier ones of a job's
// sites come before all that.
//
// How a deal goes by it. Nodes are dealt one at a time, so a node leaves a task to the one that the
// rule chooses, and that one is dealt next (policy/allocator/deal_cycle.hpp). A node that is chosen
// and does not take the task (its room is kept for others, or its tenant may not have more, or has
// others before it) is passed over until the cycle ends; after kMostRefusals of them the task goes
// wherever it may. So a rule keeps nothing idle.
//
// Costs nothing as long as nobody asks. The nodes of a shape (demand, allowed nodes, rule) are put
// in order once, O(nodes with room * log), and moved when they change, O(log nodes); the choice is
// O(log nodes + log shapes). With gdrf a node that comes, goes or changes its capacity costs as
// much as the first time, because it moves every task's share; so does with kByOffer a change in
// what kinds of tasks run, or are waited for by name. Shapes for which there is no room beside all
// that were asked for in the same cycle are not kept: each choice is a look at all nodes with room.
//
// Internal to policy/allocator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"
#include "policy/dominant/machine_load.hpp"

namespace fairwater::inline policy::inline allocator {

/// Of tasks that take shares of GPUs where nobody asks for a rule. It has no name: grants do not
/// tell it. In one cycle it chooses for kMostChosenDemands different ones, those that are looked at
/// first; others go to whichever node comes first.
inline constexpr Placement kByOffer{255};
[[nodiscard]] constexpr Placement told_rule(Placement placement) {
  return placement == kByOffer ? Placement::unset : placement;
}

class AllocatorState;
struct NodeRoom;
struct TenantState;
struct WaitingRange;

/// Whether a rule chooses the task's node.
[[nodiscard]] bool goes_by_rule(const WaitingRange& task);
/// Whether a rule chooses the same nodes for both.
[[nodiscard]] bool go_to_same_nodes(const WaitingRange& a, const WaitingRange& b);

class NodeChoices {
 public:
  /// For `most_demands` kByOffer chooses in one cycle. So many shapes are kept in order however
  /// many nodes each has, and more while all together have fewer than `most_kept_nodes`; the one
  /// that was asked for longest ago makes room.
  NodeChoices(std::size_t most_demands, std::size_t most_kept_nodes)
      : most_demands_(most_demands), most_kept_nodes_(most_kept_nodes) {}

  // -- events
  /// The task is held on the node from now on, or (`is_held` false) no longer.
  void note_task(NodeId node, const ResourceVector& demand, bool is_held);
  /// The node came, went or changed itself.
  void note_node(NodeId node);
  /// A cycle begins: nodes that did not take what they were chosen for may do so now.
  void forget_refusals();
  /// Other tasks take shares than did, or others ask for particular GPUs: nodes have other costs.
  void forget_shares();

  // -- choices
  /// The node that the task's rule chooses among those that it may use; none: it goes by no rule,
  /// no node has room, or too many did not take it.
  [[nodiscard]] std::optional<NodeId> choose(const AllocatorState& state, const TenantState& tenant,
                                             const WaitingRange& task);
  /// The node was dealt, and what it was chosen for still waits.
  void refuse(NodeId node, const WaitingRange& task);

  /// Chooses nothing more in this cycle. True: it did until now.
  bool stop() { return !std::exchange(is_stopped_, true); }
  [[nodiscard]] std::size_t refused_demands() const { return refused_.size(); }

  /// How often all nodes with room were looked at for a shape.
  [[nodiscard]] std::uint64_t looks_at_all() const { return looks_at_all_; }

 private:
  /// All are looked at when one makes room.
  static constexpr std::size_t kMostShapes = 1 << 12;

  /// Smaller first.
  struct Entry {
    std::uint32_t rank = 0;  ///< of the site, and of the type
    double score = 0;
    NodeId node;
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.rank != b.rank) return a.rank < b.rank;
      return a.score != b.score ? a.score < b.score : a.node < b.node;
    }
  };
  /// What tasks that go to the same nodes have in common. The shape keeps the rule.
  struct ShapeKey {
    Placement placement = Placement::unset;
    const PlacementRule* rule = nullptr;
    std::array<Amount, kMaxResources> demand{};
    friend auto operator<=>(const ShapeKey&, const ShapeKey&) = default;
  };
  struct Shape {
    Placement placement = Placement::unset;
    PlacementRulePtr rule;
    PlacedUser user;
    std::set<Entry> order;  ///< nodes with room that the rule allows
    std::map<NodeId, Entry> entries;
    std::uint64_t seen = 0;  ///< of the changes
    std::uint64_t asked = 0;
    bool is_stale = true;  ///< all nodes are to be put in order anew
  };
  /// Nodes that were chosen in vain in this cycle; kept apart from shapes, which come and go.
  struct Refusals {
    PlacementRulePtr rule;
    std::vector<NodeId> nodes;
  };
  /// What gdrf goes by, while somebody asks for it.
  struct Loads {
    ResourceVector totals;  ///< of all nodes that take tasks
    GdrsScale scale{ResourceVector{}};
    std::map<NodeId, Wide> gdrs;  ///< of all tasks there
  };

  [[nodiscard]] static ShapeKey key_of(const WaitingRange& task);
  [[nodiscard]] Shape shape_of(const WaitingRange& task) const;
  /// With its nodes in order. Null: there is no room to keep it.
  [[nodiscard]] const Shape* kept_shape(const AllocatorState& state, const WaitingRange& task);
  [[nodiscard]] bool make_room();
  template <class Predicate>
  void drop_shapes(Predicate&& is_dropped);
  [[nodiscard]] bool was_asked(const Shape& shape) const { return shape.asked > asked_before_; }
  /// The nodes for the task in order, good until the next call.
  [[nodiscard]] const std::vector<Entry>& look_at_all(const AllocatorState& state,
                                                      const WaitingRange& task);
  /// Puts all nodes in order.
  void arrange(const AllocatorState& state, Shape& shape);
  void follow_changes(const AllocatorState& state, Shape& shape);
  void put(const AllocatorState& state, Shape& shape, NodeId node);
  void log(NodeId node);
  [[nodiscard]] std::optional<Entry> entry_of(const AllocatorState& state, const Shape& shape,
                                              const NodeRoom& node) const;
  [[nodiscard]] std::optional<double> score_of(const AllocatorState& state, const Shape& shape,
                                               const NodeRoom& node) const;
  /// False where amounts are beyond what gdrf is defined for.
  bool refresh_loads(const AllocatorState& state);

  std::size_t most_demands_;
  std::size_t most_kept_nodes_;
  std::map<ShapeKey, Shape> shapes_;
  std::size_t kept_nodes_ = 0;    ///< in the orders of all shapes
  std::size_t asked_shapes_ = 0;  ///< of those, in this cycle
  std::map<ShapeKey, Refusals> refused_;
  bool is_stopped_ = false;  ///< until the next cycle
  std::vector<Entry> scanned_;
  std::uint64_t looks_at_all_ = 0;
  std::vector<NodeId> changed_;     ///< since `forgotten_`, while there are shapes
  std::uint64_t forgotten_ = 0;     ///< changes before the first in `changed_`
  std::uint64_t asked_ = 0;         ///< choices so far
  std::uint64_t asked_before_ = 0;  ///< those before this cycle
  std::optional<Loads> loads_;
  bool totals_are_stale_ = true;
};

}  // namespace fairwater::inline policy::inline allocator
