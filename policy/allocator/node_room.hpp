// What is known of a node: its room, what is held there and what is kept. Internal to
// policy/allocator.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/device_use.hpp"
#include "policy/allocator/tenant.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline policy::inline allocator {

/// A reservation that counts, see policy/allocator/reserve.hpp.
struct NodeReservation {
  std::uint32_t tenant_slot = 0;
  ResourceVector demand;
};

/// When a task on a node is expected to end, where the ledger counts time.
struct ExpectedEnd {
  LedgerMs at_ms = kNever;
  TaskKey task;
  friend constexpr auto operator<=>(const ExpectedEnd&, const ExpectedEnd&) = default;
};

/// What becomes free then.
struct EndingTask {
  ResourceVector demand;
  LedgerMs limit_ends_ms = kNever;  ///< by its limit alone
  std::optional<std::uint32_t> holder =
      {};  ///< its tenant's slot; none: what an elastic job grew by
};

/// For tasks of a job that preempts: what was made free for them on a node, or is coming there.
struct MadeRoom {
  TenantId tenant;
  JobId job;
  ResourceVector demand;  ///< of each
  std::uint32_t tasks = 0;
};

struct NodeRoom {
  NodeId id;
  NodeTraits traits;
  ResourceVector capacity;
  ResourceVector used;
  ResourceVector held_by_services;  ///< part of `used`
  std::optional<NodeReservation> reservation;
  std::uint64_t running_tasks = 0;
  std::vector<std::uint32_t>
      places_of;           ///< tenants' slots: whose tasks have places here, see by_time.hpp
  DeviceUses device_uses;  ///< of tasks that hold something that is counted
  /// What is free of the GPUs that tasks share; none: it has none, or nobody knows.
  std::optional<GpuNode> gpu_room;
  std::map<ExpectedEnd, EndingTask> ends;  ///< tasks that may never end are not in it
  /// Where the ledger counts time: for a gang, by its place among the plans, see gangs.hpp.
  struct KeptForGang {
    std::size_t plan = 0;
    std::size_t share = 0;  ///< of the plan's
    std::uint32_t tasks = 0;
    bool had_turn = false;  ///< in the node's last deal: what came after leaves it its GPUs
  };
  std::vector<KeptForGang> kept_for_gangs;  ///< in the order of the plans
  /// Where the ledger counts time: shared GPUs of a place there (KeptPlace). They are given from
  /// now on only for so long.
  struct KeptDevices {
    std::uint32_t tenant_slot = 0;
    JobId job;
    LedgerMs from_ms = kNever;
    Predict predict = Predict::limits;  ///< by which others must end before
    std::vector<std::string> names;
  };
  std::vector<KeptDevices> kept_devices;
  ResourceVector coming;             ///< of tasks that have been told to end; part of `used`
  std::uint64_t ending_tasks = 0;    ///< those
  std::vector<MadeRoom> made_rooms;  ///< see AllocatorState::keep_made_room
  bool accepts = false;
  LedgerMs closes_ms = kNever;  ///< by the clock: what starts there has to end by then
  /// Where the ledger counts time: its room has grown since its last deal.
  bool has_grown = false;
  /// Whether the task, if it starts then, has ended by its limit before the node closes.
  [[nodiscard]] bool is_open_for(const WaitingRange& task, LedgerMs start_ms) const {
    return closes_ms == kNever ||
           (longest_run_ms(task) > 0 && moment_in(start_ms, longest_run_ms(task)) <= closes_ms);
  }
  /// But what is kept for those who preempted.
  [[nodiscard]] ResourceVector free() const {
    return made_rooms.empty() ? capacity - used : free_beside_made();
  }
  /// Free when all has ended that ends by itself.
  [[nodiscard]] ResourceVector free_one_day() const { return capacity - held_by_services; }
  /// In all that is kept for those who preempted.
  [[nodiscard]] ResourceVector made() const;

 private:
  [[nodiscard]] ResourceVector free_beside_made() const;
};

}  // namespace fairwater::inline policy::inline allocator
