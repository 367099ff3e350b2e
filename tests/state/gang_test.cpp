// Gangs: they wait, run and end as one, in the tenant's queue and in what is stored alike.
#include "state/gang.hpp"

#include <catch2/catch.hpp>

#include "state/tenant_jobs.hpp"

namespace fairwater {
namespace {

constexpr TenantId kGangTenant{2};
constexpr NodeId kGangNode{5};
constexpr WallTime kGangTime{1'000'000'000};

UnfinishedJob gang_of(std::uint32_t tasks, std::uint32_t retries) {
  JobSpec spec;
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 100}};
  spec.gang = true;
  spec.retries = retries;
  return {submitted_job({JobId{7}, kGangTenant, spec}, kGangTime), {}, {}};
}

/// A gang, 7, in a queue; what is stored of it follows beside.
struct GangQueue {
  explicit GangQueue(std::uint32_t tasks, std::uint32_t retries = 0) {
    jobs.add(gang_of(tasks, retries));
  }
  TenantJobs jobs{kGangTenant, QueuePolicy::fifo, ResourceCatalog{}};
  std::uint32_t attempt = 1;

  void start(std::uint32_t tasks) {
    for (std::uint32_t index = 0; index < tasks; ++index) {
      Grant grant;
      grant.task = {JobId{7}, index, attempt};
      grant.tenant = kGangTenant;
      grant.cost = 1;
      REQUIRE(jobs.grant(grant, kGangNode, {7, kGangTime}));
    }
  }
  AttemptOutcome end(std::uint32_t index, EndReason reason, std::int32_t exit_code = 0) {
    TaskResult result;
    result.task = {JobId{7}, index, attempt};
    result.reason = reason;
    result.exit_code = exit_code;
    return jobs.end(result, kGangTime);
  }
  AttemptOutcome lose(std::uint32_t index) {
    return jobs.give_back({JobId{7}, index, attempt}, true, kGangTime);
  }
  TaskCounts counts() const { return jobs.record(JobId{7}).tasks; }
  /// The attempt that waits; 0: it is not offered.
  std::uint32_t waits_as() const {
    const DemandWindow window = jobs.window(10, 10, 0, {});
    if (window.next.empty()) return 0;
    REQUIRE(window.next.size() == 1);
    CHECK(window.next.front().is_gang);
    CHECK(window.next.front().count == counts().total);
    return window.next.front().attempt;
  }
};

std::vector<std::uint32_t> indices(const std::vector<RunningTask>& tasks) {
  std::vector<std::uint32_t> all;
  for (const RunningTask& task : tasks) all.push_back(task.key.index);
  return all;
}

using Indices = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a gang succeeds when all of its tasks have", "[unit][gang]") {
  GangQueue gang(3);
  CHECK(gang.waits_as() == 1);
  gang.start(3);
  CHECK(gang.waits_as() == 0);
  for (const std::uint32_t index : {2U, 0U}) {
    const AttemptOutcome outcome = gang.end(index, EndReason::exited);
    CHECK(outcome.to_stop.empty());
    CHECK(!outcome.job_ended);
  }
  CHECK(gang.end(1, EndReason::exited).job_ended);
}

TEST_CASE("a gang of which a task is taken back runs again whole, and counts nothing",
          "[unit][gang]") {
  GangQueue gang(3);
  gang.start(3);
  CHECK(indices(gang.jobs.reclaim({JobId{7}, 1, 1})) == Indices{0, 1, 2});
  CHECK(indices(gang.end(1, EndReason::cancelled).to_stop) == Indices{0, 2});
  (void)gang.end(0, EndReason::cancelled);
  CHECK_FALSE(gang.end(2, EndReason::cancelled).job_ended);
  gang.attempt = 2;
  CHECK(gang.waits_as() == 2);
  CHECK_FALSE(gang.jobs.gathers(JobId{7}));
  CHECK(gang.jobs.record(JobId{7}).gang_failures == 0);
  gang.start(3);
  (void)gang.end(0, EndReason::cancelled);  // nobody took it back this time
  CHECK(gang.counts().failed == 1);
}

TEST_CASE("a gang that is taken back whole runs again whole", "[unit][gang]") {
  GangQueue gang(3);
  gang.start(3);
  (void)gang.end(2, EndReason::exited);
  for (const std::uint32_t index : {0U, 1U})
    REQUIRE(gang.jobs.reclaim({JobId{7}, index, 1}).size() == 2);
  CHECK(indices(gang.end(1, EndReason::cancelled).to_stop) == Indices{0});
  CHECK(gang.waits_as() == 0);  // some of it still runs
  CHECK(gang.jobs.gathers(JobId{7}));
  CHECK_FALSE(gang.end(0, EndReason::cancelled).job_ended);
  gang.attempt = 2;
  CHECK(gang.waits_as() == 2);
  CHECK(gang.jobs.record(JobId{7}).gang_failures == 0);
}

