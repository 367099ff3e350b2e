// Drains that are planned for later, in virtual time: until they begin the node takes what ends
// before, and nothing else.
#include <functional>
#include <utility>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr std::int64_t kAhead_ms = 60'000;
constexpr std::int64_t kStart_us = 1'764'000'000'000'000;

/// A ledger's store that takes everything, and lets something happen before it takes the next.
struct SlowJournal final : JournalStore {
  caf::error commit(const RecordGroup& /*group*/) override {
    if (const auto happens = std::exchange(before_next, {})) happens();
    return {};
  }
  std::function<void()> before_next;
};

/// One node with room for four tasks.
struct PlannedCluster {
  explicit PlannedCluster(Accounting accounting = Accounting::units, JournalStore* store = nullptr)
      : cluster(settings(), accounting, store) {
    cluster.apply({tenant_spec("only", 1), tenant_spec("idle", 1)});
    agent = cluster.join("node1", 4);
  }
  ClusterSettings settings() {
    ClusterSettings settings = ClusterFixture::default_settings();
    settings.wall_clock = [now_ms = now_ms] { return WallTime{kStart_us + *now_ms * 1000}; };
    return settings;
  }
  Expected<Done> plan(std::int64_t ahead_ms, std::int64_t deadline_ms = 0,
                      const std::string& reason = "new kernel") {
    const WallTime begins{kStart_us + (*now_ms + ahead_ms) * 1000};
    return cluster.ask<Done>(
        PlanDrain{cluster.operator_caller(), "node1", reason, begins, deadline_ms});
  }
  JobId submit(std::int64_t limit_ms) {
    JobSpec spec;
    spec.tenant = "only";
    spec.name = "job";
    spec.command = {"work"};
    spec.resources = {{"cpu", 1000}};
    spec.time_limit_ms = limit_ms;
    const auto accepted = cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec});
    REQUIRE(accepted.engaged());
    cluster.run();
    return accepted->id;
  }
  bool has_started(JobId job) {
    const auto launches = agent.launches();
    return std::any_of(launches.begin(), launches.end(),
                       [&](const LaunchOrder& order) { return order.task.job == job; });
  }
  /// In steps that keep the lease alive; what was started runs on.
  void pass(std::int64_t milliseconds) {
    for (const LaunchOrder& order : agent.launches())
      if (std::find(agent.running.begin(), agent.running.end(), order.task) == agent.running.end())
        agent.running.push_back(order.task);
    for (std::int64_t left_ms = milliseconds; left_ms > 0; left_ms -= 1000) {
      advance(std::min<std::int64_t>(left_ms, 1000));
      (void)cluster.report(agent);
    }
  }
  void advance(std::int64_t milliseconds) {
    *now_ms += milliseconds;
    cluster.advance(milliseconds);
  }
  NodeInfo node() { return cluster.node("node1"); }
  std::size_t told_to_stop() { return agent.stops().size(); }

  std::shared_ptr<std::int64_t> now_ms = std::make_shared<std::int64_t>(0);
  ClusterFixture cluster;
  FakeAgent agent;
};

}  // namespace

