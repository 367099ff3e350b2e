#include "policy/dominant/share_tree.hpp"

#include <algorithm>
#include <iterator>

namespace fairwater::inline policy::inline dominant {

ShareTree::ShareTree(const ResourceVector& capacity) : capacity_(capacity), nodes_(1), levels_(1) {
  nodes_[kRoot].level = 0;
}

ShareTree::Node ShareTree::add_group(Node parent, const ResourceWeights& weights,
                                     std::uint64_t rank) {
  const Node node = add_leaf(parent, weights, rank);
  nodes_[node].level = static_cast<std::uint32_t>(levels_.size());
  levels_.emplace_back();
  return node;
}

ShareTree::Node ShareTree::add_leaf(Node parent, const ResourceWeights& weights,
                                    std::uint64_t rank) {
  nodes_.push_back({.parent = parent, .weights = weights, .rank = rank});
  return static_cast<Node>(nodes_.size() - 1);
}

void ShareTree::add_held(Node group, const ResourceVector& held) {
  level(group).idle += held;
  refresh_from(group);
}

void ShareTree::set_leaf(Node leaf, const ResourceVector& held,
                         const std::optional<Placeable>& next) {
  Child& child = nodes_[leaf];
  const bool is_other_count = replace_asks(child, next ? next->asks : ResourceSet{});
  take_out(child);
  if (next) {
    Shares shares{};
    for (std::size_t r = 0; r < kMaxResources; ++r) shares[r] = fixed_share(held[r], capacity_[r]);
    put_open(leaf, shares, next->is_below_min);
  } else {
    put_idle(child, held);
  }
  if (is_other_count)
    refresh_all();
  else
    refresh_from(child.parent);
}

void ShareTree::set_below_min(Node group, bool is_below_min) {
  bool& known = level(group).is_below_min;
  if (known == is_below_min) return;
  known = is_below_min;
  refresh_from(group);
}

std::optional<ShareTree::Node> ShareTree::first() const {
  Node node = kRoot;
  while (nodes_[node].level) {
    const Level& group = level(node);
    if (group.open.empty()) return std::nullopt;
    node = group.open.begin()->node;
  }
  return node;
}

bool ShareTree::first_is_below_min() const {
  const Level& root = level(kRoot);
  return !root.open.empty() && root.open.begin()->is_below_min;
}

ShareTree::Node ShareTree::first_sibling(Node node) const {
  return level(nodes_[node].parent).open.begin()->node;
}

std::size_t ShareTree::siblings_before(Node node) const {
  const std::set<Turn>& open = level(nodes_[node].parent).open;
  return static_cast<std::size_t>(std::distance(open.begin(), open.find(nodes_[node].turn)));
}

void ShareTree::take_out(Child& child) {
  Level& parent = level(child.parent);
  if (!child.is_open) {
    parent.idle -= child.idle;
    child.idle = {};
    return;
  }
  parent.open.erase(child.turn);
  for (std::size_t r = 0; r < kMaxResources; ++r) parent.rising[r] -= child.rising[r];
  child.is_open = false;
}

void ShareTree::put_idle(Child& child, const ResourceVector& held) {
  child.idle = held;
  level(child.parent).idle += held;
}

void ShareTree::put_open(Node node, const Shares& held, bool is_below_min) {
  Child& child = nodes_[node];
  child.is_open = true;
  std::size_t dominant = 0;
  for (std::size_t r = 1; r < kMaxResources; ++r)
    if (held[r] * static_cast<FixedShare>(child.weights[dominant]) >
        held[dominant] * static_cast<FixedShare>(child.weights[r]))
      dominant = r;
  child.dominant = dominant;
  child.share = held[dominant];
  child.turn = {.is_below_min = is_below_min,
                .by_weight = fairwater::by_weight(child.share, child.weight()),
                .rank = child.rank,
                .node = node};
  Level& parent = level(child.parent);
  parent.open.insert(child.turn);
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    child.rising[r] = weighted_ratio(held[r], child.weight(), child.share);
    parent.rising[r] += child.rising[r];
  }
}

bool ShareTree::replace_asks(Child& leaf, ResourceSet asks) {
  if (leaf.asks == asks) return false;
  const auto before = asking_;
  for (const std::size_t r : leaf.asks) --asking_[r];
  for (const std::size_t r : asks) ++asking_[r];
  leaf.asks = asks;
  return !std::equal(before.begin(), before.end(), asking_.begin(),
                     [](auto a, auto b) { return (a > 0) == (b > 0); });
}

const ShareTree::Turn& ShareTree::least(const Level& group) {
  const auto first = group.open.begin();
  if (!first->is_below_min) return *first;
  const auto other = group.open.lower_bound(Turn{});
  return other == group.open.end() || first->by_weight <= other->by_weight ? *first : *other;
}

ShareTree::Shares ShareTree::held_in(const Level& group) const {
  const Child& least = nodes_[ShareTree::least(group).node];
  Shares held{};
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    const FixedShare risen =
        scaled(least.share, group.rising[r] / static_cast<FixedShare>(least.weight()));
    const FixedShare idle = asking_[r] > 0 ? fixed_share(group.idle[r], capacity_[r]) : 0;
    held[r] = std::min(idle + risen, kMostShare);
  }
  return held;
}

void ShareTree::refresh(Node group) {
  const Level& own = level(group);
  take_out(nodes_[group]);
  if (own.open.empty())
    put_idle(nodes_[group], own.idle);
  else
    put_open(group, held_in(own), own.is_below_min || own.open.begin()->is_below_min);
}

void ShareTree::refresh_from(Node group) {
  for (Node node = group; node != kRoot; node = nodes_[node].parent) refresh(node);
}

void ShareTree::refresh_all() {
  for (auto node = static_cast<Node>(nodes_.size() - 1); node != kRoot; --node)
    if (nodes_[node].level) refresh(node);
}

}  // namespace fairwater::inline policy::inline dominant
