// Drains with a deadline, in virtual time: what still runs then runs elsewhere.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr std::int64_t kDrainTime_ms = 60'000;

Expected<Done> drain_node1(ClusterFixture& cluster, std::int64_t deadline_ms, bool drain = true) {
  return cluster.ask<Done>(
      DrainNode{cluster.operator_caller(), "node1", "new disk", drain, deadline_ms});
}

/// Advances in steps that keep every lease alive.
void pass_drain_time(ClusterFixture& cluster, std::int64_t milliseconds,
                     const std::vector<FakeAgent*>& agents) {
  for (std::int64_t left_ms = milliseconds; left_ms > 0; left_ms -= 1000) {
    cluster.advance(std::min<std::int64_t>(left_ms, 1000));
    for (FakeAgent* agent : agents) (void)cluster.report(*agent);
  }
}

JobId submit_spec(ClusterFixture& cluster, const JobSpec& spec) {
  const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  if (!accepted) FAIL(details(accepted.error()).message);
  cluster.run();
  return accepted->id;
}

JobSpec work_spec(std::uint32_t tasks) {
  JobSpec spec;
  spec.tenant = "only";
  spec.name = "job";
  spec.command = {"work"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}};
  return spec;
}

std::size_t drain_reclaims(ClusterFixture& cluster) {
  std::size_t tasks = 0;
  for (const auto& record : cluster.journal())
    if (const auto* body = std::get_if<TasksReclaimed>(&record.body); body && body->for_drain)
      tasks += body->tasks.size();
  return tasks;
}

/// Two tasks run on node1, and node2 has room for both.
struct DrainedCluster {
  DrainedCluster() : DrainedCluster(work_spec(2)) {}
  explicit DrainedCluster(const JobSpec& spec) {
    cluster.apply({tenant_spec("only", 1)});
    agent = cluster.join("node1", 2);
    job = submit_spec(cluster, spec);
    REQUIRE(agent.launches().size() == 2);
    for (const LaunchOrder& order : agent.launches()) agent.running.push_back(order.task);
    (void)cluster.report(agent);
    other = cluster.join("node2", 2);
  }
  void pass(std::int64_t milliseconds) { pass_drain_time(cluster, milliseconds, {&agent, &other}); }
  /// The agent has done what it was told.
  void end_stopped() {
    std::vector<TaskResult> results;
    for (const TaskKey& task : std::exchange(agent.running, {}))
      results.push_back(ended(task, EndReason::cancelled));
    (void)cluster.report(agent, results);
    cluster.advance(0);
    (void)cluster.report(other);
  }

  ClusterFixture cluster;
  FakeAgent agent;
  FakeAgent other;
  JobId job;
};

}  // namespace

TEST_CASE("what runs at the deadline of a drain is stopped and runs elsewhere", "[actor]") {
  DrainedCluster with;
  auto& cluster = with.cluster;
  REQUIRE(drain_node1(cluster, kDrainTime_ms).engaged());
  const auto node = cluster.node("node1");
  CHECK(node.state == NodeState::draining);
  const WallTime deadline = node.record.drain_deadline;
  CHECK(deadline);
  with.pass(kDrainTime_ms - 2000);
  CHECK(with.agent.stops().empty());
  with.pass(3000);
  const std::vector<TaskKey> both{{with.job, 0, 1}, {with.job, 1, 1}};
  CHECK(with.agent.stops() == both);
  with.pass(5000);
  CHECK(with.agent.stops() == both);  // told once
  CHECK(drain_reclaims(cluster) == 2);
  with.end_stopped();
  REQUIRE(with.other.launches().size() == 2);
  CHECK(with.other.launches()[0].task == TaskKey{with.job, 0, 2});
  CHECK(cluster.node("node1").state == NodeState::drained);
  const JobRecord job = cluster.show(with.job).job;
  CHECK(job.tasks.running == 2);
  CHECK(job.tasks.failed + job.tasks.cancelled == 0);
  for (const auto& task : cluster.show(with.job).tasks) CHECK(task.record.failures == 0);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a gang that is stopped by a drain runs again whole", "[actor]") {
  JobSpec spec = work_spec(2);
  spec.gang = true;
  DrainedCluster with(spec);
  REQUIRE(drain_node1(with.cluster, kDrainTime_ms).engaged());
  with.pass(kDrainTime_ms + 1000);
  CHECK(with.agent.stops().size() >= 2);
  with.end_stopped();
  with.pass(2000);
  REQUIRE(with.other.launches().size() == 2);
  CHECK(with.cluster.show(with.job).job.tasks.running == 2);
  CHECK(with.cluster.show(with.job).job.gang_failures == 0);
}

