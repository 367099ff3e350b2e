// A coordinator that deals by dominant shares.
#include <catch2/catch.hpp>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

ClusterSettings by_share() {
  ClusterSettings settings = ClusterFixture::default_settings();
  settings.allocation = AllocationRule::drf;
  return settings;
}

std::uint64_t running(ClusterFixture& cluster, const std::string& tenant) {
  for (const TenantInfo& info : cluster.tenants())
    if (info.record.spec.name == tenant) return info.running_tasks;
  return 0;
}

TEST_CASE("a coordinator deals by dominant shares, and goes on after a crash", "[actor]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  ClusterFixture cluster(by_share(), accounting);
  cluster.apply({tenant_spec("a", 1), tenant_spec("b", 2)});
  auto node = cluster.join("node1", 9);
  cluster.submit("a", 20);
  CHECK(running(cluster, "a") == 9);  // nothing is kept for who may come
  cluster.submit("b", 20);
  const auto all_running = [&] {
    std::vector<TaskKey> tasks;
    for (const JobId job : {JobId{1}, JobId{2}})
      for (const auto& task : cluster.show(job).tasks)
        if (task.record.state == TaskState::running)
          tasks.push_back(run_of(job, task.index, task.record));
    return tasks;
  };
  const auto end_one_of_a = [&] {
    node.running = all_running();
    const TaskKey first = node.running.front();
    REQUIRE(first.job == JobId{1});
    node.running.erase(node.running.begin());
    REQUIRE(cluster.report(node, {succeeded(first)}));
    cluster.run();
  };
  // What ends goes to the smallest share by weight, until b has twice what a has.
  for (int i = 0; i < 6; ++i) end_one_of_a();
  CHECK(running(cluster, "a") == 3);
  CHECK(running(cluster, "b") == 6);
  cluster.restart(by_share());
  node.running = all_running();
  REQUIRE_FALSE(cluster.reattach(node));
  cluster.run();
  end_one_of_a();
  CHECK(running(cluster, "a") == 3);
  CHECK(running(cluster, "b") == 6);
  CHECK(cluster.verify().ok);
  for (const TenantInfo& info : cluster.tenants()) CHECK(info.net == 0);
  for (const JournalRecord& record : cluster.journal())
    if (const auto* cycle = std::get_if<Cycle>(&record.body))
      for (const Deal& deal : cycle->deals) CHECK_FALSE(deal.keeps_accounts);
}

TEST_CASE("a coordinator deals a tree siblings first, and says at which level others come first",
          "[actor]") {
  ClusterFixture cluster(by_share());
  TenantSpec optics = tenant_spec("optics", 1);
  TenantSpec lasers = tenant_spec("lasers", 1);
  optics.parent = lasers.parent = "science";
  cluster.apply({tenant_spec("science", 1), tenant_spec("arts", 1), optics, lasers});
  cluster.submit("optics", 20);
  const JobId of_arts = cluster.submit("arts", 20);
  auto node = cluster.join("node1", 8);
  CHECK(running(cluster, "optics") == 4);  // what lasers leaves idle
  CHECK(running(cluster, "arts") == 4);
  cluster.submit("lasers", 1);
  const auto why = cluster.ask<Explanation>(ExplainTask{cluster.operator_caller(), of_arts, 10});
  REQUIRE(why);
  REQUIRE_FALSE(why->obstacles.empty());
  CHECK(why->obstacles.back().code == "share");
  CHECK(why->obstacles.back().message.starts_with(
      "at the top of the tree of tenants its tenant has a dominant share of 500 thousandths by a "
      "weight of 1, and science has a dominant share of 0 thousandths by a weight of 1"));
}

}  // namespace
}  // namespace fairwater
