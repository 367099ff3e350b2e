// Nodes whose GPUs tasks share, for tests.
#pragma once

#include <string>
#include <vector>

#include "allocator_cluster.hpp"
#include "policy/gpu/node.hpp"

namespace fairwater::test::gpus {

using Names = std::vector<std::string>;
inline constexpr std::size_t kGpuMilli = 2;

inline ResourceVector share(Amount milli, Amount millicores = 100) {
  ResourceVector demand = cpu(millicores);
  demand[kGpuMilli] = milli;
  return demand;
}

inline NodeTraits node_sharing(std::size_t gpus, const std::string& name = "node") {
  NodeTraits traits{name, "here", {}};
  traits.devices = {{std::string(kSharedGpus), {}}};
  for (std::size_t i = 0; i < gpus; ++i)
    traits.devices[0].names.push_back("gpu" + std::to_string(i));
  return traits;
}

inline AllocatorSettings sharing(Accounting accounting = Accounting::units,
                                 AllocationRule rule = AllocationRule::sequence) {
  AllocatorSettings settings = default_settings();
  settings.granules[kGpuMilli] = 100;
  settings.resources = {"cpu", "memory", std::string(kSharedGpus)};
  settings.accounting = accounting;
  settings.allocation = rule;
  return settings;
}

inline ResourceVector capacity_of(std::size_t gpus) {
  ResourceVector capacity = cpu_memory(8000, 8192);
  capacity[kGpuMilli] = static_cast<Amount>(gpus) * kMilliPerGpu;
  return capacity;
}

}  // namespace fairwater::test::gpus
