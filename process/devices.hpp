// A node's devices by id, and which of them a task gets. Pure, but for `find_gpus`.
//
// A resource whose devices are listed has ids, in the order in which they are given out; one that
// is only an amount has none. What a task holds has the same shape: a resource of the node of which
// it took nothing is there with no ids.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/errors.hpp"
#include "model/node.hpp"
#include "model/resources.hpp"

namespace fairwater::inline process {

using NamedDevices = std::map<std::string, std::vector<std::string>>;

/// How a device is called among all of its node: `gpu0` for number 0 of `gpu`; an id that does not
/// begin with a digit stands for itself.
[[nodiscard]] std::string device_name(std::string_view resource, std::string_view id);
/// With commas between.
[[nodiscard]] std::string joined(const std::vector<std::string>& ids);
/// The names of all of them, with commas between: resources by name, ids as they are listed.
[[nodiscard]] std::string device_names(const NamedDevices& devices);

/// Refuses ids that are none, two devices of one name, and lists of another length than `amounts`
/// says. Names the field below `devices`.
[[nodiscard]] caf::error validate(const NamedDevices& devices, const NamedAmounts& amounts);

/// Of one device: 1, or the thousandths of one that tasks share.
[[nodiscard]] Amount amount_of_one(std::string_view resource);

/// What a task holds.
struct HeldDevices {
  const NamedDevices* devices = nullptr;
  Amount shared_milli = 0;  ///< of shared GPUs, in thousandths: a part of one, or whole ones
};
/// Of shared GPUs what a task takes that takes so much.
[[nodiscard]] Amount shared_milli_of(const NamedAmounts& amounts);

/// Those of these names, and beyond them the first of each resource that nobody holds, as many as
/// `amounts` asks for; of shared GPUs the first of which enough is free. `unavailable`, naming the
/// resource, when there are not enough, or when a name is not the node's or is held.
/// O(devices x holders).
[[nodiscard]] Expected<NamedDevices> pick_devices(const NamedDevices& node,
                                                  const std::vector<HeldDevices>& held,
                                                  const NamedAmounts& amounts,
                                                  const std::vector<std::string>& names = {});

/// As the coordinator is told; without resources of which the node has none.
[[nodiscard]] std::vector<NodeDevices> told_devices(const NamedDevices& devices);

/// The numbers N of NVIDIA's device files `nvidiaN`, smallest first.
[[nodiscard]] std::vector<std::string> find_gpus(const std::filesystem::path& directory = "/dev");

}  // namespace fairwater::inline process