TEST_CASE("a drain's deadline stops a gang on its other nodes, too", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  FakeAgent agent = cluster.join("node1", 1);
  FakeAgent other = cluster.join("node2", 1);
  JobSpec spec = work_spec(2);
  spec.gang = true;
  const JobId job = submit_spec(cluster, spec);
  for (FakeAgent* one : {&agent, &other}) {
    REQUIRE(one->launches().size() == 1);
    one->running.push_back(one->launches().front().task);
    (void)cluster.report(*one);
  }
  REQUIRE(drain_node1(cluster, kDrainTime_ms).engaged());
  pass_drain_time(cluster, kDrainTime_ms + 1000, {&agent, &other});
  CHECK(drain_reclaims(cluster) == 2);
  CHECK(agent.stops().size() == 1);
  CHECK(other.stops().size() == 1);
  // It loses the other before it hears.
  TaskResult failed;
  failed.task = other.running.front();
  failed.exit_code = 1;
  other.running.clear();
  (void)cluster.report(other, {failed});
  CHECK(cluster.show(job).job.tasks.failed == 0);
  CHECK(cluster.show(job).job.gang_failures == 0);
  CHECK(cluster.verify().ok);
}

TEST_CASE("a deadline can be replaced and taken away", "[actor]") {
  DrainedCluster with;
  auto& cluster = with.cluster;
  REQUIRE(drain_node1(cluster, kDrainTime_ms).engaged());
  SECTION("by the end of the drain") { REQUIRE(drain_node1(cluster, 0, false).engaged()); }
  SECTION("by a drain that has none") { REQUIRE(drain_node1(cluster, 0).engaged()); }
  SECTION("by a later one") { REQUIRE(drain_node1(cluster, 10 * kDrainTime_ms).engaged()); }
  with.pass(2 * kDrainTime_ms);
  CHECK(with.agent.stops().empty());
}

TEST_CASE("a sooner deadline holds, and its drain's end cancels it", "[actor]") {
  DrainedCluster with;
  REQUIRE(drain_node1(with.cluster, 100 * kDrainTime_ms).engaged());
  REQUIRE(drain_node1(with.cluster, 2000).engaged());
  with.pass(3000);
  CHECK(with.agent.stops().size() == 2);
  REQUIRE(drain_node1(with.cluster, 0, false).engaged());
  CHECK_FALSE(with.cluster.node("node1").record.drain_deadline);
}

TEST_CASE("a coordinator that starts anew keeps a drain's deadline", "[actor]") {
  DrainedCluster with;
  auto& cluster = with.cluster;
  SECTION("that has not come") {
    REQUIRE(drain_node1(cluster, 365LL * 86'400'000).engaged());
    const WallTime deadline = cluster.node("node1").record.drain_deadline;
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(with.agent));
    CHECK(cluster.node("node1").record.drain_deadline == deadline);
    CHECK(with.agent.stops().empty());
    pass_drain_time(cluster, 10'000, {&with.agent});
    CHECK(with.agent.stops().empty());
  }
  SECTION("that comes while there is none") {
    REQUIRE(drain_node1(cluster, 1).engaged());  // virtual time has not passed
    CHECK(drain_reclaims(cluster) == 0);
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(with.agent));
    cluster.advance(1000);
    CHECK(drain_reclaims(cluster) == 2);
    CHECK(with.agent.stops().size() >= 2);
  }
  SECTION("that had come: it tells again what it had told") {
    REQUIRE(drain_node1(cluster, 1000).engaged());
    with.pass(2000);
    REQUIRE(with.agent.stops().size() == 2);
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(with.agent));
    CHECK(with.agent.stops().size() == 2);  // to a new connection
    pass_drain_time(cluster, 5000, {&with.agent});
    CHECK(drain_reclaims(cluster) == 2);
  }
}

TEST_CASE("while the disk is full nothing is stopped at a deadline, and then it is", "[actor]") {
  DrainedCluster with;
  REQUIRE(drain_node1(with.cluster, 5000).engaged());
  with.cluster.fill_disk(true);
  with.pass(10'000);
  CHECK(with.agent.stops().empty());
  with.cluster.fill_disk(false);
  with.pass(5000);
  CHECK(with.agent.stops().size() == 2);
}

TEST_CASE("a drain's deadline that is none is refused", "[actor]") {
  DrainedCluster with;
  const std::int64_t deadline_ms = GENERATE(-1LL, 367LL * 86'400'000);
  const auto drained = drain_node1(with.cluster, deadline_ms);
  REQUIRE_FALSE(drained.engaged());
  CHECK(details(drained.error()).field == "deadline");
  CHECK(with.cluster.node("node1").state == NodeState::up);
}

}  // namespace fairwater
