// A coordinator that leads others: what it says while it may have been overtaken.
#include <catch2/catch.hpp>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

struct ShownLeadership final : Leadership {
  std::string name() const override { return "one"; }
  bool is_confirmed() const override { return confirmed; }
  std::string why_waiting() const override { return waiting; }
  std::vector<ReplicaInfo> replicas() const override {
    return {{"one", "head1:7400", 1, "1", {}}, {"two", "head2:7400", 2, "1", {}}};
  }
  caf::error hand_over() const override {
    if (confirmed) return {};
    return make_error(ErrorCode::wrong_state, "nobody else is there");
  }
  bool confirmed = true;
  std::string waiting;
};

ClusterSettings settings_with(const std::shared_ptr<const Leadership>& leadership) {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.leadership = leadership;
  return settings;
}
const std::int64_t kLeaseMs = ClusterFixture::default_settings().lease_ms;

TEST_CASE("no lease is extended by a coordinator that may have been overtaken",
          "[actor][replica]") {
  const auto leadership = std::make_shared<ShownLeadership>();
  ClusterFixture cluster(settings_with(leadership));
  auto agent = cluster.join("node1", 2);
  CHECK(cluster.report(agent)->lease_ms == kLeaseMs);

  leadership->confirmed = false;
  CHECK(cluster.report(agent)->lease_ms == 0);
  // What became durable is acknowledged all the same.
  cluster.apply({tenant_spec("a", 1)});
  const auto job = cluster.submit("a", 1);
  cluster.run();
  REQUIRE(agent.launches().size() == 1);
  TaskResult result;
  result.task = agent.launches().front().task;
  result.reason = EndReason::exited;
  const auto reply = cluster.report(agent, {result});
  REQUIRE(reply);
  CHECK(reply->lease_ms == 0);
  CHECK(reply->acknowledged == std::vector<TaskKey>{result.task});
  CHECK(state_of(cluster.show(job).job) == JobState::succeeded);

  leadership->confirmed = true;
  CHECK(cluster.report(agent)->lease_ms == kLeaseMs);
}

TEST_CASE("the status says by which rules is dealt", "[actor]") {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.allocation = AllocationRule::drf;
  settings.growth = GrowthRule::crea;
  settings.predict = Predict::history;
  settings.preempt_after_ms = 7000;
  settings.preempts_for_min = false;
  ClusterFixture cluster(settings);
  CHECK(cluster.ask<ClusterStatus>(GetStatus{})->rules ==
        DealingRules{.allocation = AllocationRule::drf,
                     .elastic = GrowthRule::crea,
                     .predict = Predict::history,
                     .preempt_after_ms = 7000,
                     .preempts_for_min = false});
}

TEST_CASE("the status says who leads, how far the others are, and why it waits",
          "[actor][replica]") {
  const auto leadership = std::make_shared<ShownLeadership>();
  ClusterFixture cluster(settings_with(leadership));
  const auto ask = [&] { return *cluster.ask<ClusterStatus>(GetStatus{}); };
  auto status = ask();
  CHECK(status.leader == "one");
  CHECK(status.granting);
  REQUIRE(status.replicas.size() == 2);
  REQUIRE(status.cycle > 2);
  CHECK(records_behind(status.replicas[0], status) == 0);  // it leads
  CHECK(records_behind(status.replicas[1], status) == status.cycle - 2);

  leadership->waiting = "no majority answers";
  status = ask();
  CHECK_FALSE(status.granting);
  CHECK(status.why_not_granting == "no majority answers");
}

TEST_CASE("what would have to become durable is refused while no majority answers",
          "[actor][replica]") {
  const auto leadership = std::make_shared<ShownLeadership>();
  ClusterFixture cluster(settings_with(leadership));
  const auto drain = [&] {
    const auto refused =
        cluster.ask<Done>(DrainNode{cluster.operator_caller(), "nobody", "test", true, 0});
    REQUIRE_FALSE(refused);
    return details(refused.error());
  };
  leadership->confirmed = false;  // for a moment
  CHECK(drain().code == ErrorCode::not_found);
  leadership->waiting = "no majority answers";
  CHECK(drain().code == ErrorCode::unavailable);
  CHECK(drain().message == "no majority answers");
  CHECK(cluster.ask<TenantList>(ListTenants{cluster.operator_caller()}));
  leadership->confirmed = true;  // etcd has no room, as the ledger says where it matters
  CHECK(drain().code == ErrorCode::not_found);
}

TEST_CASE("an operator lets another coordinator lead, where there is one", "[actor][replica]") {
  const auto leadership = std::make_shared<ShownLeadership>();
  ClusterFixture cluster(settings_with(leadership));
  CHECK(cluster.ask<Done>(HandOver{cluster.operator_caller()}));
  CHECK(details(cluster.ask<Done>(HandOver{{Role::tenant, TenantId{1}, "a"}}).error()).code ==
        ErrorCode::not_permitted);
  leadership->confirmed = false;
  CHECK(details(cluster.ask<Done>(HandOver{cluster.operator_caller()}).error()).message ==
        "nobody else is there");

  ClusterFixture alone;
  CHECK(details(alone.ask<Done>(HandOver{alone.operator_caller()}).error()).code ==
        ErrorCode::wrong_state);
}

}  // namespace
}  // namespace fairwater
