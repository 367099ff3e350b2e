// Dominant shares in a tree: Bhattacharya et al., "Hierarchical Scheduling for Diverse Datacenter
// Workloads" (SoCC 2013), H-DRF, with weights.
//
//   From the top down, the next task is of the child with the smallest `share / weight` that has
//   one which can be placed; of two alike the lower rank. A leaf's share is its dominant share, of
//   the resource of which it has most by its weight for that (policy/dominant/weighted_share.hpp).
//   A group's is that of the sum of what its children hold, where
//   - children that have something placeable count as if each had no more, by weight, than the
//     least of them: with all they hold, scaled down to that. What one of them has of something
//     that the others do not want is no reason to keep from these what they want;
//   - children that have nothing placeable count with what they hold: they are content, or kept
//     from more, and their part is used all the same. But of resources that nobody asks for with
//     something placeable they count with nothing: these are used up, and who holds all of them
//     would keep its siblings from everything else.
//
//   The paper leaves resources that are used up out of a group's share altogether. Here those that
//   hold them and go on count with them, as leaves do: a leaf alone in a group counts as it would
//   beside it.
//
//   Children below a minimum of theirs, or with somebody below one in them, come before all others.
//
// A change of a leaf takes O(depth * (resources + log siblings)): the scaled sum is the least share
// by weight times a sum that does not change with it. O(groups * ...) where a resource begins to
// count, or ends. Shares are fixed-point numbers (policy/dominant/fixed_share.hpp), the sums those
// of whole numbers: what comes first follows from what is held and waits, not from the order in
// which that came to be.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "policy/core/resource_set.hpp"
#include "policy/core/types.hpp"
#include "policy/dominant/fixed_share.hpp"

namespace fairwater::inline policy::inline dominant {

class ShareTree {
 public:
  /// Of groups and leaves, in the order in which they are added.
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;

  explicit ShareTree(const ResourceVector& capacity);

  /// `rank` is unique among siblings; weights are 1 to 2^32. Who is added holds nothing and does
  /// not wait.
  Node add_group(Node parent, const ResourceWeights& weights, std::uint64_t rank);
  Node add_leaf(Node parent, const ResourceWeights& weights, std::uint64_t rank);
  /// Somebody in the group, of whom no more is known, holds so much.
  void add_held(Node group, const ResourceVector& held);

  /// Something of a leaf's that can be placed.
  struct Placeable {
    ResourceSet asks;
    bool is_below_min = false;  ///< the leaf is
  };
  void set_leaf(Node leaf, const ResourceVector& held, const std::optional<Placeable>& next);
  /// Of its own min.
  void set_below_min(Node group, bool is_below_min);

  /// The leaf whose task is next; none: nothing can be placed.
  [[nodiscard]] std::optional<Node> first() const;
  /// It is next because it, or a group around it, is below a min.
  [[nodiscard]] bool first_is_below_min() const;

  [[nodiscard]] Node parent(Node node) const { return nodes_[node].parent; }
  /// The rest is of nodes that have something placeable.
  [[nodiscard]] bool is_open(Node node) const { return nodes_[node].is_open; }
  [[nodiscard]] FixedShare share(Node node) const { return nodes_[node].share; }
  /// Of which that is its share, and its weight for it.
  [[nodiscard]] std::size_t resource(Node node) const { return nodes_[node].dominant; }
  [[nodiscard]] Weight weight(Node node) const { return nodes_[node].weight(); }
  [[nodiscard]] const ResourceWeights& weights(Node node) const { return nodes_[node].weights; }
  [[nodiscard]] bool is_below_min(Node node) const { return nodes_[node].turn.is_below_min; }
  /// Which sibling comes first, itself or another.
  [[nodiscard]] Node first_sibling(Node node) const;
  /// How many come before it. O(siblings).
  [[nodiscard]] std::size_t siblings_before(Node node) const;

 private:
  using Shares = std::array<FixedShare, kMaxResources>;

  struct Turn {
    bool is_below_min = false;
    FixedShare by_weight = 0;
    std::uint64_t rank = 0;
    Node node = kRoot;
    friend bool operator<(const Turn& a, const Turn& b) {
      if (a.is_below_min != b.is_below_min) return a.is_below_min;
      return std::tie(a.by_weight, a.rank) < std::tie(b.by_weight, b.rank);
    }
  };
  struct Level {
    ResourceVector idle;  ///< held by who has nothing placeable
    Shares rising{};      ///< of the others: what they hold over their share by weight
    std::set<Turn> open;  ///< the others
    bool is_below_min = false;
  };
  struct Child {
    Node parent = kRoot;
    ResourceWeights weights{};
    std::uint64_t rank = 0;
    std::optional<std::uint32_t> level = {};  ///< of a group
    ResourceSet asks = {};                    ///< a leaf for something placeable
    bool is_open = false;
    ResourceVector idle = {};  ///< what its parent counts while it is not open
    Turn turn = {};            ///< while it is, as this
    FixedShare share = 0;      ///< and the rest
    std::size_t dominant = 0;  ///< the resource of its share
    Shares rising = {};        ///< what it holds over its share by weight
    [[nodiscard]] Weight weight() const { return weights[dominant]; }
  };

  [[nodiscard]] Level& level(Node group) { return levels_[*nodes_[group].level]; }
  [[nodiscard]] const Level& level(Node group) const { return levels_[*nodes_[group].level]; }
  /// Its parent does not count it any more.
  void take_out(Child& child);
  void put_idle(Child& child, const ResourceVector& held);
  void put_open(Node node, const Shares& held, bool is_below_min);
  /// True when other resources count than did.
  bool replace_asks(Child& leaf, ResourceSet asks);
  [[nodiscard]] Shares held_in(const Level& group) const;
  /// The first by share alone.
  [[nodiscard]] static const Turn& least(const Level& group);
  /// What its parent knows of a group follows what is in it.
  void refresh(Node group);
  /// And so for all around it.
  void refresh_from(Node group);
  void refresh_all();

  ResourceVector capacity_;
  std::array<std::uint32_t, kMaxResources> asking_{};  ///< leaves with something placeable
  std::vector<Child> nodes_;
  std::vector<Level> levels_;
};

}  // namespace fairwater::inline policy::inline dominant
