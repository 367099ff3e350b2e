// Elastic jobs over nodes: they grow and give back task by task, by the coordinator's rule.
#include <numeric>
#include <set>

#include "sim/report/run_report.hpp"
#include "sim/schedulers/list.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

Job spread_job(TimeMs submit_ms, TenantIndex tenant, std::uint32_t least, std::uint32_t most,
               TimeMs run_ms) {
  Job job = job_of(submit_ms, tenant, most, 1, run_ms);
  job.least_tasks = least;
  return job;
}

std::vector<PolicyOptions> growing_policies() {
  std::vector<PolicyOptions> all;
  for (const auto accounting : {SequenceAccounting::units, SequenceAccounting::time})
    for (const auto rule :
         {GrowthRule::qrea, GrowthRule::qrea_rebalance, GrowthRule::crea, GrowthRule::bra})
      all.push_back({.name = "sequence", .accounting = accounting, .growth = rule});
  return all;
}

/// A span in which a task ran.
struct RunSpan {
  TaskId task;
  TimeMs start = 0;
  TimeMs end = 0;
  bool given_back = false;
  friend bool operator==(const RunSpan&, const RunSpan&) = default;
};

struct ElasticOutcome {
  std::vector<RunSpan> spans;  ///< by start
  std::vector<double> credits;
  std::map<std::pair<TaskId, TimeMs>, TimeMs> told;  ///< to end, by when it did
};

/// The coordinator's policy; keeps when it told whom to end.
class NotingScheduler final : public Scheduler {
 public:
  NotingScheduler(const PolicyOptions& options, const RandomCase& made)
      : jobs_(made.workload.jobs), policy_(options, made.cluster, made.workload) {}

  void pass_to(TimeMs now) override { policy_.pass_to(now); }
  void submit(JobIndex job) override { policy_.submit(job); }
  void done(JobIndex job) override { policy_.done(job); }
  void end(TaskId task, NodeIndex node) override { policy_.end(task, node); }
  Actions cycle(TimeMs now) override {
    Actions actions = policy_.cycle(now);
    for (const TaskId task : actions.take_back)
      told[{task, now + std::max<TimeMs>(jobs_[task.job].grace_ms, 1)}] = now;
    return actions;
  }
  void finish() override { policy_.finish(); }
  [[nodiscard]] Account account(TenantIndex tenant) const override {
    return policy_.account(tenant);
  }

  std::map<std::pair<TaskId, TimeMs>, TimeMs> told;

 private:
  const std::vector<Job>& jobs_;
  SequenceScheduler policy_;
};

ElasticOutcome elastic_run(const PolicyOptions& options, const RandomCase& made) {
  Books books(made.cluster, made.workload);
  NotingScheduler scheduler(options, made);
  const auto result = run_engine(made.cluster, made.workload, scheduler, books, {});
  CHECK(books.sound());
  CHECK(books.waiting.empty());
  CHECK(result.waiting == 0);
  CHECK(result.running == 0);
  ElasticOutcome outcome;
  for (const auto& run : books.runs)
    outcome.spans.push_back({run.task, run.start, run.end, run.killed});
  for (TenantIndex i = 0; i < made.cluster.tenants.size(); ++i)
    outcome.credits.push_back(scheduler.account(i).credit);
  outcome.told = scheduler.told;
  return outcome;
}

/// Every third job is elastic, of one resource.
RandomCase case_with_elastic_jobs(std::uint64_t seed, int jobs) {
  RandomCase made = random_case(seed, jobs);
  SplitMix64 random(seed);
  for (auto& job : made.workload.jobs) {
    if (random.below(3) != 0) continue;
    job.least_tasks = 1 + static_cast<std::uint32_t>(random.below(job.tasks));
    job.tasks += 1 + static_cast<std::uint32_t>(random.below(6));
    job.run_ms = std::max<TimeMs>(job.run_ms, 1);
    job.grace_ms = 700 * static_cast<TimeMs>(random.below(4));
  }
  remove_impossible_jobs(made.cluster, made.workload);
  return made;
}

}  // namespace

TEST_CASE("an elastic job's tasks share its work out", "[unit][engine][elastic]") {
  const Cluster cluster = processors({2, 2}, {1});
  Workload workload{
      {spread_job(0, 0, 1, 4, 1000), job_of(100, 0, 1, 1, 50), job_of(200, 0, 1, 1, 50)}};
  workload.jobs[0].grace_ms = 30;
  // One task until 100, three until 200, two from then on: 100 + 300, and 600 by two take 300. What
  // is taken back at 200 has its room until 230.
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0) actions.start = {{{0, 0}, 0, 1}};
    if (now == 100) actions.start = {{{0, 1}, 1, 1, true}, {{0, 3}, 1, 1, true}, {{1, 0}, 0, 1}};
    if (now == 200) actions.take_back = {{0, 3}};
    if (now == 230) actions.start = {{{2, 0}, 1, 1}};
    return actions;
  });
  Books books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(books.sound());
  CHECK(result.end_ms == 500);
  CHECK(result.waiting == 0);
  CHECK(result.work_done == 1100);
  CHECK(books.runs.at(0) == TaskRun{{0, 0}, 0, 0, 500, false});
  CHECK(books.runs.at(1) == TaskRun{{0, 1}, 1, 100, 500, false});
  CHECK(books.runs.at(2) == TaskRun{{0, 3}, 1, 100, 230, true});
  CHECK(books.runs.at(4) == TaskRun{{2, 0}, 1, 230, 280, false});
}

