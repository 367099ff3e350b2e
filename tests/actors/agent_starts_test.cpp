// Two agents with the same data, one of which may be a copy or a later start: who has the node.
#include <memory>
#include <vector>

#include "tests/actors/registered_node.hpp"

namespace fairwater {
namespace {

/// A second agent on a copy of the first one's data.
FakeAgent copy_of(const FakeAgent& agent, const AgentRun& run) {
  FakeAgent copy = agent;
  copy.orders = std::make_shared<std::vector<AgentOrders>>();
  copy.identity.run = run;
  return copy;
}

TEST_CASE("an agent that was started anew goes on at once; an earlier start is a duplicate",
          "[actor]") {
  RegisteredNode one;
  one.agent.identity.run = {2, "second"};
  one.cut();  // the first was killed
  CHECK_FALSE(one.cluster.reattach(one.agent));
  CHECK(node_of(one.cluster).record.run.starts == 2);
  FakeAgent earlier = copy_of(one.agent, {1, "first"});
  const auto refused = details(one.cluster.reattach(earlier));
  CHECK(refused.code == ErrorCode::already_exists);
  CHECK(refused.message.find("duplicate agent") != std::string::npos);
  CHECK_FALSE(node_of(one.cluster).problem.empty());
  SECTION("also after a restart of the coordinator") {
    one.cluster.restart();
    CHECK(details(one.cluster.reattach(earlier)).code == ErrorCode::already_exists);
    CHECK_FALSE(one.cluster.reattach(one.agent));
  }
}

TEST_CASE("the same start in another process is a duplicate while the first is heard", "[actor]") {
  RegisteredNode one;
  one.agent.identity.run = {2, "original"};
  one.cut();
  CHECK_FALSE(one.cluster.reattach(one.agent));
  FakeAgent copy = copy_of(one.agent, {2, "copy"});
  CHECK(details(one.cluster.reattach(copy)).code == ErrorCode::already_exists);
  CHECK(one.cluster.report(one.agent).engaged());
  one.cluster.advance(14'000);  // its lease is over, the grace is not
  CHECK(details(one.cluster.reattach(copy)).code == ErrorCode::already_exists);
  one.cluster.advance(2'000);
  copy.running.clear();
  CHECK_FALSE(one.cluster.reattach(copy));
  CHECK(launched(copy) != one.agent.running);
}

TEST_CASE("an agent on a copied directory waits until the first is lost, whatever it counts",
          "[actor]") {
  RegisteredNode one;
  FakeAgent copy = copy_of(one.agent, {9, "copy"});
  copy.identity.moved = true;
  one.cut();  // a cable was out
  CHECK(details(one.cluster.reattach(copy)).code == ErrorCode::already_exists);
  CHECK_FALSE(one.cluster.reattach(one.agent));
  CHECK(one.cluster.report(one.agent).engaged());
  one.cluster.advance(16'000);
  CHECK_FALSE(one.cluster.reattach(copy));
}

TEST_CASE("of two live agents the later start gets the node once the earlier has stopped",
          "[actor]") {
  RegisteredNode one;
  auto& cluster = one.cluster;
  FakeAgent later = copy_of(one.agent, {5, "later"});
  const auto ask = [&] { return details(cluster.reattach(later)).code; };
  CHECK(ask() == ErrorCode::unavailable);
  cluster.advance(500);
  CHECK(cluster.report(one.agent).engaged());  // sent before it was killed, for all one knows
  cluster.advance(600);
  CHECK(ask() == ErrorCode::unavailable);
  const auto fenced = cluster.report(one.agent);  // it lives
  REQUIRE_FALSE(fenced);
  CHECK(details(fenced.error()).code == ErrorCode::already_exists);
  CHECK(node_of(cluster).problem.find("start 5") != std::string::npos);

  // From the last answered report on the earlier one has its lease, and the node its grace.
  for (int waited = 0; waited < 13'000; waited += 1'000) {
    CHECK(ask() == ErrorCode::unavailable);
    CHECK_FALSE(cluster.report(one.agent));
    CHECK(details(cluster.reattach(one.agent)).code == ErrorCode::already_exists);
    CHECK(later.launches().empty());
    cluster.advance(1'000);
  }
  cluster.advance(3'000);
  later.running = one.agent.running;  // what it found in the copied directory
  CHECK_FALSE(cluster.reattach(later));
  CHECK(later.stops() == one.agent.running);
  later.running.clear();
  (void)cluster.report(later);
  CHECK(launched(later) == std::vector<TaskKey>{{one.job, 0, 2}});
  CHECK(details(cluster.reattach(one.agent)).code == ErrorCode::already_exists);
  CHECK_FALSE(cluster.report(one.agent));
  CHECK(cluster.verify().ok);
}

TEST_CASE("a killed agent's connection that lingers only delays its next start", "[actor]") {
  RegisteredNode one;
  FakeAgent next = copy_of(one.agent, {2, "next"});
  CHECK(details(one.cluster.reattach(next)).code == ErrorCode::unavailable);
  one.cut();
  CHECK_FALSE(one.cluster.reattach(next));
  CHECK(next.launches().empty());  // its task goes on
}

}  // namespace
}  // namespace fairwater
