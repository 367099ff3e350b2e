// Gangs: jobs whose tasks start at once, on whichever nodes, or not at all.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sim/report/run_report.hpp"
#include "sim/schedulers/list.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

constexpr std::uint64_t kGangSeeds = 40;

Job gang_of(TimeMs submit_ms, TenantIndex tenant, std::uint32_t tasks, Amount per_task,
            TimeMs run_ms) {
  Job job = job_of(submit_ms, tenant, tasks, per_task, run_ms);
  job.is_gang = true;
  return job;
}

/// Half of the jobs are gangs.
RandomCase case_with_gangs(std::uint64_t seed, int jobs) {
  RandomCase made = random_case(seed, jobs);
  SplitMix64 random(seed);
  for (auto& job : made.workload.jobs) job.is_gang = random.below(2) == 0;
  remove_impossible_jobs(made.cluster, made.workload);
  return made;
}

Books run_under(const PolicyOptions& options, const RandomCase& made) {
  Books books(made.cluster, made.workload);
  const auto scheduler = make_scheduler(options, made.cluster, made.workload);
  REQUIRE(scheduler.engaged());
  run_engine(made.cluster, made.workload, **scheduler, books, {});
  CHECK(books.sound());
  CHECK(books.waiting.empty());
  return books;
}

/// When each job started; none of them in part.
std::vector<TimeMs> starts_of_gangs(const RandomCase& made, const Books& books) {
  std::vector<std::set<TimeMs>> moments(made.workload.jobs.size());
  for (const auto& run : books.runs) moments[run.task.job].insert(run.start);
  std::vector<TimeMs> starts;
  for (JobIndex job = 0; job < moments.size(); ++job) {
    REQUIRE_FALSE(moments[job].empty());
    if (made.workload.jobs[job].is_gang) REQUIRE(moments[job].size() == 1);
    starts.push_back(*moments[job].begin());
  }
  return starts;
}

std::vector<TimeMs> starts_under(const PolicyOptions& options, const RandomCase& made) {
  return starts_of_gangs(made, run_under(options, made));
}

std::vector<PolicyOptions> policies_that_know_gangs() {
  std::vector<PolicyOptions> all;
  for (const auto name : policy_names())
    if (knows_gangs(name)) all.push_back({.name = std::string(name)});
  all.push_back({.name = "sequence", .mode = DealMode::slots});
  for (const auto accounting : {SequenceAccounting::time, SequenceAccounting::resource_time})
    all.push_back({.name = "sequence", .accounting = accounting});
  all.push_back({.name = "sequence", .allocation = AllocationRule::drf});
  return all;
}

/// Jobs as gangs over nodes of one processor, and as single tasks on one node that has as many.
std::pair<RandomCase, RandomCase> gangs_and_whole(std::uint64_t seed) {
  SplitMix64 random(seed);
  RandomCase gangs{processors(std::vector<Amount>(16, 1), {1, 2, 3}), {}};
  RandomCase whole{processors({16}, {1, 2, 3}), {}};
  TimeMs now = 0;
  for (int i = 0; i < 80; ++i) {
    now += static_cast<TimeMs>(random.below(1500));
    const std::uint64_t widest = random.below(3) == 0 ? 16 : 5;
    const auto width = static_cast<std::uint32_t>(1 + random.below(widest));
    Job job = gang_of(now, static_cast<TenantIndex>(random.below(3)), width, 1,
                      1 + static_cast<TimeMs>(random.below(6000)));
    job.estimate_ms = job.run_ms + static_cast<TimeMs>(random.below(2) * random.below(5000));
    gangs.workload.jobs.push_back(job);
    job.demand[kCpu] *= width;
    job.tasks = 1;
    job.is_gang = false;
    whole.workload.jobs.push_back(job);
  }
  return {std::move(gangs), std::move(whole)};
}

/// What EASY promises to a gang at the head of the queue: the first moment at which all of its
/// tasks have room, by what runs when it comes to the head.
class GangPromises final : public Books {
 public:
  GangPromises(const Cluster& cluster, const Workload& workload)
      : Books(cluster, workload), cluster_(cluster), workload_(workload) {}

  void started(const Start& start) override {
    Books::started(start);
    const auto found = promised.find(start.task.job);
    if (found != promised.end() && now > found->second) ++broken;
    if (!waiting.empty() && start.task.job > waiting.begin()->first) ++backfills;
  }
  void cycle_done(const Scheduler& /*scheduler*/) override {
    if (!waiting.empty()) {
      const JobIndex head = waiting.begin()->first;
      if (workload_.jobs[head].is_gang && !promised.contains(head)) promised[head] = earliest(head);
    }
    before_cycle_ = runs.size();
  }

  std::map<JobIndex, TimeMs> promised;
  int broken = 0;
  int backfills = 0;

