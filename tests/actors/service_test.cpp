// Services in virtual time: they end when they are cancelled, and at nothing else.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

JobSpec service_spec(std::uint32_t tasks = 1) {
  JobSpec spec;
  spec.tenant = "only";
  spec.name = "server";
  spec.command = {"serve"};
  spec.kind = JobKind::service;
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}};
  return spec;
}

JobId submit_job(ClusterFixture& cluster, const JobSpec& spec) {
  const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  if (!accepted) FAIL(details(accepted.error()).message);
  cluster.run();
  return accepted->id;
}

ErrorDetails submission_refusal(ClusterFixture& cluster, const JobSpec& spec) {
  const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  REQUIRE_FALSE(accepted);
  return details(accepted.error());
}

/// Advances in steps that keep every lease alive.
void pass_service_time(ClusterFixture& cluster, std::int64_t milliseconds,
                       const std::vector<FakeAgent*>& agents) {
  for (std::int64_t left_ms = milliseconds; left_ms > 0; left_ms -= 1000) {
    cluster.advance(std::min<std::int64_t>(left_ms, 1000));
    for (FakeAgent* agent : agents) (void)cluster.report(*agent);
  }
}

TaskRecord first_task(ClusterFixture& cluster, JobId job) {
  return cluster.show(job).tasks[0].record;
}

Obstacle first_obstacle(ClusterFixture& cluster, JobId job) {
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 0});
  REQUIRE(why.engaged());
  REQUIRE_FALSE(why->obstacles.empty());
  return why->obstacles[0];
}

std::vector<ServiceRestart> restarts_in_journal(ClusterFixture& cluster) {
  std::vector<ServiceRestart> all;
  for (const auto& record : cluster.journal()) {
    if (const auto* finished = std::get_if<TasksFinished>(&record.body))
      all.insert(all.end(), finished->restarts.begin(), finished->restarts.end());
    if (const auto* requeued = std::get_if<TasksRequeued>(&record.body))
      all.insert(all.end(), requeued->restarts.begin(), requeued->restarts.end());
  }
  return all;
}

}  // namespace

TEST_CASE("a service that ends is started again, after longer and longer pauses", "[actor]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  ClusterFixture cluster(ClusterFixture::default_settings(), accounting);
  cluster.apply({tenant_spec("only", 1)});
  const auto job = submit_job(cluster, service_spec());
  auto agent = cluster.join("node1", 2);
  REQUIRE(agent.launches().size() == 1);
  for (const std::int64_t pause_s : {1, 2, 4}) {
    const auto launched = agent.launches().size();
    const auto task = agent.launches().back().task;
    (void)cluster.report(agent, {pause_s == 2 ? succeeded(task) : failed(task)});
    CHECK(state_of(cluster.show(job).job) == JobState::running);
    const auto record = first_task(cluster, job);
    CHECK(record.state == TaskState::pending);
    CHECK(record.result->exit_code == (pause_s == 2 ? 0 : 3));
    const auto why = first_obstacle(cluster, job);
    CHECK(why.code == "backoff");
    CHECK_THAT(why.message,
               Catch::Contains("ended with exit status " + std::string(pause_s == 2 ? "0" : "3")) &&
                   Catch::Contains("in " + std::to_string(pause_s) + " s"));
    pass_service_time(cluster, pause_s * 1000 - 100, {&agent});
    CHECK(agent.launches().size() == launched);
    pass_service_time(cluster, 200, {&agent});
    REQUIRE(agent.launches().size() == launched + 1);
    CHECK(agent.launches().back().task == TaskKey{job, 0, task.attempt + 1});
  }
  const auto told = restarts_in_journal(cluster);
  REQUIRE(told.size() == 3);
  CHECK(told[2] == ServiceRestart{{job, 0, 3}, 4000});
  CHECK(cluster.verify().ok);
}

