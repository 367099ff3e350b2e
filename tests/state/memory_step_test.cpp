// Jobs whose memory follows their class's profile: what follows when that was too little.
#include <catch2/catch.hpp>

#include "state/snapshot.hpp"
#include "state/tenant_jobs.hpp"

namespace fairwater {
namespace {

constexpr TenantId kOwner{2};
constexpr NodeId kHost{5};
constexpr WallTime kStart{1'000'000'000};

/// 64 MiB, then 128, then 512.
JobSpec stepping_spec(std::uint32_t tasks) {
  JobSpec spec;
  spec.command = {"sort"};
  spec.job_class = "sort";
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}, {"memory", 64}};
  spec.profiled.resources = {"memory"};
  spec.profiled.memory_steps = {128, 512};
  spec.profiled.runs = 9;
  return spec;
}

Grant grant_with(std::uint32_t index, std::uint32_t attempt, Amount memory) {
  Grant grant;
  grant.task = {JobId{7}, index, attempt};
  grant.tenant = kOwner;
  grant.cost = 1;
  grant.demand.amount = {1000, memory};
  return grant;
}

TaskResult hit_the_limit(std::uint32_t index, std::uint32_t attempt) {
  TaskResult result;
  result.task = {JobId{7}, index, attempt};
  result.reason = EndReason::memory_limit;
  result.exit_code = 137;
  return result;
}

Amount memory_in_window(const TenantJobs& jobs) {
  const DemandWindow window = jobs.window(100, 1000, 0, {});
  REQUIRE_FALSE(window.next.empty());
  Amount pending = 0;
  for (const WaitingRange& range : window.next) {
    CHECK(range.demand[1] == window.next.front().demand[1]);
    pending += range.demand[1] * Amount{range.count};
  }
  CHECK(window.pending[1] == pending);
  return window.next.front().demand[1];
}

TenantJobs with_job(std::uint32_t tasks) {
  TenantJobs jobs{kOwner, QueuePolicy::fifo, ResourceCatalog{}};
  jobs.add({submitted_job({JobId{7}, kOwner, stepping_spec(tasks)}, kStart), {}, {}});
  return jobs;
}

Amount launched_with(TenantJobs& jobs, const Grant& grant) {
  const auto order = jobs.grant(grant, kHost, {7, kStart});
  REQUIRE(order);
  return order->limits.at("memory");
}

}  // namespace

TEST_CASE("a task that hit its memory limit runs again with the next measured amount",
          "[unit][memory_step]") {
  JobRecord job = submitted_job({JobId{7}, kOwner, stepping_spec(1)}, kStart);
  TaskRecord task;
  for (const std::uint32_t step : {0U, 1U}) {
    const Amount memory = amounts_at(job.spec, step).at("memory");
    CHECK(memory_step_of(job.spec, memory) == step);
    grant_task(job, task, grant_with(0, step + 1, memory), kHost, {7, kStart}, step);
    end_task(job, task, hit_the_limit(0, step + 1), kStart);
    CHECK(task.state == TaskState::pending);
    CHECK(task.attempt == step + 2);
    CHECK(task.failures == 0);
    CHECK(task.waits_until == WallTime{});
    CHECK(job.memory_step == step + 1);
  }
  // Nothing was measured above: now it counts as any failure.
  grant_task(job, task, grant_with(0, 3, 512), kHost, {7, kStart}, 2);
  end_task(job, task, hit_the_limit(0, 3), kStart);
  CHECK(task.state == TaskState::failed);
  CHECK(task.failures == 1);
  CHECK(state_of(job) == JobState::failed);
}

TEST_CASE("other ends take no more memory, nor does a job that names its own",
          "[unit][memory_step]") {
  JobRecord job = submitted_job({JobId{7}, kOwner, stepping_spec(1)}, kStart);
  TaskRecord task;
  grant_task(job, task, grant_with(0, 1, 64), kHost, {7, kStart});
  TaskResult crashed = hit_the_limit(0, 1);
  crashed.reason = EndReason::signalled;
  end_task(job, task, crashed, kStart);
  CHECK(task.state == TaskState::failed);
  CHECK(job.memory_step == 0);

  JobSpec own = stepping_spec(1);
  own.profiled = {};
  JobRecord plain = submitted_job({JobId{7}, kOwner, own}, kStart);
  TaskRecord plain_task;
  grant_task(plain, plain_task, grant_with(0, 1, 64), kHost, {7, kStart});
  end_task(plain, plain_task, hit_the_limit(0, 1), kStart);
  CHECK(plain_task.state == TaskState::failed);
}

