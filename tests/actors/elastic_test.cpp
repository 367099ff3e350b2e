// Elastic jobs in virtual time: they grow, give back, come back after a restart, and end.
#include <csignal>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

JobSpec elastic_spec(const std::string& tenant, std::uint32_t min, std::uint32_t max) {
  JobSpec spec;
  spec.tenant = tenant;
  spec.name = "queue";
  spec.command = {"work"};
  spec.tasks_min = min;
  spec.tasks_max = max;
  spec.resources = {{"cpu", 1000}};
  return spec;
}

JobId submit_elastic(ClusterFixture& cluster, const JobSpec& spec) {
  const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  if (!accepted) FAIL(details(accepted.error()).message);
  cluster.run();
  return accepted->id;
}

/// Every stop that was ordered takes place; how many there were.
std::size_t obey(ClusterFixture& cluster, FakeAgent& agent) {
  std::vector<TaskResult> results;
  for (const TaskKey& task : agent.stops())
    if (std::find(agent.running.begin(), agent.running.end(), task) != agent.running.end())
      results.push_back(ended(task, EndReason::cancelled));
  for (const TaskResult& result : results) std::erase(agent.running, result.task);
  (void)cluster.report(agent, results);
  return results.size();
}

void run_all(FakeAgent& agent) {
  agent.running.clear();
  for (const LaunchOrder& order : agent.launches()) agent.running.push_back(order.task);
}

Units credit_of(ClusterFixture& cluster, const std::string& name) {
  for (const TenantInfo& tenant : cluster.tenants())
    if (tenant.record.spec.name == name) return tenant.record.credit;
  FAIL("no tenant " << name);
  return 0;
}

}  // namespace

TEST_CASE("an elastic job grows into an idle cluster and gives back to who comes", "[actor]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  ClusterFixture cluster(ClusterFixture::default_settings(), accounting);
  cluster.apply({tenant_spec("grower", 1), tenant_spec("comer", 1)});
  FakeAgent agent = cluster.join("node1", 4);
  const JobId job = submit_elastic(cluster, elastic_spec("grower", 1, 8));
  (void)cluster.report(agent);
  REQUIRE(agent.launches().size() == 4);
  CHECK(cluster.show(job).job.grown == 3);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 5});
  REQUIRE(why.engaged());
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles.front().code == "growth");

  run_all(agent);
  const JobId other = cluster.submit("comer", 2);
  CHECK(agent.stops().size() == 2);
  SECTION("the tasks end") {}
  SECTION("the coordinator ends first, and tells them again") {
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(agent));
    CHECK(agent.stops().size() >= 2);
  }
  CHECK(obey(cluster, agent) == 2);
  (void)cluster.report(agent);
  CHECK(cluster.show(other).job.tasks.running == 2);
  const JobRecord after = cluster.show(job).job;
  CHECK(after.tasks.running == 2);
  CHECK(after.tasks.failed + after.tasks.cancelled == 0);
  CHECK(cluster.verify().ok);
}

/// Two cpus: what a tenant runs on one of them, and somebody's job that would grow on the other.
struct BesideGrowth {
  explicit BesideGrowth(Accounting accounting, Amount cpus = 2)
      : cluster(ClusterFixture::default_settings(), accounting) {
    cluster.apply({tenant_spec("grower", 1), tenant_spec("other", 1)});
    agent = cluster.join("node1", cpus);
  }
  void grow() {
    grows = submit_elastic(cluster, elastic_spec("grower", 1, 8));
    (void)cluster.report(agent);
    run_all(agent);
  }
  void end(const TaskResult& result) {
    std::erase(agent.running, result.task);
    (void)cluster.report(agent, {result});
  }
  void check_runs_beside(JobId job, std::uint32_t tasks) {
    (void)cluster.report(agent);
    CHECK(cluster.show(job).job.tasks.running == tasks);
    CHECK(cluster.show(grows).job.tasks.running == 1);
    CHECK(cluster.verify().ok);
  }
  /// Whether it grows once the other has ended for good.
  void check_grows_into(std::uint32_t tasks) {
    (void)cluster.report(agent);
    CHECK(cluster.show(grows).job.tasks.running == tasks);
  }

  ClusterFixture cluster;
  FakeAgent agent;
  JobId grows;
};

