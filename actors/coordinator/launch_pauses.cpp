#include "actors/coordinator/launch_pauses.hpp"

#include <algorithm>

#include <fmt/format.h>

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
  problem_ = "takes no tasks: launches failed, and the ledger does not have that yet";
  for (const TaskResult& result : failed) jobs_that_failed_.insert(result.task.job);
}

LaunchPauses::Pause LaunchPauses::count(const std::vector<TaskResult>& failed,
                                        std::int64_t longest_backoff_ms, WallTime now) {
  FAIRWATER_CHECK(!failed.empty(), "a pause follows on failures");
  failures_in_row_ += static_cast<std::uint32_t>(failed.size());
  const std::int64_t length_ms = 2 * std::max(longest_backoff_ms, backoff_ms(failures_in_row_));
  problem_ =
      fmt::format("takes no tasks until {} because {}failed: {}",
                  utc_text({now.microseconds + length_ms * 1000}),
                  failures_in_row_ == 1 ? std::string("a launch ")
                                        : fmt::format("{} launches in a row ", failures_in_row_),
                  failed.back().message);
  return {number_, length_ms};
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
