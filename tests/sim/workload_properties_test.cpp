// What holds for every policy and every workload, by the books of an observer that trusts nobody.
#include <fmt/format.h>

#include "sim/report/metrics.hpp"
#include "sim/schedulers/list.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

constexpr std::uint64_t kPropertySeeds = 40;

/// Every policy that knows nodes, and `sequence` in its other ways; elastic_scheduler_test.cpp does
/// the same for those that run on a pool, where jobs may be killed.
std::vector<PolicyOptions> all_policies() {
  std::vector<PolicyOptions> all;
  for (const auto name : policy_names())
    if (!needs_pool(name)) all.push_back({.name = std::string(name)});
  all.push_back({.name = "sequence", .mode = DealMode::slots});
  all.push_back({.name = "sequence", .backups = 4});
  for (const auto accounting : {SequenceAccounting::time, SequenceAccounting::resource_time})
    all.push_back({.name = "sequence", .accounting = accounting});
  return all;
}

/// Both of several observers see everything.
class Pair final : public Observer {
 public:
  Pair(Observer& first, Observer& second) : both_{&first, &second} {}
  void advance(TimeMs now) override {
    for (auto* one : both_) one->advance(now);
  }
  void submitted(JobIndex job) override {
    for (auto* one : both_) one->submitted(job);
  }
  void started(const Start& start) override {
    for (auto* one : both_) one->started(start);
  }
  void resized(TaskId task, Units before, Units after) override {
    for (auto* one : both_) one->resized(task, before, after);
  }
  void ended(TaskId task, NodeIndex node, Units units, bool killed) override {
    for (auto* one : both_) one->ended(task, node, units, killed);
  }
  void cycle_done(const Scheduler& scheduler) override {
    for (auto* one : both_) one->cycle_done(scheduler);
  }

 private:
  std::array<Observer*, 2> both_;
};

struct Outcome {
  EngineResult engine;
  RunMetrics metrics;
};