TEST_CASE("an attempt that waits again has its room before what grows", "[actor]") {
  BesideGrowth both(GENERATE(Accounting::units, Accounting::time));
  const JobId retried = both.cluster.submit("other", 1, 1);
  both.grow();
  REQUIRE(both.agent.running.size() == 2);
  SECTION("its attempt failed") { both.end(failed({retried, 0, 1})); }
  SECTION("its node was lost, and came back with nothing") {
    for (int second = 0; second < 40; ++second) both.cluster.advance(1000);
    both.agent.running.clear();
    REQUIRE_FALSE(both.cluster.reattach(both.agent));
  }
  both.check_runs_beside(retried, 1);
  CHECK(both.agent.stops().empty());
  CHECK(both.cluster.show(retried).tasks.at(0).record.attempt == 2);
  run_all(both.agent);
  both.end(succeeded({retried, 0, 2}));
  both.check_grows_into(2);
}

TEST_CASE("a gang that runs again has its room before what grows", "[actor]") {
  BesideGrowth both(GENERATE(Accounting::units, Accounting::time), 3);
  JobSpec spec;
  spec.tenant = "other";
  spec.command = {"true"};
  spec.tasks_min = spec.tasks_max = 2;
  spec.resources = {{"cpu", 1000}};
  spec.gang = true;
  spec.retries = 1;
  const auto gang = both.cluster.ask<JobAccepted>(SubmitJob{both.cluster.operator_caller(), spec});
  REQUIRE(gang.engaged());
  both.grow();
  REQUIRE(both.agent.running.size() == 3);
  both.end(failed({gang->id, 0, 1}));
  (void)both.cluster.report(both.agent);
  REQUIRE(both.agent.stops() == std::vector{TaskKey{gang->id, 1, 1}});
  CHECK(both.cluster.show(both.grows).job.tasks.running == 1);
  both.end(ended({gang->id, 1, 1}, EndReason::cancelled));
  both.check_runs_beside(gang->id, 2);
  run_all(both.agent);
  std::erase_if(both.agent.running, [](const TaskKey& task) { return task.attempt == 1; });
  both.agent.running.push_back({both.grows, 0, 1});
  both.end(failed({gang->id, 0, 2}));
  both.end(ended({gang->id, 1, 2}, EndReason::cancelled));
  both.check_grows_into(3);
}

TEST_CASE("who waited for a job has its room before what grows", "[actor]") {
  BesideGrowth both(GENERATE(Accounting::units, Accounting::time));
  const JobId first = both.cluster.submit("other", 1);
  JobSpec spec;
  spec.tenant = "other";
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  spec.after = {first};
  const auto second =
      both.cluster.ask<JobAccepted>(SubmitJob{both.cluster.operator_caller(), spec});
  REQUIRE(second.engaged());
  both.grow();
  REQUIRE(both.agent.running.size() == 2);
  both.end(succeeded({first, 0, 1}));
  both.check_runs_beside(second->id, 1);
  run_all(both.agent);
  std::erase(both.agent.running, TaskKey{first, 0, 1});
  both.end(succeeded({second->id, 0, 1}));
  both.check_grows_into(2);
}

TEST_CASE("growth costs credit, which others earn and which comes back from the ledger",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1), tenant_spec("idle", 1)});
  FakeAgent agent = cluster.join("node1", 4);
  (void)submit_elastic(cluster, elastic_spec("grower", 1, 4));
  (void)cluster.report(agent);
  run_all(agent);
  for (int second = 0; second < 5; ++second) {
    cluster.advance(1000);
    (void)cluster.report(agent);
  }
  // Three processors of ten units; the grower leaves one of its two unused, the idle both.
  CHECK(credit_of(cluster, "grower") == -5 * 20'000);
  CHECK(credit_of(cluster, "idle") == 5 * 20'000);
  cluster.restart();
  CHECK(credit_of(cluster, "idle") == 5 * 20'000);
  CHECK(cluster.verify().ok);
}

TEST_CASE("an elastic job that found no work left winds down, and ends", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1)});
  FakeAgent agent = cluster.join("node1", 2);
  const JobId job = submit_elastic(cluster, elastic_spec("grower", 1, 8));
  (void)cluster.report(agent);
  REQUIRE(agent.launches().size() == 2);
  run_all(agent);
  const TaskKey first = agent.running.front();
  agent.running.erase(agent.running.begin());
  (void)cluster.report(agent, {succeeded(first)});
  cluster.advance(1000);
  (void)cluster.report(agent);
  const JobRecord winding_down = cluster.show(job).job;
  CHECK(winding_down.winding_down);
  // One more had begun before the word came; then none.
  const auto begun = static_cast<std::uint32_t>(agent.launches().size());
  CHECK(begun <= 3);
  CHECK(winding_down.tasks.unneeded == 8 - begun);
  run_all(agent);
  agent.running.erase(agent.running.begin());
  const std::vector<TaskKey> rest = std::exchange(agent.running, {});
  for (const TaskKey& task : rest) (void)cluster.report(agent, {succeeded(task)});
  CHECK(agent.launches().size() == begun);
  const JobDetail detail = cluster.show(job);
  CHECK(state_of(detail.job) == JobState::succeeded);
  CHECK(detail.tasks.back().record.state == TaskState::cancelled);
  CHECK(cluster.verify().ok);
}

