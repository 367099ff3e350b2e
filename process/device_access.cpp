#include "process/device_access.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "policy/gpu/node.hpp"

namespace fairwater::inline process {
namespace {

/// None of what is no device, or not there.
std::optional<std::string> number_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return std::nullopt;
  return (S_ISCHR(status.st_mode) ? "c " : "b ") + std::to_string(major(status.st_rdev)) + ":" +
         std::to_string(minor(status.st_rdev));
}

bool is_number(const std::string& id) {
  return id.find_first_not_of("0123456789") == std::string::npos;
}

std::set<std::string> names_of(const NamedDevices& devices) {
  std::set<std::string> names;
  for (const auto& [resource, ids] : devices)
    for (const std::string& id : ids) names.insert(device_name(resource, id));
  return names;
}

/// Whether a line of devices.list, such as `c 195:* rwm`, lets a number through.
bool lets_through(const std::string& line, const std::string& number) {
  const auto type = line.substr(0, 1);
  const auto colon = line.find(':');
  const auto end = line.find(' ', 2);
  if (colon == std::string::npos || end == std::string::npos || colon > end) return false;
  const auto split = number.find(':');
  const auto fits = [](const std::string& pattern, const std::string& value) {
    return pattern == "*" || pattern == value;
  };
  return (type == "a" || type == number.substr(0, 1)) &&
         fits(line.substr(2, colon - 2), number.substr(2, split - 2)) &&
         fits(line.substr(colon + 1, end - colon - 1), number.substr(split + 1));
}

/// A group in which all is allowed but what is denied has one line, whatever was denied. One that
/// lists what is allowed, as containers have it, gives up whole lines only.
std::string why_list_does_not_hold(const std::string& list,
                                   const std::vector<std::string>& numbers) {
  if (list.starts_with("a *:* rwm")) return {};
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);)
    for (const std::string& number : numbers)
      if (lets_through(line, number))
        return "the agent's own control group allows '" + line +
               "', which cannot be allowed in part";
  return {};
}

std::string why_not_held(LimitMethod method, const std::vector<std::string>& numbers) {
  if (method == LimitMethod::cgroup_v2)
    return "control groups of version 2 have no devices controller";
  if (method == LimitMethod::rlimit) return "there is no control group";
  CgroupPaths parent;
  const std::string name = "fairwater-probe-devices-" + std::to_string(::getpid());
  if (auto error = add_device_control(parent, name)) return details(error).message;
  const CgroupPaths paths = cgroup_member(parent, "probe");
  TaskCgroup member(paths);
  auto error = member.create({}, numbers);
  const auto list = read_file(paths.begin()->second / "devices.list");
  member.remove();
  TaskCgroup(parent).remove();
  if (!error && !list) error = list.error();
  return error ? details(error).message : why_list_does_not_hold(*list, numbers);
}

}  // namespace

Expected<DeviceFiles> find_device_files(const NamedDevices& node, const DeviceFiles& configured,
                                        const std::filesystem::path& directory) {
  const auto names = names_of(node);
  for (const auto& [name, files] : configured) {
    const std::string field = "device_files." + name;
    if (!names.contains(name))
      return make_error(ErrorCode::invalid_input,
                        "this node has no device " + name + "; its devices are " +
                            (names.empty() ? "none" : device_names(node)),
                        field);
    for (const auto& file : files)
      if (!file.is_absolute() || !number_of(file))
        return make_error(ErrorCode::invalid_input,
                          "'" + file.string() +
                              "' is not a device; write the path of its file, as in [/dev/" + name +
                              "]",
                          field);
  }
  DeviceFiles files = configured;
  for (const auto& [resource, ids] : node) {
    if (resource != "gpu" && resource != kSharedGpus) continue;
    for (const std::string& id : ids) {
      const auto file = directory / ("nvidia" + id);
      const auto name = device_name(resource, id);
      if (is_number(id) && !files.contains(name) && number_of(file)) files[name] = {file};
    }
  }
  return files;
}

std::vector<std::string> numbers_of_others(const DeviceFiles& files, const NamedDevices& held) {
  const auto own_names = names_of(held);
  std::set<std::string> own, others;
  for (const auto& [name, of_device] : files)
    for (const auto& file : of_device)
      if (const auto number = number_of(file))
        (own_names.contains(name) ? own : others).insert(*number);
  std::vector<std::string> numbers;
  std::ranges::set_difference(others, own, std::back_inserter(numbers));
  return numbers;
}

Expected<DeviceControl> probe_device_control(LimitMethod method, const NamedDevices& node,
                                             const DeviceFiles& configured) {
  auto files = find_device_files(node, configured);
  if (!files) return files.error();
  std::vector<std::string> unknown;
  for (const std::string& name : names_of(node))
    if (!files->contains(name)) unknown.push_back(name);
  const std::string no_file = "no device file of " + joined(unknown) + " is known";
  if (names_of(node).empty()) return DeviceControl{};
  if (files->empty()) return DeviceControl{{}, "not held to their devices: " + no_file};
  const auto why = why_not_held(method, numbers_of_others(*files, {}));
  if (!why.empty()) return DeviceControl{{}, "not held to their devices: " + why};
  const std::string held = "held to their devices by a control group";
  return DeviceControl{std::move(*files), unknown.empty() ? held : held + ", but " + no_file};
}

}  // namespace fairwater::inline process
