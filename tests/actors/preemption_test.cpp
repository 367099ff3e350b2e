// Preemption in virtual time: what is taken waits again, and is told again after a restart.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

JobSpec plain_spec(const std::string& tenant, std::uint32_t tasks) {
  JobSpec spec;
  spec.tenant = tenant;
  spec.name = "job";
  spec.command = {"work"};
  spec.tasks_min = spec.tasks_max = tasks;
  spec.resources = {{"cpu", 1000}};
  return spec;
}

JobId submit_plain(ClusterFixture& cluster, const JobSpec& spec) {
  const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
  if (!accepted) FAIL(details(accepted.error()).message);
  cluster.run();
  return accepted->id;
}

void pass_seconds(ClusterFixture& cluster, FakeAgent& agent, int seconds) {
  for (int i = 0; i < seconds; ++i) {
    cluster.advance(1000);
    (void)cluster.report(agent);
  }
}

std::vector<Reclaim> reclaims_in_journal(ClusterFixture& cluster) {
  std::vector<Reclaim> all;
  for (const auto& record : cluster.journal())
    if (const auto* reclaimed = std::get_if<TasksReclaimed>(&record.body))
      all.insert(all.end(), reclaimed->tasks.begin(), reclaimed->tasks.end());
  return all;
}

}  // namespace

TEST_CASE("an urgent job takes what others run beyond their quota, after a while", "[actor]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  ClusterFixture cluster(ClusterFixture::default_settings(), accounting);
  cluster.apply({tenant_spec("borrower", 1), tenant_spec("urgent", 1)});
  FakeAgent agent = cluster.join("node1", 4);
  const JobId borrowed = submit_plain(cluster, plain_spec("borrower", 4));
  (void)cluster.report(agent);
  REQUIRE(agent.launches().size() == 4);
  for (const LaunchOrder& order : agent.launches()) agent.running.push_back(order.task);
  JobSpec spec = plain_spec("urgent", 3);
  spec.priority = 5;
  spec.preempt = true;
  const JobId urgent = submit_plain(cluster, spec);
  pass_seconds(cluster, agent, 20);
  CHECK(agent.stops().empty());
  pass_seconds(cluster, agent, 12);
  REQUIRE(agent.stops().size() == 2);
  const auto reclaims = reclaims_in_journal(cluster);
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].preempted);
  CHECK(reclaims[0].claimant_job == urgent);
  const std::vector<TaskKey> stopped{reclaims[0].task, reclaims[1].task};
  SECTION("the tasks end") {}
  SECTION("the coordinator ends first, and tells them again") {
    cluster.restart();
    REQUIRE_FALSE(cluster.reattach(agent));
    CHECK(agent.stops().size() >= 2);
    pass_seconds(cluster, agent, 40);
    CHECK(reclaims_in_journal(cluster).size() == 2);
  }
  for (const TaskKey& task : stopped) {
    std::erase(agent.running, task);
    (void)cluster.report(agent, {ended(task, EndReason::cancelled)});
  }
  (void)cluster.report(agent);
  CHECK(cluster.show(urgent).job.tasks.running == 2);
  const JobRecord after = cluster.show(borrowed).job;
  CHECK(after.tasks.running == 2);
  CHECK(after.tasks.pending() == 2);
  CHECK(after.tasks.failed + after.tasks.cancelled == 0);
  CHECK(cluster.verify().ok);
}

TEST_CASE("what a drain has told to end counts no more for a min", "[actor]") {
  ClusterFixture cluster;
  TenantSpec borrower = tenant_spec("borrower", 1);
  borrower.min = {{"cpu", 2000}};
  cluster.apply({borrower, tenant_spec("urgent", 1)});
  FakeAgent drained = cluster.join("node1", 2);
  FakeAgent other = cluster.join("node2", 2);
  const JobId borrowed = submit_plain(cluster, plain_spec("borrower", 4));
  const auto report = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      cluster.advance(1000);
      (void)cluster.report(drained);
      (void)cluster.report(other);
    }
  };
  report(1);
  for (FakeAgent* agent : {&drained, &other}) {
    REQUIRE(agent->launches().size() == 2);
    for (const LaunchOrder& order : agent->launches()) agent->running.push_back(order.task);
  }
  report(32);
  const DrainNode drain{cluster.operator_caller(), "node1", "new disk", true, 1000};
  REQUIRE(cluster.ask<Done>(drain).engaged());
  report(3);
  REQUIRE(drained.stops().size() >= 2);
  // They do not end yet; what is left to the borrower is its min.
  JobSpec spec = plain_spec("urgent", 1);
  spec.priority = 5;
  spec.preempt = true;
  (void)submit_plain(cluster, spec);
  report(5);
  CHECK(other.stops().empty());
  CHECK(reclaims_in_journal(cluster).size() == 2);
  CHECK(cluster.show(borrowed).job.tasks.running == 4);
  CHECK(cluster.verify().ok);
}

