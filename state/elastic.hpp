// Elastic jobs: `tasks: {min, max}`. Of state/job.hpp. Pure.
//
//   waiting ── min tasks at once, within quota ──> running ──> grows by idle room, gives it back
//
// Its tasks share the work out among themselves. A task that ends with success says that it found
// none left: the job winds down (JobWindsDown), and nothing of it begins that had not begun before.
// So it does when as many have failed as the least, and none runs.
// What had begun and was given back or lost may have left work behind, so it runs again; the job
// has succeeded when all of its begun tasks have.
//
// What its class was measured to make use of (GrowthLimited) bounds growth, not the claim; what has
// grown beyond a limit that is learned later stays.
//
// It is a claim to `min` running tasks, whichever these are: those are granted within the tenant's
// quota, the rest by growth (GrantStep::growth). A task that is reclaimed waits again as its next
// attempt, and that is no failure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/job.hpp"

namespace fairwater::inline state {

/// What of it waits was never granted and will not be: it counts as unneeded.
[[nodiscard]] inline bool is_unneeded(const JobRecord& job, const TaskRecord& task) {
  return job.winding_down && task.grant_cycle == 0;
}

/// So many more of its tasks the job claims within its tenant's quota; of a job that is not elastic
/// all that wait.
[[nodiscard]] inline std::uint32_t claimed_tasks(const JobRecord& job) {
  const std::uint32_t waiting = job.tasks.pending();
  if (!is_elastic(job.spec)) return waiting;
  const std::uint32_t failed = job.winding_down ? 0 : job.tasks.failed;
  const std::uint32_t has = job.tasks.running - job.grown + failed;
  return std::min(waiting, job.spec.tasks_min - std::min(job.spec.tasks_min, has));
}

/// It is to wind down, and does not yet: a task found no work left, or as many have failed as it
/// claims, and none runs. What waits then had only growth left to it, which may never come.
[[nodiscard]] inline bool has_run_out_of_work(const JobRecord& job) {
  if (!is_elastic(job.spec) || job.cancelled || job.winding_down) return false;
  const bool only_waits_to_grow =
      job.tasks.running == 0 && job.tasks.pending() > 0 && claimed_tasks(job) == 0;
  return job.tasks.succeeded > 0 || only_waits_to_grow;
}

/// So many more tasks of the elastic job may run by growth, whatever waits.
[[nodiscard]] inline std::uint32_t room_to_grow(const JobRecord& job) {
  const std::uint32_t most = job.growth_limit.tasks == 0 ? job.tasks.total : job.growth_limit.tasks;
  return most - std::min(most, job.tasks.running);
}

}  // namespace fairwater::inline state
