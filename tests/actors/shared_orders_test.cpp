// What the orders of a job's tasks have in common is in a coordinator's memory once, however many
// are on their way: a large description times many tasks would fill it.
#include <catch2/catch.hpp>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

JobSpec large_job(bool gang) {
  JobSpec spec;
  spec.tenant = "only";
  spec.command = {"work", std::string(50'000, 'x')};
  spec.environment = {{"LARGE", std::string(50'000, 'y')}};
  spec.tasks_min = spec.tasks_max = 5;
  spec.resources = {{"cpu", 1000}};
  spec.gang = gang;
  return spec;
}

void check_one_in_memory(const std::vector<LaunchOrder>& orders, const JobSpec& spec) {
  for (const LaunchOrder& order : orders) {
    CHECK(*order.command == spec.command);
    CHECK(*order.environment == spec.environment);
    CHECK(order.command.is_copy_of(orders.front().command));
    CHECK(order.environment.is_copy_of(orders.front().environment));
    CHECK(order.gang->empty() == !spec.gang);
    CHECK(order.gang.is_copy_of(orders.front().gang));
  }
}

TEST_CASE("orders of one job share what may be large", "[actor]") {
  const JobSpec spec = large_job(GENERATE(false, true));
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  std::vector<FakeAgent> agents{cluster.join("node1", 3), cluster.join("node2", 3)};
  REQUIRE(cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec}).engaged());
  cluster.run();
  const auto orders = [&] {
    std::vector<LaunchOrder> all;
    for (const FakeAgent& agent : agents)
      for (LaunchOrder& order : agent.launches()) all.push_back(std::move(order));
    return all;
  };
  REQUIRE(orders().size() == 5);
  check_one_in_memory(orders(), spec);
  cluster.restart();
  for (FakeAgent& agent : agents) REQUIRE(!cluster.reattach(agent));
  REQUIRE(orders().size() == 5);
  check_one_in_memory(orders(), spec);
}

TEST_CASE("all nodes of an elastic job are told one list of its members", "[actor]") {
  JobSpec spec = large_job(false);
  spec.tasks_min = 1;
  spec.notify = "SIGUSR2";
  ClusterFixture cluster;
  cluster.apply({tenant_spec("only", 1)});
  std::vector<FakeAgent> agents{cluster.join("node1", 3), cluster.join("node2", 3)};
  REQUIRE(cluster.ask<JobAccepted>(SubmitJob{cluster.operator_caller(), spec}).engaged());
  for (FakeAgent& agent : agents) (void)cluster.report(agent);
  const auto newest = [](const FakeAgent& agent) {
    JobMembers told;
    for (const AgentOrders& orders : *agent.orders)
      if (!orders.members.empty()) told = orders.members.back();
    return told;
  };
  CHECK(newest(agents[0]).members->size() == 5);
  CHECK(newest(agents[0]).members.is_copy_of(newest(agents[1]).members));
}

}  // namespace
}  // namespace fairwater