Outcome run_case(const PolicyOptions& options, const RandomCase& made, Books& books,
                 EngineOptions engine = {}) {
  const auto scheduler = make_scheduler(options, made.cluster, made.workload);
  REQUIRE(scheduler.engaged());
  Recorder recorder(made.cluster, made.workload,
                    {.sample_ms = 700, .windows_ms = {1000, 2500, 10'000}, .horizon_ms = 0});
  Pair both(books, recorder);
  const auto result = run_engine(made.cluster, made.workload, **scheduler, both, engine);
  return {result, recorder.finish(result, **scheduler)};
}

/// Every figure, exactly: hexadecimal floating point.
std::string text_of(const JobMetrics& jobs) {
  return fmt::format("{} {:a} {:a} {:a} {:a} {:a}\n", jobs.jobs, jobs.mean_wait_s, jobs.p95_wait_s,
                     jobs.max_wait_s, jobs.mean_slowdown, jobs.mean_completion_s);
}
std::string text_of(const RunMetrics& metrics) {
  std::string text =
      fmt::format("{} {} {:a} {} {} {:a} {:a} {} {} {:a}\n", metrics.engine.end_ms,
                  metrics.engine.events, metrics.utilisation, metrics.failed_jobs,
                  metrics.unfinished_jobs, metrics.largest_deviation, metrics.mean_deviation,
                  metrics.lent, metrics.repaid, metrics.time_in_debt_s) +
      text_of(metrics.jobs);
  for (const auto& window : metrics.fairness)
    text += fmt::format("{} {} {:a} {:a}\n", window.length_ms, window.windows, window.mean_jain,
                        window.least_jain);
  for (const auto& tenant : metrics.tenants)
    text += fmt::format("{} {} {:a} {:a} {} {} {:a} ", tenant.submitted, tenant.killed_tasks,
                        tenant.unit_s, tenant.mean_share, tenant.account.net,
                        tenant.account.borrowed, tenant.time_in_debt_s) +
            text_of(tenant.jobs);
  for (const auto& sample : metrics.samples)
    for (const auto& tenant : sample)
      text +=
          fmt::format("{:a} {:a} {:a} {} {:a} {}\n", tenant.held_units, tenant.cumulative_unit_s,
                      tenant.share, tenant.net, tenant.credit, tenant.waiting_tasks);
  return text;
}

std::string name_of(const PolicyOptions& options) {
  return fmt::format("{} mode {} backups {} accounting {}", options.name,
                     static_cast<int>(options.mode), options.backups,
                     static_cast<int>(options.accounting));
}

}  // namespace

TEST_CASE("the same run twice gives the same decisions and the same figures",
          "[property][policy]") {
  for (const auto& options : all_policies())
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const RandomCase made = random_case(seed, 60);
      Books first(made.cluster, made.workload), second(made.cluster, made.workload);
      const auto one = run_case(options, made, first);
      const auto other = run_case(options, made, second);
      CAPTURE(name_of(options), seed);
      CHECK(first.runs == second.runs);
      CHECK(text_of(one.metrics) == text_of(other.metrics));
      CHECK_FALSE(one.metrics.samples.empty());
    }
}

TEST_CASE("every task runs once, to its end, where there is room, and no earlier than submitted",
          "[property][policy]") {
  for (const auto& options : all_policies())
    for (std::uint64_t seed = 1; seed <= kPropertySeeds; ++seed) {
      const RandomCase made = random_case(seed, 60);
      Books books(made.cluster, made.workload);
      const auto outcome = run_case(options, made, books);
      CAPTURE(name_of(options), seed);
      CHECK(books.sound());
      CHECK(books.waiting.empty());
      CHECK(books.running.empty());
      std::map<TaskId, TimeMs> ran;
      Wide work = 0, asked = 0;
      std::size_t wrong = 0, tasks = 0;
      for (const auto& run : books.runs) {
        const Job& job = made.workload.jobs[run.task.job];
        if (run.start < job.submit_ms || run.killed || run.end != run.start + job.run_ms ||
            !ran.emplace(run.task, run.end).second)
          ++wrong;
        work += run.end - run.start;
      }
      for (const auto& job : made.workload.jobs) {
        asked += Wide{job.tasks} * job.run_ms;
        tasks += job.tasks;
      }
      CHECK(wrong == 0);
      CHECK(ran.size() == tasks);
      CHECK(work == asked);
      CHECK(outcome.engine.work_done == asked);
      CHECK(outcome.engine.running == 0);
      CHECK(outcome.engine.waiting == 0);
      CHECK(outcome.metrics.unfinished_jobs == 0);
    }
}

TEST_CASE("nothing that fits waits while the whole cluster is idle", "[property][policy]") {
  for (const auto& options : all_policies())
    for (std::uint64_t seed = 1; seed <= kPropertySeeds; ++seed) {
      const RandomCase made = random_case(seed, 30);
      Books books(made.cluster, made.workload);
      const auto outcome = run_case(options, made, books);
      std::map<TimeMs, int> steps;  // of the number of tasks that are submitted and have not ended
      std::map<TimeMs, int> busy;
      for (const auto& run : books.runs) {
        ++steps[made.workload.jobs[run.task.job].submit_ms];
        --steps[run.end];
        ++busy[run.start];
        --busy[run.end];
      }
      int unfinished = 0, running = 0;
      bool idle = false;
      auto next = busy.begin();
      for (const auto& [at, change] : steps) {
        unfinished += change;
        for (; next != busy.end() && next->first <= at; ++next) running += next->second;
        idle = idle || (unfinished > 0 && running == 0);
      }
      CAPTURE(name_of(options), seed);
      CHECK_FALSE(idle);
      CHECK(outcome.engine.waiting == 0);
    }
}

TEST_CASE("figures are what the runs say", "[property][metrics]") {
  for (const auto& options : all_policies())
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const RandomCase made = random_case(seed, 60);
      Books books(made.cluster, made.workload);
      const auto metrics = run_case(options, made, books).metrics;
      const TimeMs horizon = metrics.horizon_ms;
      std::map<JobIndex, std::pair<TimeMs, TimeMs>> spans;  // first start, last end
      std::vector<double> unit_s(made.cluster.tenants.size());
      ResourceVector used;
      for (const auto& run : books.runs) {
        const Job& job = made.workload.jobs[run.task.job];
        const auto [span, is_new] = spans.emplace(run.task.job, std::pair{run.start, run.end});
        span->second.first = std::min(span->second.first, run.start);
        span->second.second = std::max(span->second.second, run.end);
        const TimeMs counted = std::max<TimeMs>(0, std::min(run.end, horizon) - run.start);
        unit_s[job.tenant] += static_cast<double>(cost_of(made.cluster, job) * counted) / 1000;
        for (std::size_t r = 0; r < kMaxResources; ++r) used[r] += job.demand[r] * counted;
      }
      double wait = 0, longest = 0;
      for (const auto& [job, span] : spans) {
        const double waited =
            static_cast<double>(span.first - made.workload.jobs[job].submit_ms) / 1000;
        wait += waited;
        longest = std::max(longest, waited);
      }
      const ResourceVector total = total_capacity(made.cluster);
      double utilisation = 0;
      for (std::size_t r = 0; r < kMaxResources; ++r)
        if (total[r] > 0)
          utilisation = std::max(
              utilisation, static_cast<double>(used[r]) / static_cast<double>(total[r] * horizon));
      CAPTURE(name_of(options), seed);
      CHECK(metrics.jobs.jobs == spans.size());
      CHECK(metrics.jobs.mean_wait_s == Approx(wait / static_cast<double>(spans.size())));
      CHECK(metrics.jobs.max_wait_s == Approx(longest));
      CHECK(metrics.utilisation == Approx(utilisation));
      for (TenantIndex i = 0; i < unit_s.size(); ++i)
        CHECK(metrics.tenants[i].unit_s == Approx(unit_s[i]));
    }
}

