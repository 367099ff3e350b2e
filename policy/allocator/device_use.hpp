// What tasks on a node hold of resources that are counted one by one. Internal to policy/allocator.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

struct DeviceUse {
  ResourceVector demand;
  std::vector<std::string> names;
  bool is_service = false;  ///< it runs until it is cancelled
  bool is_ending = false;   ///< it has been told to end
  TenantId tenant = {};     ///< whose task it is
};
using DeviceUses = std::map<TaskKey, DeviceUse>;

[[nodiscard]] inline bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace fairwater::inline policy::inline allocator
