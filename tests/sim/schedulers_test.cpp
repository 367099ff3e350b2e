// Each policy's own rule, against a slow reading of it.
#include <array>
#include <numeric>
#include <optional>

#include "sim/schedulers/list.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

constexpr std::uint64_t kSchedulerSeeds = 60;

std::unique_ptr<Scheduler> scheduler_named(const std::string& name, const RandomCase& made) {
  auto scheduler = make_scheduler({.name = name}, made.cluster, made.workload);
  REQUIRE(scheduler.engaged());
  return std::move(*scheduler);
}

void run_policy(const std::string& name, const RandomCase& made, Observer& observer) {
  const auto scheduler = scheduler_named(name, made);
  run_engine(made.cluster, made.workload, *scheduler, observer, {});
}

/// When each job's last task started.
std::vector<TimeMs> starts_under(const std::string& name, const RandomCase& made) {
  Books books(made.cluster, made.workload);
  run_policy(name, made, books);
  std::vector<TimeMs> starts(made.workload.jobs.size());
  for (const auto& run : books.runs) starts[run.task.job] = run.start;
  return starts;
}

/// How many tasks of each tenant start at time 0.
std::vector<Units> first_starts(const std::string& name, const RandomCase& made) {
  Books books(made.cluster, made.workload);
  const auto scheduler = scheduler_named(name, made);
  run_engine(made.cluster, made.workload, *scheduler, books, {.end_ms = 1});
  std::vector<Units> counts(made.cluster.tenants.size());
  for (const auto& run : books.runs) ++counts[made.workload.jobs[run.task.job].tenant];
  return counts;
}

// -- easy ----------------------------------------------------------------------------------------

/// What EASY promises: when the first waiting task cannot start, the earliest moment at which some
/// node has room for it, by what runs then and what was started before it. Counted anew from what
/// happened.
class Reservations final : public Books {
 public:
  Reservations(const Cluster& cluster, const Workload& workload)
      : Books(cluster, workload), cluster_(cluster), workload_(workload) {}

  void started(const Start& start) override {
    Books::started(start);
    const auto found = promised.find(start.task);
    if (found != promised.end() && now > found->second) ++broken;
    if (!waiting.empty() && start.task.job > waiting.begin()->first) ++backfills;
  }

  void cycle_done(const Scheduler& /*scheduler*/) override {
    if (!waiting.empty()) {
      const auto [job, left] = *waiting.begin();
      const TaskId head{job, workload_.jobs[job].tasks - left};
      if (!promised.contains(head)) promised[head] = earliest(head);
    }
    before_cycle_ = runs.size();
  }

  std::map<TaskId, TimeMs> promised;  ///< to each task that was the first to wait
  int broken = 0;
  int backfills = 0;

 private:
  [[nodiscard]] TimeMs end_of(const TaskRun& run) const {
    return run.start + workload_.jobs[run.task.job].run_ms;
  }
  /// Whether it counts for the promise to `head`: it runs, and it is not a backfill of this cycle.
  [[nodiscard]] bool counts(const TaskRun& run, TaskId head) const {
    const auto place = static_cast<std::size_t>(&run - runs.data());
    return run.end < 0 && (place < before_cycle_ || run.task < head);
  }
  [[nodiscard]] TimeMs earliest(TaskId head) const {
    const Job& job = workload_.jobs[head.job];
    std::optional<TimeMs> best;
    for (NodeIndex node = 0; node < cluster_.nodes.size(); ++node) {
      if (job.rule && !job.rule->allows(cluster_.nodes[node].traits)) continue;
      for (const auto& moment : runs) {
        if (moment.node != node || !counts(moment, head)) continue;
        ResourceVector free = cluster_.nodes[node].capacity;
        for (const auto& other : runs)
          if (other.node == node && counts(other, head) && end_of(other) > end_of(moment))
            free -= workload_.jobs[other.task.job].demand;
        if (job.demand.fits(free) && (!best || end_of(moment) < *best)) best = end_of(moment);
      }
    }
    REQUIRE(best.has_value());
    return *best;
  }

  const Cluster& cluster_;
  const Workload& workload_;
  std::size_t before_cycle_ = 0;  ///< runs that began before the present cycle
};

