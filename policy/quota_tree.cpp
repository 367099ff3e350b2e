#include "policy/quota_tree.hpp"

#include <algorithm>

#include "policy/check.hpp"

namespace fairwater {
namespace {

constexpr Wide kMaxSum = Wide{1} << 62;

Amount clamped(Wide sum) { return static_cast<Amount>(std::min(sum, kMaxSum)); }

}  // namespace

Amount QuotaTree::Terms::request() const {
  return own_request ? *own_request : clamped(children_request);
}
Amount QuotaTree::Terms::wanted() const { return std::min(request(), max); }
Amount QuotaTree::Terms::min() const { return own_min ? *own_min : clamped(children_min); }

QuotaTree::QuotaTree(std::size_t resources)
    : nodes_{Node{kRoot, 1, std::vector<Terms>(resources), std::vector<WaterLevel>(resources)}} {}

QuotaTree::Group QuotaTree::add(Group parent, Weight weight) {
  FAIRWATER_CHECK(parent < nodes_.size(), "a group's parent was added before");
  const std::size_t resources = nodes_[kRoot].terms.size();
  const auto group = static_cast<Group>(nodes_.size());
  nodes_.push_back(Node{parent, weight, std::vector<Terms>(resources), {}});
  nodes_[parent].children.resize(resources);
  for (WaterLevel& level : nodes_[parent].children) level.set(group, QuotaGroup{.weight = weight});
  return group;
}

void QuotaTree::set_capacity(std::size_t resource, Amount capacity) {
  nodes_[kRoot].children.at(resource).set_capacity(capacity);
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
  Terms changed = terms;
  while (group != kRoot) {
    Node& node = nodes_[group];
    const Terms before = node.terms[resource];
    node.terms[resource] = changed;
    const Group parent = node.parent;
    nodes_[parent].children[resource].set(group, {.weight = node.weight,
                                                  .min = changed.min(),
                                                  .max = changed.max,
                                                  .request = changed.request()});
    const Wide more_request = Wide{changed.wanted()} - before.wanted();
    const Wide more_min = Wide{changed.min()} - before.min();
    if (more_request == 0 && more_min == 0) return;
    changed = nodes_[parent].terms[resource];
    changed.children_request += more_request;
    changed.children_min += more_min;
    group = parent;
  }
  nodes_[kRoot].terms[resource] = changed;
}

WaterLevel& QuotaTree::filled_level(Group parent, std::size_t resource) {
  std::vector<Group> path;
  for (Group group = parent; group != kRoot; group = nodes_[group].parent) path.push_back(group);
  WaterLevel* level = &nodes_[kRoot].children.at(resource);
  for (auto group = path.rbegin(); group != path.rend(); ++group) {
    const Amount quota = level->runtime(*group);
    level = &nodes_[*group].children.at(resource);
    if (level->capacity() != quota) level->set_capacity(quota);
  }
  return *level;
}

Amount QuotaTree::runtime(Group group, std::size_t resource) {
  FAIRWATER_CHECK(group != kRoot && group < nodes_.size(), "the group was added before");
  return filled_level(nodes_[group].parent, resource).runtime(group);
}

std::optional<WaterMark> QuotaTree::level(Group parent, std::size_t resource) {
  return filled_level(parent, resource).level();
}

}  // namespace fairwater