 private:
  [[nodiscard]] TimeMs end_of(const TaskRun& run) const {
    return run.start + workload_.jobs[run.task.job].run_ms;
  }
  /// Backfills of the cycle in which the promise is made may not delay it.
  [[nodiscard]] bool counts(const TaskRun& run, JobIndex head) const {
    const auto place = static_cast<std::size_t>(&run - runs.data());
    return run.end < 0 && (place < before_cycle_ || run.task.job < head);
  }
  [[nodiscard]] TimeMs earliest(JobIndex head) const {
    const Job& gang = workload_.jobs[head];
    std::set<TimeMs> moments;
    for (const auto& run : runs)
      if (counts(run, head)) moments.insert(end_of(run));
    for (const TimeMs moment : moments) {
      Amount tasks = 0;
      for (NodeIndex node = 0; node < cluster_.nodes.size(); ++node) {
        if (gang.rule && !gang.rule->allows(cluster_.nodes[node].traits)) continue;
        ResourceVector free = cluster_.nodes[node].capacity;
        for (const auto& run : runs)
          if (run.node == node && counts(run, head) && end_of(run) > moment)
            free -= workload_.jobs[run.task.job].demand;
        for (; gang.demand.fits(free); free -= gang.demand) ++tasks;
      }
      if (tasks >= gang.tasks) return moment;
    }
    FAIL("a gang fits the empty cluster");
    return 0;
  }

  const Cluster& cluster_;
  const Workload& workload_;
  std::size_t before_cycle_ = 0;  ///< runs that began before the present cycle
};

}  // namespace

TEST_CASE("gangs start whole, run once and fit, under every policy that knows them",
          "[property][policy][gang]") {
  for (const auto& options : policies_that_know_gangs()) {
    std::size_t over_several_nodes = 0;
    for (std::uint64_t seed = 1; seed <= kGangSeeds; ++seed) {
      const RandomCase made = case_with_gangs(seed, 60);
      CAPTURE(options.name, static_cast<int>(options.accounting), seed);
      const Books books = run_under(options, made);
      (void)starts_of_gangs(made, books);
      std::map<JobIndex, std::set<NodeIndex>> nodes;
      std::size_t tasks = 0;
      for (const auto& run : books.runs) {
        const Job& job = made.workload.jobs[run.task.job];
        CHECK(run.end == run.start + job.run_ms);
        if (job.is_gang) nodes[run.task.job].insert(run.node);
      }
      for (const auto& job : made.workload.jobs) tasks += job.tasks;
      CHECK(books.runs.size() == tasks);
      for (const auto& gang : nodes) over_several_nodes += gang.second.size() > 1 ? 1 : 0;
    }
    CHECK(over_several_nodes > 100);
  }
}

TEST_CASE("gangs over nodes of one processor start when one task on a machine of as many would",
          "[property][policy][gang]") {
  std::vector<PolicyOptions> policies;
  for (const char* name : {"fifo", "easy", "easy-sjbf", "drf"}) policies.push_back({.name = name});
  policies.push_back({.name = "sequence", .accounting = SequenceAccounting::resource_time});
  for (const auto& options : policies) {
    TimeMs waited = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const auto [gangs, whole] = gangs_and_whole(seed);
      CAPTURE(options.name, seed);
      const auto starts = starts_under(options, gangs);
      CHECK(starts == starts_under(options, whole));
      for (std::size_t i = 0; i < starts.size(); ++i)
        waited += starts[i] - gangs.workload.jobs[i].submit_ms;
    }
    CHECK(waited > 1'000'000);
  }
}

TEST_CASE("where it counts time, sequence keeps gangs waiting no longer than tasks as large",
          "[property][policy][gang]") {
  const PolicyOptions options{.name = "sequence", .accounting = SequenceAccounting::time};
  TimeMs waited_as_gangs = 0, waited_whole = 0, longest_as_gang = 0, longest_whole = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto [gangs, whole] = gangs_and_whole(seed);
    const auto as_gangs = starts_under(options, gangs);
    const auto as_whole = starts_under(options, whole);
    for (std::size_t i = 0; i < as_gangs.size(); ++i) {
      const TimeMs submit_ms = gangs.workload.jobs[i].submit_ms;
      waited_as_gangs += as_gangs[i] - submit_ms;
      waited_whole += as_whole[i] - submit_ms;
      longest_as_gang = std::max(longest_as_gang, as_gangs[i] - submit_ms);
      longest_whole = std::max(longest_whole, as_whole[i] - submit_ms);
    }
  }
  CHECK(waited_whole > 10'000'000);
  CHECK(waited_as_gangs <= waited_whole * 102 / 100);
  CHECK(longest_as_gang <= longest_whole * 110 / 100);
}

