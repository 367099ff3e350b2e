#include "policy/allocator/device_choice.hpp"

#include <algorithm>

#include "policy/gpu/node.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Of one kind: what is taken, and whether a task holds some of which nobody knows the names.
struct KindUse {
  std::set<std::string> taken;
  bool has_unknown = false;
};

KindUse use_of(const NodeDevices& kind, std::size_t resource, const DeviceUses& held) {
  KindUse use;
  for (const auto& [task, of_task] : held) {
    Amount named = 0;
    for (const std::string& name : of_task.names)
      if (is_among(kind.names, name)) {
        use.taken.insert(name);
        ++named;
      }
    // Names that the node does not list any more are of some kind, too.
    use.has_unknown =
        use.has_unknown || (of_task.names.empty() && named < of_task.demand[resource]);
  }
  return use;
}

}  // namespace

std::optional<std::vector<std::string>> choose_devices(const NodeTraits& node,
                                                       const std::vector<std::string>& resources,
                                                       const DeviceUses& held,
                                                       const WantedDevices& wanted) {
  std::vector<std::string> chosen;
  for (const NodeDevices& kind : node.devices) {
    const auto index = std::find(resources.begin(), resources.end(), kind.resource);
    if (index == resources.end() || kind.resource == kSharedGpus) continue;
    const auto resource = static_cast<std::size_t>(index - resources.begin());
    const auto count = static_cast<std::size_t>(std::max<Amount>(wanted.demand[resource], 0));
    std::set<std::string> picked;
    for (const std::string& name : wanted.names)
      if (is_among(kind.names, name)) picked.insert(name);
    if (picked.size() > count) return std::nullopt;
    if (count == 0) continue;
    const KindUse use = use_of(kind, resource, held);
    if (use.has_unknown) {
      if (!picked.empty()) return std::nullopt;
      continue;
    }
    for (const std::string& name : picked)
      if (use.taken.contains(name)) return std::nullopt;
    for (const bool last : {false, true})
      for (const std::string& name : kind.names)
        if (picked.size() < count && !use.taken.contains(name) &&
            wanted.left_for_last.contains(name) == last)
          picked.insert(name);
    for (const std::string& name : kind.names)
      if (picked.contains(name)) chosen.push_back(name);
  }
  return chosen;
}

const DeviceUses::value_type* holder_of(const DeviceUses& held, const std::string& device) {
  for (const auto& holder : held)
    if (is_among(holder.second.names, device)) return &holder;
  return nullptr;
}

}  // namespace fairwater::inline policy::inline allocator