TEST_CASE("one task's failure ends a gang that has no retries left", "[unit][gang]") {
  GangQueue gang(4);
  gang.start(4);
  (void)gang.end(3, EndReason::exited);
  const AttemptOutcome failed = gang.end(1, EndReason::exited, 9);
  CHECK(indices(failed.to_stop) == Indices{0, 2});
  CHECK(!failed.job_ended);
  CHECK(gang.jobs.to_stop().size() == 2);
  CHECK_FALSE(gang.jobs.gathers(JobId{7}));
  CHECK(gang.end(0, EndReason::cancelled).to_stop.empty());
  CHECK(gang.counts() ==
        TaskCounts{.total = 4, .running = 1, .succeeded = 1, .failed = 1, .cancelled = 1});
  CHECK(gang.waits_as() == 0);
  CHECK(gang.end(2, EndReason::signalled, 137).job_ended);
}

TEST_CASE("with retries left it runs again as a whole", "[unit][gang]") {
  GangQueue gang(3, 1);
  gang.start(3);
  (void)gang.end(0, EndReason::exited);
  CHECK(indices(gang.end(2, EndReason::memory_limit, 137).to_stop) == Indices{1});
  CHECK(gang.waits_as() == 0);
  // What it would have succeeded with meanwhile is done again.
  CHECK(gang.end(1, EndReason::exited).to_stop.empty());
  CHECK(gang.counts() == TaskCounts{.total = 3});
  CHECK(gang.waits_as() == 2);
  gang.attempt = 2;
  gang.start(3);
  CHECK(indices(gang.end(0, EndReason::time_limit, 137).to_stop) == Indices{1, 2});
  (void)gang.end(1, EndReason::cancelled);
  CHECK(gang.end(2, EndReason::cancelled).job_ended);
}

TEST_CASE("a gang that lost a node runs again, whatever its retries", "[unit][gang]") {
  GangQueue gang(3);
  gang.start(3);
  CHECK(indices(gang.lose(0).to_stop) == Indices{1, 2});
  CHECK(gang.lose(1).to_stop.empty());
  (void)gang.end(2, EndReason::exited, 1);
  CHECK(gang.waits_as() == 2);
  CHECK(gang.jobs.record(JobId{7}).gang_failures == 0);
  gang.attempt = 2;
  gang.start(3);
  CHECK(indices(gang.end(1, EndReason::lease_expired).to_stop) == Indices{0, 2});
}

TEST_CASE("a gang whose launch failed waits for the pause of that task", "[unit][gang]") {
  GangQueue gang(2);
  gang.start(2);
  const AttemptOutcome failed = gang.end(1, EndReason::launch_failed, 126);
  REQUIRE(failed.backing_off);
  CHECK(indices(failed.to_stop) == Indices{0});
  (void)gang.end(0, EndReason::cancelled);
  CHECK(gang.waits_as() == 0);
  (void)gang.jobs.end_backoff(failed.backing_off->key);
  CHECK(gang.waits_as() == 2);
}

TEST_CASE("a cancelled gang is stopped like any job", "[unit][gang]") {
  GangQueue gang(3, 5);
  gang.start(3);
  CHECK(gang.jobs.cancel(JobId{7}, "enough", kGangTime).size() == 3);
  for (const std::uint32_t index : {0U, 1U})
    CHECK(gang.end(index, EndReason::cancelled).to_stop.empty());
  CHECK(gang.end(2, EndReason::cancelled).job_ended);
}

TEST_CASE("a restart finds a breaking gang, and stops the rest", "[unit][gang]") {
  UnfinishedJob found = gang_of(3, 2);
  found.record.tasks = {.total = 3, .running = 1, .succeeded = 1};
  found.record.gang_failures = 1;
  TaskRecord running;
  running.state = TaskState::running;
  running.node = kGangNode;
  TaskRecord succeeded;
  succeeded.state = TaskState::succeeded;
  TaskRecord again;
  again.attempt = 2;
  again.failures = 1;
  found.tasks = {{0, running}, {1, succeeded}, {2, again}};
  TenantJobs jobs{kGangTenant, QueuePolicy::fair, ResourceCatalog{}};
  jobs.add(std::move(found));
  REQUIRE(indices(jobs.to_stop()) == Indices{0});
  CHECK(jobs.window(10, 10, 0, {}).next.empty());
  TaskResult result;
  result.task = {JobId{7}, 0, 1};
  result.reason = EndReason::cancelled;
  (void)jobs.end(result, kGangTime);
  const DemandWindow window = jobs.window(10, 10, 0, {});
  REQUIRE(window.next.size() == 1);
  CHECK(window.next.front().count == 3);
  CHECK(window.next.front().attempt == 2);
  CHECK(window.next.front().is_gang);
}

}  // namespace fairwater
