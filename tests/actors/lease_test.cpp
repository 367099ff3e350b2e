// Tasks with a lease of their own: in virtual time.
#include "tests/actors/captured_log.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

constexpr std::int64_t kOwn_ms = 40'000;
constexpr std::int64_t kLongest_ms = 60'000;

ClusterSettings with_longest(std::int64_t longest_ms) {
  ClusterSettings settings = ClusterFixture::default_settings();  // 10 s, and 5 s of grace
  settings.longest_lease_ms = longest_ms;
  return settings;
}

JobSpec job_with(std::int64_t lease_ms) {
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"true"};
  spec.resources = {{"cpu", 1000}};
  spec.lease_ms = lease_ms;
  return spec;
}

Expected<JobAccepted> submit(ClusterFixture& cluster, std::int64_t lease_ms) {
  return cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), job_with(lease_ms)});
}

/// One task with the cluster's lease and one with its own run on a node; another node is idle.
struct TwoLeases {
  explicit TwoLeases(ClusterSettings settings = with_longest(kLongest_ms))
      : cluster(std::move(settings)) {
    cluster.apply({tenant_spec("only", 1)});
    ordinary = submit(cluster, 0)->id;
    own = submit(cluster, kOwn_ms)->id;
    node = cluster.join("node1", 2);
    node.running = {{ordinary, 0, 1}, {own, 0, 1}};
    REQUIRE(node.launches().size() == 2);
    other = cluster.join("node2", 2);
  }
  /// In steps in which only the other node reports.
  void pass(std::int64_t milliseconds) {
    for (std::int64_t left_ms = milliseconds; left_ms > 0; left_ms -= 1000) {
      cluster.advance(std::min<std::int64_t>(left_ms, 1000));
      (void)cluster.report(other);
    }
  }
  [[nodiscard]] std::vector<TaskKey> moved() const {
    std::vector<TaskKey> keys;
    for (const auto& order : other.launches()) keys.push_back(order.task);
    return keys;
  }

  ClusterFixture cluster;
  JobId ordinary;
  JobId own;
  FakeAgent node;
  FakeAgent other;
};

