#include "model/job.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace fairwater {
namespace {

constexpr std::array<std::pair<JobState, std::string_view>, 5> kJobStates{
    {{JobState::pending, "pending"},
     {JobState::running, "running"},
     {JobState::succeeded, "succeeded"},
     {JobState::failed, "failed"},
     {JobState::cancelled, "cancelled"}}};

constexpr std::array<std::pair<EndReason, std::string_view>, 10> kEndReasons{
    {{EndReason::exited, "exited"},
     {EndReason::signalled, "signalled"},
     {EndReason::memory_limit, "memory_limit"},
     {EndReason::time_limit, "time_limit"},
     {EndReason::cancelled, "cancelled"},
     {EndReason::lease_expired, "lease_expired"},
     {EndReason::could_not_start, "could_not_start"},
     {EndReason::node_lost, "node_lost"},
     {EndReason::launch_failed, "launch_failed"},
     {EndReason::supervisor_lost, "supervisor_lost"}}};

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

TaskRecord run_again_unless(bool final, const JobRecord& job, TaskRecord task) {
  task.state = final ? final_state(job, *task.result) : TaskState::pending;
  if (!final) ++task.attempt;
  return task;
}

/// Neither a failure of the task nor proof that it was not to blame: bounded, and with pauses.
TaskRecord after_trouble(bool final, const JobRecord& job, TaskRecord task, WallTime now) {
  if (!final && is_beyond_bounds(task)) {
    const std::string why = bound_reached(task);
    std::string& message = task.result->message;
    message = cut_text(std::move(message), kMaxResultMessageBytes - why.size()) + why;
    return run_again_unless(true, job, std::move(task));
  }
  const std::int64_t pause_ms = backoff_ms(task.launch_failures + task.losses);
  if (!final) task.waits_until = {now.microseconds + pause_ms * 1000};
  return run_again_unless(final, job, std::move(task));
}

}  // namespace

std::string_view to_string(TaskState state) {
  switch (state) {
    case TaskState::pending:
      return "pending";
    case TaskState::running:
      return "running";
    case TaskState::succeeded:
      return "succeeded";
    case TaskState::failed:
      return "failed";
    case TaskState::cancelled:
      break;
  }
  return "cancelled";
}

std::string_view to_string(JobState state) {
  for (const auto& [value, name] : kJobStates)
    if (value == state) return name;
  return "pending";
}

std::optional<JobState> job_state_from(std::string_view name) {
  for (const auto& [value, text] : kJobStates)
    if (text == name) return value;
  return std::nullopt;
}

std::string_view to_string(EndReason reason) {
  for (const auto& [value, name] : kEndReasons)
    if (value == reason) return name;
  return "exited";
}

JobState state_of(const JobRecord& job) {
  const TaskCounts& tasks = job.tasks;
  if (job.cancelled) return tasks.running > 0 ? JobState::running : JobState::cancelled;
  const std::uint32_t ended = tasks.succeeded + tasks.failed + tasks.cancelled;
  if (ended == tasks.total) {
    if (tasks.failed > 0) return JobState::failed;
    return tasks.cancelled > 0 ? JobState::cancelled : JobState::succeeded;
  }
  const bool was_granted = job.started_at || tasks.running + ended > 0;
  return was_granted ? JobState::running : JobState::pending;
}

bool is_terminal(JobState state) {
  return state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
}

std::string text_of(const TaskKey& task) {
  std::string text = std::to_string(task.job.value) + "." + std::to_string(task.index) + "." +
                     std::to_string(task.attempt);
  if (task.incarnation != 0) text += "." + std::to_string(task.incarnation);
  return text;
}

TaskKey run_of(JobId job, std::uint32_t index, const TaskRecord& task) {
  return {job, index, task.attempt, task.incarnation};
}

std::int64_t backoff_ms(std::uint32_t troubles) {
  constexpr std::uint32_t kDoublings = 6;  // 64 s is beyond the most
  const std::uint32_t doublings = std::min(std::max(troubles, 1U) - 1, kDoublings);
  return std::min(std::int64_t{1000} << doublings, kMaxBackoff_ms);
}

TaskRecord after_result(const JobRecord& job, TaskRecord task, const TaskResult& result,
                        WallTime now) {
  const bool succeeded = result.reason == EndReason::exited && result.exit_code == 0;
  const bool final = succeeded || job.cancelled || result.reason == EndReason::cancelled;
  task.result = result;
  task.waits_until = {};
  switch (result.reason) {
    case EndReason::lease_expired:
    case EndReason::node_lost:
      return run_again_unless(final, job, std::move(task));
    case EndReason::launch_failed:
      ++task.launch_failures;
      return after_trouble(final, job, std::move(task), now);
    case EndReason::supervisor_lost:
      ++task.losses;
      return after_trouble(final, job, std::move(task), now);
    default:
      break;
  }
  const bool runs_again = !final && task.failures < job.spec.retries;
  task.state = runs_again ? TaskState::pending : final_state(job, result);
  if (task.state == TaskState::failed || runs_again) ++task.failures;
  if (runs_again) ++task.attempt;
  return task;
}

std::string cut_text(std::string text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80;
  };
  while (max_bytes > 0 && continues(max_bytes)) --max_bytes;
  text.resize(max_bytes);
  return text;
}

TaskRecord after_node_lost(const JobRecord& job, TaskRecord task, const TaskKey& key,
                           WallTime now) {
  ++task.losses;
  if (job.cancelled || task.losses < kMaxLosses) {
    task.state = job.cancelled ? TaskState::cancelled : TaskState::pending;
    ++task.attempt;
    return task;
  }
  TaskResult result;
  result.task = key;
  result.reason = EndReason::node_lost;
  result.started_at = task.granted_at;
  result.finished_at = now;
  result.message = "its node was lost" + bound_reached(task);
  task.result = std::move(result);
  task.state = TaskState::failed;
  return task;
}

}  // namespace fairwater
