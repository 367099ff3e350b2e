#include "bin/job_wait.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bin/json_shapes.hpp"
#include "bin/progress.hpp"

namespace fairwater {
namespace {

/// The longest that one call asks a coordinator to hold its answer.
constexpr std::int64_t kHold_ms = 30'000;
/// Of a job's progress on a terminal.
constexpr std::int64_t kRefresh_ms = 1000;

int exit_status_of(const TaskRecord& task) {
  if (task.state == TaskState::cancelled) return kExitCouldNotRun;
  if (task.state != TaskState::failed || !task.result) return kExitDone;
  const TaskResult& result = *task.result;
  if (result.reason == EndReason::could_not_start || result.reason == EndReason::launch_failed)
    return kExitCouldNotRun;
  const int status = result.signal != 0 ? 128 + result.signal : result.exit_code;
  return status != 0 ? status : kExitCouldNotRun;
}

std::string progress_of(const JobRecord& job) {
  const TaskCounts& tasks = job.tasks;
  return fmt::format("job {}: {} of {} tasks done, {} running", job.id.value,
                     tasks.succeeded + tasks.failed + tasks.cancelled, tasks.total, tasks.running);
}

Expected<JobRecord> wait_showing(Session& session, JobId id, std::int64_t hold_ms,
                                 ProgressLine* progress) {
  for (;;) {
    auto job = session.ask([&](Client& client) { return client.wait_job(id, hold_ms); });
    if (!job || is_terminal(state_of(*job))) return job;
    if (progress != nullptr) progress->set(progress_of(*job));
  }
}

}  // namespace

int exit_status_of(const JobDetail& detail) {
  const JobState state = state_of(detail.job);
  if (state == JobState::cancelled) return kExitCouldNotRun;
  if (state == JobState::succeeded) return kExitDone;
  int highest = kExitFailed;
  for (const auto& task : detail.tasks) highest = std::max(highest, exit_status_of(task.record));
  return highest;
}

Expected<JobRecord> wait_for_job(Session& session, JobId id) {
  return wait_showing(session, id, kHold_ms, nullptr);
}

int wait_for_jobs(const Context& context, Session& session, const std::vector<JobId>& ids) {
  int highest = kExitDone;
  Json jobs = Json::array();
  {
    ProgressLine progress{"waiting"};
    for (const JobId id : ids) {
      const auto job = wait_showing(session, id, kRefresh_ms, &progress);
      if (!job) return context.fail(job.error());
      jobs.push_back(job_json(*job));
      if (state_of(*job) == JobState::succeeded) continue;
      const auto detail = session.ask([&](Client& client) { return client.show_job(id); });
      if (!detail) return context.fail(detail.error());
      highest = std::max(highest, exit_status_of(*detail));
    }
  }
  if (context.json()) context.print_json(Json{{"jobs", jobs}, {"exit_status", highest}});
  return highest;
}

}  // namespace fairwater
