// Nodes that cannot start what they are given, and tasks that vanish: in virtual time.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

std::vector<TaskResult> launch_failures(const FakeAgent& agent, std::size_t from = 0) {
  std::vector<TaskResult> results;
  const auto launches = agent.launches();
  for (std::size_t i = from; i < launches.size(); ++i)
    results.push_back(ended(launches[i].task, EndReason::launch_failed));
  return results;
}

/// Advances in steps that keep every lease alive.
void pass_time(ClusterFixture& cluster, std::int64_t milliseconds,
               const std::vector<FakeAgent*>& agents) {
  for (std::int64_t left_ms = milliseconds; left_ms > 0; left_ms -= 1000) {
    cluster.advance(std::min<std::int64_t>(left_ms, 1000));
    for (FakeAgent* agent : agents) (void)cluster.report(*agent);
  }
}

TEST_CASE("launches that fail are neither use nor loan, and the node drains itself", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("busy", 1), tenant_spec("idle", 1)});
  const auto job = cluster.submit("busy", 4);
  auto broken = cluster.join("node1", 4);
  REQUIRE(broken.launches().size() == 4);
  REQUIRE(cluster.tenants().at(1).net > 0);

  const auto reply = cluster.report(broken, launch_failures(broken));
  REQUIRE(reply.engaged());
  CHECK(reply->acknowledged.size() == 4);
  for (const auto& tenant : cluster.tenants()) {
    CHECK(tenant.net == 0);
    CHECK(tenant.record.deficit == 0);
    CHECK(tenant.record.granted_units_total == 0);
    CHECK(tenant.record.borrowed_total == 0);
    CHECK(tenant.record.lent_total == 0);
  }
  const auto drained = cluster.node("node1");
  CHECK(drained.state == NodeState::drained);
  CHECK_THAT(drained.record.drain_reason,
             Catch::Contains("4 launches in a row failed") && Catch::Contains("so the test says"));

  auto sound = cluster.join("node2", 4);
  CHECK(sound.launches().empty());  // the tasks back off
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 0});
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles[0].code == "backoff");
  pass_time(cluster, 1000, {&broken, &sound});
  CHECK(broken.launches().size() == 4);
  REQUIRE(sound.launches().size() == 4);
  CHECK(sound.launches()[0].task.attempt == 2);
  CHECK(cluster.show(job).tasks[0].record.failures == 0);
  CHECK(cluster.verify().ok);

  SECTION("undraining gives it another chance") {
    REQUIRE(cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "", false}).engaged());
    (void)cluster.submit("busy", 1);
    pass_time(cluster, 1000, {&broken, &sound});
    CHECK(broken.launches().size() == 5);
    (void)cluster.report(broken, launch_failures(broken, 4));
    CHECK(cluster.node("node1").state == NodeState::up);
  }
}

TEST_CASE("every task of a gang that backs off tells of the pause", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  JobSpec spec;
  spec.tenant = "only";
  spec.name = "gang";
  spec.command = {"work"};
  spec.tasks_min = spec.tasks_max = 3;
  spec.gang = true;
  spec.resources = {{"cpu", 1000}};
  const auto gang = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  REQUIRE(gang.engaged());
  FakeAgent agent = cluster.join("node1", 3);
  (void)cluster.report(agent);
  const auto launches = agent.launches();
  REQUIRE(launches.size() == 3);
  (void)cluster.submit("only", 5);  // comes later
  std::vector<TaskResult> failed, stopped;
  for (const LaunchOrder& order : launches)
    if (order.task.index == 1) {
      failed.push_back(ended(order.task, EndReason::launch_failed));
    } else {
      agent.running.push_back(order.task);
      stopped.push_back(ended(order.task, EndReason::cancelled));
    }
  (void)cluster.report(agent, failed);
  agent.running.clear();
  (void)cluster.report(agent, stopped);
  const auto first_obstacles = [&](std::uint32_t task) {
    const auto why =
        cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), gang->id, task});
    REQUIRE(why.engaged());
    REQUIRE_FALSE(why->obstacles.empty());
    for (const Obstacle& obstacle : why->obstacles)
      CHECK_THAT(obstacle.message, !Catch::Contains("stand before it"));
    return why->obstacles.front();
  };
  const Obstacle own = first_obstacles(1);
  CHECK(own.code == "backoff");
  CHECK_THAT(own.message, Catch::StartsWith("it is tried again in 1 s, after 1 failed launches"));
  for (const std::uint32_t other : {0U, 2U}) {
    const Obstacle first = first_obstacles(other);
    CHECK(first.code == "backoff");
    CHECK(first.message == "its gang waits for task 1 of it: " + own.message);
  }
}

