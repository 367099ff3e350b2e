// One tenant's live jobs: the order in which they run, and what each event leaves to run.
#include "state/tenant_jobs.hpp"

#include <catch2/catch.hpp>

#include "policy/prediction/patience.hpp"
#include "tests/values/last_words.hpp"

namespace fairwater {
namespace {

constexpr TenantId kTenant{2};
constexpr NodeId kHere{5};
constexpr WallTime kThen{1'000'000'000};

UnfinishedJob job(std::uint64_t id, std::uint32_t tasks, std::int32_t priority = 0) {
  JobSpec spec;
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 100}};
  spec.priority = priority;
  return {submitted_job({JobId{id}, kTenant, spec}, kThen), {}, {}};
}

/// With a time limit, submitted so many microseconds after the others.
UnfinishedJob limited_job(std::uint64_t id, std::int64_t limit_ms, std::int64_t after_us = 0,
                          std::uint32_t tasks = 1) {
  auto limited = job(id, tasks);
  limited.record.spec.time_limit_ms = limit_ms;
  limited.record.submitted_at.microseconds += after_us;
  return limited;
}

TenantJobs jobs_with(QueuePolicy policy) { return {kTenant, policy, ResourceCatalog{}}; }

LaunchOrder grant(TenantJobs& jobs, std::uint64_t id, std::uint32_t index,
                  std::uint32_t attempt = 1) {
  Grant grant;
  grant.task = {JobId{id}, index, attempt};
  grant.tenant = kTenant;
  grant.cost = 1;
  const auto order = jobs.grant(grant, kHere, {7, kThen});
  REQUIRE(order);
  return *order;
}

TaskResult result_of(std::uint64_t id, std::uint32_t index, EndReason reason = EndReason::exited) {
  TaskResult result;
  result.task = {JobId{id}, index, 1};
  result.reason = reason;
  return result;
}

/// `7.0-2` for tasks 0 to 2 of job 7, `7.1#2` for the second attempt of task 1.
std::string shown(const TenantJobs& jobs, std::size_t max_ranges = 100,
                  std::uint32_t max_tasks = 1000) {
  std::string text;
  for (const auto& range : jobs.window(max_ranges, max_tasks, 0, {}).next) {
    text += (text.empty() ? "" : " ") + std::to_string(range.job.value) + "." +
            std::to_string(range.first_index);
    if (range.count > 1) text += "-" + std::to_string(range.first_index + range.count - 1);
    if (range.attempt > 1) text += "#" + std::to_string(range.attempt);
  }
  return text;
}

}  // namespace

TEST_CASE("a hold that nobody took ends the process when it is released", "[unit][tenant_jobs]") {
  TenantJobs jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 2));
  jobs.hold(JobId{1});
  jobs.release_hold(JobId{1});
  CHECK(shown(jobs) == "1.0-1");
  CHECK_THAT(test::last_words([&] { jobs.release_hold(JobId{1}); }),
             Catch::Contains("a hold is released once"));
}

TEST_CASE("what ended before is remembered in the order in which it ended", "[unit][tenant_jobs]") {
  auto named = job(1, 3);
  named.record.spec.job_class = "sums";
  const JobSpec spec = named.record.spec;
  TaskResult result = result_of(9, 0);
  const auto run = [&](std::int64_t from_ms, std::int64_t until_ms) {
    result.started_at = {from_ms * 1000};
    result.finished_at = {until_ms * 1000};
    return *past_run(spec, result);
  };
  auto jobs = jobs_with(QueuePolicy::fifo);
  // The last two ended at 50 and 60 ms: 30 and 10 ms long.
  jobs.remember({run(50, 60), run(0, 40), run(20, 50)});
  jobs.add(named);
  jobs.add(job(2, 1));
  const auto window = jobs.window(100, 100, 0, {});
  CHECK(window.next[0].expected_ms == 20);
  CHECK(window.next[0].expected_from == PredictionSource::task_class);
  CHECK(window.next[1].expected_ms == 20);
  CHECK(window.next[1].expected_from == PredictionSource::tenant);

  result.reason = EndReason::time_limit;
  CHECK_FALSE(past_run(spec, result));
}

