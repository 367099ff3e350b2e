#include "state/job.hpp"

#include <algorithm>
#include <utility>

#include "state/elastic.hpp"
#include "state/gang.hpp"
#include "state/service.hpp"

namespace fairwater::inline state {
namespace {

std::string name_of(const TaskKey& task) {
  return "task " + std::to_string(task.job.value) + "." + std::to_string(task.index) + " attempt " +
         std::to_string(task.attempt) +
         (task.incarnation == 0 ? "" : " of incarnation " + std::to_string(task.incarnation));
}

// -- counts ---------------------------------------------------------------------------------------

/// Null for waiting tasks, which are counted as what is left.
std::uint32_t* count_of(TaskCounts& counts, TaskState state) {
  switch (state) {
    case TaskState::running:
      return &counts.running;
    case TaskState::succeeded:
      return &counts.succeeded;
    case TaskState::failed:
      return &counts.failed;
    case TaskState::cancelled:
      return &counts.cancelled;
    case TaskState::pending:
      break;
  }
  return nullptr;
}

/// After every event. What this finds was wrong before it: the record, or whoever changed it.
void check_counts(const JobRecord& job) {
  const TaskCounts& tasks = job.tasks;
  const std::uint64_t named = std::uint64_t{tasks.running} + tasks.succeeded + tasks.failed +
                              tasks.cancelled + tasks.unneeded;
  if (named > tasks.total)
    refuse("job " + std::to_string(job.id.value) + " counts " + std::to_string(named) +
           " tasks that do not wait, of " + std::to_string(tasks.total));
  if (job.grown > tasks.running || job.begun > tasks.total)
    refuse("job " + std::to_string(job.id.value) + " has grown by " + std::to_string(job.grown) +
           " of " + std::to_string(tasks.running) + " running tasks, and begun " +
           std::to_string(job.begun) + " of " + std::to_string(tasks.total));
}

/// The job has ended with this event, or lives again: a grant that crossed its cancellation runs.
void note_end(JobRecord& job, WallTime now) {
  check_counts(job);
  const bool has_ended = is_terminal(state_of(job));
  if (has_ended == static_cast<bool>(job.finished_at)) return;
  job.finished_at = has_ended ? now : WallTime{};
}

/// Null: one that waits.
void take_out(JobRecord& job, std::uint32_t* counted, std::string_view what) {
  if ((counted ? *counted : job.tasks.pending()) == 0)
    refuse("job " + std::to_string(job.id.value) + " has no " + std::string(what) + " task left");
  if (counted) --*counted;
}

/// The task ran, and now it is what its record says.
void recount_end(JobRecord& job, const TaskRecord& task, WallTime now) {
  take_out(job, &job.tasks.running, "running");
  if (is_elastic(job.spec) && task.step == GrantStep::growth) --job.grown;
  if (std::uint32_t* const given = count_of(job.tasks, task.state)) ++*given;
  note_end(job, now);
}

/// Of a task that is granted. A cancelled job's waiting tasks count as cancelled; a grant that
/// crossed the cancel runs until it is stopped.
void recount_grant(JobRecord& job, const TaskRecord& task, const Grant& grant, WallTime now) {
  const bool begins = task.grant_cycle == 0;
  if (begins && job.winding_down)
    refuse(name_of(grant.task) + " was granted, but its job has no work for it");
  if (job.cancelled)
    take_out(job, &job.tasks.cancelled, "cancelled");
  else
    take_out(job, nullptr, "pending");
  ++job.tasks.running;
  if (is_elastic(job.spec)) {
    if (begins) ++job.begun;
    if (grant.step == GrantStep::growth) ++job.grown;
  }
  note_end(job, now);
}

// -- what follows from an end ---------------------------------------------------------------------

/// Where a task ends that may not run again.
TaskState final_state(const JobRecord& job, const TaskResult& result) {
  switch (result.reason) {
    case EndReason::exited:
      return result.exit_code == 0 ? TaskState::succeeded : TaskState::failed;
    case EndReason::cancelled:
      return TaskState::cancelled;
    case EndReason::lease_expired:
    case EndReason::node_lost:
    case EndReason::launch_failed:
    case EndReason::supervisor_lost:
      return job.cancelled ? TaskState::cancelled : TaskState::failed;
    case EndReason::signalled:
    case EndReason::memory_limit:
    case EndReason::time_limit:
    case EndReason::could_not_start:
      break;
  }
  return TaskState::failed;
}

bool is_beyond_bounds(const TaskRecord& task) {
  return task.launch_failures >= kMaxLaunchFailures || task.losses >= kMaxLosses;
}

std::string bound_reached(const TaskRecord& task) {
  if (task.losses >= kMaxLosses)
    return "; lost " + std::to_string(task.losses) + " times, the most that a task may be";
  return "; no node could start it in " + std::to_string(task.launch_failures) +
         " attempts, the most that are made";
}

void run_again_unless(bool final, const JobRecord& job, TaskRecord& task) {
  task.state = final ? final_state(job, *task.result) : TaskState::pending;
  if (!final) ++task.attempt;
}

/// Neither a failure of the task nor proof that it was not to blame: bounded, and with pauses.
void take_trouble(bool final, const JobRecord& job, TaskRecord& task, WallTime now) {
  if (!final && is_beyond_bounds(task)) {
    const std::string why = bound_reached(task);
    std::string& message = task.result->message;
    message = cut_text(std::move(message), kMaxResultMessageBytes - why.size()) + why;
    run_again_unless(true, job, task);
    return;
  }
  const std::int64_t pause_ms = backoff_ms(task.launch_failures + task.losses);
  if (!final) task.waits_until = {now.microseconds + pause_ms * 1000};
  run_again_unless(final, job, task);
}

bool runs_for_ever(const JobRecord& job) {
  return job.spec.kind == JobKind::service && !job.cancelled;
}

/// Waits again from when its pause is over. `is_its_end`: of itself or with its node, not on order.
void run_service_again(TaskRecord& task, bool is_its_end, WallTime now) {
  std::int64_t pause_ms = 0;
  if (is_its_end) {
    const std::int64_t ran_ms = (now.microseconds - task.granted_at.microseconds) / 1000;
    const NextStart next = next_start(task.restarts, ran_ms);
    task.restarts = next.restarts;
    pause_ms = next.pause_ms;
  }
  task.waits_until = {now.microseconds + pause_ms * 1000};
  task.state = TaskState::pending;
  ++task.attempt;
}

void take_service_result(TaskRecord& task, const TaskResult& result, WallTime now) {
  task.result = result;
  if (result.reason == EndReason::launch_failed) ++task.launch_failures;
  if (result.reason == EndReason::supervisor_lost) ++task.losses;
  run_service_again(task, result.reason != EndReason::cancelled, now);
}

/// Whether the task hit its memory limit and may run again with more: so do those that have yet to
/// start.
bool gets_more_memory(JobRecord& job, const TaskRecord& task, const TaskResult& result) {
  if (result.reason != EndReason::memory_limit ||
      task.memory_step >= job.spec.profiled.memory_steps.size())
    return false;
  job.memory_step = std::max(job.memory_step, task.memory_step + 1);
  return true;
}

void take_result(JobRecord& job, TaskRecord& task, const TaskResult& result, WallTime now) {
  if (runs_for_ever(job)) return take_service_result(task, result, now);
  const bool succeeded = result.reason == EndReason::exited && result.exit_code == 0;
  const bool was_reclaimed = task.reclaimed && result.reason == EndReason::cancelled;
  const bool was_stopped = result.reason == EndReason::cancelled && !was_reclaimed;
  const bool final = succeeded || job.cancelled || was_stopped;
  task.result = result;
  task.waits_until = {};
  if (was_reclaimed) return run_again_unless(final, job, task);
  switch (result.reason) {
    case EndReason::lease_expired:
    case EndReason::node_lost:
      return run_again_unless(final, job, task);
    case EndReason::launch_failed:
      ++task.launch_failures;
      return take_trouble(final, job, task, now);
    case EndReason::supervisor_lost:
      ++task.losses;
      return take_trouble(final, job, task, now);
    default:
      break;
  }
  if (!final && gets_more_memory(job, task, result)) return run_again_unless(false, job, task);
  const bool runs_again = !final && task.failures < job.spec.retries;
  task.state = runs_again ? TaskState::pending : final_state(job, result);
  if (task.state == TaskState::failed || runs_again) ++task.failures;
  if (runs_again) ++task.attempt;
}

/// Waits, as its next attempt, for the rest of its gang to end.
void run_again_with_gang(TaskRecord& task) {
  task.state = TaskState::pending;
  ++task.attempt;
}

/// The first of a gang that was together to end otherwise than by success.
void break_gang(JobRecord& job, TaskRecord& task, const TaskResult& result, WallTime now) {
  switch (result.reason) {
    case EndReason::lease_expired:
    case EndReason::node_lost:
      return run_again_with_gang(task);
    case EndReason::launch_failed:
    case EndReason::supervisor_lost:
      return take_trouble(false, job, task, now);
    default:
      break;
  }
  const bool was_reclaimed = task.reclaimed && result.reason == EndReason::cancelled;
  if (was_reclaimed || gets_more_memory(job, task, result)) return run_again_with_gang(task);
  ++task.failures;
  if (job.gang_failures == job.spec.retries) {
    task.state = TaskState::failed;
  } else {
    ++job.gang_failures;
    run_again_with_gang(task);
  }
}

void take_gang_result(JobRecord& job, TaskRecord& task, const TaskResult& result, WallTime now) {
  const bool succeeded = result.reason == EndReason::exited && result.exit_code == 0;
  task.result = result;
  task.waits_until = {};
  if (result.reason == EndReason::launch_failed) ++task.launch_failures;
  if (result.reason == EndReason::supervisor_lost) ++task.losses;
  if (has_failed_as_gang(job))
    task.state = succeeded ? TaskState::succeeded : TaskState::cancelled;
  else if (is_breaking(job))
    run_again_with_gang(task);
  else if (succeeded)
    task.state = TaskState::succeeded;
  else
    break_gang(job, task, result, now);
}

/// The node's loss is the task's end where it was the last that the task may have.
void fail_as_lost(TaskRecord& task, const TaskKey& key, WallTime now) {
  TaskResult result;
  result.task = key;
  result.reason = EndReason::node_lost;
  result.started_at = task.granted_at;
  result.finished_at = now;
  result.message = "its node was lost" + bound_reached(task);
  task.result = std::move(result);
  task.state = TaskState::failed;
}

void check_running(const TaskRecord& task, const TaskKey& key) {
  if (task.state != TaskState::running || task.attempt != key.attempt ||
      task.incarnation != key.incarnation)
    refuse(name_of(key) + " ends while it is " + std::string(to_string(task.state)) +
           " with attempt " + std::to_string(task.attempt));
}

}  // namespace

std::int64_t backoff_ms(std::uint32_t troubles) {
  constexpr std::uint32_t kDoublings = 6;  // 64 s is beyond the most
  const std::uint32_t doublings = std::min(std::max(troubles, 1U) - 1, kDoublings);
  return std::min(std::int64_t{1000} << doublings, kMaxBackoff_ms);
}

JobRecord submitted_job(JobSubmitted submitted, WallTime now) {
  if (submitted.spec.tasks_max == 0) refuse("a job has no task");
  JobRecord job;
  job.id = submitted.id;
  job.tenant = submitted.tenant;
  job.tasks.total = submitted.spec.tasks_max;
  job.spec = std::move(submitted.spec);
  job.submitted_at = now;
  return job;
}

bool is_run(const TaskRecord& task, NodeId node, const TaskKey& key) {
  return task.state == TaskState::running && task.node == node &&
         run_of(key.job, key.index, task) == key;
}

std::uint32_t memory_step_of(const JobSpec& spec, Amount memory) {
  const std::vector<Amount>& steps = spec.profiled.memory_steps;
  const auto found = std::find(steps.begin(), steps.end(), memory);
  return found == steps.end() ? 0 : static_cast<std::uint32_t>(found - steps.begin() + 1);
}

void grant_task(JobRecord& job, TaskRecord& task, const Grant& grant, NodeId node, Moment moment,
                std::uint32_t memory_step) {
  if (job.id != grant.task.job || job.tenant != grant.tenant || grant.task.index >= job.tasks.total)
    refuse(name_of(grant.task) + " was granted, but its tenant has no such task");
  if (task.state != TaskState::pending || task.attempt != grant.task.attempt || grant.cost < 1)
    refuse(name_of(grant.task) + " was granted while it is " + std::string(to_string(task.state)) +
           " with attempt " + std::to_string(task.attempt));
  recount_grant(job, task, grant, moment.time);
  if (!job.started_at) job.started_at = moment.time;
  task.state = TaskState::running;
  task.incarnation = grant.task.incarnation;
  task.node = node;
  task.cost = grant.cost;
  task.step = grant.step;
  task.beyond_quota = grant.beyond_quota;
  task.grant_cycle = moment.record;
  task.granted_at = moment.time;
  task.devices = grant.devices;
  task.memory_step = memory_step;
  task.waits_until = {};
  task.reclaimed = false;
}

void end_task(JobRecord& job, TaskRecord& task, const TaskResult& result, WallTime now) {
  check_running(task, result.task);
  if (job.spec.gang && !job.cancelled)
    take_gang_result(job, task, result, now);
  else
    take_result(job, task, result, now);
  task.reclaimed = false;
  recount_end(job, task, now);
}

void requeue_task(JobRecord& job, TaskRecord& task, const TaskKey& key, bool node_lost,
                  WallTime now) {
  check_running(task, key);
  if (node_lost) ++task.losses;
  if (runs_for_ever(job)) {
    run_service_again(task, node_lost, now);
  } else if (has_failed_as_gang(job)) {
    task.state = TaskState::cancelled;
  } else if (is_breaking(job)) {
    run_again_with_gang(task);
  } else if (node_lost && task.losses >= kMaxLosses && !job.cancelled) {
    fail_as_lost(task, key, now);
  } else {
    task.state = job.cancelled ? TaskState::cancelled : TaskState::pending;
    ++task.attempt;
  }
  task.reclaimed = false;
  recount_end(job, task, now);
}

bool wind_down(JobRecord& job, WallTime now) {
  if (!is_elastic(job.spec) || job.cancelled || job.winding_down || is_terminal(state_of(job)))
    return false;
  job.winding_down = true;
  job.tasks.unneeded = job.tasks.total - job.begun;
  note_end(job, now);
  return true;
}

bool cancel_job(JobRecord& job, const std::string& reason, WallTime now) {
  if (job.cancelled || is_terminal(state_of(job))) return false;
  job.cancelled = true;
  job.cancel_reason = reason;
  job.tasks.cancelled += job.tasks.pending();
  note_end(job, now);
  return true;
}

}  // namespace fairwater::inline state
