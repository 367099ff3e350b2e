// What happens to a job and its tasks, event by event.
#include "state/job.hpp"

#include <catch2/catch.hpp>

#include "state/gang.hpp"

namespace fairwater {
namespace {

constexpr WallTime kNow{1'000'000'000};
constexpr NodeId kNode{5};

/// Three tasks, of which the first runs as its fourth attempt.
JobRecord running_job() {
  JobRecord job;
  job.id = JobId{7};
  job.tenant = TenantId{2};
  job.tasks.total = 3;
  job.tasks.running = 1;
  job.started_at = {1};
  return job;
}

TaskRecord running_task(std::uint32_t failures = 0) {
  TaskRecord task;
  task.state = TaskState::running;
  task.node = kNode;
  task.attempt = 4;
  task.failures = failures;
  return task;
}

TaskResult ended(EndReason reason, std::int32_t exit_code = 0) {
  TaskResult result;
  result.task = {JobId{7}, 0, 4};
  result.reason = reason;
  result.exit_code = exit_code;
  return result;
}

/// The record after the running attempt ended so; the job's counts are those of a job of which it
/// is the only one that runs.
TaskRecord after(JobRecord job, TaskRecord task, TaskResult result) {
  job.tasks = {.total = 3, .running = 1};
  task.state = TaskState::running;
  result.task.attempt = task.attempt;
  end_task(job, task, result, kNow);
  return task;
}

TaskRecord after_loss(JobRecord job, TaskRecord task) {
  job.tasks = {.total = 3, .running = 1};
  task.state = TaskState::running;
  requeue_task(job, task, {JobId{7}, 0, task.attempt}, true, kNow);
  return task;
}

Grant grant_of(std::uint32_t index, std::uint32_t attempt = 1) {
  Grant grant;
  grant.task = {JobId{7}, index, attempt, 3};
  grant.tenant = TenantId{2};
  grant.cost = 2;
  grant.step = GrantStep::backfill;
  grant.beyond_quota = true;
  return grant;
}

JobSubmitted submission_of(std::uint32_t tasks) {
  JobSubmitted submitted{JobId{7}, TenantId{2}, {}};
  submitted.spec.tasks_min = submitted.spec.tasks_max = tasks;
  return submitted;
}

template <class Event>
std::string contradiction_of(Event&& event) {
  try {
    event();
  } catch (const Contradiction& contradiction) {
    return contradiction.what();
  }
  return "accepted";
}

}  // namespace

// -- how an attempt's end is judged ---------------------------------------------------------------

TEST_CASE("a task that exits with 0 has succeeded, even in a cancelled job", "[unit][job]") {
  JobRecord job = running_job();
  job.cancelled = GENERATE(false, true);
  const TaskRecord task = after(job, running_task(), ended(EndReason::exited));
  CHECK(task.state == TaskState::succeeded);
  CHECK(task.attempt == 4);
  CHECK(task.failures == 0);
  REQUIRE(task.result);
  CHECK(task.result->exit_code == 0);
}

TEST_CASE("a failure runs again while retries are left", "[unit][job]") {
  JobRecord job = running_job();
  job.spec.retries = 2;
  const auto reason = GENERATE(EndReason::exited, EndReason::signalled, EndReason::memory_limit,
                               EndReason::time_limit, EndReason::could_not_start);
  TaskRecord task = after(job, running_task(1), ended(reason, 3));
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 5);
  CHECK(task.failures == 2);
  task = after(job, task, ended(reason, 3));
  CHECK(task.state == TaskState::failed);
  CHECK(task.attempt == 5);
  CHECK(task.failures == 3);
}

TEST_CASE("an attempt that the node lost runs again and counts for nothing", "[unit][job]") {
  const auto reason = GENERATE(EndReason::lease_expired, EndReason::node_lost);
  const TaskRecord task = after(running_job(), running_task(), ended(reason));
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 5);
  CHECK(task.failures == 0);
}

TEST_CASE("nothing of a cancelled job runs again", "[unit][job]") {
  JobRecord job = running_job();
  job.cancelled = true;
  job.spec.retries = 5;
  CHECK(after(job, running_task(), ended(EndReason::node_lost)).state == TaskState::cancelled);
  CHECK(after(job, running_task(), ended(EndReason::cancelled)).state == TaskState::cancelled);
  CHECK(after(job, running_task(), ended(EndReason::exited, 1)).state == TaskState::failed);
  CHECK(after_loss(job, running_task()).state == TaskState::cancelled);
}

