#include "state/gang.hpp"

#include "state/contradiction.hpp"

namespace fairwater::inline state {
namespace {

bool lives_as_gang(const JobRecord& job) { return job.spec.gang && !job.cancelled; }

}  // namespace

bool has_failed_as_gang(const JobRecord& job) { return lives_as_gang(job) && job.tasks.failed > 0; }

bool is_breaking(const JobRecord& job) {
  return lives_as_gang(job) && job.tasks.running > 0 &&
         (job.tasks.pending() > 0 || job.tasks.failed > 0);
}

bool makes_room(const JobRecord& job, const TaskRecord& task, const TaskResult& result) {
  if (!lives_as_gang(job) || !task.reclaimed) return false;
  return result.reason == EndReason::cancelled || result.reason == EndReason::signalled ||
         result.reason == EndReason::could_not_start ||
         (result.reason == EndReason::exited && result.exit_code != 0);
}

TaskResult made_room(TaskResult result) {
  if (result.reason == EndReason::cancelled) return result;
  const std::string how = result.reason == EndReason::signalled
                              ? "signal " + std::to_string(result.signal)
                              : "exit status " + std::to_string(result.exit_code);
  result.message = cut_text("its gang was told to make room, and it ended before it heard, with " +
                                how + (result.message.empty() ? "" : ": " + result.message),
                            kMaxResultMessageBytes);
  result.reason = EndReason::cancelled;
  return result;
}

bool starts_over(const JobRecord& job) {
  return lives_as_gang(job) && job.tasks.running == 0 && job.tasks.pending() > 0 &&
         job.tasks.succeeded > 0;
}

std::vector<GangPart> parts_of(const std::map<std::uint32_t, TaskRecord>& tasks) {
  std::vector<GangPart> parts;
  for (const auto& [index, task] : tasks)
    if (!parts.empty() && parts.back().node == task.node)
      ++parts.back().tasks;
    else
      parts.push_back({task.node, 1});
  return parts;
}

void start_over(JobRecord& job, TaskRecord& task) {
  if (task.state != TaskState::succeeded)
    refuse("a task of job " + std::to_string(job.id.value) + " starts over while it is " +
           std::string(to_string(task.state)));
  if (job.tasks.succeeded == 0)
    refuse("job " + std::to_string(job.id.value) + " has no succeeded task that could start over");
  task.state = TaskState::pending;
  ++task.attempt;
  --job.tasks.succeeded;
}

}  // namespace fairwater::inline state
