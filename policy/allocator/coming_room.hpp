// What nodes will have free once all has ended that was told to, and what a plan of reclaim()
// gives and takes meanwhile. Internal to policy/allocator.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

struct ComingRoom {
  ResourceVector free;
  std::optional<GpuNode> gpus;  ///< that tasks share; none: there are none, or nobody knows
};

class ComingRooms {
 public:
  explicit ComingRooms(const AllocatorState& state) : state_(state) {}

  /// As planned so far.
  [[nodiscard]] ComingRoom& on(NodeId node);
  /// Those that were looked at.
  [[nodiscard]] const std::map<NodeId, ComingRoom>& looked_at() const { return rooms_; }

  /// A task with these GPUs ends there, or (`ends` false) does not, or begins.
  void note(ComingRoom& room, NodeId node, const ResourceVector& demand,
            const std::vector<std::string>& gpus, bool ends) const;
  /// Of a task that runs there the devices that it has, by name.
  [[nodiscard]] const std::vector<std::string>& gpus_of(NodeId node, const TaskKey& task) const;
  /// Whether the task would have room, also of single GPUs. O(GPUs).
  [[nodiscard]] bool has_room(NodeId node, const WaitingRange& task, const ComingRoom& room) const;
  /// Of GPUs that tasks share those that it would get; empty: it takes none.
  [[nodiscard]] std::vector<std::string> gpus_for(NodeId node, const WaitingRange& task,
                                                  const ComingRoom& room) const;

 private:
  const AllocatorState& state_;
  std::map<NodeId, ComingRoom> rooms_;
};

}  // namespace fairwater::inline policy::inline allocator