TEST_CASE("a service keeps its node while that has room, and goes elsewhere when it has none",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto first = cluster.join("node1", 1);
  auto second = cluster.join("node2", 1);
  const auto job = submit_job(cluster, service_spec());
  auto* home = first.launches().size() == 1 ? &first : &second;
  auto* other = home == &first ? &second : &first;
  REQUIRE(home->launches().size() == 1);
  SECTION("it has") {
    for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
      (void)cluster.report(*home, {failed(home->launches().back().task)});
      pass_service_time(cluster, 8000, {home, other});
      REQUIRE(home->launches().size() == attempt + 1);
    }
    CHECK(other->launches().empty());
  }
  SECTION("it is taken meanwhile") {
    (void)cluster.report(*home, {failed(home->launches().back().task)});
    (void)cluster.submit("only", 1);
    if (home->launches().size() == 1) (void)cluster.submit("only", 1);
    REQUIRE(home->launches().size() == 2);
    const auto taken = other->launches().size();
    if (taken == 1) (void)cluster.report(*other, {succeeded(other->launches().back().task)});
    pass_service_time(cluster, 2000, {home, other});
    REQUIRE(other->launches().size() == taken + 1);
    CHECK(other->launches().back().task == TaskKey{job, 0, 2});
  }
}

TEST_CASE("a service whose node is lost is started elsewhere", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto lost = cluster.join("node1", 1);
  const auto job = submit_job(cluster, service_spec());
  REQUIRE(lost.launches().size() == 1);
  auto other = cluster.join("node2", 1);
  pass_service_time(cluster, 15'000, {&other});
  CHECK(first_task(cluster, job).state == TaskState::pending);
  CHECK(first_task(cluster, job).losses == 1);
  CHECK_THAT(first_obstacle(cluster, job).message, Catch::Contains("its node was lost"));
  pass_service_time(cluster, 2000, {&other});
  REQUIRE(other.launches().size() == 1);
  CHECK(other.launches()[0].task == TaskKey{job, 0, 2});
  CHECK(restarts_in_journal(cluster) == std::vector<ServiceRestart>{{{job, 0, 1}, 1000}});
}

TEST_CASE("a service's pause goes on over a restart of the coordinator", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = submit_job(cluster, service_spec());
  auto agent = cluster.join("node1", 1);
  for (const std::int64_t pause_ms : {1000, 2000}) {
    (void)cluster.report(agent, {failed(agent.launches().back().task)});
    pass_service_time(cluster, pause_ms + 100, {&agent});
  }
  REQUIRE(agent.launches().size() == 3);
  (void)cluster.report(agent, {failed(agent.launches().back().task)});
  cluster.restart();
  agent.orders->clear();
  REQUIRE_FALSE(cluster.reattach(agent));
  CHECK(first_obstacle(cluster, job).code == "backoff");
  pass_service_time(cluster, 2500, {&agent});
  CHECK(agent.launches().empty());
  pass_service_time(cluster, 2000, {&agent});
  REQUIRE(agent.launches().size() == 1);
  CHECK(agent.launches()[0].task == TaskKey{job, 0, 4});
  CHECK(first_task(cluster, job).restarts == 3);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a service ends when it is cancelled, running or not", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = submit_job(cluster, service_spec());
  auto agent = cluster.join("node1", 1);
  REQUIRE(agent.launches().size() == 1);
  const auto task = agent.launches()[0].task;
  const auto cancel = [&] {
    REQUIRE(cluster.ask<Done>(CancelJob{cluster.operator_caller(), job, ""}).engaged());
  };
  SECTION("it runs") {
    cancel();
    REQUIRE(agent.stops() == std::vector<TaskKey>{task});
    (void)cluster.report(agent, {ended(task, EndReason::cancelled)});
  }
  SECTION("it backs off") {
    (void)cluster.report(agent, {failed(task)});
    cancel();
  }
  CHECK(state_of(cluster.show(job).job) == JobState::cancelled);
  pass_service_time(cluster, 10'000, {&agent});
  CHECK(agent.launches().size() == 1);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a node that is drained lets batch tasks end and its services move", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto drained = cluster.join("node1", 3);
  const auto job = submit_job(cluster, service_spec(2));
  (void)cluster.submit("only", 1);
  REQUIRE(drained.launches().size() == 3);
  auto other = cluster.join("node2", 3);
  drained.running = {{job, 0, 1}, {job, 1, 1}, drained.launches()[2].task};
  (void)cluster.report(drained);
  const auto drain = [&](bool drains) {
    REQUIRE(cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "new disk", drains})
                .engaged());
    cluster.run();
  };
  drain(true);
  const std::vector<TaskKey> services{{job, 0, 1}, {job, 1, 1}};
  CHECK(drained.stops() == services);

  SECTION("they start elsewhere at once, and count no restart") {
    drained.running = {drained.launches()[2].task};
    (void)cluster.report(drained, {ended({job, 0, 1}, EndReason::cancelled),
                                   ended({job, 1, 1}, EndReason::cancelled)});
    cluster.advance(0);
    REQUIRE(other.launches().size() == 2);
    CHECK(other.launches()[0].task == TaskKey{job, 0, 2});
    CHECK(first_task(cluster, job).restarts == 0);
    CHECK(cluster.node("node1").state == NodeState::draining);
    CHECK(drained.launches().size() == 3);
  }
  SECTION("a coordinator that starts anew stops them, too") {
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(drained));
    CHECK(drained.stops() == services);
  }
}