TEST_CASE("a node that fails every launch is given three tasks and no more", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 20);
  auto broken = cluster.join("node1", 1);
  for (int second = 0; second < 120; ++second) {
    (void)cluster.report(broken, launch_failures(broken));
    cluster.advance(1000);
  }
  CHECK(broken.launches().size() == 3);
  CHECK(cluster.node("node1").state == NodeState::drained);
  CHECK(cluster.show(job).job.tasks.pending() == 20);
  CHECK(cluster.tenants().at(0).record.granted_units_total == 0);
}

TEST_CASE("a node that failed once is tried again after a pause, and one success clears it",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  (void)cluster.submit("only", 50);
  auto agent = cluster.join("node1", 1);
  for (std::size_t round = 1; round <= 4; ++round) {
    const auto failed = agent.launches().back().task;
    (void)cluster.report(agent, {ended(failed, EndReason::launch_failed)});
    const auto launched = agent.launches().size();
    pass_time(cluster, 1000, {&agent});
    CHECK(agent.launches().size() == launched);
    pass_time(cluster, 3000, {&agent});
    REQUIRE(agent.launches().size() == launched + 1);
    (void)cluster.report(agent, {succeeded(agent.launches().back().task)});
    REQUIRE(agent.launches().size() == launched + 2);
  }
  CHECK(cluster.node("node1").state == NodeState::up);
}

TEST_CASE("a pause after failed launches is told of with its end", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 2);
  auto agent = cluster.join("node1", 1);
  (void)cluster.report(agent, launch_failures(agent));
  const NodeInfo paused = cluster.node("node1");
  CHECK(paused.state == NodeState::up);
  CHECK_THAT(paused.problem,
             Catch::Matches("takes no tasks until \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ "
                            "because a launch failed: so the test says"));
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), job, 1});
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles[0].message ==
        "none of 1 nodes is up and accepts tasks: node node1 " + paused.problem);
  pass_time(cluster, 4000, {&agent});
  CHECK(cluster.node("node1").problem.empty());
  REQUIRE(agent.launches().size() == 2);
}

/// Of two tasks that start together.
void submit_gang(ClusterFixture& cluster) {
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"work"};
  spec.gang = true;
  spec.tasks_min = spec.tasks_max = 2;
  spec.resources = {{"cpu", 1000}};
  REQUIRE(cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec}).engaged());
  cluster.run();
}

TEST_CASE("a gang's stopped tasks are no proof that a node starts what it is given", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  submit_gang(cluster);
  auto broken = cluster.join("node1", 2);
  std::size_t told = 0;
  for (int second = 0; second < 120; ++second) {
    const auto launches = broken.launches();
    for (; told + 1 < launches.size(); told += 2) {
      broken.running = {launches[told + 1].task};
      (void)cluster.report(broken, {ended(launches[told].task, EndReason::launch_failed)});
      broken.running.clear();
      (void)cluster.report(broken, {ended(launches[told + 1].task, EndReason::cancelled)});
    }
    cluster.advance(1000);
    (void)cluster.report(broken);
  }
  CHECK(told == 6);
  CHECK(cluster.node("node1").state == NodeState::drained);
}

TEST_CASE("a task that backs off does so over a restart", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  auto agent = cluster.join("node1", 1);
  (void)cluster.report(agent, {ended(agent.launches().at(0).task, EndReason::launch_failed)});
  cluster.restart();
  agent.orders->clear();
  REQUIRE_FALSE(cluster.reattach(agent));
  CHECK(agent.launches().empty());
  pass_time(cluster, 1000, {&agent});
  REQUIRE(agent.launches().size() == 1);
  CHECK(agent.launches()[0].task == TaskKey{job, 0, 2});
}

