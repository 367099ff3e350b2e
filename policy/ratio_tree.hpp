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
#include <vector>

#include "policy/types.hpp"

namespace fairwater {

/// need / weight of one group. `need` and `weight` are 1 to 2^62.
struct Ratio {
  Amount need = 0;
  Weight weight = 1;
  std::uint32_t key = 0;  ///< settles the order of equal ratios; unique
  /// Never falls where the exact ratio rises, so that it decides unless it is equal.
  double approximate = 0;

  [[nodiscard]] static Ratio of(Amount need, Weight weight, std::uint32_t key);
  [[nodiscard]] bool before(const Ratio& other) const {
    return approximate != other.approximate ? approximate < other.approximate
                                            : before_exactly(other);
  }
  [[nodiscard]] bool before_exactly(const Ratio& other) const;
  /// True when `amount` poured over `whole` rises to this ratio or above.
  [[nodiscard]] bool is_reached(Wide amount, Wide whole) const;
};

/// Sums over groups.
struct RatioSums {
  Wide need = 0;
  Wide weight = 0;
  RatioSums& operator+=(const RatioSums& other) {
    need += other.need;
    weight += other.weight;
    return *this;
  }
  RatioSums& operator-=(const RatioSums& other) {
    need -= other.need;
    weight -= other.weight;
    return *this;
  }
  friend RatioSums operator+(RatioSums a, const RatioSums& b) { return a += b; }
  friend RatioSums operator-(RatioSums a, const RatioSums& b) { return a -= b; }
  friend bool operator==(const RatioSums&, const RatioSums&) = default;
};

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
  static constexpr std::size_t kLeafSize = 48;
  static constexpr std::size_t kFanout = 16;
  static constexpr std::size_t kMaxHeight = 16;
  using NodeId = std::uint32_t;

  struct Leaf {
    std::uint32_t count = 0;
    std::array<double, kLeafSize> approximate;
    std::array<Weight, kLeafSize> weight;
    std::array<Amount, kLeafSize> need;
    std::array<std::uint32_t, kLeafSize> key;

    [[nodiscard]] Ratio at(std::size_t i) const {
      return {need[i], weight[i], key[i], approximate[i]};
    }
    void put(std::size_t i, const Ratio& ratio);
    void append(const Ratio& ratio) { put(count++, ratio); }
  };
  struct Inner {
    std::uint32_t count = 0;
    std::array<double, kFanout> low_approximate;  ///< of `low`
    std::array<NodeId, kFanout> child;
    std::array<RatioSums, kFanout> sums;
    std::array<Ratio, kFanout> low;

    /// The child that `ratio` belongs to.
    [[nodiscard]] std::size_t find(const Ratio& ratio) const;
    void insert(std::size_t at, const Ratio& low, NodeId child, const RatioSums& sums);
    void remove(std::size_t at);
  };
  struct Step {
    NodeId inner;
    std::size_t at;
  };
  using Path = std::array<Step, kMaxHeight>;

  /// Where the water stood last: everything before `leaf` is saturated, nothing after it.
  struct Finger {
    NodeId leaf = 0;
    RatioSums before;
    std::optional<Ratio> low;   ///< least ratio that may be in the leaf; none in the first
    std::optional<Ratio> next;  ///< `low` of the leaf after it; none in the last
    double level = 0;           ///< about the height
  };

  NodeId descend(const Ratio& ratio, const RatioSums& change, Path& path);
  void split_leaf(NodeId leaf, const Path& path);
  void split_inner(const Path& path, std::size_t depth);
  void add_child(const Path& path, std::size_t depth, const Ratio& low, NodeId child,
                 const RatioSums& sums);
  template <class SizeOf>
  static std::size_t smaller_pair(const Inner& parent, std::size_t at, const SizeOf& size_of);
  void merge(const Path& path);
  void merge_leaves(Inner& parent, std::size_t at);
  void merge_inners(Inner& parent, std::size_t at);
  template <class Node>
  static NodeId take(std::vector<Node>& nodes, std::vector<NodeId>& free);

  [[nodiscard]] Finger find_level(Wide amount) const;
  [[nodiscard]] std::optional<RatioSums> saturated_at(Finger& finger, Wide amount) const;
  [[nodiscard]] RatioSums saturated_exactly(const Leaf& leaf, const RatioSums& before,
                                            Wide amount) const;

  std::vector<Leaf> leaves_;
  std::vector<NodeId> free_leaves_;
  std::vector<Inner> inners_;
  std::vector<NodeId> free_inners_;
  std::size_t height_ = 0;  ///< of inner nodes above the leaves
  NodeId root_ = 0;
  RatioSums sums_;
  std::optional<Finger> finger_;
};

}  // namespace fairwater
