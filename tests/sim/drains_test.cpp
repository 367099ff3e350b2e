// Nodes that are to drain: until then they take only what ends before, and then nothing until it is
// over.
#include "sim/report/run_report.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {

using namespace test;

TEST_CASE("a node takes what ends before its drain, and more once it is over", "[unit][policy]") {
  Cluster cluster = processors({1}, {1});
  cluster.nodes[0].drain = DrainWindow{.at_ms = 10'000, .until_ms = 20'000};
  const Workload workload{
      {job_of(0, 0, 1, 1, 6000), job_of(0, 0, 1, 1, 9000), job_of(0, 0, 1, 1, 4000)}};
  for (const auto& options : both_ledgers()) {
    Books books(cluster, workload);
    SequenceScheduler scheduler(options, cluster, workload);
    const auto result = run_engine(cluster, workload, scheduler, books, {});
    CHECK(books.sound());
    // Nothing happens at 20 s but that the node takes tasks again.
    REQUIRE(books.runs.size() == 3);
    CHECK(books.runs[0] == TaskRun{{0, 0}, 0, 0, 6000, false});
    CHECK(books.runs[1] == TaskRun{{2, 0}, 0, 6000, 10'000, false});
    CHECK(books.runs[2] == TaskRun{{1, 0}, 0, 20'000, 29'000, false});
    CHECK(result.end_ms == 29'000);
  }
}

TEST_CASE("a drain without an end leaves waiting what fits nowhere else", "[unit][policy]") {
  Cluster cluster = processors({2, 1}, {1});
  cluster.nodes[0].drain = DrainWindow{.at_ms = 10'000};
  const Workload workload{{job_of(0, 0, 1, 2, 12'000), job_of(0, 0, 1, 1, 30'000)}};
  for (const auto& options : both_ledgers()) {
    Books books(cluster, workload);
    SequenceScheduler scheduler(options, cluster, workload);
    const auto result = run_engine(cluster, workload, scheduler, books, {});
    CHECK(books.runs == std::vector<TaskRun>{{{1, 0}, 1, 0, 30'000, false}});
    CHECK(result.waiting == 1);
    CHECK(result.end_ms == 30'000);
  }
}

TEST_CASE("no task runs on a node while it drains, whatever comes", "[property][policy]") {
  for (const auto& options : both_ledgers()) {
    std::size_t before = 0, after = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      RandomCase made = random_case(seed, 60);
      SplitMix64 random(seed);
      for (SimNode& node : made.cluster.nodes) {
        if (random.below(2) == 0) continue;
        const auto at_ms = static_cast<TimeMs>(1 + random.below(60'000));
        node.drain = DrainWindow{at_ms, at_ms + 1 + static_cast<TimeMs>(random.below(30'000))};
      }
      CAPTURE(static_cast<int>(options.accounting), seed);
      Books books(made.cluster, made.workload);
      SequenceScheduler scheduler(options, made.cluster, made.workload);
      const auto result = run_engine(made.cluster, made.workload, scheduler, books, {});
      CHECK(books.sound());
      CHECK(result.waiting == 0);
      Units sum = 0;
      for (TenantIndex i = 0; i < made.cluster.tenants.size(); ++i) sum += scheduler.account(i).net;
      CHECK(sum == 0);
      for (const TaskRun& run : books.runs) {
        const auto& drain = made.cluster.nodes[run.node].drain;
        if (!drain) continue;
        const Job& job = made.workload.jobs[run.task.job];
        const bool ends_before = run.start + std::max<TimeMs>(job.estimate_ms, 1) <= drain->at_ms;
        CHECK((ends_before || run.start >= *drain->until_ms));
        ++(ends_before ? before : after);
      }
    }
    CHECK(before > 500);
    CHECK(after > 500);
  }
}

TEST_CASE("a note names the policies that know no drains", "[unit][sim]") {
  Scenario scenario;
  scenario.cluster = processors({2}, {1});
  scenario.trace.jobs = {job_of(0, 0, 1, 1, 1000)};
  const auto notes = [&] { return notes_on(scenario, {{"sequence", {}}, {"easy", {}}}); };
  CHECK(notes().empty());
  scenario.cluster.nodes[0].drain = DrainWindow{.at_ms = 10'000};
  CHECK(notes() ==
        std::vector<std::string>{"drains are not known to easy: nodes take tasks all the time"});
}

}  // namespace fairwater::sim
