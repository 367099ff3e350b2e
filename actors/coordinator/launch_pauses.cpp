#include "actors/coordinator/launch_pauses.hpp"

#include <algorithm>

#include "policy/core/check.hpp"
#include "state/job.hpp"

namespace fairwater::inline actors::inline coordinator {
namespace {

/// Whether the command was started, however it ended.
bool did_start(const TaskResult& result) {
  switch (result.reason) {
    case EndReason::node_lost:
    case EndReason::launch_failed:
    case EndReason::supervisor_lost:
      return false;
    default:
      return true;
  }
}

}  // namespace

void LaunchPauses::begin(const std::vector<TaskResult>& failed) {
  is_paused_ = true;
  ++number_;
  for (const TaskResult& result : failed) jobs_that_failed_.insert(result.task.job);
}

LaunchPauses::Pause LaunchPauses::count(std::size_t failed, std::int64_t longest_backoff_ms) {
  FAIRWATER_CHECK(failed > 0, "a pause follows on failures");
  failures_in_row_ += static_cast<std::uint32_t>(failed);
  return {number_, 2 * std::max(longest_backoff_ms, backoff_ms(failures_in_row_))};
}

void LaunchPauses::ended(const std::vector<TaskResult>& results,
                         const std::vector<TaskResult>& failed) {
  const auto is_of_failed = [&](const TaskResult& result) {
    return jobs_that_failed_.contains(result.task.job) ||
           std::any_of(failed.begin(), failed.end(),
                       [&](const TaskResult& other) { return other.task.job == result.task.job; });
  };
  const bool ran = std::any_of(results.begin(), results.end(), [&](const TaskResult& result) {
    return did_start(result) && (result.reason != EndReason::cancelled || !is_of_failed(result));
  });
  if (!ran) return;
  failures_in_row_ = 0;
  jobs_that_failed_.clear();
}

bool LaunchPauses::end(std::uint64_t number) {
  if (number != number_ || !is_paused_) return false;
  is_paused_ = false;
  return true;
}

void LaunchPauses::decided() {
  failures_in_row_ = 0;
  jobs_that_failed_.clear();
  is_paused_ = false;
}

}  // namespace fairwater::inline actors::inline coordinator
