#include "cli/cluster/job_wait.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "cli/cluster/job_output.hpp"
#include "cli/cluster/json_shapes.hpp"
#include "cli/cluster/tables.hpp"
#include "cli/core/progress.hpp"

namespace fairwater::inline cli::inline cluster {
namespace {

/// The longest that one call asks a coordinator to hold its answer.
constexpr std::int64_t kHold_ms = 30'000;
/// Of a job's progress on a terminal.
constexpr std::int64_t kRefresh_ms = 1000;

int exit_status_of(const TaskRecord& task) {
  if (task.state != TaskState::failed || !task.result) return kExitDone;
  const TaskResult& result = *task.result;
  if (result.reason == EndReason::could_not_start || result.reason == EndReason::launch_failed)
    return kExitCouldNotRun;
  const int status = result.signal != 0 ? 128 + result.signal : result.exit_code;
  return status != 0 ? status : kExitCouldNotRun;
}

std::string progress_of(const JobRecord& job) {
  const TaskCounts& tasks = job.tasks;
  return fmt::format("job {}: {} of {} tasks done, {} running", job.id.value, tasks.ended(),
                     tasks.total, tasks.running);
}

/// `meanwhile` sees the job each time that it has not ended yet.
Expected<JobRecord> wait_showing(Session& session, JobId id, std::int64_t hold_ms,
                                 const std::function<void(const JobRecord&)>& meanwhile) {
  for (;;) {
    auto job = session.ask([&](Client& client) { return client.wait_job(id, hold_ms); });
    if (!job || is_terminal(state_of(*job))) return job;
    meanwhile(*job);
  }
}

std::string never_ends_text(const JobRecord& service) {
  return "job " + std::to_string(service.id.value) +
         " is a service: it runs until it is cancelled, and so does the wait";
}

/// What the task printed last, indented. That it cannot be read (its node is away, its log gone) is
/// no failure of the wait.
std::string tail_text(const Expected<OutputTail>& tail) {
  if (!tail) return "its output cannot be read: " + details(tail.error()).message + "\n";
  if (tail->text.empty()) return "it printed nothing\n";
  std::string text =
      fmt::format("the end of its standard {}:\n", tail->standard_error ? "error" : "output");
  std::istringstream lines{tail->text};
  for (std::string line; std::getline(lines, line);) text += "    " + printable(line) + "\n";
  return text;
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
  return wait_showing(session, id, kHold_ms, [](const JobRecord&) {});
}

const TaskInfo* first_failed(const JobDetail& job) {
  const auto found = std::find_if(job.tasks.begin(), job.tasks.end(), [](const TaskInfo& task) {
    return task.record.state == TaskState::failed;
  });
  return found == job.tasks.end() ? nullptr : &*found;
}

std::string failure_text(const JobDetail& detail) {
  const JobRecord& job = detail.job;
  const JobState state = state_of(job);
  if (state == JobState::succeeded) return {};
  std::string text = fmt::format("job {} ({}) ", job.id.value, printable(job.spec.name));
  if (state == JobState::cancelled)
    return text + "was cancelled" +
           (job.cancel_reason.empty() ? "" : ": " + printable(job.cancel_reason)) + "\n";
  text += fmt::format("failed: {} of {} task{} failed\n", job.tasks.failed, job.tasks.total,
                      job.tasks.total == 1 ? "" : "s");
  if (const TaskInfo* task = first_failed(detail))
    text += fmt::format("task {} on node {}, attempt {}: {}\n", task->index, printable(task->node),
                        attempts_begun(task->record), printable(ending(task->record)));
  return text;
}

int wait_for_jobs(const Context& context, Session& session, const std::vector<JobId>& ids,
                  OutputSeen seen, const std::vector<std::string>& warnings) {
  int highest = kExitDone;
  Json jobs = Json::array();
  std::string failures;
  {
    ProgressLine progress{"waiting"};
    for (const JobId id : ids) {
      bool told = false;
      const auto job = wait_showing(session, id, kRefresh_ms, [&](const JobRecord& waited) {
        if (waited.spec.kind == JobKind::service && !std::exchange(told, true))
          context.warn({never_ends_text(waited)});
        progress.set(progress_of(waited));
      });
      if (!job) return context.fail(job.error());
      jobs.push_back(job_json(*job));
      if (state_of(*job) == JobState::succeeded) continue;
      const auto detail = session.ask([&](Client& client) { return client.show_job(id); });
      if (!detail) return context.fail(detail.error());
      highest = std::max(highest, exit_status_of(*detail));
      if (context.json()) continue;
      failures += failure_text(*detail);
      if (const TaskInfo* task = first_failed(*detail); task != nullptr && seen == OutputSeen::no)
        failures += tail_text(tail_of(session, id, task->index));
    }
  }
  context.err() << failures << std::flush;
  if (context.json()) {
    Json fields{{"jobs", jobs}, {"exit_status", highest}};
    if (!warnings.empty()) fields["warnings"] = warnings;
    context.print_json(fields);
  }
  return highest;
}

}  // namespace fairwater::inline cli::inline cluster