// -- drf -----------------------------------------------------------------------------------------

/// At every start: no tenant whose next task fits somewhere has a smaller dominant share / weight.
class ShareOrder final : public Books {
 public:
  ShareOrder(const Cluster& cluster, const Workload& workload)
      : Books(cluster, workload), cluster_(cluster), workload_(workload) {}

  void started(const Start& start) override {
    const TenantIndex chosen = workload_.jobs[start.task.job].tenant;
    for (TenantIndex other = 0; other < cluster_.tenants.size(); ++other)
      if (other != chosen && next_fits(other) && share(other) < share(chosen) - 1e-12)
        ++passed_over;
    Books::started(start);
    ++starts;
  }

  int passed_over = 0;
  int starts = 0;

 private:
  /// Largest part of any resource, over its weight.
  [[nodiscard]] double share(TenantIndex tenant) const {
    ResourceVector held;
    for (const auto& [task, place] : running)
      if (workload_.jobs[task.job].tenant == tenant) held += workload_.jobs[task.job].demand;
    const ResourceVector total = total_capacity(cluster_);
    double largest = 0;
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (total[r] > 0)
        largest = std::max(largest, static_cast<double>(held[r]) / static_cast<double>(total[r]));
    return largest / static_cast<double>(cluster_.tenants[tenant].terms.weight);
  }
  [[nodiscard]] bool next_fits(TenantIndex tenant) const {
    for (const auto& entry : waiting) {
      const Job& job = workload_.jobs[entry.first];
      if (job.tenant != tenant) continue;
      for (std::size_t node = 0; node < used.size(); ++node)
        if (job.demand.fits(cluster_.nodes[node].capacity - used[node]) &&
            (!job.rule || job.rule->allows(cluster_.nodes[node].traits)))
          return true;
      return false;
    }
    return false;
  }

  const Cluster& cluster_;
  const Workload& workload_;
};

/// Units by weight, whole, the largest fractions first and heavier tenants first among equal ones.
std::vector<Units> largest_remainders(Units units, const std::vector<Weight>& weights) {
  const Weight sum = std::accumulate(weights.begin(), weights.end(), Weight{0});
  std::vector<Units> parts;
  for (const Weight weight : weights) parts.push_back(units * weight / sum);
  std::vector<bool> rounded(weights.size());
  for (Units left = units - std::accumulate(parts.begin(), parts.end(), Units{0}); left > 0;
       --left) {
    std::size_t best = weights.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (rounded[i]) continue;
      const auto rank = [&](std::size_t t) {
        return std::pair{units * weights[t] % sum, weights[t]};
      };
      if (best == weights.size() || rank(i) > rank(best)) best = i;
    }
    rounded[best] = true;
    ++parts[best];
  }
  return parts;
}

}  // namespace

TEST_CASE("fifo starts tasks in the order of arrival", "[property][policy]") {
  for (std::uint64_t seed = 1; seed <= kSchedulerSeeds; ++seed) {
    const RandomCase made = random_case(seed, 80);
    Books books(made.cluster, made.workload);
    run_policy("fifo", made, books);
    CAPTURE(seed);
    CHECK(std::is_sorted(books.runs.begin(), books.runs.end(),
                         [](const TaskRun& a, const TaskRun& b) { return a.task < b.task; }));
    CHECK(books.waiting.empty());
  }
}

TEST_CASE("easy starts the head of the queue when it promised at the latest",
          "[property][policy]") {
  for (const std::string name : {"easy", "easy-sjbf"}) {
    std::size_t promises = 0;
    int backfills = 0;
    for (std::uint64_t seed = 1; seed <= kSchedulerSeeds; ++seed) {
      RandomCase made = random_case(seed, 80);
      for (auto& job : made.workload.jobs) job.estimate_ms = job.run_ms;
      Reservations oracle(made.cluster, made.workload);
      run_policy(name, made, oracle);
      CAPTURE(name, seed);
      CHECK(oracle.broken == 0);
      CHECK(oracle.waiting.empty());
      promises += oracle.promised.size();
      backfills += oracle.backfills;
    }
    CHECK(promises > 10 * kSchedulerSeeds);
    CHECK(backfills > static_cast<int>(kSchedulerSeeds));
  }
}