TEST_CASE("easy starts a gang at the head of the queue when it promised at the latest",
          "[property][policy][gang]") {
  for (const char* name : {"easy", "easy-sjbf"}) {
    std::size_t promises = 0;
    int backfills = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      RandomCase made = case_with_gangs(seed, 80);
      for (auto& job : made.workload.jobs) job.estimate_ms = job.run_ms;
      GangPromises oracle(made.cluster, made.workload);
      const auto scheduler = make_scheduler({.name = name}, made.cluster, made.workload);
      REQUIRE(scheduler.engaged());
      run_engine(made.cluster, made.workload, **scheduler, oracle, {});
      CAPTURE(name, seed);
      CHECK(oracle.broken == 0);
      CHECK(oracle.waiting.empty());
      promises += oracle.promised.size();
      backfills += oracle.backfills;
    }
    CHECK(promises > 300);
    CHECK(backfills > 300);
  }
}

TEST_CASE("easy backfills beside a gang's reservation on all of its nodes",
          "[unit][policy][gang]") {
  // Two nodes of 2: job 0 holds one processor of the first until 100, when job 1 is to start on all
  // four. Job 2 ends in time, job 3 would not, whichever node it took.
  RandomCase made{processors({2, 2}, {1}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 1, 100), gang_of(1, 0, 4, 1, 50), gang_of(2, 0, 3, 1, 98),
                        gang_of(3, 0, 1, 1, 98)};
  CHECK(starts_under({.name = "easy"}, made) == std::vector<TimeMs>{0, 100, 2, 150});
}

TEST_CASE("sequence keeps room for a gang on all of its nodes where it counts time",
          "[unit][policy][gang]") {
  // Two nodes of 2, tenants of weight 1 and 8. Job 0 holds the first node until 10 s, when job 1 is
  // to start on both: job 2 would run beyond that, job 3 would not.
  RandomCase made{processors({2, 2}, {1, 8}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 2, 10'000), gang_of(1, 1, 4, 1, 10'000),
                        job_of(2, 0, 1, 1, 11'000), job_of(3, 0, 1, 1, 9'000)};
  CHECK(starts_under({.name = "sequence", .accounting = SequenceAccounting::time}, made) ==
        std::vector<TimeMs>{0, 10'000, 20'000, 3});
  // Where it counts units there is no time to plan by: the gang starts once all is free.
  CHECK(starts_under({.name = "sequence"}, made) == std::vector<TimeMs>{0, 11'002, 2, 3});
}

TEST_CASE("a gang that starts in part ends the process", "[unit][engine][gang]") {
  const Cluster cluster = processors({2, 2}, {1});
  const Workload workload{{gang_of(0, 0, 3, 1, 100)}};
  const std::string said = last_words([&] {
    ScriptedScheduler scheduler([](TimeMs) {
      Actions actions;
      actions.start = {{{0, 0}, 0, 1}, {{0, 2}, 1, 1}};
      return actions;
    });
    Books books(cluster, workload);
    run_engine(cluster, workload, scheduler, books, {});
  });
  CHECK_THAT(said, Catch::Matchers::Contains("a gang starts whole"));
}

TEST_CASE("a gang could run where its tasks fit together", "[unit][sim][gang]") {
  Cluster cluster = processors({3, 2, 1}, {1});
  cluster.nodes[0].traits.site = "east";
  Job gang = gang_of(0, 0, 3, 2, 100);
  CHECK_FALSE(could_ever_run(cluster, gang));  // one each on two of the nodes
  gang.tasks = 2;
  CHECK(could_ever_run(cluster, gang));
  gang.rule = std::make_shared<PlacementRule>(PlacementRule{{"east"}, {}});
  CHECK_FALSE(could_ever_run(cluster, gang));
  gang.is_gang = false;
  CHECK(could_ever_run(cluster, gang));
}

TEST_CASE("a policy that knows no gangs starts their tasks one by one, and the report says so",
          "[unit][sim][gang]") {
  Scenario scenario;
  scenario.cluster = processors({2}, {1});
  scenario.cluster.tenants[0].name = "a";
  scenario.trace.jobs = {job_of(0, 0, 1, 1, 10'000), gang_of(0, 0, 2, 1, 10'000)};
  std::vector<PolicyRuns> runs;
  std::map<std::string, TimeMs> ends;
  for (const char* name : {"fifo", "proportional", "qrea"}) {
    scenario.policy.name = name;
    const auto run = run_once(scenario, 1);
    REQUIRE(run);
    ends[name] = run->engine.end_ms;
    runs.push_back({name, {*run}});
  }
  CHECK(ends == std::map<std::string, TimeMs>{
                    {"fifo", 20'000}, {"proportional", 20'000}, {"qrea", 20'000}});
  CHECK(runs[0].runs[0].tenants[0].jobs.mean_wait_s == 5);
  CHECK(runs[1].runs[0].tenants[0].jobs.mean_wait_s == 0);
  CHECK(notes_on(scenario, runs) ==
        std::vector<std::string>{
            "gangs are not known to proportional, qrea: their tasks start one by one"});
  CHECK(notes_on(scenario, {runs[0]}).empty());
  scenario.trace.jobs.pop_back();
  CHECK(notes_on(scenario, runs).empty());
}

}  // namespace fairwater::sim
