#include "cli/cluster/job_wait.hpp"

#include <catch2/catch.hpp>

#include "cli/cluster/job_output.hpp"

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

TEST_CASE("what was stopped with a failed gang, or was not needed, is not counted",
          "[unit][job_wait]") {
  JobDetail gang = failed_job({failed_with(EndReason::exited, 7)});
  TaskInfo stopped = failed_with(EndReason::cancelled, 143, 15);
  stopped.record.state = TaskState::cancelled;
  gang.tasks.push_back(stopped);
  gang.job.tasks = {.total = 2, .failed = 1, .cancelled = 1};
  CHECK(exit_status_of(gang) == 7);
  stopped.record.result.reset();
  gang.tasks.push_back(stopped);
  gang.job.tasks = {.total = 3, .failed = 1, .cancelled = 1, .unneeded = 1};
  CHECK(exit_status_of(gang) == 7);
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

TEST_CASE("why a job failed is said by its first failed task", "[golden][job_wait]") {
  JobDetail job =
      failed_job({failed_with(EndReason::exited, 3), failed_with(EndReason::exited, 7)});
  job.job.id = JobId{12};
  job.job.spec.name = "render";
  job.tasks[0].index = 4;
  job.tasks[0].node = "node1";
  job.tasks[1].index = 5;
  CHECK(failure_text(job) ==
        "job 12 (render) failed: 2 of 3 tasks failed\n"
        "task 4 on node node1, attempt 1: exit 3\n");
  job.tasks[0].record.result->reason = EndReason::could_not_start;
  job.tasks[0].record.result->message = "execve: No such file or directory";
  CHECK_THAT(failure_text(job),
             Catch::EndsWith("could_not_start: execve: No such file or directory\n"));
  CHECK(first_failed(job)->index == 4);
}

TEST_CASE("a cancelled job says why, a succeeded one nothing", "[golden][job_wait]") {
  JobDetail job;
  job.job.id = JobId{3};
  job.job.spec.name = "a";
  job.job.tasks = {.total = 1, .succeeded = 1};
  CHECK(failure_text(job).empty());
  CHECK(first_failed(job) == nullptr);
  job.job.cancelled = true;
  job.job.cancel_reason = "wrong input";
  CHECK(failure_text(job) == "job 3 (a) was cancelled: wrong input\n");
}

TEST_CASE("the end of a long output is its last ten lines, and no more than 4 KiB of them",
          "[unit][job_wait]") {
  CHECK(last_lines("").empty());
  CHECK(last_lines("one\ntwo\n") == "one\ntwo\n");
  CHECK(last_lines("no end of line") == "no end of line");
  std::string many;
  for (int i = 1; i <= 100; ++i) many += std::to_string(i) + "\n";
  CHECK(last_lines(many) == "91\n92\n93\n94\n95\n96\n97\n98\n99\n100\n");
  CHECK(last_lines(many + "unfinished") == "92\n93\n94\n95\n96\n97\n98\n99\n100\nunfinished");
  CHECK(last_lines(std::string(100'000, 'x')).size() == 4096);
  CHECK(last_lines("\n\n\n") == "\n\n\n");
}

}  // namespace fairwater
