// Jobs that preempt others, by the coordinator's rule: the tasks that end for them, what is lost,
// and that it comes to an end.
#include <map>
#include <set>

#include "sim/report/run_report.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

Job urgent_job(TimeMs submit_ms, TenantIndex tenant, std::uint32_t tasks, TimeMs run_ms) {
  Job job = job_of(submit_ms, tenant, tasks, 1, run_ms);
  job.preemption = {.priority = 10, .preempts = true};
  return job;
}

PolicyOptions preempting_policy(SequenceAccounting accounting, TimeMs preempt_after_ms) {
  return {.name = "sequence", .accounting = accounting, .preempt_after_ms = preempt_after_ms};
}

constexpr SequenceAccounting kLedgers[] = {SequenceAccounting::units, SequenceAccounting::time};

/// Also who was preempted, and when.
class PreemptionBooks final : public Books {
 public:
  using Books::Books;
  struct Preempted {
    TaskId task;
    TimeMs at = 0;
    std::int64_t lost = 0;
    friend bool operator==(const Preempted&, const Preempted&) = default;
  };
  void preempted(TaskId task, std::int64_t lost) override { taken.push_back({task, now, lost}); }

  std::vector<Preempted> taken;
};

/// Runs all of it, or up to `end_ms`, under the coordinator's policy.
PreemptionBooks preempting_run(const PolicyOptions& options, const RandomCase& made,
                               TimeMs end_ms = 0) {
  PreemptionBooks books(made.cluster, made.workload);
  SequenceScheduler scheduler(options, made.cluster, made.workload);
  const auto result = run_engine(made.cluster, made.workload, scheduler, books, {.end_ms = end_ms});
  CHECK(books.sound());
  if (end_ms == 0) {
    CHECK(result.waiting == 0);
    CHECK(result.running == 0);
  }
  Units sum = 0;
  for (TenantIndex i = 0; i < made.cluster.tenants.size(); ++i) sum += scheduler.account(i).net;
  CHECK(sum == 0);
  return books;
}

/// Jobs of several priorities of which some preempt; gangs, elastic jobs, and tenants with a min.
RandomCase urgent_case(std::uint64_t seed, int jobs) {
  RandomCase made = random_case(seed, jobs);
  SplitMix64 random(seed);
  for (SimTenant& tenant : made.cluster.tenants)
    if (random.below(2) == 0) tenant.terms.min[kCpu] = 1000 * static_cast<Amount>(random.below(9));
  for (Job& job : made.workload.jobs) {
    job.preemption.preempts = random.below(4) == 0;
    job.preemption.priority =
        static_cast<std::int32_t>(random.below(3)) + (job.preemption.preempts ? 1 : -1);
    job.preemption.is_preemptible = random.below(8) != 0;
    job.grace_ms = 600 * static_cast<TimeMs>(random.below(4));
    job.is_gang = random.below(6) == 0;
    if (job.is_gang || random.below(4) != 0) continue;
    job.least_tasks = 1 + static_cast<std::uint32_t>(random.below(job.tasks));
    job.tasks += 1 + static_cast<std::uint32_t>(random.below(4));
    job.run_ms = std::max<TimeMs>(job.run_ms, 1);
  }
  remove_impossible_jobs(made.cluster, made.workload);
  return made;
}

/// Tasks of other tenants that might preempt it.
std::size_t tasks_above(const RandomCase& made, const Job& job) {
  std::size_t tasks = 0;
  for (const Job& other : made.workload.jobs) {
    const bool by_its_word =
        other.preemption.preempts && other.preemption.priority > job.preemption.priority;
    const bool may_be_for_min = !made.cluster.tenants[other.tenant].terms.min.is_zero();
    if (other.tenant != job.tenant && (by_its_word || may_be_for_min)) tasks += other.tasks;
  }
  return tasks;
}