TEST_CASE("easy fills the gap before a reservation and the room beside it, no more",
          "[unit][policy]") {
  // One node of 10. Job 0 holds 6 until 100; job 1 needs 8 and is promised 100, when 2 are spare.
  // Job 2 ends in time, job 3 takes the spare room, job 4 would end at 101, job 5 ends in time.
  RandomCase made{processors({10}, {1}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 6, 100), job_of(1, 0, 1, 8, 50), job_of(2, 0, 1, 1, 98),
                        job_of(3, 0, 1, 2, 500), job_of(4, 0, 1, 1, 97), job_of(5, 0, 1, 1, 10)};
  CHECK(starts_under("easy", made) == std::vector<TimeMs>{0, 100, 2, 3, 150, 5});
}

TEST_CASE("easy-sjbf fills with the shortest first", "[unit][policy]") {
  // Job 0 holds 6 of 10 until 100, when job 1 is to start; only one of jobs 2 and 3 can end before.
  RandomCase made{processors({10}, {1}), {}};
  made.workload.jobs = {job_of(0, 0, 1, 6, 100), job_of(1, 0, 1, 8, 50), job_of(2, 0, 1, 4, 90),
                        job_of(2, 0, 1, 4, 20)};
  CHECK(starts_under("easy", made) == std::vector<TimeMs>{0, 100, 2, 150});
  CHECK(starts_under("easy-sjbf", made) == std::vector<TimeMs>{0, 100, 150, 2});
}

TEST_CASE("proportional divides a node's units by weight, the largest fractions first",
          "[property][policy]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SplitMix64 random(seed);
    std::vector<Weight> weights;
    for (auto count = 2 + random.below(5); count > 0; --count) {
      Weight weight = 0;  // all different, for then only the order of weights breaks ties
      do weight = 1 + static_cast<Weight>(random.below(20));
      while (std::find(weights.begin(), weights.end(), weight) != weights.end());
      weights.push_back(weight);
    }
    const auto units = 1 + static_cast<Amount>(random.below(60));
    RandomCase made{processors({units}, weights), {}};
    for (TenantIndex i = 0; i < weights.size(); ++i)
      made.workload.jobs.push_back(job_of(0, i, 100, 1, 1000));
    CAPTURE(seed, units, weights);
    CHECK(first_starts("proportional", made) == largest_remainders(units, weights));
  }
}

TEST_CASE("proportional hands on what somebody cannot use, the heavier first", "[unit][policy]") {
  RandomCase made{processors({12}, {1, 2, 3}), {}};
  made.workload.jobs = {job_of(0, 0, 9, 1, 1000), job_of(0, 1, 9, 1, 1000),
                        job_of(0, 2, 2, 1, 1000)};
  CHECK(first_starts("proportional", made) == std::vector<Units>{2, 8, 2});
}

TEST_CASE("proportional starts a task that costs more than its node has units of another resource",
          "[unit][policy]") {
  RandomCase made{processors({8}, {1, 1}), {}};
  made.cluster.resources = {"cpu", "memory"};
  made.cluster.settings.granules[kMemory] = 512;
  made.cluster.nodes[0].capacity[kMemory] = 1024;
  made.workload.jobs = {job_of(0, 0, 1, 3, 1000), job_of(0, 1, 1, 4, 1000)};
  CHECK(first_starts("proportional", made) == std::vector<Units>{1, 1});
}

TEST_CASE("drf serves the least dominant share by weight that can be served",
          "[property][policy]") {
  for (const std::string name : {"drf", "drfh-best-fit"}) {
    int starts = 0;
    for (std::uint64_t seed = 1; seed <= kSchedulerSeeds; ++seed) {
      const RandomCase made = random_case(seed, 80);
      ShareOrder oracle(made.cluster, made.workload);
      run_policy(name, made, oracle);
      CAPTURE(name, seed);
      CHECK(oracle.passed_over == 0);
      starts += oracle.starts;
    }
    CHECK(starts > 1000);
  }
}

