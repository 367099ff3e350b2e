// The groups that still ask for more than their base, in exact order of (need / weight, key), with
// sums of needs and weights: where water stops among them and what lies before one of them, in
// O(log n).
//
// A B+ tree. Leaves are small and unsorted, so an insertion is an append and a sum over part of a
// leaf is one pass without branches. An inner node keeps per child the sums below it and the least
// ratio that may be there (for its first child there is no such bound). Leaves that run low are
// merged with a neighbour.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policy/core/ratio.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline quota {

class RatioTree {
 public:
  RatioTree();

  void insert(const Ratio& ratio);
  /// Takes out a ratio that was inserted.
  void erase(const Ratio& ratio);
  [[nodiscard]] const RatioSums& sums() const { return sums_; }
  /// The weights of all that come before a ratio that was inserted.
  [[nodiscard]] Wide weight_before(const Ratio& ratio) const;
  /// The sums over the groups that reach their need when `amount` is poured over all of them; 0 <=
  /// amount < sums().need. Remembers where it looked: after a change the next answer is mostly
  /// found there.
  [[nodiscard]] RatioSums saturated(Wide amount);

 private:
  static constexpr std::size_t kLeafSize = 24;
  static constexpr std::size_t kFanout = 16;
  using NodeId = std::uint32_t;

  /// Where a node hangs.
  struct Place {
    NodeId parent = 0;
    std::uint32_t at = 0;
  };
  struct Leaf {
    std::uint32_t count = 0;
    Place place;
    /// Infinite from `count` on, so that sums over whole pairs leave nothing out and count nothing
    /// twice.
    alignas(16) std::array<double, kLeafSize> approximate;
    alignas(16) std::array<Weight, kLeafSize> weight;
    alignas(16) std::array<Amount, kLeafSize> need;
    std::array<std::uint32_t, kLeafSize> key;
    std::array<std::uint32_t, kLeafSize> slot;

    Leaf() { clear(); }
    void clear();
    [[nodiscard]] Ratio at(std::size_t i) const {
      return {need[i], weight[i], key[i], slot[i], approximate[i]};
    }
    void append(const Ratio& ratio) { put(count++, ratio); }
    /// Moves the last into its place.
    void remove(std::size_t i);

   private:
    void put(std::size_t i, const Ratio& ratio);
  };
  /// Sums over a part of a leaf, in 64 bits.
  struct LeafSums {
    Amount need;
    Weight weight;
    std::int64_t doubtful;
  };
  struct Inner {
    std::uint32_t count = 0;
    Place place;
    /// Of `low`, infinite from `count` on.
    alignas(16) std::array<double, kFanout> low_approximate;
    std::array<NodeId, kFanout> child;
    std::array<RatioSums, kFanout> sums;
    std::array<Ratio, kFanout> low;

    Inner() { clear(); }
    void clear();
    /// The child that `ratio` belongs to.
    [[nodiscard]] std::size_t find(const Ratio& ratio) const;
    void insert(std::size_t at, const Ratio& low, NodeId child, const RatioSums& sums);
    void remove(std::size_t at);
  };

  /// Where the water stood last: everything before `leaf` is saturated, nothing after it. Kept up
  /// to date while leaves come and go.
  struct Finger {
    NodeId leaf = 0;
    RatioSums before;           ///< of all leaves before it
    std::optional<Ratio> low;   ///< least ratio that may be in the leaf; none in the first
    std::optional<Ratio> next;  ///< `low` of the leaf after it; none in the last
    double threshold = 0;       ///< a little below the height
    RatioSums below;  ///< of all before the leaf, and those in it that are below `threshold`
  };

  [[nodiscard]] NodeId find_leaf(const Ratio& ratio) const;
  /// Adds `change` to every sum that a leaf's ratio counts in.
  void add(NodeId leaf, const Ratio& ratio, const RatioSums& change);
  void note_change(const Ratio& ratio, const RatioSums& change);
  void append(NodeId leaf, const Ratio& ratio);
  void split_leaf(NodeId leaf);
  void split_inner(NodeId inner, std::size_t height);
  /// Hangs a node in beside the one at `place`, from which it was split at `height` above the
  /// leaves.
  void add_child(Place place, std::size_t height, Ratio low, NodeId child, RatioSums moved);
  /// Tells an inner node's children from `from` on where they hang.
  void place_children(NodeId inner, std::size_t height, std::uint32_t from);
  void merge(NodeId leaf);
  bool merge_leaves(NodeId parent, std::uint32_t at);
  bool merge_inners(NodeId parent, std::uint32_t at, std::size_t height);
  template <class SizeOf>
  static std::uint32_t smaller_pair(const Inner& parent, std::uint32_t at, const SizeOf& size_of);
  template <class Node>
  static NodeId take(std::vector<Node>& nodes, std::vector<NodeId>& free);

  [[nodiscard]] static std::pair<Weight, std::int64_t> weight_below(const Leaf& leaf, double below);
  [[nodiscard]] static LeafSums sums_below(const Leaf& leaf, double below, double doubtful_to);
  [[nodiscard]] bool sums_fit_64_bits() const;
  [[nodiscard]] Finger find_level(Wide amount) const;
  [[nodiscard]] std::optional<RatioSums> saturated_at(Finger& finger, Wide amount) const;
  [[nodiscard]] bool settle(Finger& finger, Amount amount) const;
  [[nodiscard]] RatioSums saturated_exactly(const Leaf& leaf, const RatioSums& before,
                                            Wide amount) const;

  std::vector<NodeId> leaf_of_;  ///< by slot
  std::vector<Leaf> leaves_;
  std::vector<NodeId> free_leaves_;
  std::vector<Inner> inners_;
  std::vector<NodeId> free_inners_;
  std::size_t height_ = 0;  ///< of inner nodes above the leaves
  NodeId root_ = 0;
  RatioSums sums_;
  std::optional<Finger> finger_;
};

}  // namespace fairwater::inline policy::inline quota
