// The engine's clock and books, with a scheduler that does what the test says.
#include "sim/engine/engine.hpp"

#include <fmt/format.h>

#include "tests/sim/support.hpp"

namespace fairwater::sim {
namespace {

using namespace test;

Workload jobs(std::vector<Job> list) { return {std::move(list)}; }

Job elastic(TimeMs submit_ms, TimeMs run_ms, Units min, Units max) {
  Job job = job_of(submit_ms, 0, 1, 1, run_ms);
  job.min_units = min;
  job.max_units = max;
  return job;
}

/// A job that nobody starts: its arrival makes the engine ask for a cycle.
Job tick(TimeMs at) { return job_of(at, 0, 1, 1, 1); }

EngineResult run_script(const Cluster& cluster, const Workload& workload, Observer& observer,
                        const std::map<TimeMs, Actions>& script, EngineOptions options = {}) {
  ScriptedScheduler scheduler([&](TimeMs now) {
    const auto found = script.find(now);
    return found == script.end() ? Actions{} : found->second;
  });
  return run_engine(cluster, workload, scheduler, observer, options);
}

Actions start(std::vector<Start> list) {
  Actions actions;
  actions.start = std::move(list);
  return actions;
}

}  // namespace

TEST_CASE("at one instant ends are told first, then arrivals, then one cycle", "[unit][engine]") {
  const Cluster cluster = processors({4}, {1});
  const Workload workload = jobs({job_of(0, 0, 2, 1, 500), job_of(0, 0, 1, 1, 500),
                                  job_of(500, 0, 1, 1, 0), job_of(500, 0, 1, 1, 7)});
  bool started = false;
  ScriptedScheduler scheduler([&](TimeMs now) {
    if (now == 0 && !std::exchange(started, true))
      return start({{{1, 0}, 0, 1}, {{0, 1}, 0, 1}, {{0, 0}, 0, 1}});
    return Actions{};
  });
  Books books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(scheduler.told == std::vector<std::string>{"submit 0", "submit 1", "cycle 0",
                                                   "end 1.0 on 0", "end 0.1 on 0", "end 0.0 on 0",
                                                   "submit 2", "submit 3", "cycle 500"});
  CHECK(result.events == 9);
  CHECK(result.end_ms == 500);
  CHECK(result.waiting == 2);
  CHECK(result.running == 0);
  CHECK(result.work_done == 1500);
}

TEST_CASE("the policy is told of time before all else of an instant, and at every step",
          "[unit][engine]") {
  class Clock final : public Scheduler {
   public:
    void pass_to(TimeMs now) override { tell("pass", now); }
    void submit(JobIndex job) override { tell("submit", job); }
    void end(TaskId task, NodeIndex /*node*/) override { tell("end", task.job); }
    Actions cycle(TimeMs now) override {
      tell("cycle", now);
      return now == 0 ? start({{{0, 0}, 0, 1}}) : Actions{};
    }
    void finish() override { told.emplace_back("finish"); }
    std::vector<std::string> told;

   private:
    void tell(const char* what, std::int64_t of) { told.push_back(fmt::format("{} {}", what, of)); }
  };
  const Cluster cluster = processors({1}, {1});
  const Workload workload = jobs({job_of(0, 0, 1, 1, 500), tick(500)});
  Books books(cluster, workload);
  Clock clock;
  run_engine(cluster, workload, clock, books, {.end_ms = 900, .step_ms = 200});
  CHECK(clock.told == std::vector<std::string>{"submit 0", "cycle 0", "pass 200", "pass 400",
                                               "pass 500", "end 0", "submit 1", "cycle 500",
                                               "pass 600", "pass 800", "pass 900", "finish"});
  CHECK(books.sound());
}

TEST_CASE("a task of no length ends at the instant of its start, after the cycle",
          "[unit][engine]") {
  const Cluster cluster = processors({1}, {1});
  const Workload workload = jobs({job_of(3, 0, 2, 1, 0)});
  std::uint32_t next = 0;
  ScriptedScheduler scheduler([&](TimeMs) {
    return next < 2 ? start({{{0, next++}, 0, 1}}) : Actions{};
  });
  Books books(cluster, workload);
  const auto result = run_engine(cluster, workload, scheduler, books, {});
  CHECK(scheduler.told == std::vector<std::string>{"submit 0", "cycle 3", "end 0.0 on 0", "cycle 3",
                                                   "end 0.1 on 0", "cycle 3"});
  CHECK(result.end_ms == 3);
  CHECK(books.sound());
}

TEST_CASE("cycles come at multiples of their length alone, and only when something happened",
          "[unit][engine]") {
  const Cluster cluster = processors({1}, {1});
  const Workload workload =
      jobs({tick(0), tick(1), tick(999), job_of(1500, 0, 1, 1, 600), tick(9000)});
  ScriptedScheduler scheduler([](TimeMs now) {
    return now == 2000 ? start({{{3, 0}, 0, 1}}) : Actions{};
  });
  Books books(cluster, workload);
  run_engine(cluster, workload, scheduler, books, {.cycle_ms = 1000});
  CHECK(scheduler.told == std::vector<std::string>{"submit 0", "cycle 0", "submit 1", "submit 2",
                                                   "cycle 1000", "submit 3", "cycle 2000",
                                                   "end 3.0 on 0", "cycle 3000", "submit 4",
                                                   "cycle 9000"});
}

TEST_CASE("a policy is asked when it wakes, as long as anything is still to come",
          "[unit][engine]") {
  const Cluster cluster = processors({1}, {1});
  const Workload workload = jobs({job_of(0, 0, 1, 1, 2500)});
  ScriptedScheduler scheduler([](TimeMs now) {
    return now == 0 ? start({{{0, 0}, 0, 1}}) : Actions{};
  });
  scheduler.wakes_after_ms = 1000;
  Books books(cluster, workload);
  CHECK(run_engine(cluster, workload, scheduler, books, {}).end_ms == 2500);
  CHECK(scheduler.told == std::vector<std::string>{"submit 0", "cycle 0", "cycle 1000",
                                                   "cycle 2000", "end 0.0 on 0", "cycle 2500"});
}

TEST_CASE("an elastic task ends when its work is done, whatever its sizes were", "[unit][engine]") {
  const Cluster cluster = processors({8}, {1});
  // 2000 unit-milliseconds. 4 units for 100 ms leave 1600; 7 units for 100 ms leave 900; 4 for
  // 100 ms leave 500, of which 3 units do 501 in 167 ms.
  const Workload workload = jobs({elastic(0, 1000, 2, 7), tick(100), tick(200), tick(300)});
  std::map<TimeMs, Actions> script;
  script[0].start = {{{0, 0}, 0, 4}};
  script[100].grow = {{{0, 0}, 7}};
  script[200].shrink = {{{0, 0}, 4}};
  script[300].shrink = {{{0, 0}, 3}};
  Books books(cluster, workload);
  const auto result = run_script(cluster, workload, books, script);
  REQUIRE(books.runs.size() == 1);
  CHECK(books.runs[0].end == 467);
  CHECK(result.work_done == 400 + 700 + 400 + 167 * 3);
  CHECK(books.sound());
}

TEST_CASE("random resizes end when a count by the millisecond says", "[property][engine]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SplitMix64 random(seed);
    const Units min = 1 + static_cast<Units>(random.below(4));
    const Units max = min + 1 + static_cast<Units>(random.below(6));
    const Job job = elastic(0, 1 + static_cast<TimeMs>(random.below(400)), min, max);
    const auto any_size = [&] {
      return min + static_cast<Units>(random.below(static_cast<std::uint64_t>(max - min + 1)));
    };
    Workload workload = jobs({job});
    std::map<TimeMs, Actions> script;
    std::map<TimeMs, Units> sizes{{0, any_size()}};
    script[0].start = {{{0, 0}, 0, sizes[0]}};
    TimeMs end = -1;
    std::int64_t left = job.run_ms * min;
    for (TimeMs now = 0; end < 0; ++now) {
      const Units before = std::prev(sizes.upper_bound(now))->second;
      if (left <= 0) {
        end = now;
      } else if (now > 0 && random.below(20) == 0) {
        workload.jobs.push_back(tick(now));
        if (const Units after = any_size(); after != before) {
          sizes[now] = after;
          (after < before ? script[now].shrink : script[now].grow) = {{{0, 0}, after}};
        }
      }
      left -= std::prev(sizes.upper_bound(now))->second;
    }
    const Cluster cluster = processors({max}, {1});
    Books books(cluster, workload);
    run_script(cluster, workload, books, script);
    CAPTURE(seed);
    REQUIRE(books.runs.size() == 1);
    CHECK(books.runs[0].end == end);
    CHECK(books.sound());
  }
}

