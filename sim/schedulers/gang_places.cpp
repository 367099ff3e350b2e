#include "sim/schedulers/gang_places.hpp"

#include <algorithm>

#include "policy/allocator/gang_moment.hpp"

namespace fairwater::sim::inline schedulers {

std::optional<GangPlace> earliest_gang_place(const Job& gang, TimeMs duration_ms, TimeMs limit,
                                             const std::vector<const RoomProfile*>& profiles) {
  const auto tasks_in = [&gang](const ResourceVector& free) { return tasks_that_fit(gang, free); };
  std::vector<NodeIndex> nodes;
  std::vector<std::vector<PossibleTasks>> possible;
  for (NodeIndex node = 0; node < profiles.size(); ++node) {
    if (profiles[node] == nullptr) continue;
    nodes.push_back(node);
    possible.push_back(possible_tasks(*profiles[node], duration_ms, tasks_in));
  }
  const auto start = first_moment(gang.tasks, possible);
  if (!start || *start >= limit) return std::nullopt;
  GangPlace place{*start, {}};
  std::uint32_t left = gang.tasks;
  for (std::size_t i = 0; i < nodes.size() && left > 0; ++i) {
    const std::uint32_t tasks = std::min(left, possible_at(possible[i], *start).tasks);
    if (tasks > 0) place.nodes.push_back({nodes[i], tasks});
    left -= tasks;
  }
  return place;
}

}  // namespace fairwater::sim::inline schedulers
