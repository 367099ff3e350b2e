#include "bin/job_wait.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

TaskInfo failed_with(EndReason reason, std::int32_t exit_code, std::int32_t signal = 0) {
  TaskInfo task;
  task.record.state = TaskState::failed;
  TaskResult result;
  result.reason = reason;
  result.exit_code = exit_code;
  result.signal = signal;
  task.record.result = result;
  return task;
}

JobDetail failed_job(std::vector<TaskInfo> tasks) {
  JobDetail job;
  job.job.tasks.total = static_cast<std::uint32_t>(tasks.size()) + 1;
  job.job.tasks.failed = static_cast<std::uint32_t>(tasks.size());
  job.job.tasks.succeeded = 1;
  job.tasks = std::move(tasks);
  return job;
}

}  // namespace

TEST_CASE("a job's exit status is the highest of its tasks", "[unit][job_wait]") {
  CHECK(exit_status_of(failed_job(
            {failed_with(EndReason::exited, 3), failed_with(EndReason::exited, 7)})) == 7);
  CHECK(exit_status_of(failed_job({failed_with(EndReason::signalled, 0, 9)})) == 137);
  CHECK(exit_status_of(failed_job({failed_with(EndReason::memory_limit, 137, 9)})) == 137);
  CHECK(exit_status_of(failed_job({failed_with(EndReason::time_limit, 143, 15)})) == 143);
}

TEST_CASE("a task that could not start makes it 125", "[unit][job_wait]") {
  CHECK(exit_status_of(failed_job({failed_with(EndReason::could_not_start, 127)})) == 125);
}

TEST_CASE("a succeeded job is 0, a cancelled one 125", "[unit][job_wait]") {
  JobDetail job;
  job.job.tasks = {.total = 1, .succeeded = 1};
  CHECK(exit_status_of(job) == 0);
  job.job.cancelled = true;
  CHECK(exit_status_of(job) == 125);
}

TEST_CASE("a failed job is never 0, whatever its tasks say", "[unit][job_wait]") {
  CHECK(exit_status_of(failed_job({failed_with(EndReason::time_limit, 0)})) == 125);
  JobDetail job = failed_job({});
  job.job.tasks.failed = 1;
  job.job.tasks.total = 2;
  CHECK(exit_status_of(job) == 1);
}

}  // namespace fairwater
