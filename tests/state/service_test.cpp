// Services: when they are started again, and that nothing but a cancellation ends them.
#include "state/service.hpp"

#include <catch2/catch.hpp>

#include "state/job.hpp"

namespace fairwater {
namespace {

constexpr WallTime kGranted{1'000'000'000};
constexpr NodeId kServiceNode{5};

JobRecord service_of(std::uint32_t tasks) {
  JobRecord job;
  job.id = JobId{7};
  job.tenant = TenantId{2};
  job.spec.kind = JobKind::service;
  job.tasks = {.total = tasks, .running = 1};
  job.started_at = {1};
  return job;
}

TaskRecord service_task(std::uint32_t restarts = 0) {
  TaskRecord task;
  task.state = TaskState::running;
  task.node = kServiceNode;
  task.attempt = 4;
  task.granted_at = kGranted;
  task.restarts = restarts;
  return task;
}

TaskResult service_end(EndReason reason, std::int32_t exit_code = 0) {
  TaskResult result;
  result.task = {JobId{7}, 0, 4};
  result.reason = reason;
  result.exit_code = exit_code;
  return result;
}

WallTime after_ms(std::int64_t ms) { return {kGranted.microseconds + ms * 1000}; }

}  // namespace

TEST_CASE("pauses between starts double from a second to five minutes", "[unit][service]") {
  std::vector<std::int64_t> pauses_s;
  std::uint32_t restarts = 0;
  for (int i = 0; i < 11; ++i) {
    const NextStart next = next_start(restarts, 10);
    CHECK(next.restarts == restarts + 1);
    restarts = next.restarts;
    pauses_s.push_back(next.pause_ms / 1000);
  }
  CHECK(pauses_s == std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300});
  CHECK(next_start(1'000'000, 10).pause_ms == kLongestServicePause_ms);
}

TEST_CASE("after a long run pauses begin anew", "[unit][service]") {
  CHECK(next_start(8, kSettledRun_ms - 1) == NextStart{9, 256'000});
  CHECK(next_start(8, kSettledRun_ms) == NextStart{1, 1000});
}

TEST_CASE("whatever ends a service's task, it waits for its next attempt", "[unit][service]") {
  const auto reason =
      GENERATE(EndReason::exited, EndReason::signalled, EndReason::memory_limit,
               EndReason::lease_expired, EndReason::could_not_start, EndReason::node_lost,
               EndReason::launch_failed, EndReason::supervisor_lost);
  JobRecord job = service_of(3);
  TaskRecord task = service_task(2);
  task.losses = 100;  // no bound counts
  task.launch_failures = 100;
  const std::int32_t exit_code = GENERATE(0, 3);
  end_task(job, task, service_end(reason, exit_code), after_ms(50));
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 5);
  CHECK(task.restarts == 3);
  CHECK(task.waits_until == after_ms(50 + 4000));
  REQUIRE(task.result);
  CHECK(task.result->exit_code == exit_code);
  CHECK(job.tasks == TaskCounts{.total = 3});
  CHECK(state_of(job) == JobState::running);
  CHECK_FALSE(job.finished_at);
}

TEST_CASE("a service's task pauses when its node is lost, however often", "[unit][service]") {
  JobRecord job = service_of(1);
  TaskRecord task = service_task(1);
  task.losses = 100;
  requeue_task(job, task, {JobId{7}, 0, 4}, true, after_ms(10));
  CHECK(task.state == TaskState::pending);
  CHECK(task.waits_until == after_ms(10 + 2000));
  CHECK(task.losses == 101);
}

TEST_CASE("a service's task that was stopped on order, or never sent, starts again at once",
          "[unit][service]") {
  JobRecord job = service_of(1);
  TaskRecord task = service_task(3);
  SECTION("its node drains") {
    end_task(job, task, service_end(EndReason::cancelled), after_ms(10));
  }
  SECTION("its order was not sent") {
    requeue_task(job, task, {JobId{7}, 0, 4}, false, after_ms(10));
  }
  CHECK(task.state == TaskState::pending);
  CHECK(task.attempt == 5);
  CHECK(task.restarts == 3);
  CHECK(task.waits_until == after_ms(10));
}

TEST_CASE("a cancelled service's task ends for good", "[unit][service]") {
  JobRecord job = service_of(2);
  REQUIRE(cancel_job(job, "not needed", after_ms(1)));
  TaskRecord task = service_task();
  SECTION("stopped") {
    end_task(job, task, service_end(EndReason::cancelled), after_ms(2));
    CHECK(task.state == TaskState::cancelled);
  }
  SECTION("by itself, while it was being stopped") {
    end_task(job, task, service_end(EndReason::exited), after_ms(2));
    CHECK(task.state == TaskState::succeeded);
  }
  SECTION("with its node") {
    requeue_task(job, task, {JobId{7}, 0, 4}, true, after_ms(2));
    CHECK(task.state == TaskState::cancelled);
  }
  CHECK(state_of(job) == JobState::cancelled);
  CHECK(job.finished_at == after_ms(2));
}

}  // namespace fairwater