TEST_CASE("each task of a silent node goes when its own lease and the grace are over", "[actor]") {
  TwoLeases two;
  CHECK(two.node.launches().at(0).lease_ms == 0);
  CHECK(two.node.launches().at(1).lease_ms == kOwn_ms);
  two.pass(14'900);
  CHECK(two.moved().empty());
  two.pass(200);
  CHECK(two.moved() == std::vector<TaskKey>{{two.ordinary, 0, 2}});
  CHECK(two.cluster.node("node1").state == NodeState::down);

  SECTION("and the node is lost with the last one") {
    two.pass(30'000);  // 45.1 s: what clocks differ by is waited for, too
    CHECK(two.moved().size() == 1);
    CHECK_FALSE(two.cluster.node("node1").record.lost);
    two.pass(400);
    CHECK(two.moved() == std::vector<TaskKey>{{two.ordinary, 0, 2}, {two.own, 0, 2}});
    CHECK(two.cluster.node("node1").record.lost);
  }
  SECTION("what goes on is the node's when it comes back") {
    two.pass(20'000);
    two.node.running = {{two.own, 0, 1}};
    CHECK_FALSE(two.cluster.reattach(two.node));
    CHECK(two.node.stops().empty());
    two.pass(9'000);
    (void)two.cluster.report(two.node, {succeeded({two.own, 0, 1})});
    CHECK(state_of(two.cluster.show(two.own).job) == JobState::succeeded);
    CHECK(two.moved().size() == 1);
  }
  SECTION("what was given to somebody else is stopped there") {
    CHECK_FALSE(two.cluster.reattach(two.node));
    CHECK(two.node.stops() == std::vector<TaskKey>{{two.ordinary, 0, 1}});
  }
  CHECK(two.cluster.verify().ok);
}

TEST_CASE("a node is said to be lost once that is durable", "[actor]") {
  TwoLeases two;
  const CapturedLog log;
  two.cluster.fill_disk(true);
  two.pass(90'000);
  CHECK_THAT(log.text(), Catch::Contains("node node1 is down"));
  CHECK_THAT(log.text(), !Catch::Contains("node node1 is lost"));
  two.cluster.fill_disk(false);
  two.pass(60'000);
  CHECK_THAT(log.text(), Catch::Contains("node node1 is lost"));
  CHECK(two.cluster.node("node1").record.lost);
}

TEST_CASE("a machine that was booted anew gives its tasks back at once, whatever their leases",
          "[actor]") {
  TwoLeases two;
  two.pass(1'000);
  two.node.running.clear();
  CHECK_FALSE(two.cluster.reattach(two.node, {ended({two.ordinary, 0, 1}, EndReason::node_lost),
                                              ended({two.own, 0, 1}, EndReason::node_lost)}));
  const auto runs_again = [&](JobId job) {
    const TaskRecord task = two.cluster.show(job).tasks.at(0).record;
    return task.state == TaskState::running && task.attempt == 2 && task.losses == 0;
  };
  CHECK(runs_again(two.ordinary));
  CHECK(runs_again(two.own));
}

TEST_CASE("a disk that is full when the first leases end delays, and loses nothing", "[actor]") {
  TwoLeases two;
  two.pass(14'000);
  two.cluster.fill_disk(true);
  two.pass(6'000);
  CHECK(two.moved().empty());
  two.cluster.fill_disk(false);
  two.pass(2'000);
  CHECK(two.moved() == std::vector<TaskKey>{{two.ordinary, 0, 2}});
  two.pass(25'000);
  CHECK(two.moved().size() == 2);
  CHECK(two.cluster.node("node1").record.lost);
}

TEST_CASE("a coordinator that starts anew waits for the longest lease that it may find",
          "[actor]") {
  TwoLeases two;
  SECTION("with the same bound") { two.cluster.restart(); }
  SECTION("with a shorter one: the agent may hold on to what the earlier gave") {
    two.cluster.restart(with_longest(0));
  }
  SECTION("twice: the second must not forget what the first knew") {
    two.cluster.restart(with_longest(0));
    two.cluster.restart(with_longest(0));
  }
  two.other = two.cluster.join("node2", 2);
  // The ordinary lease of 10 s, the grace of 5 s, and the second of a deposed coordinator.
  two.pass(15'900);
  CHECK(two.moved().empty());
  two.pass(200);
  CHECK(two.moved() == std::vector<TaskKey>{{two.ordinary, 0, 2}});
  two.pass(50'000 - 200);  // 65.9 s
  CHECK(two.moved().size() == 1);
  two.pass(800);
  CHECK(two.moved().size() == 2);
}

TEST_CASE("a task's lease is bounded by what the coordinator gives that answers", "[actor]") {
  TwoLeases two;
  CHECK(two.cluster.report(two.node)->longest_lease_ms == kLongest_ms);
  two.cluster.restart(with_longest(20'000));
  CHECK_FALSE(two.cluster.reattach(two.node));
  two.other = two.cluster.join("node2", 2);
  for (int i = 0; i < 70; ++i) {  // until nothing of the earlier coordinator is left
    two.pass(1'000);
    CHECK(two.cluster.report(two.node)->longest_lease_ms == 20'000);
  }
  two.pass(25'000);
  CHECK(two.moved().size() == 1);
  two.pass(200);
  CHECK(two.moved().size() == 2);
}

TEST_CASE("nobody gets a node on which a task's own lease may go on", "[actor]") {
  TwoLeases two;
  FakeAgent copy = two.node;
  copy.orders = std::make_shared<std::vector<AgentOrders>>();
  copy.identity.run = {9, "copy"};
  copy.identity.moved = true;
  copy.running.clear();
  two.pass(45'200);
  CHECK(details(two.cluster.reattach(copy)).code == ErrorCode::already_exists);
  two.pass(300);
  CHECK_FALSE(two.cluster.reattach(copy));
}

TEST_CASE("a job asks for no lease that the cluster does not give", "[actor]") {
  ClusterFixture cluster(with_longest(kLongest_ms));
  cluster.apply({tenant_spec("only", 1)});
  for (const std::int64_t lease_ms : {std::int64_t{9'999}, kLongest_ms + 1}) {
    const auto refused = submit(cluster, lease_ms);
    REQUIRE_FALSE(refused);
    CHECK(details(refused.error()).code == ErrorCode::invalid_input);
    CHECK(details(refused.error()).field == "lease");
    CHECK(details(refused.error()).message ==
          std::to_string(lease_ms) +
              " ms is not between the cluster's lease, 10000 ms, and the longest, 60000 ms "
              "(longest_lease in coordinator.yaml); leave it out for the cluster's");
  }
  for (const std::int64_t lease_ms : {std::int64_t{0}, std::int64_t{10'000}, kLongest_ms})
    CHECK(submit(cluster, lease_ms));
}

TEST_CASE("a class has a lease for its jobs that ask for none", "[actor]") {
  auto settings = with_longest(kLongest_ms);
  settings.class_leases_ms = {{"nightly", kOwn_ms}};
  ClusterFixture cluster(settings);
  cluster.apply({tenant_spec("only", 1)});
  const auto submit_of = [&](const std::string& job_class, std::int64_t lease_ms) {
    JobSpec spec = job_with(lease_ms);
    spec.job_class = job_class;
    REQUIRE(cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec}));
  };
  submit_of("nightly", 0);
  submit_of("nightly", 20'000);
  submit_of("daily", 0);
  submit_of("", 0);
  std::vector<std::int64_t> leases;
  for (const auto& order : cluster.join("node1", 4).launches()) leases.push_back(order.lease_ms);
  CHECK(leases == std::vector<std::int64_t>{kOwn_ms, 20'000, 0, 0});
}

}  // namespace
}  // namespace fairwater
