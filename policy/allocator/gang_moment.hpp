// When all tasks of a gang have room together, by what nodes are expected to have free.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/room_profile.hpp"
#include "policy/allocator/tenant.hpp"

namespace fairwater::inline policy::inline allocator {

/// So many of the gang's tasks fit at once, at most all of them.
[[nodiscard]] std::uint32_t tasks_that_fit(const WindowRange& gang, const ResourceVector& free);

/// From then on so many of a gang's tasks may start on a node, until the next of these.
struct PossibleTasks {
  LedgerMs from_ms = 0;
  std::uint32_t tasks = 0;
  friend bool operator==(const PossibleTasks&, const PossibleTasks&) = default;
};

/// How many may start when, to run for `duration_ms` in the room that is free all the while: by
/// moment, from the profile's first on, neighbours unlike. `tasks_in` says how many a room holds.
/// O(steps).
[[nodiscard]] std::vector<PossibleTasks> possible_tasks(
    const RoomProfile& profile, std::int64_t duration_ms,
    const std::function<std::uint32_t(const ResourceVector& free)>& tasks_in);
/// At every moment the less of both.
[[nodiscard]] std::vector<PossibleTasks> lesser_of(std::span<const PossibleTasks> a,
                                                   std::span<const PossibleTasks> b);
/// Of the list, which is not empty, what holds at that moment.
[[nodiscard]] PossibleTasks possible_at(std::span<const PossibleTasks> possible, LedgerMs at_ms);

/// The first moment at which so many may start on the nodes together. None: never for certain.
/// O(entries * log).
[[nodiscard]] std::optional<LedgerMs> first_moment(
    std::uint32_t tasks, std::span<const std::vector<PossibleTasks>> nodes);

}  // namespace fairwater::inline policy::inline allocator
