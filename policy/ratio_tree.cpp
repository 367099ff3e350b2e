#include "policy/ratio_tree.hpp"

#include <algorithm>
#include <numeric>

#include "policy/check.hpp"
#include "policy/exact_share.hpp"

namespace fairwater {
namespace {

/// Relative; far above the error of a few roundings, far below what tells most ratios apart.
constexpr double kDoubt = 0x1p-47;

RatioSums sums_of(const Ratio& ratio) { return {ratio.need, ratio.weight}; }

/// `ratio.is_reached`, in floating point unless that leaves doubt.
bool is_reached_fast(const Ratio& ratio, Wide amount, Wide whole) {
  const double poured = approximately(amount);
  const double wanted = ratio.approximate * approximately(whole);
  if (wanted < poured * (1 - kDoubt)) return true;
  if (wanted > poured * (1 + kDoubt)) return false;
  return ratio.is_reached(amount, whole);
}

}  // namespace

Ratio Ratio::of(Amount need, Weight weight, std::uint32_t key) {
  // Both are exact in 64 bits of mantissa, and rounding a quotient once or twice keeps the order.
  static_assert(__LDBL_MANT_DIG__ >= 64);
  const auto ratio = static_cast<long double>(need) / static_cast<long double>(weight);
  return {need, weight, key, static_cast<double>(ratio)};
}

bool Ratio::before_exactly(const Ratio& other) const {
  const Wide mine = Wide{need} * other.weight;
  const Wide others = Wide{other.need} * weight;
  return mine != others ? mine < others : key < other.key;
}

bool Ratio::is_reached(Wide amount, Wide whole) const {
  if (amount < 0) return false;
  Wide wanted = 0;
  // `amount` is below 2^63 and so its product fits; a product that does not is larger.
  return !__builtin_mul_overflow(Wide{need}, whole, &wanted) && wanted <= amount * weight;
}

void RatioTree::Leaf::put(std::size_t i, const Ratio& ratio) {
  approximate[i] = ratio.approximate;
  weight[i] = ratio.weight;
  need[i] = ratio.need;
  key[i] = ratio.key;
}

std::size_t RatioTree::Inner::find(const Ratio& ratio) const {
  std::size_t at = 0;
  for (std::size_t i = 1; i < count; ++i) at += low_approximate[i] < ratio.approximate ? 1 : 0;
  while (at + 1 < count && low_approximate[at + 1] == ratio.approximate &&
         !ratio.before_exactly(low[at + 1]))
    ++at;
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
  --count;
}

RatioTree::RatioTree() : leaves_(1) {}

/// Goes down to the leaf that `ratio` belongs to and adds `change` to every sum on the way.
RatioTree::NodeId RatioTree::descend(const Ratio& ratio, const RatioSums& change, Path& path) {
  sums_ += change;
  if (finger_ && finger_->low && ratio.before(*finger_->low)) finger_->before += change;
  NodeId node = root_;
  for (std::size_t depth = 0; depth < height_; ++depth) {
    Inner& inner = inners_[node];
    const std::size_t at = inner.find(ratio);
    inner.sums[at] += change;
    path[depth] = {node, at};
    node = inner.child[at];
  }
  return node;
}

void RatioTree::insert(const Ratio& ratio) {
  Path path;
  const NodeId leaf = descend(ratio, sums_of(ratio), path);
  leaves_[leaf].append(ratio);
  if (leaves_[leaf].count == kLeafSize) split_leaf(leaf, path);
}

void RatioTree::erase(const Ratio& ratio) {
  Path path;
  const NodeId id = descend(ratio, RatioSums{} - sums_of(ratio), path);
  Leaf& leaf = leaves_[id];
  const auto end = leaf.key.begin() + leaf.count;
  const auto found = std::find(leaf.key.begin(), end, ratio.key);
  FAIRWATER_CHECK(found != end, "a ratio is erased where it was inserted");
  leaf.put(static_cast<std::size_t>(found - leaf.key.begin()), leaf.at(leaf.count - 1));
  --leaf.count;
  if (leaf.count < kLeafSize / 4 && height_ > 0) merge(path);
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
  nodes[node].count = 0;
  return node;
}

/// Moves the upper half into a new leaf to its right.
void RatioTree::split_leaf(NodeId id, const Path& path) {
  finger_.reset();
  const NodeId right_id = take(leaves_, free_leaves_);
  Leaf& left = leaves_[id];
  Leaf& right = leaves_[right_id];
  std::array<Ratio, kLeafSize> all;
  for (std::size_t i = 0; i < kLeafSize; ++i) all[i] = left.at(i);
  constexpr std::size_t kHalf = kLeafSize / 2;
  std::nth_element(all.begin(), all.begin() + kHalf, all.end(),
                   [](const Ratio& a, const Ratio& b) { return a.before(b); });
  left.count = 0;
  for (std::size_t i = 0; i < kHalf; ++i) left.append(all[i]);
  RatioSums moved;
  for (std::size_t i = kHalf; i < kLeafSize; ++i) {
    right.append(all[i]);
    moved += sums_of(all[i]);
  }
  add_child(path, height_, all[kHalf], right_id, moved);
}

/// Hangs a new node of sums `moved` in beside the one that it was split from, which is at `depth`.
void RatioTree::add_child(const Path& path, std::size_t depth, const Ratio& low, NodeId child,
                          const RatioSums& moved) {
  if (depth == 0) {
    FAIRWATER_CHECK(height_ < kMaxHeight, "a path has room for every level");
    const NodeId id = take(inners_, free_inners_);
    Inner& root = inners_[id];
    root.insert(0, Ratio{}, root_, sums_ - moved);
    root.insert(1, low, child, moved);
    root_ = id;
    ++height_;
    return;
  }
  const auto [id, at] = path[depth - 1];
  Inner& parent = inners_[id];
  parent.sums[at] -= moved;
  parent.insert(at + 1, low, child, moved);
  if (parent.count == kFanout) split_inner(path, depth - 1);
}

void RatioTree::split_inner(const Path& path, std::size_t depth) {
  const NodeId left_id = path[depth].inner;
  const NodeId right_id = take(inners_, free_inners_);
  Inner& left = inners_[left_id];
  Inner& right = inners_[right_id];
  constexpr std::size_t kHalf = kFanout / 2;
  RatioSums moved;
  for (std::size_t i = kHalf; i < kFanout; ++i) {
    right.insert(right.count, left.low[i], left.child[i], left.sums[i]);
    moved += left.sums[i];
  }
  left.count = kHalf;
  add_child(path, depth, right.low[0], right_id, moved);
}

/// The first of two neighbours under `parent`, one of them `at`: the smaller pair, by `size_of` a
/// child.
template <class SizeOf>
std::size_t RatioTree::smaller_pair(const Inner& parent, std::size_t at, const SizeOf& size_of) {
  if (at == 0) return 0;
  if (at + 1 == parent.count) return at - 1;
  return size_of(parent.child[at - 1]) <= size_of(parent.child[at + 1]) ? at - 1 : at;
}

/// Merges nodes that run low with a neighbour, from the path's leaf upwards.
void RatioTree::merge(const Path& path) {
  Inner& above_leaf = inners_[path[height_ - 1].inner];
  if (above_leaf.count > 1) merge_leaves(above_leaf, path[height_ - 1].at);
  for (std::size_t depth = height_ - 1; depth > 0; --depth) {
    if (inners_[path[depth].inner].count >= kFanout / 4) break;
    merge_inners(inners_[path[depth - 1].inner], path[depth - 1].at);
  }
  while (height_ > 0 && inners_[root_].count == 1) {
    finger_.reset();
    free_inners_.push_back(root_);
    root_ = inners_[root_].child[0];
    --height_;
  }
}

void RatioTree::merge_leaves(Inner& parent, std::size_t at) {
  const std::size_t to = smaller_pair(parent, at, [&](NodeId id) { return leaves_[id].count; });
  Leaf& left = leaves_[parent.child[to]];
  const Leaf& right = leaves_[parent.child[to + 1]];
  if (left.count + right.count > kLeafSize * 3 / 4) return;
  finger_.reset();
  for (std::size_t i = 0; i < right.count; ++i) left.append(right.at(i));
  free_leaves_.push_back(parent.child[to + 1]);
  parent.sums[to] += parent.sums[to + 1];
  parent.remove(to + 1);
}

void RatioTree::merge_inners(Inner& parent, std::size_t at) {
  if (parent.count < 2) return;
  const std::size_t to = smaller_pair(parent, at, [&](NodeId id) { return inners_[id].count; });
  Inner& left = inners_[parent.child[to]];
  const Inner& right = inners_[parent.child[to + 1]];
  if (left.count + right.count >= kFanout) return;
  finger_.reset();
  for (std::size_t i = 0; i < right.count; ++i)
    left.insert(left.count, i == 0 ? parent.low[to + 1] : right.low[i], right.child[i],
                right.sums[i]);
  free_inners_.push_back(parent.child[to + 1]);
  parent.sums[to] += parent.sums[to + 1];
  parent.remove(to + 1);
}

Wide RatioTree::weight_before(const Ratio& ratio) const {
  Wide before = 0;
  NodeId node = root_;
  for (std::size_t depth = 0; depth < height_; ++depth) {
    const Inner& inner = inners_[node];
    const std::size_t at = inner.find(ratio);
    for (std::size_t i = 0; i < at; ++i) before += inner.sums[i].weight;
    node = inner.child[at];
  }
  const Leaf& leaf = leaves_[node];
  Wide here = 0;
  std::size_t equal = 0;
  if (sums_.weight < (Wide{1} << 62)) {
    Weight sum = 0;
    for (std::size_t i = 0; i < leaf.count; ++i) {
      sum += leaf.approximate[i] < ratio.approximate ? leaf.weight[i] : 0;
      equal += leaf.approximate[i] == ratio.approximate ? 1 : 0;
    }
    here = sum;
  } else {
    for (std::size_t i = 0; i < leaf.count; ++i) {
      here += leaf.approximate[i] < ratio.approximate ? leaf.weight[i] : 0;
      equal += leaf.approximate[i] == ratio.approximate ? 1 : 0;
    }
  }
  if (equal > 1)  // others beside itself
    for (std::size_t i = 0; i < leaf.count; ++i)
      if (leaf.approximate[i] == ratio.approximate && leaf.at(i).before_exactly(ratio))
        here += leaf.weight[i];
  return before + here;
}

RatioSums RatioTree::saturated(Wide amount) {
  FAIRWATER_CHECK(amount >= 0 && amount < sums_.need, "water stops below what all need");
  if (finger_) {
    const auto found = saturated_at(*finger_, amount);
    if (found) return *found;
  }
  finger_ = find_level(amount);
  const auto found = saturated_at(*finger_, amount);
  FAIRWATER_CHECK(found.has_value(), "the level is in the leaf that the sums lead to");
  return *found;
}

/// Goes down to the last leaf whose least ratio is reached when everything before it is saturated.
RatioTree::Finger RatioTree::find_level(Wide amount) const {
  Finger finger;
  NodeId node = root_;
  for (std::size_t depth = 0; depth < height_; ++depth) {
    const Inner& inner = inners_[node];
    std::size_t at = 0;
    for (; at + 1 < inner.count; ++at) {
      const RatioSums before = finger.before + inner.sums[at];
      if (!is_reached_fast(inner.low[at + 1], amount - before.need, sums_.weight - before.weight))
        break;
      finger.before = before;
    }
    if (at > 0) finger.low = inner.low[at];
    if (at + 1 < inner.count) finger.next = inner.low[at + 1];
    node = inner.child[at];
  }
  finger.leaf = node;
  if (finger.low) finger.level = finger.low->approximate;
  return finger;
}

/// Lets the level settle within the finger's leaf. Nothing when it is not there.
std::optional<RatioSums> RatioTree::saturated_at(Finger& finger, Wide amount) const {
  const Leaf& leaf = leaves_[finger.leaf];
  const bool sums_fit = sums_.weight < (Wide{1} << 62) && sums_.need < (Wide{1} << 62);
  RatioSums saturated = finger.before;
  double level = finger.level;
  bool settled = false;
  // From a height that is too low the level rises in every round; from one too high it first falls
  // below.
  for (std::size_t round = 0; sums_fit && round < 6 && !settled; ++round) {
    const double surely_below = level * (1 - kDoubt);
    const double surely_above = level * (1 + kDoubt);
    std::int64_t need = 0;
    Weight weight = 0;
    std::size_t doubtful = 0;
    for (std::size_t i = 0; i < leaf.count; ++i) {
      const bool below = leaf.approximate[i] < surely_below;
      need += below ? leaf.need[i] : 0;
      weight += below ? leaf.weight[i] : 0;
      doubtful += !below && leaf.approximate[i] <= surely_above ? 1 : 0;
    }
    if (doubtful > 0) break;
    const RatioSums now = finger.before + RatioSums{need, weight};
    settled = round > 0 && now == saturated;
    saturated = now;
    const Wide whole = sums_.weight - now.weight;
    level = whole > 0 ? std::max(0.0, approximately(amount - now.need) / approximately(whole)) : 0;
  }
  if (!settled) saturated = saturated_exactly(leaf, finger.before, amount);
  const Wide poured = amount - saturated.need;
  const Wide whole = sums_.weight - saturated.weight;
  if (whole <= 0 || poured < 0) return std::nullopt;
  if (finger.low && !is_reached_fast(*finger.low, poured, whole)) return std::nullopt;
  if (finger.next && is_reached_fast(*finger.next, poured, whole)) return std::nullopt;
  finger.level = approximately(poured) / approximately(whole);
  return saturated;
}

/// Round by round: whoever reaches its need at the height of a round leaves more for the others.
RatioSums RatioTree::saturated_exactly(const Leaf& leaf, const RatioSums& before,
                                       Wide amount) const {
  RatioSums saturated = before;
  std::array<bool, kLeafSize> done{};
  for (bool changed = true; changed;) {
    changed = false;
    const RatioSums round = saturated;
    for (std::size_t i = 0; i < leaf.count; ++i) {
      const Ratio ratio = leaf.at(i);
      if (done[i] || !ratio.is_reached(amount - round.need, sums_.weight - round.weight)) continue;
      done[i] = changed = true;
      saturated += sums_of(ratio);
    }
  }
  return saturated;
}

}  // namespace fairwater
