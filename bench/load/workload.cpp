#include "bench/load/workload.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace fairwater::load {

namespace {

/// The prefix with 0, 1, ..; each so many of them in one of those above, where there are such.
std::vector<TenantSpec> level(const char* prefix, std::uint32_t count, const char* above = nullptr,
                              std::uint32_t members = 1) {
  std::vector<TenantSpec> specs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    specs[i].name = fmt::format("{}{}", prefix, i);
    specs[i].weight = 1 + i % 4;
    if (above != nullptr) specs[i].parent = fmt::format("{}{}", above, i / members);
  }
  return specs;
}

}  // namespace

std::vector<TenantSpec> tenants(std::uint32_t count) { return level("t", count); }

std::vector<TenantSpec> tenants_in_departments(std::uint32_t count) {
  constexpr std::uint32_t kMembers = 4;
  const std::uint32_t departments = (count + kMembers - 1) / kMembers;
  auto specs = level("v", (departments + kMembers - 1) / kMembers);
  for (const auto& below :
       {level("d", departments, "v", kMembers), level("t", count, "d", kMembers)})
    specs.insert(specs.end(), below.begin(), below.end());
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