TEST_CASE("a task stopped on order is final without its job being cancelled", "[unit][job]") {
  JobRecord job = running_job();
  job.spec.retries = 5;
  const TaskRecord task = after(job, running_task(), ended(EndReason::cancelled, 143));
  CHECK(task.state == TaskState::cancelled);
  CHECK(task.failures == 0);
}

TEST_CASE("the pause after trouble doubles up to a minute", "[unit][job]") {
  CHECK(backoff_ms(1) == 1000);
  CHECK(backoff_ms(2) == 2000);
  CHECK(backoff_ms(6) == 32'000);
  CHECK(backoff_ms(7) == 60'000);
  CHECK(backoff_ms(4'000'000'000) == 60'000);
}

TEST_CASE("a launch that failed runs again after a pause, uncounted among failures",
          "[unit][job]") {
  TaskRecord task = after(running_job(), running_task(), ended(EndReason::launch_failed, 126));
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 5);
  CHECK(task.failures == 0);
  CHECK(task.launch_failures == 1);
  CHECK(task.waits_until.microseconds == kNow.microseconds + 1'000'000);
  task = after(running_job(), task, ended(EndReason::supervisor_lost));
  CHECK(task.losses == 1);
  CHECK(task.waits_until.microseconds == kNow.microseconds + 2'000'000);
  task = after(running_job(), task, ended(EndReason::lease_expired));
  CHECK_FALSE(task.waits_until);
}

TEST_CASE("launch failures and losses end at their bounds, with a word on it", "[unit][job]") {
  JobRecord job = running_job();
  job.spec.retries = 1000;
  const auto reason = GENERATE(EndReason::launch_failed, EndReason::supervisor_lost);
  const auto bound = reason == EndReason::launch_failed ? kMaxLaunchFailures : kMaxLosses;
  TaskRecord task = running_task();
  for (std::uint32_t i = 1; i < bound; ++i) task = after(job, task, ended(reason));
  CHECK(task.state == TaskState::pending);
  task = after(job, task, ended(reason));
  CHECK(task.state == TaskState::failed);
  CHECK(task.failures == 0);
  CHECK_FALSE(task.waits_until);
  CHECK_THAT(task.result->message, Catch::Contains(std::to_string(bound)));
}

TEST_CASE("the word on a bound fits into what a message may hold", "[unit][job]") {
  TaskRecord task = running_task();
  task.losses = kMaxLosses - 1;
  TaskResult result = ended(EndReason::supervisor_lost);
  result.message = std::string(kMaxResultMessageBytes, 'x');
  task = after(running_job(), task, result);
  CHECK(task.result->message.size() == kMaxResultMessageBytes);
  CHECK_THAT(task.result->message, Catch::EndsWith("lost 10 times, the most that a task may be"));
}

TEST_CASE("a task is lost with its node only so often", "[unit][job]") {
  TaskRecord task = running_task();
  for (std::uint32_t i = 1; i < kMaxLosses; ++i) task = after_loss(running_job(), task);
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 4 + kMaxLosses - 1);
  CHECK_FALSE(task.waits_until);
  task = after_loss(running_job(), task);
  CHECK(task.state == TaskState::failed);
  CHECK_THAT(task.result->message, Catch::Contains("its node was lost; lost 10 times"));
}

// -- counts and moments ---------------------------------------------------------------------------

TEST_CASE("a grant makes a waiting task run, and its first one the job", "[unit][job]") {
  JobRecord job = submitted_job(submission_of(2), {4});
  CHECK(job.submitted_at == WallTime{4});
  TaskRecord task;
  grant_task(job, task, grant_of(0), kNode, {12, kNow});
  CHECK(job.tasks == TaskCounts{.total = 2, .running = 1});
  CHECK(job.started_at == kNow);
  CHECK(is_run(task, kNode, grant_of(0).task));
  CHECK_FALSE(is_run(task, NodeId{6}, grant_of(0).task));
  CHECK_FALSE(is_run(task, kNode, grant_of(0, 2).task));
  CHECK(task.cost == 2);
  CHECK(task.step == GrantStep::backfill);
  CHECK(task.beyond_quota);
  CHECK(task.grant_cycle == 12);
  CHECK(task.granted_at == kNow);
  TaskRecord second;
  grant_task(job, second, grant_of(1), kNode, {13, {kNow.microseconds + 1}});
  CHECK(job.started_at == kNow);
}

TEST_CASE("the last end of a job is the job's", "[unit][job]") {
  JobRecord job = running_job();
  job.tasks.succeeded = 1;
  job.tasks.failed = 1;
  TaskRecord task = running_task();
  end_task(job, task, ended(EndReason::exited), kNow);
  CHECK(job.tasks == TaskCounts{.total = 3, .succeeded = 2, .failed = 1});
  CHECK(job.finished_at == kNow);
}

TEST_CASE("a requeued task waits for its next attempt", "[unit][job]") {
  JobRecord job = running_job();
  TaskRecord task = running_task();
  requeue_task(job, task, {JobId{7}, 0, 4}, false, kNow);
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 5);
  CHECK(task.losses == 0);
  CHECK(job.tasks == TaskCounts{.total = 3});
  CHECK_FALSE(job.finished_at);
}

