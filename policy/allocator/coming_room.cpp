#include "policy/allocator/coming_room.hpp"

#include <algorithm>

namespace fairwater::inline policy::inline allocator {

ComingRoom& ComingRooms::on(NodeId id) {
  const auto [known, is_new] = rooms_.try_emplace(id);
  ComingRoom& room = known->second;
  if (!is_new) return room;
  const NodeRoom& node = state_.node(id);
  room.free = node.capacity - node.used - node.made() + node.coming;
  DeviceUses uses;
  for (const auto& [task, use] : node.device_uses)
    if (!use.is_ending && state_.takes_shares(use.demand)) uses.emplace(task, use);
  if (const NodeDevices* kind = state_.shared_devices(node))
    room.gpus = shared_room(*kind, state_.shared_resource(), uses);
  return room;
}

void ComingRooms::note(ComingRoom& room, NodeId node, const ResourceVector& demand,
                       const std::vector<std::string>& gpus, bool ends) const {
  if (ends)
    room.free += demand;
  else
    room.free -= demand;
  if (!room.gpus || !state_.takes_shares(demand)) return;
  const Amount each = std::min(demand[state_.shared_resource()], kMilliPerGpu);
  give_shares(*room.gpus, *state_.shared_devices(state_.node(node)), gpus, ends ? each : -each);
}

const std::vector<std::string>& ComingRooms::gpus_of(NodeId node, const TaskKey& task) const {
  static const std::vector<std::string> kNone;
  const DeviceUses& uses = state_.node(node).device_uses;
  const auto use = uses.find(task);
  return use == uses.end() ? kNone : use->second.names;
}

bool ComingRooms::has_room(NodeId id, const WaitingRange& task, const ComingRoom& room) const {
  if (!task.demand.fits(room.free)) return false;
  if (!state_.takes_shares(task.demand)) return true;
  if (!room.gpus) return false;
  const NodeRoom& node = state_.node(id);
  return gpus_fit(
      without_gpus(*room.gpus, *state_.shared_devices(node), state_.kept_from(node, task)),
      shared_gpus(task.demand[state_.shared_resource()]));
}

std::vector<std::string> ComingRooms::gpus_for(NodeId id, const WaitingRange& task,
                                               const ComingRoom& room) const {
  if (!room.gpus || !state_.takes_shares(task.demand)) return {};
  const NodeRoom& node = state_.node(id);
  auto chosen = state_.shares_of(node, *room.gpus, task.demand, task.rule.get(),
                                 state_.kept_from(node, task));
  return chosen ? std::move(chosen->names) : std::vector<std::string>{};
}

}  // namespace fairwater::inline policy::inline allocator