/// A gang on both nodes, and an urgent task that waits.
struct GangToPreempt {
  GangToPreempt() {
    cluster.apply({tenant_spec("borrower", 1), tenant_spec("urgent", 1)});
    one = cluster.join("node1", 2);
    other = cluster.join("node2", 2);
    JobSpec spec = plain_spec("borrower", 4);
    spec.gang = true;
    gang = submit_plain(cluster, spec);
    for (FakeAgent* agent : {&one, &other}) {
      (void)cluster.report(*agent);
      REQUIRE(agent->launches().size() == 2);
      for (const LaunchOrder& order : agent->launches()) agent->running.push_back(order.task);
    }
    JobSpec urgent = plain_spec("urgent", 1);
    urgent.priority = 5;
    urgent.preempt = true;
    claimant = submit_plain(cluster, urgent);
  }
  void pass(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      cluster.advance(1000);
      for (FakeAgent* agent : {&one, &other}) (void)cluster.report(*agent);
    }
  }
  void end_all(EndReason reason) {
    for (FakeAgent* agent : {&one, &other}) {
      std::vector<TaskResult> results;
      for (const TaskKey& task : std::exchange(agent->running, {}))
        results.push_back(ended(task, reason));
      (void)cluster.report(*agent, std::move(results));
    }
  }
  void fail_one() {
    TaskResult failed = ended(other.running.back(), EndReason::exited);
    failed.exit_code = 1;
    other.running.pop_back();
    (void)cluster.report(other, {failed});
  }

  ClusterFixture cluster;
  FakeAgent one;
  FakeAgent other;
  JobId gang;
  JobId claimant;
};

TEST_CASE("a gang is preempted whole, and waits again whole", "[actor]") {
  GangToPreempt with;
  with.pass(32);
  CHECK(reclaims_in_journal(with.cluster).size() == 4);
  for (const FakeAgent* agent : {&with.one, &with.other}) CHECK(agent->stops().size() == 2);
  with.end_all(EndReason::cancelled);
  with.pass(3);
  CHECK(with.cluster.show(with.claimant).job.tasks.running == 1);
  const JobDetail detail = with.cluster.show(with.gang);
  CHECK(detail.job.tasks.running == 0);
  CHECK(detail.job.tasks.failed == 0);
  for (const TaskInfo& task : detail.tasks) CHECK(task.record.attempt == 2);
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("a gang's task that fails by the end of one that heard first is no failure", "[actor]") {
  GangToPreempt with;
  SECTION("told to make room") {
    with.pass(32);
    REQUIRE(reclaims_in_journal(with.cluster).size() == 4);
    with.fail_one();
    const JobDetail detail = with.cluster.show(with.gang);
    CHECK(detail.job.gang_failures == 0);
    CHECK(detail.job.tasks.failed == 0);
    const auto stopped =
        std::find_if(detail.tasks.begin(), detail.tasks.end(),
                     [](const TaskInfo& task) { return task.record.result.has_value(); });
    REQUIRE(stopped != detail.tasks.end());
    CHECK(stopped->record.result->reason == EndReason::cancelled);
    CHECK_THAT(stopped->record.result->message, Catch::Contains("with exit status 1"));
    with.end_all(EndReason::signalled);
    for (const TaskInfo& task : with.cluster.show(with.gang).tasks) CHECK(task.record.attempt == 2);
  }
  SECTION("while nobody is to make room") {
    with.fail_one();
    CHECK(with.cluster.show(with.gang).job.tasks.failed == 1);
  }
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("services, and what says so, are not preempted", "[actor]") {
  ClusterFixture cluster;
  cluster.apply({tenant_spec("borrower", 1), tenant_spec("urgent", 1)});
  FakeAgent agent = cluster.join("node1", 4);
  JobSpec kept = plain_spec("borrower", 4);
  SECTION("services") { kept.kind = JobKind::service; }
  SECTION("what says so itself") { kept.preemptible = false; }
  (void)submit_plain(cluster, kept);
  (void)cluster.report(agent);
  REQUIRE(agent.launches().size() == 4);
  for (const LaunchOrder& order : agent.launches()) agent.running.push_back(order.task);
  JobSpec spec = plain_spec("urgent", 1);
  spec.priority = 5;
  spec.preempt = true;
  (void)submit_plain(cluster, spec);
  pass_seconds(cluster, agent, 60);
  CHECK(agent.stops().empty());
}

}  // namespace fairwater
