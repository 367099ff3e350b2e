// How nodes go for good: when that is refused, and what is left of them.
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {
namespace {

struct ClusterWithNode {
  ClusterFixture cluster;
  FakeAgent agent;
  NodeSpec spec;

  ClusterWithNode() {
    cluster.apply({tenant_spec("only", 1)});
    agent = cluster.join("node1", 1);
    spec = cluster.node("node1").record.spec;
  }
  ErrorCode remove() {
    const auto answer = cluster.ask<Done>(RemoveNode{cluster.operator_caller(), "node1"});
    return answer ? ErrorCode{} : details(answer.error()).code;
  }
  void drain() {
    REQUIRE(
        cluster.ask<Done>(DrainNode{cluster.operator_caller(), "node1", "sold", true}).engaged());
  }
  std::size_t nodes() {
    return cluster.ask<NodeList>(ListNodes{cluster.operator_caller()})->nodes.size();
  }
};

TEST_CASE("a node that is up and not drained stays", "[actor]") {
  ClusterWithNode with;
  CHECK(with.remove() == ErrorCode::wrong_state);
  (void)with.cluster.submit("only", 1);
  CHECK(with.agent.launches().size() == 1);
  with.drain();
  CHECK(with.remove() == ErrorCode::wrong_state);  // it still runs something
  CHECK(with.nodes() == 1);
}

TEST_CASE("a removed node's credential opens nothing, it joins as another", "[actor]") {
  ClusterWithNode with;
  SECTION("drained") { with.drain(); }
  SECTION("down") { with.cluster.advance(10'100); }
  SECTION("lost, with what it ran given back") {
    (void)with.cluster.submit("only", 1);
    with.cluster.advance(10'100);
    CHECK(with.remove() == ErrorCode::wrong_state);
    with.cluster.advance(5'000);
  }
  SECTION("down since a restart") {
    with.cluster.restart();
    with.agent.port = nullptr;
  }
  CHECK(with.remove() == ErrorCode{});
  CHECK(with.nodes() == 0);
  CHECK(with.remove() == ErrorCode::not_found);
  if (with.agent.port) CHECK_FALSE(with.cluster.report(with.agent).engaged());
  RegisterNode returning;
  returning.spec.traits.name = "node1";
  returning.spec.capacity = {{"cpu", 1000}};
  returning.credential_hash = with.agent.credential;
  const auto refused = with.cluster.ask<NodeRegistered>(returning);
  REQUIRE_FALSE(refused.engaged());
  CHECK(details(refused.error()).code == ErrorCode::unauthenticated);
  with.cluster.restart();
  CHECK(with.nodes() == 0);
  const auto again = with.cluster.join("node1", 1);
  CHECK(with.cluster.ask<NodeList>(ListNodes{with.cluster.operator_caller()})
            ->nodes.at(0)
            .record.id == NodeId{2});
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("the name of a node whose removal fails is taken until the node is back", "[actor]") {
  ClusterWithNode with;
  with.drain();
  with.cluster.fill_disk(true);
  CHECK(with.remove() == ErrorCode::disk_full);
  with.cluster.fill_disk(false);
  RegisterNode other;  // a second machine of that name
  other.spec = with.spec;
  other.spec.instance = "another";
  other.credential_hash.fill(42);
  other.joining = true;
  other.join_hash = join_hash();
  other.link = with.agent.link;
  const auto join = [&] { return with.cluster.ask<NodeRegistered>(other); };
  const auto early = join();
  REQUIRE_FALSE(early.engaged());
  CHECK(details(early.error()).code == ErrorCode::unavailable);
  with.cluster.advance(1'000);
  REQUIRE(with.nodes() == 1);
  CHECK(with.cluster.node("node1").record.id == NodeId{1});
  const auto late = join();
  REQUIRE_FALSE(late.engaged());
  CHECK(details(late.error()).message.find("another agent is known") != std::string::npos);
  CHECK(with.remove() == ErrorCode{});
  CHECK(join()->node == NodeId{2});
  CHECK(with.cluster.verify().ok);
}

TEST_CASE("a node may go while its status is asked for and others get tasks", "[actor]") {
  ClusterWithNode with;
  auto other = with.cluster.join("node2", 1);
  with.drain();
  const RemoveNode request{with.cluster.operator_caller(), "node1"};
  SECTION("status") { CHECK(with.cluster.ask_beside<Done>(request, DescribeCluster{}).engaged()); }
  SECTION("drain") {
    CHECK(with.cluster
              .ask_beside<Done>(request,
                                DrainNode{with.cluster.operator_caller(), "node1", "again", true})
              .engaged());
  }
  (void)with.cluster.submit("only", 1);
  CHECK(other.launches().size() == 1);
  CHECK(with.nodes() == 1);
  CHECK(with.cluster.verify().ok);
}

}  // namespace
}  // namespace fairwater