TEST_CASE("what was taken back ends in its own time, also when its job's work is done",
          "[unit][engine][elastic]") {
  const Cluster cluster = processors({2}, {1});
  Workload workload{{spread_job(0, 0, 1, 2, 1000)}};
  workload.jobs[0].grace_ms = 800;
  ScriptedScheduler scheduler([](TimeMs now) {
    Actions actions;
    if (now == 0) {
      actions.start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1, true}};
      actions.take_back = {{0, 1}};
    }
    return actions;
  });
  workload.jobs[0].run_ms = 500;
  Books books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(books.sound());
  CHECK(books.waiting.empty());
  CHECK(result.waiting == 0);
  CHECK(result.running == 0);
  CHECK(result.work_done == 500);
  CHECK(books.runs.at(0) == TaskRun{{0, 0}, 0, 0, 500, false});
  CHECK(books.runs.at(1) == TaskRun{{0, 1}, 0, 0, 800, false});
  CHECK(scheduler.told == std::vector<std::string>{"submit 0", "cycle 0", "end 0.0 on 0",
                                                   "cycle 500", "end 0.1 on 0", "cycle 800"});
}

TEST_CASE("an elastic job starts with its least and keeps it", "[unit][engine][elastic]") {
  const Cluster cluster = processors({4}, {1});
  const Workload workload{{spread_job(0, 0, 2, 4, 1000), job_of(100, 0, 1, 1, 50)}};
  const auto said = [&](const std::function<Actions(TimeMs)>& script) {
    return last_words([&] {
      ScriptedScheduler scheduler(script);
      Books books(cluster, workload);
      run_engine(cluster, workload, scheduler, books, {});
    });
  };
  CHECK_THAT(said([](TimeMs) {
               Actions actions;
               actions.start = {{{0, 0}, 0, 1}};
               return actions;
             }),
             Catch::Matchers::Contains("an elastic job starts with its least"));
  CHECK_THAT(said([](TimeMs now) {
               Actions actions;
               if (now == 0) actions.start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1}};
               if (now == 100) actions.take_back = {{0, 1}};
               return actions;
             }),
             Catch::Matchers::Contains("an elastic job keeps its least"));
}