TEST_CASE("drf gives the shares of its paper's example", "[unit][policy]") {
  // Ghodsi and others, NSDI 2011, section 4.1: 9 processors and 18 GB; tasks of <1 processor, 4 GB>
  // and of <3 processors, 1 GB>: 3 and 2 of them, both with a dominant share of 2/3.
  RandomCase made{processors({9}, {1, 1}), {}};
  made.cluster.nodes[0].capacity[kMemory] = 18;
  made.workload.jobs = {job_of(0, 0, 10, 1, 1000), job_of(0, 1, 10, 3, 1000)};
  made.workload.jobs[0].demand[kMemory] = 4;
  made.workload.jobs[1].demand[kMemory] = 1;
  for (const std::string name : {"drf", "drfh-best-fit"})
    CHECK(first_starts(name, made) == std::vector<Units>{3, 2});
}

TEST_CASE("sequence shares a saturated node by weight", "[property][policy]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SplitMix64 random(seed);
    std::vector<Weight> weights;
    for (auto count = 2 + random.below(4); count > 0; --count)
      weights.push_back(1 + static_cast<Weight>(random.below(9)));
    const Weight sum = std::accumulate(weights.begin(), weights.end(), Weight{0});
    RandomCase made{processors({sum * 3}, weights), {}};
    for (TenantIndex i = 0; i < weights.size(); ++i)
      made.workload.jobs.push_back(job_of(0, i, 200, 1, 1000));
    std::vector<Units> expected;
    for (const Weight weight : weights) expected.push_back(weight * 3);
    CAPTURE(seed, weights);
    CHECK(first_starts("sequence", made) == expected);
  }
}

TEST_CASE("sequence by resource-time evens out units times time", "[unit][policy]") {
  // One processor; tenant 0 has tasks of 100 ms, tenant 1 of 300 ms: three for one.
  RandomCase made{processors({1}, {1, 1}), {}};
  made.workload.jobs = {job_of(0, 0, 90, 1, 100), job_of(0, 1, 30, 1, 300)};
  const auto scheduler =
      make_scheduler({.name = "sequence", .accounting = SequenceAccounting::resource_time},
                     made.cluster, made.workload);
  REQUIRE(scheduler.engaged());
  Books books(made.cluster, made.workload);
  run_engine(made.cluster, made.workload, **scheduler, books, {});
  TimeMs time[2] = {0, 0};
  for (const auto& run : books.runs) {
    time[made.workload.jobs[run.task.job].tenant] += run.end - run.start;
    CHECK(std::abs(time[0] - time[1]) <= 300);
  }
}

TEST_CASE("an unknown policy is refused with the names of those that exist", "[unit][policy]") {
  const RandomCase made = random_case(1, 5);
  const auto refused = make_scheduler({.name = "lottery"}, made.cluster, made.workload);
  REQUIRE_FALSE(refused.engaged());
  const auto error = details(refused.error());
  CHECK(error.code == ErrorCode::invalid_input);
  CHECK(error.field == "policy");
  CHECK_THAT(error.message, Catch::Matchers::Contains("'lottery'") &&
                                Catch::Matchers::Contains("sequence, proportional"));
}

TEST_CASE("jobs of one task hold their part of many nodes beside a job of thousands",
          "[unit][policy]") {
  PolicyOptions options{.name = "sequence"};
  options.accounting = GENERATE(SequenceAccounting::units, SequenceAccounting::time);
  const Cluster cluster = processors(std::vector<Amount>(100, 16), {1, 3});
  Workload workload;
  // All tasks end at the same moments, so that all 1600 processors are dealt at once each time.
  workload.jobs.push_back(job_of(0, 0, 4000, 1, 1000));
  for (int job = 0; job < 8000; ++job) workload.jobs.push_back(job_of(0, 1, 1, 1, 1000));
  SequenceScheduler scheduler(options, cluster, workload);
  Books books(cluster, workload);
  run_engine(cluster, workload, scheduler, books, {.end_ms = 3500});
  CHECK(books.sound());
  for (const TimeMs at : {0, 1000, 2000, 3000}) {
    std::array<int, 2> started{};
    for (const TaskRun& run : books.runs)
      if (run.start == at) ++started.at(workload.jobs[run.task.job].tenant);
    CHECK(started == std::array{400, 1200});
  }
}

}  // namespace fairwater::sim