/// What each tenant held, but for what it was told to end, when one of its tasks was told.
class MinWatch final : public Observer {
 public:
  explicit MinWatch(const RandomCase& made) : made_(made), held_(made.cluster.tenants.size()) {}
  void started(const Start& start) override { hold(start.task, 1); }
  void preempted(TaskId task, std::int64_t /*lost*/) override {
    hold(task, -1);
    told_.insert(task);
    ++preempted_tasks;
    const Job& job = made_.workload.jobs[task.job];
    const ResourceVector& min = made_.cluster.tenants[job.tenant].terms.min;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (job.demand[r] > 0 && held_[job.tenant][r] < min[r]) is_broken = true;
  }
  void ended(TaskId task, NodeIndex /*node*/, Units /*units*/, bool /*killed*/) override {
    if (told_.erase(task) == 0) hold(task, -1);
  }

  bool is_broken = false;
  std::size_t preempted_tasks = 0;

 private:
  void hold(TaskId task, Units sign) {
    const Job& job = made_.workload.jobs[task.job];
    held_[job.tenant] += demand_of(job, sign);
  }
  const RandomCase& made_;
  std::vector<ResourceVector> held_;
  std::set<TaskId> told_;
};

}  // namespace

TEST_CASE("a queue that is longer than a window hides no job that preempts", "[unit][policy]") {
  RandomCase made{processors({200}, {1, 1}), {}};
  made.workload.jobs.push_back(job_of(0, 0, 200, 1, 1'000'000));
  made.workload.jobs.back().grace_ms = 2000;
  for (int i = 0; i < 80; ++i) made.workload.jobs.push_back(job_of(1000, 1, 1, 1, 1'000'000));
  const auto urgent = static_cast<JobIndex>(made.workload.jobs.size());
  made.workload.jobs.push_back(urgent_job(40'000, 1, 2, 1000));
  for (const SequenceAccounting accounting : kLedgers) {
    const auto books = preempting_run(preempting_policy(accounting, 30'000), made, 60'000);
    std::vector<TimeMs> starts;
    for (const TaskRun& run : books.runs)
      if (run.task.job == urgent) starts.push_back(run.start);
    CHECK(starts == std::vector<TimeMs>{42'000, 42'000});
  }
}

TEST_CASE("a task that is preempted has its room for its grace, and starts from the beginning",
          "[unit][engine][preemption]") {
  const Cluster cluster = processors({1}, {1});
  Workload workload{{job_of(0, 0, 1, 1, 1000)}};
  workload.jobs[0].grace_ms = 200;
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0 || now == 600) actions.start = {{{0, 0}, 0, 1}};
    if (now == 0) return actions;
    if (now == 400) actions.preempt = {{0, 0}};
    return actions;
  });
  scheduler.wakes_after_ms = 200;
  PreemptionBooks books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(books.sound());
  CHECK(books.taken == std::vector<PreemptionBooks::Preempted>{{{0, 0}, 400, 400}});
  CHECK(books.runs.at(0) == TaskRun{{0, 0}, 0, 0, 600, true});
  CHECK(books.runs.at(1) == TaskRun{{0, 0}, 0, 600, 1600, false});
  CHECK(result.work_done == 1400);
}

TEST_CASE("an elastic job goes on with fewer than its least when some of it is preempted",
          "[unit][engine][preemption][elastic]") {
  // Two tasks until 300 do 600 of 2000; one until 400 does 100; none until 500; then one does the
  // last 1300.
  const Cluster cluster = processors({2}, {1});
  Workload workload{{job_of(0, 0, 3, 1, 1000)}};
  workload.jobs[0].least_tasks = 2;
  workload.jobs[0].grace_ms = 100;
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0) actions.start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1}};
    if (now == 300) actions.preempt = {{0, 1}};
    if (now == 400) actions.preempt = {{0, 0}};
    if (now == 500) actions.start = {{{0, 1}, 0, 1}};
    return actions;
  });
  scheduler.wakes_after_ms = 100;
  PreemptionBooks books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(books.sound());
  CHECK(books.taken == std::vector<PreemptionBooks::Preempted>{{{0, 1}, 300, 0}, {{0, 0}, 400, 0}});
  CHECK(result.end_ms == 1800);
  CHECK(result.work_done == 2000);
  CHECK(result.waiting == 0);
}