TEST_CASE("an elastic job grows into idle nodes and gives back what others come for",
          "[unit][policy][elastic]") {
  // Two nodes of two. Job 0 has all four until tenant 1 comes for its part at 10 s, gets it when
  // two tasks have ended at 12 s, and has it until 32 s: 40 + 44 of job 0's 100 unit-seconds are
  // done by then, the last 16 take 4 s.
  RandomCase made{processors({2, 2}, {1, 1}), {}};
  made.workload.jobs = {spread_job(0, 0, 1, 4, 100'000), job_of(10'000, 1, 2, 1, 20'000)};
  made.workload.jobs[0].grace_ms = 2000;
  for (const auto accounting : {SequenceAccounting::units, SequenceAccounting::time}) {
    const auto outcome = elastic_run({.name = "sequence", .accounting = accounting}, made);
    CHECK(outcome.spans == std::vector<RunSpan>{{{0, 0}, 0, 36'000},
                                                {{0, 1}, 0, 36'000},
                                                {{0, 2}, 0, 12'000, true},
                                                {{0, 3}, 0, 12'000, true},
                                                {{1, 0}, 12'000, 32'000},
                                                {{1, 1}, 12'000, 32'000},
                                                {{0, 2}, 32'000, 36'000},
                                                {{0, 3}, 32'000, 36'000}});
    // It had three extras for 12 s, one for 20 s and three for 4 s. It left one of its own part of
    // two unused, tenant 1 both of its two but from 12 s to 32 s, when all was earned by tenant 0.
    CHECK(outcome.credits == std::vector<double>{-32, 32});
  }
}

TEST_CASE("elastic jobs that have no room to grow hide no other kind", "[unit][policy][elastic]") {
  // The large ones hold all nodes that have room for one of their tasks.
  std::vector<Amount> nodes(70, 8);
  nodes.push_back(4);
  RandomCase made{processors(nodes, {1, 1}), {}};
  for (int i = 0; i < 70; ++i) {
    made.workload.jobs.push_back(job_of(0, 0, 3, 8, 100'000));
    made.workload.jobs.back().least_tasks = 1;
  }
  made.workload.jobs.push_back(spread_job(1000, 0, 1, 4, 40'000));
  for (const PolicyOptions& options : growing_policies()) {
    if (options.growth == GrowthRule::bra) continue;
    CAPTURE(static_cast<int>(options.accounting), to_string(options.growth));
    const auto spans = elastic_run(options, made).spans;
    for (std::uint32_t task = 0; task < 4; ++task)
      CHECK(std::count(spans.begin(), spans.end(), RunSpan{{70, task}, 1000, 11'000}) == 1);
  }
}

TEST_CASE("nothing grows under bra, and elastic jobs run with their least",
          "[unit][policy][elastic]") {
  RandomCase made{processors({2, 2}, {1, 1}), {}};
  made.workload.jobs = {spread_job(0, 0, 2, 4, 100'000)};
  const auto outcome = elastic_run({.name = "sequence", .growth = GrowthRule::bra}, made);
  CHECK(outcome.spans == std::vector<RunSpan>{{{0, 0}, 0, 100'000}, {{0, 1}, 0, 100'000}});
}

TEST_CASE("elastic jobs do all of their work, begin with their least, and credits sum to zero",
          "[property][policy][elastic]") {
  for (const auto& options : growing_policies()) {
    std::size_t given_back = 0, grown = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const RandomCase made = case_with_elastic_jobs(seed, 50);
      CAPTURE(static_cast<int>(options.accounting), to_string(options.growth), seed);
      const auto outcome = elastic_run(options, made);
      std::map<JobIndex, TimeMs> begin, end, work;
      for (const auto& span : outcome.spans) {
        const auto told = outcome.told.find({span.task, span.end});
        const TimeMs worked_until = told == outcome.told.end() ? span.end : told->second;
        begin.try_emplace(span.task.job, span.start);
        if (told == outcome.told.end()) end[span.task.job] = span.end;
        work[span.task.job] += worked_until - span.start;
      }
      std::map<JobIndex, std::set<std::uint32_t>> first;
      for (const auto& span : outcome.spans) {
        const Job& job = made.workload.jobs[span.task.job];
        if (!shares_work(job)) continue;
        if (span.start == begin[span.task.job]) first[span.task.job].insert(span.task.index);
        const bool was_told = outcome.told.contains({span.task, span.end});
        if (was_told) CHECK(span.task.index >= job.least_tasks);
        if (!was_told) CHECK(span.end == end[span.task.job]);
        // Only where others had done its work meanwhile it does not wait again.
        CHECK(span.given_back == (was_told && span.end < end[span.task.job]));
        given_back += span.given_back ? 1 : 0;
        grown += span.task.index >= job.least_tasks ? 1 : 0;
      }
      for (const auto& [index, tasks] : first) {
        const Job& job = made.workload.jobs[index];
        CHECK(tasks.size() >= job.least_tasks);
        // The last millisecond may end with less left than its tasks could do.
        CHECK(work[index] >= job.run_ms * job.least_tasks);
        CHECK(work[index] < job.run_ms * job.least_tasks + job.tasks);
      }
      CHECK(std::accumulate(outcome.credits.begin(), outcome.credits.end(), 0.0) ==
            Approx(0).margin(1e-6));
    }
    CHECK((options.growth == GrowthRule::bra ? grown == 0 : grown > 300));
    CHECK((options.growth == GrowthRule::bra ? given_back == 0 : given_back > 50));
  }
}

TEST_CASE("where elastic jobs do not grow they run with their least, and the report says so",
          "[unit][sim][elastic]") {
  Scenario scenario;
  scenario.cluster = processors({2, 2}, {1});
  scenario.cluster.tenants[0].name = "a";
  Generator generator;
  generator.arrivals = ArrivalProcess::backlog;
  generator.jobs = 1;
  generator.demand = {{1000, 1000}};
  generator.run_ms = {100'000, 100'000};
  generator.min_units = 2;
  generator.max_units = 4;
  scenario.generators = {generator};
  std::vector<PolicyRuns> runs;
  std::vector<TimeMs> ends;
  for (const char* name : {"sequence", "qrea", "easy", "conservative", "drf", "proportional"}) {
    scenario.policy.name = name;
    const auto run = run_once(scenario, 1);
    REQUIRE(run);
    CHECK(run->failed_jobs == 0);
    ends.push_back(run->engine.end_ms);
    runs.push_back({name, {*run}});
  }
  CHECK(ends == std::vector<TimeMs>{50'000, 50'000, 100'000, 100'000, 100'000, 100'000});
  CHECK(notes_on(scenario, runs) ==
        std::vector<std::string>{
            "elastic jobs do not grow under easy, conservative, drf, proportional: they keep their "
            "least"});
  CHECK(runs[0].runs[0].jobs.mean_wait_s == 0);
  CHECK(runs[0].runs[0].jobs.mean_completion_s == 50);
}

}  // namespace fairwater::sim
