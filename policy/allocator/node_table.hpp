// What is known of each node: in the order of ids, and found by its id without a search. Internal
// to policy/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

/// Ids are mostly small and dense; others are searched for.
template <class Room>
class NodeTable {
 public:
  using Rooms = std::map<NodeId, Room>;

  NodeTable() = default;
  NodeTable(const NodeTable& other) : rooms_(other.rooms_) {
    for (auto& [id, room] : rooms_) note(id, &room);
  }
  NodeTable& operator=(const NodeTable&) = delete;
  ~NodeTable() = default;

  /// Null when it is not known.
  [[nodiscard]] Room* find(NodeId id) {
    if (id.value < dense_.size()) return dense_[id.value];
    if (id.value < kDenseIds) return nullptr;
    const auto found = rooms_.find(id);
    return found == rooms_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const Room* find(NodeId id) const { return const_cast<NodeTable*>(this)->find(id); }
  /// That of the id, made where there is none. It stays where it is until it is erased.
  Room& at_or_new(NodeId id) {
    Room& room = rooms_[id];
    note(id, &room);
    return room;
  }
  void erase(NodeId id) {
    note(id, nullptr);
    rooms_.erase(id);
  }
  [[nodiscard]] Rooms& by_id() { return rooms_; }
  [[nodiscard]] const Rooms& by_id() const { return rooms_; }

 private:
  static constexpr std::uint32_t kDenseIds = 1U << 20;

  void note(NodeId id, Room* room) {
    if (id.value >= kDenseIds) return;
    if (id.value >= dense_.size()) dense_.resize(id.value + std::size_t{1}, nullptr);
    dense_[id.value] = room;
  }

  Rooms rooms_;
  std::vector<Room*> dense_;  ///< by id; null: there is none
};

}  // namespace fairwater::inline policy::inline allocator