TEST_CASE("of an elastic job what has grown is taken back, and its least preempted",
          "[unit][engine][preemption][elastic]") {
  const Cluster cluster = processors({4}, {1});
  Workload workload{{job_of(0, 0, 4, 1, 1000)}};
  workload.jobs[0].least_tasks = 2;
  const auto run_with = [&](const std::function<void(Actions&)>& tell) {
    ScriptedScheduler scheduler([&](TimeMs now) {
      Actions actions;
      if (now > 0) return actions;
      actions.start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1}, {{0, 2}, 0, 1, true}};
      tell(actions);
      return actions;
    });
    Books books(cluster, workload);
    run_engine(cluster, workload, scheduler, books, {});
    CHECK(books.sound());
  };
  run_with([](Actions& actions) {
    actions.preempt = {{0, 1}};
    actions.take_back = {{0, 2}};
  });
  const auto contains_rule = Catch::Matchers::Contains("an elastic job keeps its least");
  CHECK_THAT(last_words([&] { run_with([](Actions& actions) {
                                actions.take_back = {{0, 0}};
                              }); }),
             contains_rule);
  CHECK_THAT(last_words([&] { run_with([](Actions& actions) {
                                actions.preempt = {{0, 2}};
                              }); }),
             contains_rule);
}

TEST_CASE("a gang that is preempted runs again with the tasks that had ended",
          "[unit][engine][preemption]") {
  const Cluster cluster = processors({3}, {1});
  Workload workload{{job_of(0, 0, 3, 1, 2000)}};
  workload.jobs[0].is_gang = true;
  workload.jobs[0].task_run_ms = {500, 2000, 2000};
  workload.jobs[0].grace_ms = 1000;
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0 || now == 1500) actions.start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1}, {{0, 2}, 0, 1}};
    if (now == 500) actions.preempt = {{0, 1}, {0, 2}};  // with the end of the first
    return actions;
  });
  Books books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(result.waiting == 0);
  CHECK(result.end_ms == 3500);
  CHECK(books.runs.size() == 6);
}