TEST_CASE("a cancelled job ends with its last running task", "[unit][job]") {
  JobRecord job = running_job();
  CHECK(cancel_job(job, "not needed", kNow));
  CHECK(job.tasks == TaskCounts{.total = 3, .running = 1, .cancelled = 2});
  CHECK_FALSE(job.finished_at);
  CHECK_FALSE(cancel_job(job, "again", kNow));
  CHECK(job.cancel_reason == "not needed");
  TaskRecord task = running_task();
  end_task(job, task, ended(EndReason::cancelled), kNow);
  CHECK(job.tasks == TaskCounts{.total = 3, .cancelled = 3});
  CHECK(job.finished_at == kNow);
}

TEST_CASE("a grant that crossed the cancellation makes the job live again", "[unit][job]") {
  JobRecord job = submitted_job(submission_of(1), {4});
  CHECK(cancel_job(job, "not needed", kNow));
  CHECK(job.finished_at == kNow);
  TaskRecord task;
  grant_task(job, task, grant_of(0), kNode, {12, kNow});
  CHECK(job.tasks == TaskCounts{.total = 1, .running = 1});
  CHECK_FALSE(job.finished_at);
}

TEST_CASE("a job that has ended cannot be cancelled", "[unit][job]") {
  JobRecord job = running_job();
  job.tasks = {.total = 3, .succeeded = 3};
  CHECK_FALSE(cancel_job(job, "too late", kNow));
  CHECK_FALSE(job.cancelled);
}

TEST_CASE("no event follows on counts that do not name every task once", "[unit][job]") {
  JobRecord job = running_job();
  TaskRecord task = running_task();
  const auto end = [&] { end_task(job, task, ended(EndReason::exited), kNow); };
  SECTION("more tasks than there are") {
    job.tasks = {.total = 3, .running = 2, .succeeded = 2};
    CHECK(contradiction_of(end) == "job 7 counts 4 tasks that do not wait, of 3");
  }
  SECTION("more that have grown than run") {
    job.spec.tasks_max = 3;
    job.tasks.running = job.grown = job.begun = 2;
    CHECK(contradiction_of(end) == "job 7 has grown by 2 of 1 running tasks, and begun 2 of 3");
  }
  SECTION("more that were begun than there are") {
    job.spec.tasks_max = 3;
    job.begun = 4;
    CHECK(contradiction_of([&] { (void)cancel_job(job, "", kNow); }) ==
          "job 7 has grown by 0 of 1 running tasks, and begun 4 of 3");
  }
  SECTION("a task of a gang that starts over without having ended") {
    task.state = TaskState::succeeded;
    CHECK(contradiction_of([&] { start_over(job, task); }) ==
          "job 7 has no succeeded task that could start over");
  }
}

TEST_CASE("events that contradict a job are refused", "[unit][job]") {
  JobRecord job = running_job();
  TaskRecord task = running_task();
  CHECK(contradiction_of([&] { grant_task(job, task, grant_of(0, 4), kNode, {}); }) ==
        "task 7.0 attempt 4 of incarnation 3 was granted while it is running with attempt 4");
  TaskRecord waiting;
  CHECK(contradiction_of([&] { grant_task(job, waiting, grant_of(1, 2), kNode, {}); }) ==
        "task 7.1 attempt 2 of incarnation 3 was granted while it is pending with attempt 1");
  CHECK(contradiction_of([&] { grant_task(job, waiting, grant_of(3), kNode, {}); }) ==
        "task 7.3 attempt 1 of incarnation 3 was granted, but its tenant has no such task");
  CHECK(contradiction_of([&] { end_task(job, waiting, ended(EndReason::exited), kNow); }) ==
        "task 7.0 attempt 4 ends while it is pending with attempt 1");
  job.tasks = {.total = 3, .succeeded = 3};
  CHECK(contradiction_of([&] { grant_task(job, waiting, grant_of(1), kNode, {}); }) ==
        "job 7 has no pending task left");
  CHECK(contradiction_of([&] { end_task(job, task, ended(EndReason::exited), kNow); }) ==
        "job 7 has no running task left");
  CHECK(contradiction_of([] { (void)submitted_job(submission_of(0), {}); }) == "a job has no task");
}

}  // namespace fairwater