TEST_CASE("a damaged log gives a workload that can run, or is refused", "[property][fuzz]") {
  const std::string whole =
      "; c\n1 0 0 5 4 -1 -1 4 9 2097153 1 1 1 -1 0 -1 -1 -1 2:ppn=2:cl_east#excl\n"
      "2 9 0 5.5 8 -1 -1 8 -1 -1 1 2 1 -1 1 1 1 1 u 1:ppn=8\n3 9 0 -1 1 -1 -1 1 1 1 0 2 1 1 1 1 1 "
      "1\n";
  int taken = 0, refused = 0;
  SplitMix64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (auto edits = 1 + random.below(4); edits > 0; --edits) {
      static constexpr std::string_view kSigns = "0123456789-. \n;:=#pn_\xff";
      const auto at = random.below(text.size());
      if (random.below(3) == 0)
        text.erase(at, random.below(6));
      else
        text.insert(at, 1 + random.below(3), kSigns[random.below(kSigns.size())]);
    }
    const auto log = parse_swf(text, 0);
    if (!log) continue;
    TraceOptions options;
    options.tenants = static_cast<TenantColumn>(random.below(3));
    options.shape = static_cast<JobShape>(random.below(4));
    options.memory_in_bytes_per_node = options.clusters_as_sites = random.below(2) == 0;
    const auto made = workload_from(*log, options);
    INFO(text);
    if (!made) {
      ++refused;
      CHECK(details(made.error()).code == ErrorCode::invalid_input);
      continue;
    }
    ++taken;
    CHECK(made->workload.jobs.size() == log->jobs.size());
    const auto is_sane = [&](const Job& job) {
      return job.submit_ms >= 0 && job.run_ms >= 0 && job.estimate_ms >= 0 && job.tasks >= 1 &&
             job.demand[kCpu] >= 1 && job.demand[kMemory] >= 0 && job.tenant < made->tenants.size();
    };
    CHECK(std::all_of(made->workload.jobs.begin(), made->workload.jobs.end(), is_sane));
  }
  CHECK(taken > 1000);
  CHECK(refused > 30);
}

TEST_CASE("cycles at intervals lose no task either", "[property][policy]") {
  for (const auto& options : all_policies()) {
    const RandomCase made = random_case(7, 60);
    Books books(made.cluster, made.workload);
    const auto outcome = run_case(options, made, books, {.cycle_ms = 1000});
    CAPTURE(name_of(options));
    CHECK(books.sound());
    CHECK(outcome.engine.waiting == 0);
    for (const auto& run : books.runs) CHECK(run.start % 1000 == 0);
  }
}

}  // namespace fairwater::sim