TEST_CASE("tasks of an elastic job are told who else runs, and again when their agent is back",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1)});
  FakeAgent agent = cluster.join("node1", 3);
  JobSpec spec = elastic_spec("grower", 1, 8);
  spec.notify = "SIGUSR2";
  (void)submit_elastic(cluster, spec);
  (void)cluster.report(agent);
  run_all(agent);
  const auto newest = [&] {
    JobMembers told;
    for (const AgentOrders& orders : *agent.orders)
      for (const JobMembers& members : orders.members) told = members;
    return told;
  };
  CHECK(agent.launches().front().follows_members);
  CHECK(newest().notify_signal == SIGUSR2);
  REQUIRE(newest().members->size() == 3);
  CHECK(newest().members->at(2).index == 2);
  CHECK(newest().members->at(2).node == "node1");
  const TaskKey last = agent.running.back();
  agent.running.pop_back();
  (void)cluster.report(agent, {succeeded(last)});
  (void)cluster.report(agent);
  for (const JobMember& member : newest().members) CHECK(member.index != last.index);
  agent.orders->clear();
  SECTION("the agent") { REQUIRE_FALSE(cluster.reattach(agent)); }
  SECTION("the coordinator") {
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(agent));
  }
  CHECK(newest().members->size() >= 2);
}

TEST_CASE("where nothing grows an elastic job stays as it started, and says so", "[actor]") {
  ClusterSettings settings = ClusterFixture::default_settings();
  std::string rule = "elastic: bra";
  SECTION("under bra") { settings.growth = GrowthRule::bra; }
  SECTION("by dominant shares") {
    settings.allocation = AllocationRule::drf;
    rule = "allocation: drf";
  }
  ClusterFixture cluster(settings);
  cluster.apply({tenant_spec("grower", 1)});
  FakeAgent agent = cluster.join("node1", 4);
  const JobId job = submit_elastic(cluster, elastic_spec("grower", 2, 8));
  (void)cluster.report(agent);
  CHECK(agent.launches().size() == 2);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 5});
  REQUIRE(why.engaged());
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles.front().message ==
        "its job runs as many tasks as it claims; nothing grows under this coordinator's " + rule);
}

TEST_CASE("a task beyond what its job claims is told whether that runs", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1)});
  const JobId job = submit_elastic(cluster, elastic_spec("grower", 2, 8));
  const auto said = [&] {
    const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 5});
    for (const Obstacle& obstacle : why->obstacles)
      if (obstacle.code == "growth") return obstacle.message;
    return std::string{};
  };
  const std::string then =
      "this one starts in room that nobody else can use, by its tenant's credit";
  CHECK(said() ==
        "its job still waits for 2 task(s) that it claims, and this one is beyond them; " + then);
  FakeAgent agent = cluster.join("node1", 4);
  (void)cluster.report(agent);
  CHECK(said() == "its job runs as many tasks as it claims; " + then);
}

TEST_CASE("an elastic job at its tenant's max is told what its least asks for", "[actor]") {
  ClusterFixture cluster;
  TenantSpec grower = tenant_spec("grower", 1);
  grower.max = {{"cpu", 4000}};
  cluster.apply({grower});
  FakeAgent agent = cluster.join("node1", 8);
  (void)cluster.submit("grower", 1);
  const JobId job = submit_elastic(cluster, elastic_spec("grower", 4, 6));
  (void)cluster.report(agent);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 0});
  REQUIRE(why.engaged());
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles.front().message ==
        "holds 1000 of its max of 4000 millicores of cpu, its 4 tasks start together and ask for "
        "4000");
}