TEST_CASE("room that shrinks and kills leave is there for starts of the same cycle",
          "[unit][engine]") {
  const Cluster cluster = processors({8}, {1});
  const Workload workload =
      jobs({elastic(0, 1000, 2, 6), job_of(0, 0, 1, 2, 1000), elastic(100, 100, 4, 6)});
  std::map<TimeMs, Actions> script;
  script[0].start = {{{0, 0}, 0, 6}, {{1, 0}, 0, 1}};
  script[100].shrink = {{{0, 0}, 2}};
  script[100].kill = {{1, 0}};
  script[100].start = {{{2, 0}, 0, 4}, {{1, 0}, 0, 1}};
  Books books(cluster, workload);
  const auto result = run_script(cluster, workload, books, script);
  // Job 0 has 2000 - 600 left, at 2 units; the killed task begins anew.
  CHECK(books.runs == std::vector<TaskRun>{{{0, 0}, 0, 0, 800, false},
                                           {{1, 0}, 0, 0, 100, true},
                                           {{2, 0}, 0, 100, 200, false},
                                           {{1, 0}, 0, 100, 1100, false}});
  CHECK(result.work_done == 600 + 700 * 2 + 100 + 400 + 1000);
  CHECK(result.waiting == 0);
  CHECK(books.sound());
}

