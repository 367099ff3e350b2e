#include "process/devices.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "model/tenant.hpp"

namespace fairwater::inline process {
namespace {

caf::error refuse(const std::string& resource, const std::string& message) {
  return make_error(ErrorCode::invalid_input, message, "devices." + resource);
}

std::string counted(std::size_t count, const std::string& resource) {
  return std::to_string(count) + " " + resource;
}

}  // namespace

std::string device_name(std::string_view resource, std::string_view id) {
  const bool number = !id.empty() && id.front() >= '0' && id.front() <= '9';
  return (number ? std::string(resource) : std::string()) + std::string(id);
}

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

std::string device_names(const NamedDevices& devices) {
  std::vector<std::string> names;
  for (const auto& [resource, ids] : devices)
    for (const std::string& id : ids) names.push_back(device_name(resource, id));
  return joined(names);
}

caf::error validate(const NamedDevices& devices, const NamedAmounts& amounts) {
  std::set<std::string> names;
  for (const auto& [resource, ids] : devices) {
    if (resource == "cpu" || resource == "memory")
      return refuse(resource, "devices are of countable resources, and " + resource + " is none");
    if (!is_valid_name(resource)) return refuse(resource, "is not a resource name");
    for (const std::string& id : ids) {
      if (!is_valid_name(id))
        return refuse(resource, "'" + id +
                                    "' is not an id: 1 to 63 letters, digits, '.', '_' and '-', "
                                    "starting with a letter or digit");
      const std::string name = device_name(resource, id);
      if (!names.insert(name).second) return refuse(resource, "two devices are called " + name);
    }
    const auto amount = amounts.find(resource);
    if (amount != amounts.end() && amount->second != static_cast<Amount>(ids.size()))
      return refuse(resource, std::to_string(ids.size()) + " ids, but resources." + resource +
                                  " is " + std::to_string(amount->second) +
                                  "; name as many, or leave the amount out");
  }
  return {};
}

Expected<NamedDevices> pick_devices(const NamedDevices& node,
                                    const std::vector<const NamedDevices*>& held,
                                    const NamedAmounts& amounts,
                                    const std::vector<std::string>& names) {
  NamedDevices picked;
  std::size_t found_names = 0;
  for (const auto& [resource, ids] : node) {
    auto& taken = picked[resource];
    std::set<std::string_view> asked_for;
    for (const std::string& id : ids)
      if (std::find(names.begin(), names.end(), device_name(resource, id)) != names.end())
        asked_for.insert(id);
    found_names += asked_for.size();
    const auto asked = amounts.find(resource);
    const auto count =
        asked == amounts.end() ? std::size_t{0} : static_cast<std::size_t>(asked->second);
    if (count == 0 && asked_for.empty()) continue;
    std::set<std::string_view> busy;
    for (const NamedDevices* holder : held)
      if (const auto found = holder->find(resource); found != holder->end())
        busy.insert(found->second.begin(), found->second.end());
    for (const std::string_view id : asked_for)
      if (busy.contains(id) || asked_for.size() > count)
        return make_error(ErrorCode::unavailable,
                          "the task is to get " + device_name(resource, id) + ", " +
                              (busy.contains(id) ? "which another task has"
                                                 : "and takes only " + counted(count, resource)),
                          resource);
    std::size_t others = count - asked_for.size();
    for (const std::string& id : ids) {
      if (busy.contains(id)) continue;
      const bool is_other = !asked_for.contains(id);
      if (is_other && others == 0) continue;
      others -= is_other ? 1 : 0;
      taken.push_back(id);
    }
    if (taken.size() < count)
      return make_error(ErrorCode::unavailable,
                        "the task takes " + counted(count, resource) + ", and of the node's " +
                            std::to_string(ids.size()) + " only " + std::to_string(taken.size()) +
                            " are free",
                        resource);
  }
  if (found_names < names.size())
    return make_error(
        ErrorCode::unavailable,
        "the task is to get " + joined(names) + ", and this node does not have all of them",
        "devices");
  return picked;
}

std::vector<NodeDevices> told_devices(const NamedDevices& devices) {
  std::vector<NodeDevices> told;
  for (const auto& [resource, ids] : devices) {
    if (ids.empty()) continue;
    told.push_back({resource, {}});
    for (const std::string& id : ids) told.back().names.push_back(device_name(resource, id));
  }
  return told;
}

std::vector<std::string> find_gpus(const std::filesystem::path& directory) {
  constexpr std::string_view kPrefix = "nvidia";
  std::set<std::uint32_t> numbers;
  std::error_code ignored;  // no directory, no devices
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    std::uint32_t number = 0;
    const char* const last = name.data() + name.size();
    if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) continue;
    const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), last, number);
    if (error == std::errc{} && end == last) numbers.insert(number);
  }
  std::vector<std::string> ids;
  ids.reserve(numbers.size());
  for (const std::uint32_t number : numbers) ids.push_back(std::to_string(number));
  return ids;
}

}  // namespace fairwater::inline process