TEST_CASE("a cancelled job's tasks do not come back from their pause", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  auto agent = cluster.join("node1", 1);
  (void)cluster.report(agent, {ended(agent.launches().at(0).task, EndReason::launch_failed)});
  REQUIRE(cluster.ask<Done>(CancelJob{cluster.operator_caller(), job, ""}).engaged());
  CHECK(state_of(cluster.show(job).job) == JobState::cancelled);
  pass_time(cluster, 10'000, {&agent});
  CHECK(agent.launches().size() == 1);
}

TEST_CASE("a task whose supervisors vanish fails after ten of them, and no node suffers",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  auto agent = cluster.join("node1", 1);
  std::size_t told = 0;
  for (int second = 0; second < 600 && told < 11; ++second) {
    const auto launches = agent.launches();
    if (launches.size() > told)
      (void)cluster.report(agent, {ended(launches[told++].task, EndReason::supervisor_lost)});
    pass_time(cluster, 1000, {&agent});
  }
  CHECK(told == kMaxLosses);
  const auto detail = cluster.show(job);
  CHECK(state_of(detail.job) == JobState::failed);
  CHECK(detail.tasks[0].record.failures == 0);
  CHECK_THAT(detail.tasks[0].record.result->message, Catch::Contains("lost 10 times"));
  CHECK(cluster.node("node1").state == NodeState::up);
  CHECK(cluster.verify().ok);
}

TEST_CASE("while the coordinator's disk is full, tasks go on and their ends are kept by the agent",
          "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 3);
  auto agent = cluster.join("node1", 3);
  const auto launches = agent.launches();
  REQUIRE(launches.size() == 3);
  agent.running = {launches[0].task};
  const std::vector<TaskResult> results{succeeded(launches[1].task),
                                        ended(launches[2].task, EndReason::launch_failed)};
  cluster.fill_disk(true);
  for (int second = 0; second < 60; ++second) {
    const auto reply = cluster.report(agent, results);
    REQUIRE(reply.engaged());
    CHECK(reply->acknowledged.empty());
    CHECK(reply->lease_ms == 10'000);
    cluster.advance(1000);
  }
  CHECK(cluster.node("node1").state == NodeState::up);
  cluster.fill_disk(false);
  cluster.advance(2000);  // the coordinator has begun anew
  const auto reply = cluster.report(agent, results);
  REQUIRE(reply.engaged());
  CHECK(reply->acknowledged.size() == 2);
  const auto detail = cluster.show(job);
  CHECK(detail.job.tasks.succeeded == 1);
  CHECK(detail.job.tasks.running == 1);
  CHECK(detail.tasks[2].record.launch_failures == 1);
  CHECK(cluster.node("node1").state == NodeState::up);
  CHECK(cluster.verify().ok);
}

TEST_CASE("what a lost node still has is given back as soon as that is durable", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  (void)cluster.join("node1", 1);
  cluster.advance(20'000);
  REQUIRE(cluster.show(job).tasks[0].record.attempt == 2);
  REQUIRE(cluster.show(job).tasks[0].record.losses == 1);

  const auto& coordinator = cluster.actors().coordinator;
  const auto node = cluster.ask_actor<NodeAddress>(coordinator, FindNode{NodeId{1}});
  const auto tenant = cluster.ask_actor<TenantAddress>(coordinator, FindTenant{"only", {}});
  const TaskKey late{job, 0, 2};
  const auto given_back = [&] {
    int count = 0;
    for (const auto& record : cluster.journal())
      if (const auto* requeued = std::get_if<TasksRequeued>(&record.body))
        count += requeued->tasks == std::vector{late} && !requeued->node_lost ? 1 : 0;
    return count;
  };
  cluster.fill_disk(true);
  LaunchOrder order;
  order.task = late;
  caf::anon_send(node->actor, LaunchTasks{tenant->actor, {order}});
  cluster.run();
  cluster.advance(5000);
  CHECK(given_back() == 0);
  cluster.fill_disk(false);
  cluster.advance(1000);
  CHECK(given_back() == 1);
  cluster.advance(60'000);
  CHECK(given_back() == 1);
}

TEST_CASE("a shorter lease takes nothing from those that an earlier coordinator gave", "[actor]") {
  auto long_lease = ClusterFixture::default_settings();
  long_lease.lease_ms = 60'000;
  ClusterFixture cluster(long_lease);
  cluster.apply({tenant_spec("only", 1)});
  const auto job = cluster.submit("only", 1);
  (void)cluster.join("node1", 1);
  const int restarts = GENERATE(1, 2);  // the second must not forget what the first knew
  for (int i = 0; i < restarts; ++i) cluster.restart(ClusterFixture::default_settings());
  auto other = cluster.join("node2", 1);
  pass_time(cluster, 65'500, {&other});  // lease, grace, and half of the second of a deposed one
  CHECK(cluster.node("node1").state == NodeState::down);
  CHECK(other.launches().empty());
  pass_time(cluster, 1500, {&other});
  REQUIRE(other.launches().size() == 1);
  CHECK(other.launches()[0].task == TaskKey{job, 0, 2});
}

}  // namespace
}  // namespace fairwater