namespace {

JobSpec of_class(JobSpec spec, const std::string& job_class = "queue") {
  spec.job_class = job_class;
  return spec;
}

/// Runs the class with so many tasks at once, as long as told.
void run_whole(ClusterFixture& cluster, FakeAgent& agent, std::uint32_t tasks,
               std::int64_t run_ms) {
  JobSpec spec = of_class(elastic_spec("grower", tasks, tasks));
  spec.gang = spec.measures_tasks = true;
  const JobId job = submit_elastic(cluster, spec);
  (void)cluster.report(agent);
  std::vector<TaskResult> results;
  for (const LaunchOrder& order : agent.launches())
    if (order.task.job == job) {
      CHECK(order.follows_members);
      results.push_back(succeeded(order.task));
      results.back().started_at = {1'000'000};
      results.back().finished_at = {1'000'000 + run_ms * 1000};
    }
  REQUIRE(results.size() == tasks);
  REQUIRE(cluster.report(agent, results).engaged());
  CHECK(state_of(cluster.show(job).job) == JobState::succeeded);
}

/// More than three tasks at once take as long as three.
void measure_tasks(ClusterFixture& cluster, FakeAgent& agent) {
  for (const std::int64_t off_ms : {0, 1, 2})
    for (const std::uint32_t tasks : {1, 2, 3, 4, 8})
      run_whole(cluster, agent, tasks, 6000 / std::min<std::int64_t>(tasks, 3) + off_ms);
}

std::uint32_t running_of(ClusterFixture& cluster, FakeAgent& agent, JobId job) {
  for (int beat = 0; beat < 3; ++beat) {
    agent.running.clear();
    for (const LaunchOrder& order : agent.launches())
      if (order.task.job == job) agent.running.push_back(order.task);
    (void)cluster.report(agent);
    cluster.advance(1000);
  }
  return cluster.show(job).job.tasks.running;
}

}  // namespace

TEST_CASE("an elastic job stops growing where its class was measured not to gain", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1), tenant_spec("idle", 1)});
  FakeAgent agent = cluster.join("node1", 8);
  measure_tasks(cluster, agent);
  const JobId job = submit_elastic(cluster, of_class(elastic_spec("grower", 1, 8)));
  CHECK(running_of(cluster, agent, job) == 3);
  const GrowthLimit limit = cluster.show(job).job.growth_limit;
  CHECK(limit.tasks == 3);
  CHECK(limit.runs == 15);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 5});
  REQUIRE(why.engaged());
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles.front().code == "saturation");
  CHECK_THAT(why->obstacles.front().message,
             Catch::Matchers::Contains("grows to 3 tasks and no further") &&
                 Catch::Matchers::Contains("15 runs of class queue"));
  SECTION("after a restart it does not either, and the ledger is proved") {
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(agent));
    CHECK(running_of(cluster, agent, job) == 3);
    CHECK(cluster.verify().ok);
  }
  SECTION("another class, or none, knows no limit") {
    (void)cluster.ask<Done>(CancelJob{cluster.operator_caller(), job, ""});
    agent.running.clear();
    std::vector<TaskResult> stopped;
    for (const TaskKey& task : agent.stops()) stopped.push_back(ended(task, EndReason::cancelled));
    (void)cluster.report(agent, stopped);
    const std::string job_class = GENERATE("other", "");
    const JobId other = submit_elastic(cluster, of_class(elastic_spec("grower", 1, 8), job_class));
    CHECK(running_of(cluster, agent, other) == 8);
    CHECK(cluster.show(other).job.growth_limit == GrowthLimit{});
  }
}

TEST_CASE("the least of an elastic job counts, whatever was measured", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1)});
  FakeAgent agent = cluster.join("node1", 8);
  measure_tasks(cluster, agent);
  const JobId job = submit_elastic(cluster, of_class(elastic_spec("grower", 5, 8)));
  CHECK(running_of(cluster, agent, job) == 5);
}

TEST_CASE("what is measured while an elastic job runs is taken up", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("grower", 1)});
  FakeAgent agent = cluster.join("node1", 32);
  const JobId job = submit_elastic(cluster, of_class(elastic_spec("grower", 1, 4)));
  const JobId larger = submit_elastic(cluster, of_class(elastic_spec("grower", 1, 8)));
  cluster.advance(1000);
  measure_tasks(cluster, agent);
  CHECK(cluster.show(job).job.growth_limit.tasks == 3);
  CHECK(cluster.show(larger).job.growth_limit.runs == 15);
  // What is measured later counts as well.
  for (int i = 0; i < 20; ++i)
    for (const std::uint32_t tasks : {1, 2, 3, 5, 8})
      run_whole(cluster, agent, tasks, 6000 / std::min<std::int64_t>(tasks, 5) + i % 3);
  CHECK(cluster.show(larger).job.growth_limit.runs > 15);
  std::size_t changes = 0;
  for (const JournalRecord& record : cluster.journal())
    if (std::holds_alternative<GrowthLimited>(record.body)) ++changes;
  CHECK(changes > 2);
  CHECK(cluster.verify().ok);
}

}  // namespace fairwater
