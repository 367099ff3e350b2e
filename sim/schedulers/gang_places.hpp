// When and where all tasks of a gang have room together, by what nodes are expected to have free.
#pragma once

#include <optional>
#include <vector>

#include "policy/allocator/room_profile.hpp"
#include "sim/engine/workload.hpp"

namespace fairwater::sim::inline schedulers {

struct NodeTasks {
  NodeIndex node = 0;
  std::uint32_t tasks = 0;
  friend bool operator==(const NodeTasks&, const NodeTasks&) = default;
};
struct GangPlace {
  TimeMs start = 0;
  std::vector<NodeTasks> nodes;
};

/// The first moment before `limit` from which on all of the gang's tasks fit for `duration_ms`, on
/// the first nodes that have room for as long. `profiles` are by node and begin now; null: it may
/// not run there. O(steps * log).
[[nodiscard]] std::optional<GangPlace> earliest_gang_place(
    const Job& gang, TimeMs duration_ms, TimeMs limit,
    const std::vector<const RoomProfile*>& profiles);

}  // namespace fairwater::sim::inline schedulers
