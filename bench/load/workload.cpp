#include "bench/load/workload.hpp"

#include <fmt/format.h>

namespace fairwater::load {

std::vector<TenantSpec> tenants(std::uint32_t count) {
  std::vector<TenantSpec> specs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    specs[i].name = fmt::format("t{}", i);
    specs[i].weight = 1 + i % 4;
  }
  return specs;
}

JobSpec array_of(std::uint32_t tasks, std::int64_t claimed_ms) {
  JobSpec spec;
  spec.command = {"simulated", std::to_string(claimed_ms)};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}, {"memory", 256}};
  return spec;
}

}  // namespace fairwater::load