TEST_CASE("until a planned drain begins a node takes what ends before", "[actor]") {
  PlannedCluster with;
  const JobId running = with.submit(0);
  REQUIRE(with.has_started(running));
  REQUIRE(with.plan(kAhead_ms, 5000).engaged());
  CHECK(with.node().state == NodeState::up);
  CHECK(with.node().record.planned_drain.reason == "new kernel");
  const JobId unlimited = with.submit(0);
  const JobId too_long = with.submit(kAhead_ms + 1000);
  const JobId in_time = with.submit(kAhead_ms - 10'000);
  CHECK_FALSE(with.has_started(unlimited));
  CHECK_FALSE(with.has_started(too_long));
  CHECK(with.has_started(in_time));
  const auto why =
      with.cluster.ask<Explanation>(ExplainTask{with.cluster.operator_caller(), too_long, 0});
  REQUIRE(why.engaged());
  std::string messages;
  for (const auto& obstacle : why->obstacles) messages += obstacle.message + "\n";
  CHECK_THAT(messages,
             Catch::Contains("none of 1 nodes is up and accepts tasks: node node1 drains from ") &&
                 Catch::Contains("on, and takes what ends before that by its time limit\n"));

  with.pass(kAhead_ms + 1000);
  CHECK(with.node().state == NodeState::draining);
  CHECK(with.node().record.drain_reason == "new kernel");
  CHECK_FALSE(with.node().record.planned_drain.begins);
  CHECK(with.told_to_stop() == 0);
  with.pass(6000);
  CHECK(with.told_to_stop() > 0);  // its deadline counts from its beginning
  REQUIRE(with.cluster.ask<Done>(DrainNode{with.cluster.operator_caller(), "node1", "", false})
              .engaged());
  with.pass(1000);
  CHECK(with.has_started(unlimited));
  CHECK(with.has_started(too_long));
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("a planned drain can be moved, taken back and brought forward", "[actor]") {
  PlannedCluster with;
  REQUIRE(with.plan(kAhead_ms).engaged());
  const JobId job = with.submit(kAhead_ms + 1000);
  REQUIRE_FALSE(with.has_started(job));
  SECTION("moved") {
    REQUIRE(with.plan(2 * kAhead_ms).engaged());
    with.pass(1000);
    CHECK(with.has_started(job));
    with.pass(kAhead_ms);
    CHECK(with.node().state == NodeState::up);
  }
  SECTION("taken back") {
    REQUIRE(with.cluster.ask<Done>(DrainNode{with.cluster.operator_caller(), "node1", "", false})
                .engaged());
    with.pass(1000);
    CHECK(with.has_started(job));
    with.pass(2 * kAhead_ms);
    CHECK(with.node().state == NodeState::up);
  }
  SECTION("brought forward") {
    REQUIRE(with.cluster.ask<Done>(DrainNode{with.cluster.operator_caller(), "node1", "now", true})
                .engaged());
    CHECK(with.node().state == NodeState::drained);
    const auto again = with.plan(kAhead_ms);
    REQUIRE_FALSE(again.engaged());
    CHECK(details(again.error()).code == ErrorCode::wrong_state);
    CHECK_THAT(details(again.error()).message, Catch::Contains("drains already (now)"));
  }
}

TEST_CASE("a coordinator that starts anew keeps a planned drain", "[actor]") {
  PlannedCluster with;
  SECTION("whose time has not come") {
    REQUIRE(with.plan(kAhead_ms).engaged());
    with.cluster.restart();
    REQUIRE_FALSE(with.cluster.reattach(with.agent));
    CHECK(with.node().state == NodeState::up);
    CHECK_FALSE(with.has_started(with.submit(kAhead_ms + 1000)));
    CHECK(with.has_started(with.submit(kAhead_ms - 10'000)));
    with.pass(kAhead_ms + 1000);
    CHECK(with.node().record.draining);
  }
  SECTION("whose time comes while there is none") {
    REQUIRE(with.plan(1).engaged());  // virtual time has not passed
    CHECK_FALSE(with.node().record.draining);
    with.cluster.restart();
    with.advance(1000);
    CHECK(with.node().record.draining);
  }
}

TEST_CASE("while the disk is full a planned drain waits, and nothing starts there", "[actor]") {
  PlannedCluster with;
  REQUIRE(with.plan(5000).engaged());
  with.cluster.fill_disk(true);
  with.pass(10'000);
  CHECK_FALSE(with.node().record.draining);
  with.cluster.fill_disk(false);
  with.pass(5000);
  CHECK(with.node().state == NodeState::drained);
}

TEST_CASE("a plan whose time comes while its node is being removed goes with the node", "[actor]") {
  SlowJournal journal;
  PlannedCluster with(Accounting::units, &journal);
  REQUIRE(with.plan(20'000).engaged());
  with.advance(16'000);  // beyond lease and grace: it is lost
  journal.before_next = [&] { with.advance(6'000); };
  const RemoveNode request{with.cluster.operator_caller(), "node1"};
  CHECK(with.cluster.ask<Done>(request).engaged());
  CHECK_FALSE(journal.before_next);
  with.advance(10'000);
  CHECK(with.cluster.ask<NodeList>(ListNodes{with.cluster.operator_caller()})->nodes.empty());
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("a plan whose time comes while its node cannot be removed begins then", "[actor]") {
  PlannedCluster with;
  REQUIRE(with.plan(20'000).engaged());
  with.advance(19'500);
  with.cluster.fill_disk(true);
  const RemoveNode request{with.cluster.operator_caller(), "node1"};
  CHECK_FALSE(with.cluster.ask<Done>(request).engaged());
  with.advance(600);  // its time comes before the node is back
  with.cluster.fill_disk(false);
  for (int second = 0; second < 5; ++second) with.advance(1'000);
  CHECK(with.node().record.draining);
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("a coordinator that begins anew after a failed commit keeps to a plan", "[actor]") {
  PlannedCluster with(Accounting::time);
  // Beyond what belongs to their tenant: each second goes into the accounts, and cannot.
  for (int task = 0; task < 3; ++task) REQUIRE(with.has_started(with.submit(0)));
  REQUIRE(with.plan(kAhead_ms).engaged());
  with.cluster.fill_disk(true);
  with.pass(3000);
  REQUIRE_FALSE(
      with.cluster.ask<ClusterStatus>(GetStatus{with.cluster.operator_caller()})->granting);
  with.cluster.fill_disk(false);
  with.pass(10'000);
  const JobId unlimited = with.submit(0);
  CHECK(with.has_started(with.submit(1000)));
  CHECK_FALSE(with.has_started(unlimited));
}

TEST_CASE("a planned drain that is none is refused", "[actor]") {
  PlannedCluster with;
  const auto refused = [](const Expected<Done>& planned, const std::string& field,
                          const std::string& what) {
    REQUIRE_FALSE(planned.engaged());
    CHECK(details(planned.error()).code == ErrorCode::invalid_input);
    CHECK(details(planned.error()).field == field);
    CHECK_THAT(details(planned.error()).message, Catch::Contains(what));
  };
  refused(with.plan(0), "at", "is not later than now");
  refused(with.plan(-1000), "at", "is not later than now");
  refused(with.plan(367LL * 86'400'000), "at", "is too far from now");
  refused(with.plan(kAhead_ms, -1), "deadline", "-1 ms are no drain's deadline");
  refused(with.plan(kAhead_ms, 0, ""), "reason", "say why");
  CHECK_FALSE(with.node().record.planned_drain.begins);
}

}  // namespace fairwater
