#include "storage/usage_fold.hpp"

#include <algorithm>

#include "state/usage.hpp"

namespace fairwater::inline storage {
namespace {

UsageRecord& usage_on(State& state, DayNumber day, const JobRecord& job) {
  const std::string key = usage_key({day, job.tenant, job.spec.user});
  UsageRecord* const usage = state.usage.edit(key);
  return usage ? *usage : state.usage.put(key, {});
}

}  // namespace

void count_submission(State& state, const JobRecord& job) {
  if (!state.meta.counts_usage) return;
  ++usage_on(state, day_of(job.submitted_at), job).submitted;
}

void count_first_start(State& state, const JobRecord& job, const Grant& grant, WallTime now) {
  if (!state.meta.counts_usage || grant.step == GrantStep::growth) return;
  UsageRecord& usage = usage_on(state, day_of(now), job);
  ++usage.first_starts;
  for (const DayPart& part : spread_over_days(job.submitted_at, now))
    usage.waited_ms += static_cast<std::uint64_t>(part.ms);
}

void count_end(State& state, const JobRecord& job, const TaskRecord& task, const TaskResult* result,
               WallTime now) {
  if (!state.meta.counts_usage) return;
  const WallTime until = held_until(task.granted_at, result, now);
  count_outcome(usage_on(state, day_of(until), job), result);
  const NamedAmounts amounts = amounts_at(job.spec, task.memory_step);
  for (const DayPart& part : spread_over_days(task.granted_at, until)) {
    UsageRecord& usage = usage_on(state, part.day, job);
    for (const auto& [resource, amount] : amounts)
      if (amount > 0)
        add_used(
            usage, resource,
            AmountMs(static_cast<std::uint64_t>(amount)) * static_cast<std::uint64_t>(part.ms));
  }
}

}  // namespace fairwater::inline storage