TEST_CASE("a node that drained itself runs its services on until somebody drains it", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  auto node = cluster.join("node1", 4);
  const auto job = submit_job(cluster, service_spec());
  REQUIRE(node.launches().size() == 1);
  (void)cluster.submit("only", 3);
  REQUIRE(node.launches().size() == 4);
  node.running = {{job, 0, 1}};
  std::vector<TaskResult> failures;
  for (std::size_t i = 1; i < 4; ++i)
    failures.push_back(ended(node.launches()[i].task, EndReason::launch_failed));
  (void)cluster.report(node, failures);
  CHECK(cluster.node("node1").state == NodeState::draining);
  CHECK(node.stops().empty());
  cluster.restart();
  REQUIRE_FALSE(cluster.reattach(node));
  CHECK(node.stops().empty());
  REQUIRE(
      cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "mend it", true}).engaged());
  cluster.run();
  CHECK(node.stops() == std::vector<TaskKey>{{job, 0, 1}});
}

TEST_CASE("a service that no node can start is tried on and on", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = submit_job(cluster, service_spec());
  auto agent = cluster.join("node1", 1);
  for (std::uint32_t attempt = 1; attempt <= kMaxLaunchFailures + 2; ++attempt) {
    REQUIRE(agent.launches().back().task == TaskKey{job, 0, attempt});
    (void)cluster.report(agent, {ended({job, 0, attempt}, EndReason::could_not_start)});
    pass_service_time(cluster, 301'000, {&agent});
  }
  CHECK(state_of(cluster.show(job).job) == JobState::running);
}

TEST_CASE("nothing may wait for a service's success", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto service = submit_job(cluster, service_spec());
  const auto batch = cluster.submit("only", 1);
  JobSpec after = service_spec();
  after.kind = GENERATE(JobKind::batch, JobKind::service);
  after.after = {batch, service};
  const auto said = submission_refusal(cluster, after);
  CHECK(said.code == ErrorCode::invalid_input);
  CHECK(said.field == "after[1]");
  CHECK_THAT(said.message, Catch::Contains("job " + std::to_string(service.value) +
                                           " is a service: it runs until it is cancelled"));
  after.after = {batch};
  CHECK(submit_job(cluster, after).value > 0);
}

TEST_CASE("what a service holds is held time as any other", "[actor]") {
  ClusterFixture cluster(ClusterFixture::default_settings(), Accounting::time);
  cluster.apply({tenant_spec("only", 1), tenant_spec("idle", 1)});
  auto agent = cluster.join("node1", 2);
  (void)submit_job(cluster, service_spec(2));
  REQUIRE(agent.launches().size() == 2);
  agent.running = {agent.launches()[0].task, agent.launches()[1].task};
  pass_service_time(cluster, 20'000, {&agent});
  const auto tenants = cluster.tenants();
  // A core too much for twenty seconds: 10 units of 100 millicores each.
  CHECK(tenants.at(0).net <= -10 * 19'000);
  CHECK(tenants.at(0).net + tenants.at(1).net == 0);
}

}  // namespace fairwater
