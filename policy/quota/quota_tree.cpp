#include "policy/quota/quota_tree.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline quota {
namespace {

constexpr Wide kMaxSum = Wide{1} << 62;

Amount clamped(Wide sum) { return static_cast<Amount>(std::min(sum, kMaxSum)); }

}  // namespace

Amount QuotaTree::Terms::request() const {
  return own_request ? *own_request : clamped(children_request);
}
Amount QuotaTree::Terms::min() const { return own_min ? *own_min : clamped(children_min); }

QuotaTree::QuotaTree(std::size_t resources)
    : nodes_{Node{kRoot, 0, std::vector<Terms>(resources), std::vector<WaterLevel>(resources)}} {}

QuotaTree::Group QuotaTree::add(Group parent, Key key, Weight weight) {
  FAIRWATER_CHECK(parent < nodes_.size(), "a group's parent was added before");
  const std::size_t resources = nodes_[kRoot].terms.size();
  const auto group = static_cast<Group>(nodes_.size());
  nodes_.push_back(Node{parent, key, std::vector<Terms>(resources), {}});
  set_weight(group, weight);
  return group;
}

QuotaTree::Group QuotaTree::add(Group parent, Weight weight) {
  return add(parent, static_cast<Key>(nodes_.size()), weight);
}

void QuotaTree::set_capacity(std::size_t resource, Amount capacity) {
  nodes_[kRoot].children.at(resource).set_capacity(capacity);
}

Amount QuotaTree::capacity(std::size_t resource) const {
  return nodes_[kRoot].children.at(resource).capacity();
}

void QuotaTree::set_weight(Group group, Weight weight) {
  for (std::size_t r = 0; r < nodes_.at(group).terms.size(); ++r) set_weight(group, r, weight);
}

void QuotaTree::set_weight(Group group, std::size_t resource, Weight weight) {
  Terms terms = nodes_.at(group).terms.at(resource);
  terms.weight = weight;
  change(group, resource, terms);
}

void QuotaTree::set_max(Group group, std::size_t resource, Amount max) {
  Terms terms = nodes_.at(group).terms.at(resource);
  terms.max = max;
  change(group, resource, terms);
}

void QuotaTree::set_min(Group group, std::size_t resource, std::optional<Amount> min) {
  Terms terms = nodes_.at(group).terms.at(resource);
  terms.own_min = min;
  change(group, resource, terms);
}

void QuotaTree::set_request(Group group, std::size_t resource, std::optional<Amount> request) {
  Terms terms = nodes_.at(group).terms.at(resource);
  terms.own_request = request;
  change(group, resource, terms);
}

Amount QuotaTree::request(Group group, std::size_t resource) const {
  return nodes_.at(group).terms.at(resource).request();
}

Amount QuotaTree::min(Group group, std::size_t resource) const {
  return nodes_.at(group).terms.at(resource).min();
}

void QuotaTree::change(Group group, std::size_t resource, const Terms& terms) {
  FAIRWATER_CHECK(group != kRoot, "the root has a capacity, not terms");
  Node& node = nodes_[group];
  node.terms[resource] = terms;
  set_member(
      node.parent, node.key, resource,
      {.weight = terms.weight, .min = terms.min(), .max = terms.max, .request = terms.request()});
}

void QuotaTree::set_member(Group parent, Key key, std::size_t resource, const QuotaGroup& terms) {
  Node& node = nodes_.at(parent);
  if (node.children.empty()) node.children.resize(node.terms.size());
  WaterLevel& level = node.children.at(resource);
  if (parent == kRoot) return level.set(key, terms);
  const QuotaGroup before = level.contains(key) ? level.group(key) : QuotaGroup{};
  level.set(key, terms);
  Terms changed = node.terms[resource];
  changed.children_request += Wide{terms.wanted()} - before.wanted();
  changed.children_min += Wide{terms.min} - before.min;
  if (changed.children_request != node.terms[resource].children_request ||
      changed.children_min != node.terms[resource].children_min)
    change(parent, resource, changed);
}

void QuotaTree::erase_member(Group parent, Key key, std::size_t resource) {
  set_member(parent, key, resource, {});
  nodes_[parent].children[resource].erase(key);
}

const WaterLevel& QuotaTree::fill_level(Group group, std::size_t resource) const {
  WaterLevel& level = nodes_[group].children[resource];
  const Amount quota = runtime(group, resource);
  if (level.capacity() != quota) level.set_capacity(quota);
  return level;
}

Amount QuotaTree::runtime(Group group, std::size_t resource) const {
  FAIRWATER_CHECK(group != kRoot && group < nodes_.size(), "the group was added before");
  const Node& node = nodes_[group];
  return member_runtime(node.parent, node.key, resource);
}

std::optional<WaterMark> QuotaTree::level(Group parent, std::size_t resource) const {
  return filled_level(parent, resource).level();
}

}  // namespace fairwater::inline policy::inline quota
