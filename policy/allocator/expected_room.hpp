// What nodes are expected to have free, where the ledger counts time: by when the tasks there must
// end, or are expected to, and by the places that others have. Internal to policy/allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/allocator/room_profile.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// How long the task holds its room at most, as far as plans go. What may never end: for longer
/// than anything else.
[[nodiscard]] std::int64_t duration_of(const WaitingRange& task, Predict predict);

/// The room that the node is expected to have free from now on, whoever has a place there. A task
/// beyond what was planned is expected to end with the next millisecond. O(tasks on the node *
/// log).
[[nodiscard]] RoomProfile expected_room(const NodeRoom& node, LedgerMs now_ms, Predict predict);

/// What is free of the node's shared GPUs from a moment on.
struct ExpectedGpus {
  LedgerMs from_ms = 0;
  GpuNode room;
};
/// From now on, by when the tasks that hold some are expected to end, without those that are kept
/// for gangs, but the job's own, until these have run. Ascending by both. Empty: there are none, or
/// it is not known which are held. O((tasks that hold some + plans) * GPUs).
[[nodiscard]] std::vector<ExpectedGpus> expected_gpus(const AllocatorState& state,
                                                      const NodeRoom& node, JobId job,
                                                      Predict predict,
                                                      const AllocatorState::KeptFor& whose);

/// From when on the task has enough of the node's shared GPUs, beside those that are kept for other
/// jobs, and which.
struct ExpectedShares {
  LedgerMs from_ms = 0;
  std::vector<std::string> names;
};
/// By when the tasks that hold some are expected to end; none: that is not known. O(tasks that hold
/// some * AllocatorState::shares_for).
[[nodiscard]] std::optional<ExpectedShares> expected_shares(const AllocatorState& state,
                                                            const NodeRoom& node,
                                                            const WaitingRange& task,
                                                            Predict predict);

/// Whether something late has a place there, beside which all goes by limits. O(places there).
[[nodiscard]] bool keeps_for_late(const AllocatorState& state, const NodeRoom& node);

/// The same without what the node keeps for gangs, but for that one. Plans of what is late from
/// `late_by_ms` at the latest count, others do not. None: one has all room kept as it becomes free.
/// O((tasks + plans on the node) * log).
[[nodiscard]] std::optional<RoomProfile> room_beside_gangs(const AllocatorState& state,
                                                           const NodeRoom& node, JobId gang,
                                                           Predict predict, LedgerMs late_by_ms);

/// The same without single tasks' places there, either. O((tasks + places on the node) * log).
[[nodiscard]] std::optional<RoomProfile> room_beside_places(const AllocatorState& state,
                                                            const NodeRoom& node, JobId gang,
                                                            Predict predict, LedgerMs late_by_ms);

}  // namespace fairwater::inline policy::inline allocator
