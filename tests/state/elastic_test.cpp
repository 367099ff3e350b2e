// Elastic jobs in their tenant's queue: what they claim, what would grow, and how they end.
#include "state/elastic.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "state/tenant_jobs.hpp"

namespace fairwater {
namespace {

constexpr TenantId kGrower{2};
constexpr JobId kElastic{7};
constexpr WallTime kElasticTime{1'000'000'000};

struct ElasticQueue {
  ElasticQueue(std::uint32_t min, std::uint32_t max, std::uint32_t retries = 0,
               const std::string& job_class = {}) {
    JobSpec spec;
    spec.job_class = job_class;
    spec.command = {"work"};
    spec.tasks_min = min;
    spec.tasks_max = max;
    spec.resources = {{"cpu", 100}};
    spec.retries = retries;
    jobs.add({submitted_job({kElastic, kGrower, spec}, kElasticTime), {}, {}});
  }
  void grant(std::uint32_t index, GrantStep step = GrantStep::allowance,
             std::uint32_t attempt = 1) {
    Grant grant;
    grant.task = {kElastic, index, attempt};
    grant.tenant = kGrower;
    grant.cost = 1;
    grant.step = step;
    REQUIRE(jobs.grant(grant, NodeId{5}, {++record, kElasticTime}));
  }
  AttemptOutcome end(std::uint32_t index, EndReason reason = EndReason::exited,
                     std::int32_t exit_code = 0, std::uint32_t attempt = 1) {
    TaskResult result;
    result.task = {kElastic, index, attempt};
    result.reason = reason;
    result.exit_code = exit_code;
    return jobs.end(result, kElasticTime);
  }
  [[nodiscard]] const JobRecord& job() const { return jobs.record(kElastic); }
  /// `claimed/growing`: `0+2/` or `/2+6`; a gang with a g.
  [[nodiscard]] std::string shown() const {
    const DemandWindow window = jobs.window(10, 10, 0, {});
    std::string text;
    const auto add = [&](const std::vector<WaitingRange>& ranges) {
      for (const WaitingRange& range : ranges)
        text += std::to_string(range.first_index) + "+" + std::to_string(range.count) +
                (range.is_gang ? "g " : " ");
    };
    add(window.next);
    text += "/ ";
    add(window.growth);
    CHECK(window.pending_tasks == jobs_claimed());
    return text;
  }
  [[nodiscard]] std::uint32_t jobs_claimed() const { return claimed_tasks(job()); }

  TenantJobs jobs{kGrower, QueuePolicy::fifo, ResourceCatalog{}};
  std::uint64_t record = 6;
};

}  // namespace

TEST_CASE("an elastic job claims its least at once, and the rest would grow", "[unit][elastic]") {
  ElasticQueue queue(2, 6);
  CHECK(queue.shown() == "0+2g / ");
  queue.grant(0);
  queue.grant(1);
  CHECK(queue.shown() == "/ 2+4 ");
  queue.grant(2, GrantStep::growth);
  CHECK(queue.job().grown == 1);
  CHECK(queue.job().begun == 3);
  CHECK(queue.shown() == "/ 3+3 ");
  CHECK(queue.jobs.waits_to_grow(kElastic, 3));
  CHECK_FALSE(queue.jobs.waits_to_grow(kElastic, 2));
}

TEST_CASE("a task that is reclaimed waits again, and nothing has failed", "[unit][elastic]") {
  ElasticQueue queue(1, 3);
  queue.grant(0);
  queue.grant(1, GrantStep::growth);
  REQUIRE(queue.jobs.reclaim({kElastic, 1, 1}).size() == 1);
  CHECK(queue.jobs.to_stop().size() == 1);
  CHECK(queue.jobs.reclaim({kElastic, 1, 2}).empty());
  const AttemptOutcome outcome = queue.end(1, EndReason::cancelled, 143);
  CHECK_FALSE(outcome.job_ended);
  CHECK(queue.job().tasks.pending() == 2);
  CHECK(queue.job().tasks.failed + queue.job().tasks.cancelled == 0);
  CHECK(queue.job().grown == 0);
  CHECK(queue.shown() == "/ 1+1 2+1 ");
  queue.grant(1, GrantStep::growth, 2);
  CHECK(queue.jobs.to_stop().empty());
}

TEST_CASE("a task that ended by itself though it was reclaimed counts as it ended",
          "[unit][elastic]") {
  ElasticQueue queue(1, 3, 1);
  queue.grant(0);
  queue.grant(1, GrantStep::growth);
  REQUIRE(queue.jobs.reclaim({kElastic, 1, 1}).size() == 1);
  (void)queue.end(1, EndReason::exited, 3);
  CHECK(queue.shown() == "/ 1+1 2+1 ");  // a retry
  queue.grant(1, GrantStep::growth, 2);
  (void)queue.end(1, EndReason::exited, 3, 2);
  CHECK(queue.job().tasks.failed == 1);
  // Stopped by somebody else, it is cancelled as ever.
  queue.grant(2, GrantStep::growth);
  (void)queue.end(2, EndReason::cancelled, 143);
  CHECK(queue.job().tasks.cancelled == 1);
}

TEST_CASE("what is lost of the least is claimed again, by whichever waits first",
          "[unit][elastic]") {
  ElasticQueue queue(2, 4);
  queue.grant(0);
  queue.grant(1);
  queue.grant(2, GrantStep::growth);
  (void)queue.jobs.give_back({kElastic, 0, 1}, true, kElasticTime);
  CHECK(queue.shown() == "0+1 / ");
  queue.grant(0, GrantStep::allowance, 2);
  CHECK(queue.shown() == "/ 3+1 ");
}

TEST_CASE("the first that finds no work left lets the job wind down", "[unit][elastic]") {
  ElasticQueue queue(1, 5);
  queue.grant(0);
  queue.grant(1, GrantStep::growth);
  queue.grant(2, GrantStep::growth);
  REQUIRE(queue.jobs.reclaim({kElastic, 2, 1}).size() == 1);
  (void)queue.end(2, EndReason::cancelled, 143);
  CHECK(queue.end(0).out_of_work);
  CHECK(queue.jobs.out_of_work() == std::vector{kElastic});
  // While that is made durable nothing of it is offered.
  queue.jobs.hold(kElastic);
  CHECK(queue.jobs.window(10, 10, 0, {}).growth.empty());
  queue.jobs.release_hold(kElastic);
  CHECK_FALSE(queue.jobs.wind_down(kElastic, kElasticTime));
  CHECK(queue.jobs.out_of_work().empty());
  CHECK(queue.job().tasks.unneeded == 2);
  // What had begun may have left work behind: it is claimed now, not left to growth.
  CHECK(queue.shown() == "2+1 / ");
  CHECK_FALSE(queue.end(1).job_ended);
  queue.grant(2, GrantStep::allowance, 2);
  CHECK(queue.end(2, EndReason::exited, 0, 2).job_ended);
}

TEST_CASE("a job that winds down last of all ends with it", "[unit][elastic]") {
  ElasticQueue queue(1, 5);
  queue.grant(0);
  CHECK_FALSE(queue.end(0).job_ended);
  CHECK(state_of(queue.job()) == JobState::running);
  CHECK(queue.jobs.wind_down(kElastic, kElasticTime));
  CHECK_FALSE(queue.jobs.knows(kElastic));
}

TEST_CASE("an elastic job that is cancelled, or has failed, says so", "[unit][elastic]") {
  ElasticQueue cancelled(1, 3);
  cancelled.grant(0);
  REQUIRE(cancelled.jobs.cancel(kElastic, "enough", kElasticTime).size() == 1);
  CHECK_FALSE(cancelled.jobs.wind_down(kElastic, kElasticTime));
  CHECK(cancelled.end(0, EndReason::cancelled, 143).job_ended);

  ElasticQueue failed(1, 2);
  failed.grant(0);
  failed.grant(1, GrantStep::growth);
  (void)failed.end(0, EndReason::exited, 1);
  CHECK(failed.shown() == "/ ");
  CHECK(failed.end(1).job_ended);
}

TEST_CASE("a job whose least has failed winds down once nothing of it runs", "[unit][elastic]") {
  ElasticQueue queue(2, 6);
  queue.grant(0);
  queue.grant(1);
  queue.grant(2, GrantStep::growth);
  CHECK_FALSE(queue.end(0, EndReason::exited, 1).out_of_work);
  CHECK_FALSE(queue.end(1, EndReason::time_limit).out_of_work);
  CHECK(queue.shown() == "/ 3+3 ");  // one runs, and may still be joined
  // Given back, it waits, and nobody promises that anything grows.
  REQUIRE(queue.jobs.reclaim({kElastic, 2, 1}).size() == 1);
  CHECK(queue.end(2, EndReason::cancelled, 143).out_of_work);
  CHECK(queue.jobs.out_of_work() == std::vector{kElastic});
  CHECK_FALSE(queue.jobs.wind_down(kElastic, kElasticTime));
  CHECK(queue.job().tasks.unneeded == 3);
  CHECK(queue.shown() == "2+1 / ");  // what had begun runs again, as part of the least
  queue.grant(2, GrantStep::allowance, 2);
  CHECK(queue.end(2, EndReason::exited, 0, 2).job_ended);
}

TEST_CASE("a grant of what is not needed any more is refused", "[unit][elastic]") {
  JobSpec spec;
  spec.command = {"work"};
  spec.tasks_max = 3;
  JobRecord job = submitted_job({kElastic, kGrower, spec}, kElasticTime);
  TaskRecord first, second;
  Grant grant;
  grant.task = {kElastic, 0, 1};
  grant.tenant = kGrower;
  grant.cost = 1;
  grant_task(job, first, grant, NodeId{5}, {7, kElasticTime});
  TaskResult result;
  result.task = grant.task;
  end_task(job, first, result, kElasticTime);
  REQUIRE(wind_down(job, kElasticTime));
  CHECK_FALSE(wind_down(job, kElasticTime));
  CHECK(state_of(job) == JobState::succeeded);
  grant.task.index = 1;
  CHECK_THROWS_AS(grant_task(job, second, grant, NodeId{5}, {8, kElasticTime}), Contradiction);
}

TEST_CASE("an elastic job of a class grows once its limit is known, and up to it",
          "[unit][elastic]") {
  ElasticQueue queue(2, 8, 0, "queue");
  CHECK(queue.jobs.elastic_classes() == std::set<std::string>{"queue"});
  CHECK(queue.shown() == "0+2g / ");  // the least does not wait for it
  queue.grant(0);
  queue.grant(1);
  CHECK(queue.shown() == "/ ");
  queue.jobs.limit_growth(kElastic, {4, 9, 800});
  CHECK(queue.shown() == "/ ");
  queue.jobs.know_limit(kElastic);
  CHECK(queue.jobs.elastic_classes().empty());
  CHECK(queue.shown() == "/ 2+2 ");
  CHECK_FALSE(queue.jobs.is_beyond_limit(kElastic, 3));
  CHECK(queue.jobs.is_beyond_limit(kElastic, 4));
  CHECK_FALSE(queue.jobs.is_beyond_limit(kElastic, 1));  // it runs
  queue.grant(2, GrantStep::growth);
  queue.grant(3, GrantStep::growth);
  CHECK(queue.shown() == "/ ");
  CHECK(queue.jobs.is_beyond_limit(kElastic, 4));
  // Less than runs: nothing is taken back, and what ends does not grow again.
  queue.jobs.limit_growth(kElastic, {3, 12, 900});
  CHECK(queue.job().tasks.running == 4);
  (void)queue.jobs.give_back({kElastic, 3, 1}, true, kElasticTime);
  CHECK(queue.shown() == "/ ");
  // The least comes before it.
  (void)queue.jobs.give_back({kElastic, 0, 1}, true, kElasticTime);
  CHECK(queue.shown() == "0+1 / ");
  queue.jobs.limit_growth(kElastic, {1, 15, 900});
  CHECK(queue.shown() == "0+1 / ");
  queue.grant(0, GrantStep::allowance, 2);
  // More than runs, and at last none.
  queue.jobs.limit_growth(kElastic, {5, 18, 900});
  CHECK(queue.shown() == "/ 3+1 4+1 ");
  queue.jobs.limit_growth(kElastic, {});
  CHECK(queue.shown() == "/ 3+1 4+4 ");
  CHECK_FALSE(queue.jobs.is_beyond_limit(kElastic, 7));
}

TEST_CASE("whatever happens to a job, its claim and what would grow keep within its limit",
          "[property][elastic]") {
  std::size_t grown = 0, bounded = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) {
      return static_cast<std::uint32_t>(random() % limit);
    };
    const std::uint32_t min = 1 + below(3), max = min + 1 + below(8);
    ElasticQueue queue(min, max, 1000, "queue");
    queue.jobs.know_limit(kElastic);
    std::map<std::uint32_t, std::uint32_t> running;  // attempts by index
    for (int event = 0; event < 60; ++event) {
      const DemandWindow window = queue.jobs.window(100, 100, 0, {});
      std::uint32_t offered = 0;
      for (const WaitingRange& range : window.growth) offered += range.count;
      const std::uint32_t limit = queue.job().growth_limit.tasks;
      const std::uint32_t most = limit == 0 ? max : limit;
      REQUIRE((offered == 0 || running.size() + offered <= most));
      if (offered > 0 && running.size() + offered == most) ++bounded;
      const auto& ranges = window.next.empty() ? window.growth : window.next;
      if (below(5) == 0) {
        queue.jobs.limit_growth(kElastic, {below(max + 2), 9, 900});
      } else if (!running.empty() && below(3) == 0) {
        const auto lost = std::next(running.begin(), below(running.size()));
        (void)queue.jobs.give_back({kElastic, lost->first, lost->second}, false, kElasticTime);
        running.erase(lost);
      } else if (!ranges.empty()) {
        const bool grows = window.next.empty();
        for (std::uint32_t i = 0; i < (ranges[0].is_gang ? ranges[0].count : 1); ++i) {
          const std::uint32_t index = ranges[0].first_index + i;
          queue.grant(index, grows ? GrantStep::growth : GrantStep::allowance, ranges[0].attempt);
          running[index] = ranges[0].attempt;
        }
        grown += grows ? 1 : 0;
      } else {
        REQUIRE(running.size() >= std::min(most, max));
      }
    }
  }
  CHECK(grown > 1000);
  CHECK(bounded > 1000);
}

}  // namespace fairwater
