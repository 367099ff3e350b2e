// Which of a node's devices a task gets, where the node has told their names. Pure.
//
// A task gets what its job names; beyond that the first free ones in the node's order, those last
// that others wait for by name. A task that holds devices without names (an earlier coordinator's,
// whose agent chose) may have any of its kind: while one runs on the node, nothing of that kind is
// given there by name, and who names none gets none told: the agent chooses for it, too.
//
// Shared GPUs are not among these: see device_shares.hpp.
//
// Internal to policy/allocator.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/allocator/device_use.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

struct WantedDevices {
  const ResourceVector& demand;
  const std::vector<std::string>& names;       ///< asked for
  const std::set<std::string>& left_for_last;  ///< others ask for these
};

/// In the node's order; empty: it knows none that the task takes. None: what is asked for is not
/// free. `resources` are the names of the demand's indices. O(devices * tasks that hold some).
[[nodiscard]] std::optional<std::vector<std::string>> choose_devices(
    const NodeTraits& node, const std::vector<std::string>& resources, const DeviceUses& held,
    const WantedDevices& wanted);

/// Who holds it; null: nobody is known to.
[[nodiscard]] const DeviceUses::value_type* holder_of(const DeviceUses& held,
                                                      const std::string& device);

}  // namespace fairwater::inline policy::inline allocator
