#include "policy/allocator/rule_rooms.hpp"

#include <algorithm>
#include <memory>

namespace fairwater::inline policy::inline allocator {

bool names_same_nodes(const PlacementRulePtr& a, const PlacementRulePtr& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  return a->labels == b->labels && a->sites == b->sites;
}

// -- rules ----------------------------------------------------------------------------------------

bool RuleRooms::wants_rooms(const PlacementRulePtr& rule) {
  static const LabelExpression anything;
  return rule != nullptr && (!rule->sites.empty() || rule->labels != anything);
}

std::size_t RuleRooms::find(const PlacementRulePtr& rule) const {
  if (!wants_rooms(rule)) return kAnywhere;
  for (std::size_t i = 1; i < rooms_of_.size(); ++i)
    if (names_same_nodes(rooms_of_[i].rule, rule)) return i;
  return kAnywhere;
}

std::size_t RuleRooms::left_first() const {
  std::size_t first = kAnywhere;
  for (std::size_t i = 1; i < rooms_of_.size(); ++i)
    if (rooms_of_[i].shapes.empty() &&
        (first == kAnywhere || rooms_of_[i].left_at < rooms_of_[first].left_at))
      first = i;
  return first;
}

bool RuleRooms::may_make_rooms() const {
  return looks_ >= nodes_ && (rooms_of_.size() <= kMostRules || left_first() != kAnywhere);
}

std::size_t RuleRooms::make_rooms(const PlacementRulePtr& rule) {
  looks_ -= nodes_;
  std::size_t at = rooms_of_.size();
  if (at <= kMostRules)
    rooms_of_.emplace_back();
  else
    at = left_first();
  rooms_of_[at] = {};
  // Devices by name are left to who looks at the node.
  rooms_of_[at].rule =
      std::make_shared<const PlacementRule>(PlacementRule{rule->sites, rule->labels});
  return at;
}

void RuleRooms::enter(std::size_t at, NodeId node, const NodeTraits& traits) {
  Rooms& entered = rooms_of_[at];
  if (!entered.rule->allows(traits)) return;
  if (const auto room = rooms_of_[kAnywhere].rooms.room_of(node)) entered.rooms.set(node, *room);
}

void RuleRooms::remove(const Place& place) {
  Rooms& left = rooms_of_[place.rule];
  left.shapes.remove(place.least);
  if (left.shapes.empty()) left.left_at = changes_;
}

// -- nodes ----------------------------------------------------------------------------------------

void RuleRooms::set_traits(NodeId node, const NodeTraits& traits) {
  if (!rooms_of_[kAnywhere].rooms.knows(node)) {
    ++nodes_;
    looks_ += kMostRules;
  }
  for (Rooms& rooms : rooms_of_) {
    const bool is_allowed = rooms.rule == nullptr || rooms.rule->allows(traits);
    if (is_allowed == rooms.rooms.knows(node)) continue;
    if (is_allowed)
      rooms.rooms.add(node);
    else
      rooms.rooms.forget(node);
  }
}

void RuleRooms::set(NodeId node, const ResourceVector& free) {
  ++changes_;
  looks_ = std::min(looks_ + kLooksPerChange, kMostRules * nodes_);
  for (Rooms& rooms : rooms_of_)
    if (rooms.rooms.knows(node)) rooms.rooms.set(node, free);
}

void RuleRooms::remove(NodeId node) {
  for (Rooms& rooms : rooms_of_) rooms.rooms.remove(node);
}

std::optional<NodeId> RuleRooms::next_that_matters(NodeId from) const {
  std::optional<NodeId> first;
  for (const Rooms& rooms : rooms_of_) {
    if (rooms.rule != nullptr && rooms.shapes.empty()) continue;
    const auto next = rooms.rooms.next(from, rooms.shapes.least());
    if (next && (!first || *next < *first)) first = next;
  }
  return first;
}

bool RuleRooms::may_matter(NodeId node) const {
  return std::any_of(rooms_of_.begin(), rooms_of_.end(), [&](const Rooms& rooms) {
    return (rooms.rule == nullptr || !rooms.shapes.empty()) &&
           rooms.rooms.has_room(node, rooms.shapes.least());
  });
}

}  // namespace fairwater::inline policy::inline allocator
