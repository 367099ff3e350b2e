#include "bench/load/workload.hpp"

#include <algorithm>

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

std::vector<TenantSpec> tenants_in_departments(std::uint32_t count) {
  constexpr std::uint32_t kMembers = 4;
  const auto level = [](const char* prefix, std::uint32_t number, std::string parent) {
    TenantSpec spec;
    spec.name = fmt::format("{}{}", prefix, number);
    spec.parent = std::move(parent);
    spec.weight = 1 + number % 4;
    return spec;
  };
  std::vector<TenantSpec> specs;
  for (std::uint32_t i = 0; i * kMembers * kMembers < count; ++i)
    specs.push_back(level("v", i, ""));
  for (std::uint32_t i = 0; i * kMembers < count; ++i)
    specs.push_back(level("d", i, fmt::format("v{}", i / kMembers)));
  for (std::uint32_t i = 0; i < count; ++i)
    specs.push_back(level("t", i, fmt::format("d{}", i / kMembers)));
  return specs;
}

JobSpec array_of(std::uint32_t tasks, std::int64_t claimed_ms) {
  JobSpec spec;
  spec.command = {"simulated", std::to_string(claimed_ms)};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}, {"memory", 256}};
  return spec;
}

JobSpec MixedJobs::next(std::int64_t claimed_ms, std::optional<JobId> before) {
  const auto takes_ms = from_to(claimed_ms / 2, claimed_ms + claimed_ms / 2);
  JobSpec spec = array_of(static_cast<std::uint32_t>(from_to(1, 4)), takes_ms);
  spec.tenant = tenant_;
  const auto cpus = chance(0.05) ? slots_ : from_to(1, std::min(4U, slots_));
  spec.resources = {{"cpu", cpus * 1000}, {"memory", cpus * 256}};
  spec.gang = spec.tasks_max > 1 && chance(0.2);
  if (chance(0.5)) spec.time_limit_ms = 2 * takes_ms;
  if (chance(0.2)) spec.labels = fmt::format("zone == z{}", from_to(0, zones_ - 1));
  if (before && newest_succeeds_ && chance(0.2)) spec.after = {*before};
  newest_succeeds_ = !chance(0.05);
  if (!newest_succeeds_) spec.command.emplace_back("1");
  return spec;
}

bool MixedJobs::is_to_be_cancelled() {
  const bool cancelled = chance(0.05);
  newest_succeeds_ = newest_succeeds_ && !cancelled;
  return cancelled;
}

}  // namespace fairwater::load