TEST_CASE("a cancelled job's task that hit the limit does not run again", "[unit][memory_step]") {
  JobRecord job = submitted_job({JobId{7}, kOwner, stepping_spec(1)}, kStart);
  TaskRecord task;
  grant_task(job, task, grant_with(0, 1, 64), kHost, {7, kStart});
  CHECK(cancel_job(job, "enough", kStart));
  end_task(job, task, hit_the_limit(0, 1), kStart);
  CHECK(task.state == TaskState::failed);
  CHECK(job.memory_step == 0);
}

TEST_CASE("what of the job waits asks for more at once, what was granted keeps what it has",
          "[unit][memory_step]") {
  TenantJobs jobs = with_job(4);
  CHECK(memory_in_window(jobs) == 64);
  CHECK(launched_with(jobs, grant_with(0, 1, 64)) == 64);
  CHECK(launched_with(jobs, grant_with(1, 1, 64)) == 64);
  (void)jobs.end(hit_the_limit(0, 1), kStart);
  CHECK(memory_in_window(jobs) == 128);
  // Dealt before the window told of it: the node has set aside 64, and so it is started with that.
  CHECK(launched_with(jobs, grant_with(2, 1, 64)) == 64);
  CHECK(launched_with(jobs, grant_with(0, 2, 128)) == 128);
  // These two ran below the step that the job has reached: they take that, and raise nothing.
  (void)jobs.end(hit_the_limit(1, 1), kStart);
  (void)jobs.end(hit_the_limit(2, 1), kStart);
  CHECK(jobs.record(JobId{7}).memory_step == 1);
  CHECK(memory_in_window(jobs) == 128);
  (void)jobs.end(hit_the_limit(0, 2), kStart);
  CHECK(jobs.record(JobId{7}).memory_step == 2);
  CHECK(memory_in_window(jobs) == 512);
  CHECK(launched_with(jobs, grant_with(3, 1, 512)) == 512);
}

TEST_CASE("a gang of which one hit its memory limit starts over with more", "[unit][memory_step]") {
  JobSpec spec = stepping_spec(2);
  spec.gang = true;
  TenantJobs jobs{kOwner, QueuePolicy::fifo, ResourceCatalog{}};
  jobs.add({submitted_job({JobId{7}, kOwner, spec}, kStart), {}, {}});
  for (const std::uint32_t index : {0U, 1U})
    CHECK(launched_with(jobs, grant_with(index, 1, 64)) == 64);
  CHECK(jobs.end(hit_the_limit(0, 1), kStart).to_stop.size() == 1);
  CHECK(jobs.record(JobId{7}).memory_step == 1);
  // The other, which is being stopped, raises nothing: it ran with as little.
  (void)jobs.end(hit_the_limit(1, 1), kStart);
  CHECK(jobs.record(JobId{7}).memory_step == 1);
  CHECK(jobs.record(JobId{7}).gang_failures == 0);
  CHECK(memory_in_window(jobs) == 128);
  for (const std::uint32_t index : {0U, 1U})
    CHECK(launched_with(jobs, grant_with(index, 2, 128)) == 128);
}

TEST_CASE("a restart goes on at the step that the ledger has", "[unit][memory_step]") {
  UnfinishedJob stored{submitted_job({JobId{7}, kOwner, stepping_spec(2)}, kStart), {}, {}};
  grant_task(stored.record, stored.tasks[0], grant_with(0, 1, 64), kHost, {7, kStart});
  end_task(stored.record, stored.tasks[0], hit_the_limit(0, 1), kStart);
  grant_task(stored.record, stored.tasks[0], grant_with(0, 2, 128), kHost, {8, kStart}, 1);
  const HeldTask held = held_task(stored.record, 0, stored.tasks[0], ResourceCatalog{}, kStart);
  CHECK(held.grant.demand[1] == 128);
  TenantJobs jobs{kOwner, QueuePolicy::fifo, ResourceCatalog{}};
  jobs.add(stored);
  CHECK(memory_in_window(jobs) == 128);  // of the other task
}

}  // namespace fairwater
