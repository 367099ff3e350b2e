#include "policy/allocator/explain_gang.hpp"

#include <string>

#include "policy/allocator/closed_nodes.hpp"
#include "policy/allocator/gangs.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

std::string room_for(std::uint64_t tasks) {
  return "room for " + std::to_string(tasks) + " of them";
}

std::string closed_text(const GangRoom& room, const ObstacleNames& names) {
  ClosedNodes closed;
  for (const NodeRoom* node : room.closed) closed.add(*node, names);
  return closed.list();
}

std::string size_text(const GangRoom& room, std::uint64_t tasks, const ObstacleNames& names) {
  const std::uint64_t with_closed = room.empty + room.closed_empty;
  if (with_closed < tasks)
    return "the allowed nodes have " + room_for(with_closed) + " even when empty";
  return "the allowed nodes that take tasks now have " + room_for(room.empty) +
         " even when empty; with those that take none now they have room for all" +
         (room.one_day + room.closed_one_day < tasks
              ? ", but for services, which run until they are cancelled: "
              : ": ") +
         closed_text(room, names);
}

std::string services_text(const GangRoom& room, std::uint64_t tasks, const ObstacleNames& names) {
  std::string text =
      "services hold too much of the allowed nodes, and run until they are cancelled: beside them "
      "there is " +
      room_for(room.one_day);
  if (room.one_day + room.closed_one_day >= tasks)
    text +=
        "; with nodes that take no tasks now there is room for all: " + closed_text(room, names);
  return text;
}

}  // namespace

std::optional<Obstacle> explain_gang(const AllocatorState& state, const WindowRange& gang,
                                     const ObstacleNames& names) {
  const GangRoom room = gang_room(state, gang);
  const std::uint64_t tasks = gang.starts_at_once;
  const std::string together = "its " + std::to_string(tasks) + " tasks start together, and ";
  if (room.empty < tasks) return Obstacle{"gang_size", together + size_text(room, tasks, names)};
  if (room.one_day < tasks)
    return Obstacle{"node_busy", together + services_text(room, tasks, names)};
  if (room.now < tasks)
    return Obstacle{"gang", together + "there is " + room_for(room.now) + " now"};
  return std::nullopt;
}

}  // namespace fairwater::inline policy::inline allocator