TEST_CASE("jobs run in the order of the tenant's policy", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 2));
  jobs.add(job(2, 3, 10));
  jobs.add(job(3, 1, -1));
  CHECK(shown(jobs) == "1.0-1 2.0-2 3.0");
  jobs.set_policy(QueuePolicy::priority);
  CHECK(shown(jobs) == "2.0-2 1.0-1 3.0");
  jobs.set_policy(QueuePolicy::fair);
  CHECK(shown(jobs) == "1.0 2.0 3.0 1.1 2.1-2");
  (void)grant(jobs, 1, 0);
  CHECK(shown(jobs) == "2.0 3.0 1.1 2.1-2");  // a job with a running task comes later
}

TEST_CASE("shortest first goes by the time limit, and what has none comes last",
          "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::shortest_first);
  jobs.add(job(1, 1));
  jobs.add(limited_job(2, 60'000));
  jobs.add(limited_job(3, 5'000));
  jobs.add(limited_job(4, 60'000));
  jobs.add(job(5, 1, 100));
  CHECK(shown(jobs) == "3.0 2.0 4.0 1.0 5.0");
  (void)grant(jobs, 3, 0);
  CHECK(shown(jobs) == "2.0 4.0 1.0 5.0");
  jobs.set_policy(QueuePolicy::fifo);
  CHECK(shown(jobs) == "1.0 2.0 4.0 5.0");
}

TEST_CASE("a window says how long tasks may run and when they are late", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(limited_job(1, 60'000));
  jobs.add(job(2, 1));
  const WallTime later{kThen.microseconds + 10'000'000};
  const auto window = jobs.window(100, 100, 0, later);
  CHECK(window.next[0].limit_ms == 60'000);
  CHECK(window.next[0].late_in_ms == kLeastPatienceMs + 30'000 - 10'000);
  CHECK(window.next[0].patience_ms == kLeastPatienceMs + 30'000);
  CHECK(window.next[1].limit_ms == 0);
  CHECK(window.next[1].late_in_ms == kLeastPatienceMs + kUnknownRunMs / 2 - 10'000);
  const WallTime much_later{kThen.microseconds + 2 * kLeastPatienceMs * 1000};
  CHECK(jobs.window(100, 100, 0, much_later).next[0].late_in_ms == 30'000 - kLeastPatienceMs);
}

TEST_CASE("what is late first is in a full window, whatever the order", "[unit][tenant_jobs]") {
  const auto policy = GENERATE(QueuePolicy::fifo, QueuePolicy::priority, QueuePolicy::fair,
                               QueuePolicy::shortest_first);
  auto jobs = jobs_with(policy);
  for (std::uint64_t id = 1; id <= 8; ++id)
    jobs.add(limited_job(id, 600'000, id == 5 ? 0 : 1'000'000, id == 5 ? 3 : 1));
  // It is the longest by its limit, and its priority is the least; it was there long before.
  auto first = limited_job(9, 700'000, -500'000'000, 2);
  first.record.spec.priority = -1;
  jobs.add(first);
  const auto last_of = [&](std::size_t max_ranges, std::uint32_t max_tasks) {
    const auto next = jobs.window(max_ranges, max_tasks, 0, WallTime{}).next;
    CHECK(next.size() <= 2 * max_ranges);
    return next[std::min(max_ranges, next.size()) - 1];
  };
  CHECK(last_of(3, 1000).job == JobId{9});
  CHECK(last_of(3, 1000).count == 2);
  CHECK(last_of(100, 2).job == JobId{9});
  CHECK(last_of(1, 1000).job == JobId{9});
  (void)grant(jobs, 9, 0);
  CHECK(last_of(3, 1000).first_index == 1);
  (void)grant(jobs, 9, 1);
  // Then the next, once.
  CHECK(last_of(3, 1000).job == JobId{5});
  CHECK(shown(jobs, 3).find("5.0") == shown(jobs, 3).rfind("5.0"));
  jobs.hold(JobId{5});
  CHECK(last_of(3, 1000).job != JobId{5});
}

TEST_CASE("a window is bounded and tells of everything that waits", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(GENERATE(QueuePolicy::fifo, QueuePolicy::fair));
  for (std::uint64_t id = 1; id <= 5; ++id) jobs.add(job(id, 10));
  const auto window = jobs.window(3, 1000, 9, {});
  CHECK(window.tenant == kTenant);
  CHECK(window.next.size() == 3);
  CHECK(window.seen_deal == 9);
  CHECK(window.pending_tasks == 50);
  CHECK(window.pending[kCpu] == 5000);
  std::uint32_t tasks = 0;
  for (const auto& range : jobs.window(100, 15, 0, {}).next) tasks += range.count;
  CHECK(tasks >= 15);
  CHECK(tasks <= 25);
}

TEST_CASE("what stands before a task is counted in the tenant's order", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 4));
  jobs.add(job(2, 3));
  (void)grant(jobs, 1, 1);
  CHECK(jobs.tasks_before(JobId{1}, 3) == 2);
  CHECK(jobs.tasks_before(JobId{2}, 2) == 5);
  CHECK(jobs.waits(JobId{1}, 0));
  CHECK_FALSE(jobs.waits(JobId{1}, 1));
  CHECK_FALSE(jobs.waits(JobId{3}, 0));
}

TEST_CASE("a job with its last task's end is gone", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 2));
  const auto bytes = jobs.bytes();
  CHECK(grant(jobs, 1, 0).task == TaskKey{JobId{1}, 0, 1});
  (void)grant(jobs, 1, 1);
  CHECK(shown(jobs).empty());
  CHECK_FALSE(jobs.end(result_of(1, 0), kThen).job_ended);
  CHECK_FALSE(jobs.end(result_of(1, 0), kThen).job_ended);  // told twice
  CHECK(jobs.record(JobId{1}).tasks == TaskCounts{.total = 2, .running = 1, .succeeded = 1});
  CHECK(jobs.bytes() == bytes);
  CHECK(jobs.end(result_of(1, 1), kThen).job_ended);
  CHECK_FALSE(jobs.knows(JobId{1}));
  CHECK(jobs.size() == 0);
  CHECK(jobs.bytes() == 0);
  CHECK_FALSE(jobs.grant({}, kHere, {}).has_value());
}

TEST_CASE("a task that is given back stands in its place again", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 3));
  (void)grant(jobs, 1, 1);
  CHECK(shown(jobs) == "1.0 1.2");
  CHECK_FALSE(jobs.give_back({JobId{1}, 1, 1}, true, kThen).job_ended);
  CHECK(shown(jobs) == "1.0 1.1#2 1.2");
}

TEST_CASE("a task that backs off is out of the window until its pause is over",
          "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 2));
  (void)grant(jobs, 1, 0);
  const auto outcome = jobs.end(result_of(1, 0, EndReason::launch_failed), kThen);
  REQUIRE(outcome.backing_off);
  CHECK(outcome.backing_off->key == TaskKey{JobId{1}, 0, 2});
  CHECK(outcome.backing_off->until.microseconds == kThen.microseconds + 1'000'000);
  CHECK(shown(jobs) == "1.1");
  REQUIRE(jobs.backing_off(JobId{1}, 0));
  CHECK(jobs.backing_off().size() == 1);
  jobs.end_backoff({JobId{1}, 0, 1});  // an earlier attempt's pause
  CHECK(shown(jobs) == "1.1");
  jobs.end_backoff({JobId{1}, 0, 2});
  CHECK(shown(jobs) == "1.0#2 1.1");
  CHECK(jobs.backing_off().empty());
}

TEST_CASE("a gang waits out the pause of its task, behind those that came before",
          "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 2));
  auto gang = job(2, 2);
  gang.record.spec.gang = true;
  jobs.add(gang);
  jobs.add(job(3, 4));
  for (const std::uint32_t index : {0, 1}) (void)grant(jobs, 2, index);
  CHECK_FALSE(jobs.waits_out(JobId{2}, 0));
  REQUIRE(jobs.end(result_of(2, 1, EndReason::launch_failed), kThen).backing_off);
  (void)jobs.end(result_of(2, 0, EndReason::cancelled), kThen);
  CHECK(jobs.waits_out(JobId{2}, 0) == 1);
  CHECK(jobs.waits_out(JobId{2}, 1) == 1);
  CHECK_FALSE(jobs.waits_out(JobId{1}, 1));
  CHECK_FALSE(jobs.waits_out(JobId{9}, 0));
  CHECK(jobs.tasks_before(JobId{2}, 0) == 2);
  CHECK(jobs.tasks_before(JobId{3}, 1) == 3);
}

TEST_CASE("no task of a gang stands before another of it", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 2));
  auto gang = job(2, 6);
  gang.record.spec.gang = true;
  jobs.add(gang);
  jobs.add(job(3, 2));
  for (const std::uint32_t index : {0, 5}) CHECK(jobs.tasks_before(JobId{2}, index) == 2);
  CHECK(jobs.tasks_before(JobId{3}, 1) == 9);
}

TEST_CASE("a service that waits again is left to its own node at first", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(GENERATE(QueuePolicy::fifo, QueuePolicy::fair));
  auto service = job(1, 4);
  service.record.spec.kind = JobKind::service;
  jobs.add(service);
  for (const std::uint32_t index : {1, 2}) {
    (void)grant(jobs, 1, index);
    REQUIRE(jobs.end(result_of(1, index), kThen).backing_off);
  }
  CHECK(shown(jobs) == "1.0 1.3");
  CHECK(jobs.end_backoff({JobId{1}, 1, 2}));
  CHECK(jobs.end_backoff({JobId{1}, 2, 2}));
  const auto homes = [&] {
    std::vector<NodeId> found;
    for (const auto& range : jobs.window(100, 100, 0, {}).next) found.push_back(range.home);
    return found;
  };
  CHECK(shown(jobs) == "1.0 1.1#2 1.2#2 1.3");
  CHECK(homes() == std::vector<NodeId>{{}, kHere, kHere, {}});
  jobs.end_homing({JobId{1}, 1, 1});  // an earlier attempt's
  CHECK(homes()[1] == kHere);
  jobs.end_homing({JobId{1}, 1, 2});
  CHECK(homes() == std::vector<NodeId>{{}, {}, kHere, {}});
  (void)grant(jobs, 1, 2, 2);
  CHECK(homes() == std::vector<NodeId>{{}, {}, {}});
}

TEST_CASE("how long services ran tells of nothing, and they are not expected to end",
          "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  auto service = job(1, 2);
  service.record.spec.kind = JobKind::service;
  jobs.add(service);
  jobs.add(job(2, 2));
  const auto run = [](std::uint64_t id, std::int64_t run_ms) {
    TaskResult result = result_of(id, 0);
    result.started_at = kThen;
    result.finished_at = {kThen.microseconds + run_ms * 1000};
    return result;
  };
  CHECK_FALSE(past_run(service.record.spec, run(1, 5000)));
  (void)grant(jobs, 1, 0);
  (void)jobs.end(run(1, 5000), kThen);
  CHECK(jobs.window(100, 100, 0, {}).next.back().expected_ms == 0);
  (void)grant(jobs, 2, 0);
  (void)jobs.end(run(2, 700), kThen);
  const auto window = jobs.window(100, 100, 0, {});
  REQUIRE(window.next.size() == 2);
  CHECK(window.next[0].expected_ms == 0);
  CHECK(window.next[1].expected_ms == 700);
}

TEST_CASE("a service is late by how long it waits, not by how long ago it came",
          "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  auto service = job(1, 1);
  service.record.spec.kind = JobKind::service;
  jobs.add(service);
  (void)grant(jobs, 1, 0);
  const WallTime much_later{kThen.microseconds + 10 * kUnknownRunMs * 1000};
  (void)jobs.end(result_of(1, 0), much_later);
  jobs.end_backoff({JobId{1}, 0, 2});
  const auto late_in_ms = jobs.window(100, 100, 0, much_later).next.at(0).late_in_ms;
  CHECK(late_in_ms == kLeastPatienceMs + kUnknownRunMs / 2 + 1000);
}

TEST_CASE("a job that is being cancelled waits for the word of the ledger", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 3));
  (void)grant(jobs, 1, 2);
  jobs.hold(JobId{1});
  CHECK(shown(jobs).empty());
  CHECK(jobs.window(9, 9, 0, {}).pending_tasks == 0);
  SECTION("it could not be written") {
    jobs.release_hold(JobId{1});
    CHECK(shown(jobs) == "1.0-1");
  }
  SECTION("it is durable: what runs is to be stopped, nothing else will") {
    const auto running = jobs.cancel(JobId{1}, "not needed", kThen);
    REQUIRE(running.size() == 1);
    CHECK(running[0].node == kHere);
    CHECK(running[0].key == TaskKey{JobId{1}, 2, 1});
    CHECK(jobs.to_stop().size() == 1);
    jobs.release_hold(JobId{1});
    CHECK(shown(jobs).empty());
    CHECK(jobs.give_back({JobId{1}, 2, 1}, false, kThen).job_ended);
  }
}

TEST_CASE("a cancelled job of which nothing runs is gone at once", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  jobs.add(job(1, 3));
  CHECK(jobs.cancel(JobId{1}, "", kThen).empty());
  CHECK_FALSE(jobs.knows(JobId{1}));
  CHECK(jobs.window(9, 9, 0, {}).pending_tasks == 0);
}

TEST_CASE("a job waits until all that it waits for has succeeded", "[unit][tenant_jobs]") {
  auto jobs = jobs_with(QueuePolicy::fifo);
  auto later = job(3, 1);
  later.waits_for = {JobId{1}, JobId{2}};
  jobs.add(std::move(later));
  CHECK(shown(jobs).empty());
  CHECK(jobs.waiting_for(JobId{2}) == std::vector<JobId>{JobId{3}});
  jobs.dependency_met(JobId{1});
  CHECK(jobs.dependencies(JobId{3}) == std::set<JobId>{JobId{2}});
  CHECK(shown(jobs).empty());
  jobs.dependency_met(JobId{2});
  CHECK(shown(jobs) == "3.0");
}

TEST_CASE("an end looks only at the jobs that waited for it", "[unit][tenant_jobs]") {
  constexpr std::uint64_t kOthers = 1000;
  auto jobs = jobs_with(GENERATE(QueuePolicy::fifo, QueuePolicy::fair));
  const auto add_after = [&](std::uint64_t id, std::vector<JobId> awaited) {
    auto later = job(id, 1);
    later.waits_for = std::move(awaited);
    jobs.add(std::move(later));
  };
  for (std::uint64_t id = 1; id <= kOthers; ++id) jobs.add(job(id, 1));
  add_after(2001, {JobId{1}, JobId{2}});
  add_after(2002, {JobId{1}});
  add_after(2003, {JobId{1}});
  const auto cost_of = [&](auto&& event) {
    const auto before = jobs.others_looked_at();
    event();
    return jobs.others_looked_at() - before;
  };
  (void)jobs.cancel(JobId{2003}, "", kThen);  // waits for nothing any more
  (void)grant(jobs, 1, 0);
  CHECK(cost_of([&] { CHECK(jobs.end(result_of(1, 0), kThen).job_ended); }) == 0);
  CHECK(cost_of([&] {
          CHECK(jobs.waiting_for(JobId{1}) == std::vector<JobId>{JobId{2001}, JobId{2002}});
        }) == 2);
  CHECK(cost_of([&] { jobs.dependency_met(JobId{1}); }) == 2);
  CHECK(jobs.waiting_for(JobId{1}).empty());
  CHECK(jobs.dependencies(JobId{2001}) == std::set<JobId>{JobId{2}});
  CHECK(jobs.waits(JobId{2002}, 0));
  CHECK(cost_of([&] { CHECK(jobs.waiting_for(JobId{3}).empty()); }) == 0);
  CHECK(cost_of([&] { CHECK(jobs.window(8, 100, 0, {}).next.size() == 8); }) <= 8);
}

TEST_CASE("a job is taken up where the ledger left it", "[unit][tenant_jobs]") {
  UnfinishedJob stored = job(1, 6);
  stored.record.tasks = {.total = 6, .running = 1, .succeeded = 1};
  stored.tasks[1].state = TaskState::succeeded;
  stored.tasks[2].state = TaskState::running;
  stored.tasks[2].node = kHere;
  stored.tasks[3].attempt = 2;
  stored.tasks[4].attempt = 3;
  stored.tasks[4].waits_until = kThen;
  auto jobs = jobs_with(QueuePolicy::fifo);
  SECTION("what waits, what runs, what backs off") {
    jobs.add(stored);
    CHECK(shown(jobs) == "1.0 1.3#2 1.5");
    CHECK(jobs.backing_off().size() == 1);
    CHECK(jobs.to_stop().empty());
  }
  SECTION("cancelled: what runs is to be stopped again") {
    CHECK(cancel_job(stored.record, "", kThen));
    jobs.add(stored);
    CHECK(shown(jobs).empty());
    CHECK(jobs.backing_off().empty());
    CHECK(jobs.to_stop().size() == 1);
  }
}

}  // namespace fairwater
