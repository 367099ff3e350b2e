#include "policy/quota/ratio_tree.hpp"

#include <algorithm>
#include <limits>

#include "policy/core/check.hpp"
#include "policy/quota/lanes.hpp"

namespace fairwater::inline policy::inline quota {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

void RatioTree::Leaf::clear() {
  count = 0;
  approximate.fill(kInfinite);
  weight.fill(0);
  need.fill(0);
}

void RatioTree::Leaf::remove(std::size_t i) {
  --count;
  put(i, at(count));
  approximate[count] = kInfinite;
}

void RatioTree::Leaf::put(std::size_t i, const Ratio& ratio) {
  approximate[i] = ratio.approximate;
  weight[i] = ratio.weight;
  need[i] = ratio.need;
  key[i] = ratio.key;
  slot[i] = ratio.slot;
}

void RatioTree::Inner::clear() {
  count = 0;
  low_approximate.fill(kInfinite);
}

std::size_t RatioTree::Inner::find(const Ratio& ratio) const {
  const Doubles wanted = {ratio.approximate, ratio.approximate};
  Integers less{};
  Integers equal{};
  for (std::size_t i = 0; i < kFanout; i += 2) {
    const auto bound = load<Doubles>(&low_approximate[i]);
    less -= bound < wanted;
    equal -= bound == wanted;
  }
  // The first child has no lower bound, whatever stands there.
  auto at = static_cast<std::size_t>(std::max<std::int64_t>(less[0] + less[1], 1) - 1);
  if (equal[0] + equal[1] > 0)
    while (at + 1 < count && !ratio.before(low[at + 1])) ++at;
  return at;
}

void RatioTree::Inner::insert(std::size_t at, const Ratio& ratio, NodeId node,
                              const RatioSums& below) {
  const auto shift = [&](auto& array, const auto& value) {
    std::move_backward(array.begin() + at, array.begin() + count, array.begin() + count + 1);
    array[at] = value;
  };
  shift(low_approximate, ratio.approximate);
  shift(child, node);
  shift(sums, below);
  shift(low, ratio);
  ++count;
}

void RatioTree::Inner::remove(std::size_t at) {
  const auto shift = [&](auto& array) {
    std::move(array.begin() + at + 1, array.begin() + count, array.begin() + at);
  };
  shift(low_approximate);
  shift(child);
  shift(sums);
  shift(low);
  low_approximate[--count] = kInfinite;
}

RatioTree::RatioTree() : leaves_(1) {}

RatioTree::NodeId RatioTree::find_leaf(const Ratio& ratio) const {
  NodeId node = root_;
  for (std::size_t height = height_; height > 0; --height) {
    const Inner& inner = inners_[node];
    node = inner.child[inner.find(ratio)];
  }
  return node;
}

void RatioTree::add(NodeId leaf, const Ratio& ratio, const RatioSums& change) {
  sums_ += change;
  if (finger_) note_change(ratio, change);
  Place place = leaves_[leaf].place;
  for (std::size_t height = 0; height < height_; ++height) {
    Inner& inner = inners_[place.parent];
    inner.sums[place.at] += change;
    place = inner.place;
  }
}

void RatioTree::note_change(const Ratio& ratio, const RatioSums& change) {
  const bool is_before = finger_->low && ratio.before(*finger_->low);
  if (is_before) finger_->before += change;
  if (is_before ||
      (ratio.approximate < finger_->threshold && (!finger_->next || ratio.before(*finger_->next))))
    finger_->below += change;
}

void RatioTree::insert(const Ratio& ratio) {
  const NodeId leaf = find_leaf(ratio);
  add(leaf, ratio, RatioSums::of(ratio));
  if (ratio.slot >= leaf_of_.size()) leaf_of_.resize(ratio.slot + std::size_t{1});
  append(leaf, ratio);
  if (leaves_[leaf].count == kLeafSize) split_leaf(leaf);
}

void RatioTree::append(NodeId leaf, const Ratio& ratio) {
  leaves_[leaf].append(ratio);
  leaf_of_[ratio.slot] = leaf;
}

void RatioTree::erase(const Ratio& ratio) {
  const NodeId id = leaf_of_[ratio.slot];
  Leaf& leaf = leaves_[id];
  const auto end = leaf.slot.begin() + leaf.count;
  const auto found = std::find(leaf.slot.begin(), end, ratio.slot);
  FAIRWATER_CHECK(found != end, "a ratio is erased where it was inserted");
  add(id, ratio, RatioSums{} - RatioSums::of(ratio));
  leaf.remove(static_cast<std::size_t>(found - leaf.slot.begin()));
  if (leaf.count < kLeafSize / 4 && height_ > 0) merge(id);
}

/// An empty node, one that was given back if there is one. May move all others.
template <class Node>
RatioTree::NodeId RatioTree::take(std::vector<Node>& nodes, std::vector<NodeId>& free) {
  if (free.empty()) {
    nodes.emplace_back();
    return static_cast<NodeId>(nodes.size() - 1);
  }
  const NodeId node = free.back();
  free.pop_back();
  nodes[node].clear();
  return node;
}

/// Moves the upper half into a new leaf to its right.
void RatioTree::split_leaf(NodeId left) {
  finger_.reset();
  const NodeId right = take(leaves_, free_leaves_);
  std::array<Ratio, kLeafSize> all;
  for (std::size_t i = 0; i < kLeafSize; ++i) all[i] = leaves_[left].at(i);
  constexpr std::size_t kHalf = kLeafSize / 2;
  std::nth_element(all.begin(), all.begin() + kHalf, all.end(),
                   [](const Ratio& a, const Ratio& b) { return a.before(b); });
  leaves_[left].clear();
  for (std::size_t i = 0; i < kHalf; ++i) append(left, all[i]);
  RatioSums moved;
  for (std::size_t i = kHalf; i < kLeafSize; ++i) {
    append(right, all[i]);
    moved += RatioSums::of(all[i]);
  }
  add_child(leaves_[left].place, 0, all[kHalf], right, moved);
}

/// By value, because the caller's nodes may move when one is taken.
void RatioTree::add_child(Place place, std::size_t height, Ratio low, NodeId child,
                          RatioSums moved) {
  if (height == height_) {
    const NodeId id = take(inners_, free_inners_);
    Inner& root = inners_[id];
    root.insert(0, Ratio{}, root_, sums_ - moved);
    root.insert(1, low, child, moved);
    root_ = id;
    ++height_;
    place_children(id, height_, 0);
    return;
  }
  const NodeId id = place.parent;
  const std::uint32_t at = place.at;
  Inner& parent = inners_[id];
  parent.sums[at] -= moved;
  parent.insert(at + 1, low, child, moved);
  place_children(id, height + 1, at + 1);
  if (parent.count == kFanout) split_inner(id, height + 1);
}

void RatioTree::place_children(NodeId id, std::size_t height, std::uint32_t from) {
  const Inner& inner = inners_[id];
  for (std::uint32_t at = from; at < inner.count; ++at) {
    const NodeId child = inner.child[at];
    (height == 1 ? leaves_[child].place : inners_[child].place) = {id, at};
  }
}

void RatioTree::split_inner(NodeId left_id, std::size_t height) {
  const NodeId right_id = take(inners_, free_inners_);
  Inner& left = inners_[left_id];
  Inner& right = inners_[right_id];
  constexpr std::size_t kHalf = kFanout / 2;
  RatioSums moved;
  for (std::size_t i = kHalf; i < kFanout; ++i) {
    right.insert(right.count, left.low[i], left.child[i], left.sums[i]);
    moved += left.sums[i];
  }
  while (left.count > kHalf) left.remove(left.count - 1);
  place_children(right_id, height, 0);
  add_child(left.place, height, right.low[0], right_id, moved);
}

/// The first of two neighbours under `parent`, one of them `at`: the smaller pair, by `size_of` a
/// child.
template <class SizeOf>
std::uint32_t RatioTree::smaller_pair(const Inner& parent, std::uint32_t at,
                                      const SizeOf& size_of) {
  if (at == 0) return 0;
  if (at + 1 == parent.count) return at - 1;
  return size_of(parent.child[at - 1]) <= size_of(parent.child[at + 1]) ? at - 1 : at;
}

/// Merges nodes that run low with a neighbour, from a leaf upwards.
void RatioTree::merge(NodeId leaf) {
  Place place = leaves_[leaf].place;
  bool merged = merge_leaves(place.parent, place.at);
  for (std::size_t height = 1; merged && height < height_; ++height) {
    const Inner& inner = inners_[place.parent];
    if (inner.count >= kFanout / 4) break;
    place = inner.place;
    merged = merge_inners(place.parent, place.at, height);
  }
  while (height_ > 0 && inners_[root_].count == 1) {
    free_inners_.push_back(root_);
    root_ = inners_[root_].child[0];
    --height_;
    finger_.reset();
  }
}

bool RatioTree::merge_leaves(NodeId parent_id, std::uint32_t at) {
  Inner& parent = inners_[parent_id];
  if (parent.count < 2) return true;  // the parent itself may have a neighbour
  const std::uint32_t to = smaller_pair(parent, at, [&](NodeId id) { return leaves_[id].count; });
  const NodeId left = parent.child[to];
  const NodeId right = parent.child[to + 1];
  if (leaves_[left].count + leaves_[right].count > kLeafSize * 3 / 4) return false;
  finger_.reset();
  for (std::size_t i = 0; i < leaves_[right].count; ++i) append(left, leaves_[right].at(i));
  free_leaves_.push_back(right);
  parent.sums[to] += parent.sums[to + 1];
  parent.remove(to + 1);
  place_children(parent_id, 1, to + 1);
  return true;
}

/// Of children at `height` above the leaves.
bool RatioTree::merge_inners(NodeId parent_id, std::uint32_t at, std::size_t height) {
  Inner& parent = inners_[parent_id];
  if (parent.count < 2) return true;
  const std::uint32_t to = smaller_pair(parent, at, [&](NodeId id) { return inners_[id].count; });
  const NodeId left_id = parent.child[to];
  const NodeId right_id = parent.child[to + 1];
  Inner& left = inners_[left_id];
  const Inner& right = inners_[right_id];
  if (left.count + right.count >= kFanout) return false;
  const std::uint32_t moved_to = left.count;
  for (std::size_t i = 0; i < right.count; ++i)
    left.insert(left.count, i == 0 ? parent.low[to + 1] : right.low[i], right.child[i],
                right.sums[i]);
  free_inners_.push_back(right_id);
  parent.sums[to] += parent.sums[to + 1];
  parent.remove(to + 1);
  place_children(left_id, height, moved_to);
  place_children(parent_id, height + 1, to + 1);
  return true;
}

}  // namespace fairwater::inline policy::inline quota