TEST_CASE("an urgent job takes the youngest beyond a quota once they have run for a while",
          "[unit][policy][preemption]") {
  // Job 0 has all four processors from 0 s on. Tenant 1 comes for its two at 5 s, and gets them
  // once those of job 0 have run for 10 s and have taken 2 s to end.
  RandomCase made{processors({4}, {1, 1}), {}};
  made.workload.jobs = {job_of(0, 0, 4, 1, 100'000), urgent_job(5000, 1, 2, 20'000)};
  for (Job& job : made.workload.jobs) job.grace_ms = 2000;
  for (const auto accounting : kLedgers) {
    const auto books = preempting_run(preempting_policy(accounting, 10'000), made);
    REQUIRE(books.taken.size() == 2);
    for (const auto& taken : books.taken) {
      CHECK(taken.task.job == 0);
      CHECK(taken.at == 10'000);
      CHECK(taken.lost == 10'000);
    }
    std::map<JobIndex, TimeMs> first_start;
    for (const auto& run : books.runs) first_start.try_emplace(run.task.job, run.start);
    CHECK(first_start.at(1) == 12'000);
    // Two wait until the urgent ones have ended, at 32 s, and run again.
    CHECK(books.runs.back().start == 32'000);
    CHECK(books.runs.back().end == 132'000);
  }
}

TEST_CASE("nothing is preempted of those that say so, of mins, or by those of no higher priority",
          "[unit][policy][preemption]") {
  RandomCase made{processors({4}, {1, 1}), {}};
  made.workload.jobs = {job_of(0, 0, 4, 1, 100'000), urgent_job(5000, 1, 2, 20'000)};
  SECTION("a gang that reaches into a min") {
    made.workload.jobs[0].is_gang = true;
    made.cluster.tenants[0].terms.min[kCpu] = 1000;
  }
  SECTION("preemptible: false") { made.workload.jobs[0].preemption.is_preemptible = false; }
  SECTION("as high a priority") { made.workload.jobs[0].preemption.priority = 10; }
  SECTION("a min") { made.cluster.tenants[0].terms.min[kCpu] = 4000; }
  for (const auto accounting : kLedgers) {
    const auto books = preempting_run(preempting_policy(accounting, 10'000), made);
    CHECK(books.taken.empty());
    CHECK(books.runs.back().start == 100'000);
  }
}

TEST_CASE("an urgent gang takes room on several nodes, and all of it or none",
          "[unit][policy][preemption]") {
  RandomCase made{processors({2, 2}, {1, 1}), {}};
  made.workload.jobs = {job_of(0, 0, 4, 1, 100'000), urgent_job(5000, 1, 2, 20'000)};
  made.workload.jobs[1].is_gang = true;
  made.workload.jobs[1].demand[kCpu] = 2000;
  made.cluster.tenants[1].terms.weight = 9;
  for (const auto accounting : kLedgers) {
    made.cluster.tenants[1].terms.min[kCpu] = 4000;
    CHECK(preempting_run(preempting_policy(accounting, 1000), made).taken.size() == 4);
    // One of its tasks alone would be within its quota.
    made.cluster.tenants[1].terms.min[kCpu] = 0;
    CHECK(preempting_run(preempting_policy(accounting, 1000), made).taken.empty());
  }
}

TEST_CASE("an elastic job gives back what it has grown by before any of its least is preempted",
          "[unit][policy][preemption][elastic]") {
  // It has two of four for its least and two by growth; the urgent job may have all four.
  RandomCase made{processors({4}, {1, 1}), {}};
  made.workload.jobs = {job_of(0, 0, 4, 1, 40'000), urgent_job(10'000, 1, 3, 20'000)};
  made.workload.jobs[0].least_tasks = 2;
  made.workload.jobs[0].grace_ms = 1000;
  made.cluster.tenants[1].terms.min[kCpu] = 4000;
  for (const auto accounting : kLedgers) {
    const auto books = preempting_run(preempting_policy(accounting, 5000), made);
    REQUIRE(books.taken.size() == 1);
    CHECK(books.taken[0].task.index < 2);
    CHECK(books.taken[0].lost == 0);
    // 40 s of four until 10 s; one until 31 s does 21; 19 are left for four.
    std::map<JobIndex, TimeMs> end;
    for (const auto& run : books.runs) end[run.task.job] = run.end;
    CHECK(end.at(1) == 31'000);
    CHECK(end.at(0) == 35'750);
  }
}

TEST_CASE("whatever is preempted, all work is done, no min is broken, and nets are zero",
          "[property][policy][preemption]") {
  for (const auto accounting : kLedgers) {
    std::size_t taken = 0, of_elastic = 0, of_gangs = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(static_cast<int>(accounting), seed);
      const RandomCase made = urgent_case(seed, 50);
      const PolicyOptions options =
          preempting_policy(accounting, 500 * static_cast<TimeMs>(seed % 4));
      const auto books = preempting_run(options, made);
      std::map<TaskId, std::size_t> times;
      for (const auto& preempted : books.taken) {
        const Job& job = made.workload.jobs[preempted.task.job];
        CHECK(job.preemption.is_preemptible);
        CHECK(++times[preempted.task] <= tasks_above(made, job));
        of_elastic += shares_work(job) ? 1 : 0;
        of_gangs += job.is_gang ? 1 : 0;
      }
      taken += books.taken.size();
      SequenceScheduler scheduler(options, made.cluster, made.workload);
      MinWatch watch(made);
      run_engine(made.cluster, made.workload, scheduler, watch, {});
      CHECK(watch.preempted_tasks == books.taken.size());
      CHECK_FALSE(watch.is_broken);
    }
    CAPTURE(taken, of_elastic, of_gangs);
    CHECK(taken > 60);
    CHECK(of_gangs > 4);
    CHECK(of_elastic > 4);
  }
}

TEST_CASE("the report says what was preempted, what was lost, and who did not wait",
          "[unit][sim][preemption]") {
  // Four tasks of 100 s from 0 s on; at 20 s two of them make room within 5 s, and what they did is
  // lost.
  Scenario scenario;
  scenario.cluster = processors({4}, {1, 1});
  scenario.cluster.tenants[0].name = "a";
  scenario.cluster.tenants[1].name = "b";
  Generator batch;
  batch.arrivals = ArrivalProcess::backlog;
  batch.jobs = 1;
  batch.tasks = {4, 4};
  batch.demand = {{1000, 1000}};
  batch.run_ms = {100'000, 100'000};
  Generator urgent = batch;
  urgent.tenant = 1;
  urgent.start_ms = 20'000;
  urgent.tasks = {2, 2};
  urgent.run_ms = {10'000, 10'000};
  urgent.preemption = {.priority = 1, .preempts = true};
  scenario.generators = {batch, urgent};
  scenario.policy = {.name = "sequence", .preempt_after_ms = 5000};
  const auto run = run_once(scenario, 1);
  REQUIRE(run);
  REQUIRE(run->preemption);
  CHECK(run->preemption->tasks == 2);
  CHECK(run->preemption->lost_unit_s == 40);
  CHECK(run->preemption->urgent->jobs == 1);
  CHECK(run->preemption->urgent->mean_wait_s == 5);
  CHECK(run->tenants[0].preempted_tasks == 2);
  CHECK(run->tenants[0].lost_unit_s == 40);
  CHECK(run->tenants[0].killed_tasks == 0);
  CHECK(run->failed_jobs == 0);
  CHECK(run->unfinished_jobs == 0);
  const auto json = run_json(scenario.cluster, *run);
  CHECK(json["preempted_tasks"] == 2);
  CHECK(json["urgent_max_wait_s"] == 5);
  CHECK(json["tenants"][0]["lost_unit_s"] == 40);
  CHECK(notes_on(scenario, {{"sequence", {*run}}}).empty());

  scenario.policy.name = "fifo";
  const auto patient = run_once(scenario, 1);
  REQUIRE(patient);
  CHECK(patient->preemption->tasks == 0);
  CHECK(patient->preemption->urgent->mean_wait_s == 80);
  CHECK(notes_on(scenario, {{"fifo", {*patient}}}) ==
        std::vector<std::string>{"jobs do not preempt under fifo: they wait as any other"});

  scenario.generators[1].preemption = {};
  scenario.policy.name = "sequence";
  const auto peaceful = run_once(scenario, 1);
  REQUIRE(peaceful);
  CHECK_FALSE(peaceful->preemption);
  CHECK_FALSE(run_json(scenario.cluster, *peaceful).contains("preempted_tasks"));

  scenario.cluster.tenants[1].terms.min[0] = 1000;
  for (const bool for_min : {true, false}) {
    scenario.policy.preempts_for_min = for_min;
    const auto guarded = run_once(scenario, 1);
    REQUIRE(guarded);
    CHECK(guarded->preemption.has_value() == for_min);
    CHECK(guarded->tenants[0].preempted_tasks == (for_min ? 1 : 0));
    const auto guarded_json = run_json(scenario.cluster, *guarded);
    CHECK(guarded_json.contains("preempted_tasks") == for_min);
    CHECK_FALSE(guarded_json.contains("urgent_max_wait_s"));
  }
}

}  // namespace fairwater::sim
