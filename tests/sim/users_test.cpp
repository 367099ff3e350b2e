// In which order tenants' own jobs run, and users who share a tenant.
#include "sim/report/run_report.hpp"
#include "sim/report/what_if.hpp"
#include "sim/schedulers/sequence.hpp"
#include "tests/sim/support.hpp"

namespace fairwater::sim {

using namespace test;

namespace {

Job of_user(const std::string& user, Job job) {
  job.user = user;
  return job;
}

/// What each user held over time, in unit-milliseconds, up to `until`.
std::map<std::string, TimeMs> held_by_users(const Workload& workload, const Books& books,
                                            TimeMs until) {
  std::map<std::string, TimeMs> held;
  for (const TaskRun& run : books.runs)
    held[workload.jobs[run.task.job].user] +=
        std::min(run.end < 0 ? until : run.end, until) - std::min(run.start, until);
  return held;
}

Books run_to(const PolicyOptions& options, const Cluster& cluster, const Workload& workload,
             TimeMs end_ms, const InitialState& initial = {}) {
  Books books(cluster, workload);
  SequenceScheduler scheduler(options, cluster, workload, initial);
  (void)run_engine(cluster, workload, scheduler, books, {.end_ms = end_ms});
  CHECK(books.sound());
  return books;
}

}  // namespace

TEST_CASE("users of a tenant with a fair queue hold the same", "[unit][policy]") {
  Cluster cluster = processors({6}, {1});
  // Ann came first, and has twice the work of all others.
  const Workload workload{{of_user("ann", job_of(0, 0, 400, 1, 1000)),
                           of_user("bob", job_of(500, 0, 100, 1, 1000)),
                           of_user("eve", job_of(500, 0, 100, 1, 1000))}};
  constexpr TimeMs kUntil = 30'000;
  for (const auto& options : both_ledgers()) {
    CAPTURE(static_cast<int>(options.accounting));
    cluster.tenants[0].queue = QueuePolicy::fair;
    const auto fair = held_by_users(workload, run_to(options, cluster, workload, kUntil), kUntil);
    for (const char* user : {"ann", "bob", "eve"})
      CHECK(fair.at(user) == Approx(60'000).margin(6000));
    cluster.tenants[0].queue.reset();
    const auto fifo = held_by_users(workload, run_to(options, cluster, workload, kUntil), kUntil);
    CHECK(fifo.at("ann") == 180'000);
    PolicyOptions in_turns = options;
    in_turns.order = QueuePolicy::fair;
    CHECK(held_by_users(workload, run_to(in_turns, cluster, workload, kUntil), kUntil) == fair);
    cluster.tenants[0].queue = QueuePolicy::fifo;
    CHECK(held_by_users(workload, run_to(in_turns, cluster, workload, kUntil), kUntil) == fifo);
  }
}

TEST_CASE("work that has room nowhere hides no other", "[unit][policy]") {
  // One node is large enough for what comes first, as an array and as jobs of one task.
  Cluster cluster = processors({8, 4, 4}, {1});
  Workload workload;
  const bool is_array = GENERATE(true, false);
  if (is_array) workload.jobs.push_back(of_user("ann", job_of(0, 0, 3000, 8, 60'000)));
  for (int i = 0; !is_array && i < 200; ++i)
    workload.jobs.push_back(of_user("ann", job_of(0, 0, 1, 8, 60'000)));
  const auto large = static_cast<JobIndex>(workload.jobs.size());
  const char* const user = GENERATE("ann", "bob");
  for (int i = 0; i < 100; ++i)
    workload.jobs.push_back(of_user(user, job_of(i * 1000, 0, 1, 2, 4000)));
  for (const QueuePolicy queue :
       {QueuePolicy::fifo, QueuePolicy::fair, QueuePolicy::priority, QueuePolicy::shortest_first}) {
    cluster.tenants[0].queue = queue;
    for (const auto& options : both_ledgers()) {
      CAPTURE(is_array, static_cast<int>(queue), static_cast<int>(options.accounting));
      std::size_t small = 0;
      for (const TaskRun& run : run_to(options, cluster, workload, 120'000).runs)
        if (run.task.job >= large && run.start == workload.jobs[run.task.job].submit_ms) ++small;
      CHECK(small == 100);
    }
  }
}

TEST_CASE("each tenant has a queue of its own", "[unit][policy]") {
  Cluster cluster = processors({2}, {1, 1});
  Workload workload;
  for (const TenantIndex tenant : {0U, 1U})
    for (const TimeMs run_ms : {3000, 2000, 1000})
      workload.jobs.push_back(job_of(0, tenant, 1, 1, run_ms));
  workload.jobs[5].preemption.priority = -1;
  cluster.tenants[0].queue = QueuePolicy::shortest_first;
  cluster.tenants[1].queue = QueuePolicy::priority;
  for (const auto& options : both_ledgers()) {
    std::map<TenantIndex, std::vector<JobIndex>> order;
    for (const TaskRun& run : run_to(options, cluster, workload, 60'000).runs)
      order[workload.jobs[run.task.job].tenant].push_back(run.task.job);
    CHECK(order[0] == std::vector<JobIndex>{2, 1, 0});
    CHECK(order[1] == std::vector<JobIndex>{3, 4, 5});
  }
}

TEST_CASE("of users who hold as many the one comes next who was served longer ago",
          "[unit][policy]") {
  Cluster cluster = processors({1}, {1});
  cluster.tenants[0].queue = QueuePolicy::fair;
  const Workload workload{
      {of_user("ann", job_of(0, 0, 2, 1, 1000)), of_user("bob", job_of(0, 0, 2, 1, 1000))}};
  InitialState initial;
  for (const auto& [ann, bob] : {std::pair{1U, 2U}, {2U, 1U}}) {
    initial.served[0] = {{"", 0}, {"ann", ann}, {"bob", bob}};
    const auto books = run_to({.name = "sequence"}, cluster, workload, 60'000, initial);
    REQUIRE(books.runs.size() == 4);
    const JobIndex first = ann < bob ? 0 : 1;
    for (std::size_t i = 0; i < 4; ++i) CHECK(books.runs[i].task.job == (first + i) % 2);
  }
}

TEST_CASE("another queue moves what users hold in a look ahead", "[unit][sim]") {
  WhatIf question;
  question.cluster = processors({4}, {1});
  question.cluster.tenants[0].name = "lab";
  question.workload.jobs = {of_user("ann", job_of(0, 0, 400, 1, 10'000)),
                            of_user("bob", job_of(0, 0, 1, 1, 10'000))};
  question.horizon_ms = 60'000;
  TenantTerms terms;
  terms.weight = 1;
  question.proposal = {{.name = "lab", .terms = terms, .queue = QueuePolicy::fair}};
  const auto report = compare(question);
  CHECK(report.before.tenants.at(0).jobs_not_started == 1);
  CHECK(report.after.tenants.at(0).jobs_not_started == 0);
}

TEST_CASE("a report notes which policies know no queues", "[unit][report]") {
  Scenario scenario;
  scenario.cluster = processors({4}, {1});
  const std::vector<PolicyRuns> policies{{"sequence", {}}, {"easy", {}}, {"drf", {}}};
  CHECK(notes_on(scenario, policies).empty());
  scenario.cluster.tenants[0].queue = QueuePolicy::fair;
  CHECK(
      notes_on(scenario, policies) ==
      std::vector<std::string>{"in which order tenants want their jobs is not known to easy, drf"});
}

}  // namespace fairwater::sim
