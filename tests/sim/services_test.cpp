// Services: they run until the simulation's end, and nobody takes their room.
#include "sim/report/run_report.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

Job service_of(TimeMs submit_ms, TenantIndex tenant, std::uint32_t tasks, TimeMs end_ms) {
  Job job = job_of(submit_ms, tenant, tasks, 1, end_ms - submit_ms);
  job.is_service = true;
  return job;
}

}  // namespace

TEST_CASE("a service runs until the simulation's end, whatever its run time", "[unit][engine]") {
  const Cluster cluster = processors({2}, {1});
  const Workload workload{{service_of(0, 0, 1, 500), job_of(100, 0, 1, 1, 300)}};
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0) actions.start = {{{0, 0}, 0, 1}};
    if (now == 100) actions.start = {{{1, 0}, 0, 1}};
    return actions;
  });
  Books books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {.end_ms = 2000});
  CHECK(books.sound());
  CHECK(books.runs.at(0) == TaskRun{{0, 0}, 0, 0, -1, false});
  CHECK(books.runs.at(1) == TaskRun{{1, 0}, 0, 100, 400, false});
  CHECK(result.end_ms == 2000);
  CHECK(result.running == 1);
  CHECK(result.work_done == 2300);
}

TEST_CASE("the engine lets nobody tell a service to end", "[unit][engine]") {
  const Cluster cluster = processors({2}, {1});
  const Workload workload{{service_of(0, 0, 1, 500)}};
  const std::string said = last_words([&] {
    ScriptedScheduler scheduler([](TimeMs) {
      Actions actions;
      actions.start = {{{0, 0}, 0, 1}};
      actions.preempt = {{0, 0}};
      return actions;
    });
    Books books(cluster, workload);
    run_engine(cluster, workload, scheduler, books, {.end_ms = 1000});
  });
  CHECK_THAT(said, Catch::Matchers::Contains("a service is not told to end"));
}

TEST_CASE("urgent jobs wait for services, and take what else runs", "[unit][policy][preemption]") {
  // Of four processors a service holds two and a batch job two; two are the urgent job's own.
  Cluster cluster = processors({4}, {1, 1});
  Workload workload{
      {service_of(0, 0, 2, 100'000), job_of(0, 0, 2, 1, 50'000), job_of(10'000, 1, 3, 1, 10'000)}};
  workload.jobs[2].preemption = {.priority = 1, .preempts = true};
  cluster.tenants[1].terms.min[kCpu] = 3000;
  for (Job& job : workload.jobs) job.grace_ms = 1000;
  for (const auto& options : both_ledgers()) {
    Books books(cluster, workload);
    SequenceScheduler scheduler(options, cluster, workload);
    const auto result = run_engine(cluster, workload, scheduler, books, {.end_ms = 100'000});
    CHECK(books.sound());
    CHECK(result.running == 2);
    CHECK(result.waiting == 0);
    std::vector<TaskRun> killed;
    for (const TaskRun& run : books.runs) {
      if (run.task.job == 0) CHECK(run.end == -1);
      if (run.killed) killed.push_back(run);
    }
    REQUIRE(killed.size() == 2);
    for (const TaskRun& run : killed) {
      CHECK(run.task.job == 1);
      CHECK(run.end == 11'000);
    }
  }
}

TEST_CASE("no service ends, whatever else comes and preempts", "[property][policy][preemption]") {
  constexpr TimeMs kEnd_ms = 120'000;
  for (const auto& options : both_ledgers()) {
    std::size_t services = 0, preempted = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      RandomCase made = random_case(seed, 60);
      SplitMix64 random(seed);
      for (Job& job : made.workload.jobs) {
        job.preemption.preempts = random.below(4) == 0;
        job.preemption.priority = static_cast<std::int32_t>(random.below(4));
        job.is_service = random.below(10) == 0;
        if (job.is_service) job.run_ms = job.estimate_ms = std::max(kEnd_ms - job.submit_ms, 1L);
      }
      CAPTURE(static_cast<int>(options.accounting), seed);
      Books books(made.cluster, made.workload);
      SequenceScheduler scheduler(options, made.cluster, made.workload);
      run_engine(made.cluster, made.workload, scheduler, books, {.end_ms = kEnd_ms});
      CHECK(books.sound());
      Units sum = 0;
      for (TenantIndex i = 0; i < made.cluster.tenants.size(); ++i) sum += scheduler.account(i).net;
      CHECK(sum == 0);
      for (const TaskRun& run : books.runs) {
        const bool is_service = made.workload.jobs[run.task.job].is_service;
        if (is_service) CHECK(run.end == -1);
        services += is_service ? 1 : 0;
        preempted += run.killed ? 1 : 0;
      }
    }
    CHECK(services > 100);
    CHECK(preempted > 50);
  }
}

TEST_CASE("the report tells services apart from jobs that end", "[unit][sim]") {
  // A service has two of four processors, another one's three tasks get the two that are left.
  Scenario scenario;
  scenario.cluster = processors({4}, {1, 1});
  scenario.cluster.tenants[0].name = "a";
  scenario.cluster.tenants[1].name = "b";
  scenario.engine.end_ms = 50'000;
  Generator service;
  service.arrivals = ArrivalProcess::backlog;
  service.jobs = 1;
  service.tasks = {2, 2};
  service.demand = {{1000, 1000}};
  service.is_service = true;
  Generator batch = service;
  batch.is_service = false;
  batch.run_ms = {10'000, 10'000};
  Generator late = service;
  late.tenant = 1;
  late.start_ms = 4000;
  late.tasks = {3, 3};
  scenario.generators = {service, batch, late};
  for (const char* policy : {"sequence", "fifo", "easy", "conservative", "drf"}) {
    CAPTURE(policy);
    scenario.policy.name = policy;
    const auto run = run_once(scenario, 1);
    REQUIRE(run);
    REQUIRE(run->services);
    CHECK(run->services->waiting_tasks == 1);
    CHECK(run->services->mean_wait_s == 3);
    CHECK(run->services->max_wait_s == 6);
    CHECK(run->unfinished_jobs == 0);
    CHECK(run->jobs.jobs == 1);
    CHECK(run->engine.end_ms == 50'000);
    CHECK(run_json(scenario.cluster, *run)["service_tasks_waiting"] == 1);
    const auto notes = notes_on(scenario, {{policy, {*run}}});
    CHECK(notes.size() == (policy == std::string_view("sequence") ? 0 : 1));
  }
}

}  // namespace fairwater::sim
