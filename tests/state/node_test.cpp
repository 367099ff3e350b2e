// What happens to a node, event by event.
#include "state/node.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

NodeAdmitted registration() {
  NodeAdmitted event{NodeId{4}, {}, {}, {3, "process"}};
  event.spec.traits.name = "n4";
  event.spec.capacity = {{"cpu", 4000}};
  event.credential_hash.fill(7);
  return event;
}

}  // namespace

TEST_CASE("a registration makes a node known", "[unit][node]") {
  NodeRecord node;
  apply(node, registration());
  CHECK(node.id == NodeId{4});
  CHECK(node.spec == registration().spec);
  CHECK(node.credential_hash == registration().credential_hash);
  CHECK(node.run == AgentRun{3, "process"});
  CHECK_FALSE(node.draining);
  CHECK_FALSE(node.lost);
}

TEST_CASE("events of two origins may cross, and both hold", "[unit][node]") {
  const NodeAdmitted again = registration();
  const NodeDrained drain{NodeId{4}, true, "new disks"};
  const NodeLost loss{NodeId{4}};
  NodeRecord one;
  apply(one, again);
  NodeRecord other = one;
  apply(one, drain);
  apply(one, loss);
  apply(one, again);
  apply(other, loss);
  apply(other, again);
  apply(other, drain);
  CHECK(one == other);
  CHECK(one.draining);
  CHECK(one.lost);
}

TEST_CASE("a drain that ends leaves no reason and no deadline", "[unit][node]") {
  NodeRecord node;
  apply(node, NodeDrained{NodeId{4}, true, "new disks", false, WallTime{7}});
  CHECK(node.drain_reason == "new disks");
  CHECK(node.drain_deadline == WallTime{7});
  apply(node, NodeDrained{NodeId{4}, false, "forgotten", false, WallTime{8}});
  CHECK_FALSE(node.draining);
  CHECK(node.drain_reason.empty());
  CHECK_FALSE(node.drain_deadline);
}

TEST_CASE("of two drains the newer one's deadline holds, or that it has none", "[unit][node]") {
  NodeRecord node;
  apply(node, NodeDrained{NodeId{4}, true, "new disks", false, WallTime{7}});
  apply(node, NodeDrained{NodeId{4}, true, "new disks", false, WallTime{9}});
  CHECK(node.drain_deadline == WallTime{9});
  apply(node, NodeDrained{NodeId{4}, true, "new disks"});
  CHECK_FALSE(node.drain_deadline);
}

TEST_CASE("a planned drain changes nothing before it begins", "[unit][node]") {
  const NodeDrained plan{.node = NodeId{4},
                         .draining = true,
                         .reason = "new disks",
                         .deadline = WallTime{9},
                         .begins = WallTime{7}};
  NodeRecord node;
  apply(node, plan);
  CHECK_FALSE(node.draining);
  CHECK(node.drain_reason.empty());
  CHECK(node.planned_drain == PlannedDrain{WallTime{7}, WallTime{9}, "new disks"});
  SECTION("one that drains itself keeps it") {
    apply(node, NodeDrained{NodeId{4}, true, "broken", true});
    CHECK(node.drain_reason == "broken");
    CHECK(node.planned_drain.begins == WallTime{7});
  }
  SECTION("an operator's drain takes its place") {
    apply(node, NodeDrained{NodeId{4}, true, "now"});
    CHECK(node.planned_drain == PlannedDrain{});
  }
  SECTION("the end of drains takes it away") {
    apply(node, NodeDrained{NodeId{4}, false, ""});
    CHECK(node.planned_drain == PlannedDrain{});
  }
}

TEST_CASE("a fence gives the node to the later run", "[unit][node]") {
  NodeRecord node;
  apply(node, registration());
  apply(node, NodeSuperseded{NodeId{4}, {5, "later"}});
  CHECK(node.run == AgentRun{5, "later"});
  CHECK(node.spec == registration().spec);
}

}  // namespace fairwater
