#include "cli/replay/plan.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace fairwater::inline cli::inline replay {
namespace {

std::int64_t scaled_us(std::int64_t seconds, double speedup) {
  return std::llround(static_cast<double>(seconds) * 1e6 / speedup);
}

const TenantSpec* find(const std::vector<TenantSpec>& declared, const std::string& name) {
  const auto found = std::find_if(declared.begin(), declared.end(),
                                  [&](const TenantSpec& spec) { return spec.name == name; });
  return found == declared.end() ? nullptr : &*found;
}

/// With those around it that the file has.
void add_tenant(ReplayPlan& plan, const std::string& name, const std::vector<TenantSpec>& declared,
                std::set<std::string>& seen) {
  if (!seen.insert(name).second) return;
  const TenantSpec* spec = find(declared, name);
  if (spec == nullptr) {
    plan.tenants.emplace_back().name = name;
    return;
  }
  if (find(declared, spec->parent) != nullptr) add_tenant(plan, spec->parent, declared, seen);
  plan.tenants.push_back(*spec);
}

JobSpec job_spec(const SwfJob& job, std::int64_t run_us, const std::string& tenant,
                 const ReplayRules& rules) {
  JobSpec spec;
  spec.tenant = tenant;
  spec.name = fmt::format("swf-{}-{}", job.number, rules.run);
  spec.job_class = "swf";
  spec.command = {"/bin/sleep", fmt::format("{}.{:06}", run_us / 1'000'000, run_us % 1'000'000)};
  spec.directory = "/";
  spec.tasks_min = spec.tasks_max = static_cast<std::uint32_t>(job.processors);
  spec.resources = {{"cpu", 1000}, {"memory", rules.task_memory}};
  return spec;
}

}  // namespace

Expected<ReplayPlan> plan_replay(const SwfLog& log, const ReplayRules& rules) {
  ReplayPlan plan;
  std::set<std::string> seen;
  const std::int64_t start_s = log.jobs.empty() ? 0 : log.jobs.front().submit_s;
  std::set<std::int64_t> numbers;
  for (const SwfJob& job : log.jobs) {
    if (job.processors > kMaxTasksPerJob)
      return make_error(ErrorCode::invalid_input,
                        fmt::format("job {} has {} processors, more than {}", job.number,
                                    job.processors, kMaxTasksPerJob),
                        "trace");
    if (!numbers.insert(job.number).second)
      return make_error(ErrorCode::invalid_input,
                        fmt::format("job number {} is given twice", job.number), "trace");
    const std::string tenant = tenant_name_of(job, rules.tenants);
    add_tenant(plan, tenant, rules.declared, seen);
    const std::int64_t run_us = scaled_us(job.run_s, rules.speedup);
    plan.jobs.push_back({.arrival_us = scaled_us(job.submit_s - start_s, rules.speedup),
                         .run_us = run_us,
                         .spec = job_spec(job, run_us, tenant, rules)});
    plan.tasks += static_cast<std::uint64_t>(job.processors);
  }
  return plan;
}

}  // namespace fairwater::inline cli::inline replay
