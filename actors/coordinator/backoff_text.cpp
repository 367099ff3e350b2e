#include "actors/coordinator/backoff_text.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

std::string seconds_left(const TaskRecord& task, WallTime now) {
  const auto left_ms = std::clamp<std::int64_t>(
      (task.waits_until.microseconds - now.microseconds) / 1000, 0, kLongestPause_ms);
  return std::to_string((left_ms + 999) / 1000) + " s";
}

/// A node's loss leaves no result.
std::string last_end(const TaskRecord& task) {
  if (!task.result || task.result->task.attempt + 1 != task.attempt) return "its node was lost";
  const TaskResult& result = *task.result;
  if (result.reason == EndReason::exited)
    return "it ended with exit status " + std::to_string(result.exit_code);
  if (result.reason == EndReason::signalled)
    return "it was ended by signal " + std::to_string(result.signal);
  return "it ended: " + std::string(to_string(result.reason)) +
         (result.message.empty() ? "" : ", " + result.message);
}

std::string service_backoff_text(const TaskRecord& task, WallTime now) {
  return "attempt " + std::to_string(task.attempt - 1) + " of the service is over (" +
         last_end(task) + "); it is started again in " + seconds_left(task, now) +
         ", its restart " + std::to_string(task.restarts) + " in a row";
}

}  // namespace

std::string backoff_text(JobKind kind, const TaskRecord& task, WallTime now) {
  if (kind == JobKind::service) return service_backoff_text(task, now);
  std::string text = "it is tried again in " + seconds_left(task, now) + ", after " +
                     std::to_string(task.launch_failures) + " failed launches and " +
                     std::to_string(task.losses) + " losses";
  if (task.result) text += "; the last one: " + task.result->message;
  return text;
}

}  // namespace fairwater::inline actors::inline coordinator
