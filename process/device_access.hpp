// Holding tasks to the devices that they were given, by the devices control group of version 1.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "process/devices.hpp"
#include "process/limits.hpp"

namespace fairwater::inline process {

/// The files by which a device is opened, by its name among all of its node (`device_name`).
using DeviceFiles = std::map<std::string, std::vector<std::filesystem::path>>;

/// As configured, and of a gpu that is a number the file `nvidiaN` in `directory` where it is
/// there. Refuses names that are not the node's, and files that are no devices; names the field.
[[nodiscard]] Expected<DeviceFiles> find_device_files(
    const NamedDevices& node, const DeviceFiles& configured,
    const std::filesystem::path& directory = "/dev");

/// The files of all devices but those held, by number, as a control group takes them: `c 195:0`.
/// Not of files that one that is held has, too, nor of those that are not there.
[[nodiscard]] std::vector<std::string> numbers_of_others(const DeviceFiles& files,
                                                         const NamedDevices& held);

/// What this machine does about devices that a task was not given.
struct DeviceControl {
  DeviceFiles files;  ///< those that a task is kept from; empty: of none
  std::string words;  ///< for the log and `node show`; empty where the node knows no device by id
};
/// Probes by making and removing a control group. Refuses what `find_device_files` does.
[[nodiscard]] Expected<DeviceControl> probe_device_control(LimitMethod method,
                                                           const NamedDevices& node,
                                                           const DeviceFiles& configured);

}  // namespace fairwater::inline process
