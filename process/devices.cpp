#include "process/devices.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "model/tenant.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::inline process {
namespace {

caf::error refuse(const std::string& resource, const std::string& message) {
  return make_error(ErrorCode::invalid_input, message, "devices." + resource);
}

bool has_leading_zero(std::string_view id) {
  return id.size() > 1 && id.front() == '0' &&
         id.find_first_not_of("0123456789") == std::string_view::npos;
}

/// What a task asks of one resource: so many devices, so much of each.
struct Asked {
  std::size_t count = 0;
  Amount of_each = 0;
};

Asked asked_of(const std::string& resource, const NamedAmounts& amounts) {
  const auto asked = amounts.find(resource);
  if (asked == amounts.end() || asked->second <= 0) return {};
  if (resource != kSharedGpus) return {static_cast<std::size_t>(asked->second), 1};
  const GpuRequest request = shared_gpus(asked->second);
  return {request.gpus, request.milli_per_gpu};
}

std::string counted(const Asked& asked, const std::string& resource) {
  if (resource != kSharedGpus) return std::to_string(asked.count) + " " + resource;
  return asked.of_each < kMilliPerGpu ? std::to_string(asked.of_each) + " thousandths of a gpu"
                                      : std::to_string(asked.count) + " whole gpus";
}

/// Those of which less than that is free.
std::set<std::string_view> busy_of(const std::string& resource,
                                   const std::vector<HeldDevices>& held, Amount wanted) {
  std::map<std::string_view, Amount> taken;
  for (const HeldDevices& holder : held)
    if (const auto found = holder.devices->find(resource); found != holder.devices->end())
      for (const std::string& id : found->second)
        taken[id] += resource == kSharedGpus ? std::min(holder.shared_milli, kMilliPerGpu) : 1;
  std::set<std::string_view> busy;
  for (const auto& [id, amount] : taken)
    if (amount + wanted > amount_of_one(resource)) busy.insert(id);
  return busy;
}

}  // namespace

Amount amount_of_one(std::string_view resource) {
  return resource == kSharedGpus ? kMilliPerGpu : 1;
}

Amount shared_milli_of(const NamedAmounts& amounts) {
  const auto shared = amounts.find(std::string(kSharedGpus));
  return shared == amounts.end() ? 0 : shared->second;
}

std::string device_name(std::string_view resource, std::string_view id) {
  const bool number = !id.empty() && id.front() >= '0' && id.front() <= '9';
  return (number ? std::string(resource == kSharedGpus ? "gpu" : resource) : std::string()) +
         std::string(id);
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
      if (has_leading_zero(id))
        return refuse(resource, "'" + id +
                                    "' is a number with a zero before it, which is another "
                                    "name of the same device; leave the zero out");
      const std::string name = device_name(resource, id);
      if (!names.insert(name).second) return refuse(resource, "two devices are called " + name);
    }
    const auto amount = amounts.find(resource);
    const Amount of_ids = static_cast<Amount>(ids.size()) * amount_of_one(resource);
    if (amount != amounts.end() && amount->second != of_ids)
      return refuse(resource, std::to_string(ids.size()) + " ids" +
                                  (resource == kSharedGpus ? ", of 1000 each" : "") +
                                  ", but resources." + resource + " is " +
                                  std::to_string(amount->second) +
                                  "; name as many, or leave the amount out");
    if (resource == kSharedGpus && ids.size() > kMaxGpusPerNode)
      return refuse(resource, std::to_string(ids.size()) + " gpus that tasks share are more than " +
                                  std::to_string(kMaxGpusPerNode) + " on one node");
  }
  return {};
}

Expected<NamedDevices> pick_devices(const NamedDevices& node, const std::vector<HeldDevices>& held,
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
    const Asked asked = asked_of(resource, amounts);
    const std::size_t count = asked.count;
    if (count == 0 && asked_for.empty()) continue;
    const auto busy = busy_of(resource, held, asked.of_each);
    for (const std::string_view id : asked_for)
      if (busy.contains(id) || asked_for.size() > count)
        return make_error(ErrorCode::unavailable,
                          "the task is to get " + device_name(resource, id) + ", " +
                              (!busy.contains(id) ? "and takes only " + counted(asked, resource)
                               : resource == kSharedGpus
                                   ? "of which others have too much for " + counted(asked, resource)
                                   : "which another task has"),
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
                        "the task takes " + counted(asked, resource) + ", and of the node's " +
                            std::to_string(ids.size()) + " only " + std::to_string(taken.size()) +
                            " are free" + (resource == kSharedGpus ? " enough" : ""),
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
