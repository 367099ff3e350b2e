#include "model/job.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include "policy/allocator/preemption_terms.hpp"

namespace fairwater::inline model {
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

}  // namespace

std::string_view to_string(JobKind kind) { return kind == JobKind::service ? "service" : "batch"; }

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
  if (tasks.ended() == tasks.total) {
    if (tasks.failed > 0) return JobState::failed;
    return tasks.cancelled > 0 ? JobState::cancelled : JobState::succeeded;
  }
  const bool was_granted = job.started_at || tasks.running + tasks.ended() > 0;
  return was_granted ? JobState::running : JobState::pending;
}

bool is_terminal(JobState state) {
  return state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
}

namespace {

/// See plausible(). One that never started has no length, and what is not told stays so.
void move_run(TaskResult& result, WallTime granted_at, WallTime now) {
  std::int64_t start = shown_time(result.started_at).microseconds;
  std::int64_t end = shown_time(result.finished_at).microseconds;
  const bool has_started = start != 0;
  if (!has_started && end == 0) {
    result.started_at = result.finished_at = {};
    return;
  }
  const std::int64_t latest = shown_time(now).microseconds;
  // A clock that was set back behind the grant says nothing of how long ago that was.
  const std::int64_t granted = granted_at > now ? 0 : shown_time(granted_at).microseconds;
  const std::int64_t earliest =
      std::max<std::int64_t>(0, granted - std::chrono::microseconds(kNodeClockTolerance).count());
  if (!has_started) start = end;
  const std::int64_t length = std::clamp<std::int64_t>(end - start, 0, latest - earliest);
  if (start < earliest) start = granted;
  start = std::max(earliest, std::min(start, latest - length));
  end = start + length;
  result.started_at = has_started ? WallTime{start} : WallTime{};
  result.finished_at = {end};
}

}  // namespace

TaskResult plausible(TaskResult result, WallTime granted_at, WallTime now) {
  constexpr std::int32_t kMostStatus = 255, kMostSignal = 127;
  result.exit_code = std::clamp(result.exit_code, 0, kMostStatus);
  result.signal = std::clamp(result.signal, 0, kMostSignal);
  move_run(result, granted_at, now);
  result.cpu_ms = std::clamp<std::int64_t>(result.cpu_ms, 0, kMaxAmount);
  result.peak_memory_kib = std::clamp<std::int64_t>(result.peak_memory_kib, 0, kMaxAmount);
  return result;
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

NamedAmounts amounts_at(const JobSpec& spec, std::uint32_t memory_step) {
  NamedAmounts amounts = spec.resources;
  const std::vector<Amount>& steps = spec.profiled.memory_steps;
  if (memory_step > 0 && !steps.empty())
    amounts["memory"] = steps[std::min<std::size_t>(memory_step, steps.size()) - 1];
  return amounts;
}

NamedAmounts profiled_amounts(const JobSpec& spec, std::uint32_t memory_step) {
  NamedAmounts amounts = amounts_at(spec, memory_step);
  if (spec.measures_tasks) amounts[std::string(kTasksOfClass)] = spec.tasks_max;
  return amounts;
}

std::int32_t notify_signal(std::string_view name) {
  if (name == "SIGUSR1") return SIGUSR1;
  if (name == "SIGUSR2") return SIGUSR2;
  return name == "SIGHUP" ? SIGHUP : 0;
}

PreemptionTerms preemption_terms(const JobSpec& spec) {
  return with_exemptions(
      {.priority = spec.priority, .preempts = spec.preempt, .is_preemptible = spec.preemptible},
      spec.kind == JobKind::service, spec.gang);
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

}  // namespace fairwater::inline model