TEST_CASE("a run that is stopped counts what was done until then", "[unit][engine]") {
  const Cluster cluster = processors({4}, {1});
  const Workload workload =
      jobs({job_of(0, 0, 3, 1, 1000), job_of(300, 0, 1, 1, 1000), job_of(400, 0, 1, 1, 10)});
  std::map<TimeMs, Actions> script;
  script[0].start = {{{0, 0}, 0, 1}, {{0, 1}, 0, 1}};
  script[300].start = {{{1, 0}, 0, 1}};
  Books books(cluster, workload);
  const auto result = run_script(cluster, workload, books, script, {.end_ms = 400});
  CHECK(result.end_ms == 400);
  CHECK(books.now == 400);
  CHECK(result.running == 3);
  CHECK(result.waiting == 1);  // the arrival at the end is beyond it
  CHECK(result.work_done == 400 + 400 + 100);
}

TEST_CASE("a policy that breaks a rule stops the process", "[unit][engine]") {
  const Cluster cluster = processors({8, 1}, {1});
  const Workload workload = jobs({elastic(0, 1000, 2, 6), job_of(0, 0, 2, 3, 1000), tick(100)});
  const auto words_after = [&](const Actions& first, const Actions& then) {
    return last_words([&] {
      Observer nobody;
      run_script(cluster, workload, nobody, {{0, first}, {100, then}});
    });
  };
  const Actions both = start({{{0, 0}, 0, 2}, {{1, 0}, 0, 1}});
  const auto shrink = [](TaskId task, Units units) {
    Actions actions;
    actions.shrink = {{task, units}};
    return actions;
  };
  const auto grow = [](TaskId task, Units units) {
    Actions actions;
    actions.grow = {{task, units}};
    return actions;
  };
  Actions kill_waiting;
  kill_waiting.kill = {{1, 1}};
  using Catch::Matchers::Contains;

  CHECK_THAT(words_after(both, start({{{1, 0}, 0, 1}})), Contains("a task that starts waits"));
  CHECK_THAT(words_after(start({{{2, 0}, 0, 1}}), {}), Contains("a task that starts waits"));
  CHECK_THAT(words_after(start({{{1, 2}, 0, 1}}), {}), Contains("a task that starts waits"));
  CHECK_THAT(words_after(start({{{3, 0}, 0, 1}}), {}), Contains("a task that starts waits"));
  CHECK_THAT(words_after(start({{{1, 0}, 2, 1}}), {}), Contains("on a node of the cluster"));
  CHECK_THAT(words_after(start({{{1, 0}, 1, 1}}), {}), Contains("no node is over its capacity"));
  CHECK_THAT(words_after(start({{{0, 0}, 0, 1}}), {}), Contains("min to max units"));
  CHECK_THAT(words_after(start({{{0, 0}, 0, 7}}), {}), Contains("min to max units"));
  CHECK_THAT(words_after(start({{{1, 0}, 0, 2}}), {}), Contains("min to max units"));
  CHECK_THAT(words_after(both, shrink({0, 0}, 1)), Contains("shrinks to its min at most"));
  CHECK_THAT(words_after(both, shrink({0, 0}, 2)), Contains("shrinks to its min at most"));
  CHECK_THAT(words_after(both, grow({0, 0}, 2)), Contains("grows to its max at most"));
  CHECK_THAT(words_after(both, grow({0, 0}, 7)), Contains("grows to its max at most"));
  CHECK_THAT(words_after(both, grow({0, 0}, 6)), Contains("no node is over its capacity"));
  CHECK_THAT(words_after(both, grow({1, 1}, 2)), Contains("resized or killed runs"));
  CHECK_THAT(words_after(both, kill_waiting), Contains("resized or killed runs"));
}

}  // namespace fairwater::sim
