// What the nodes have together, as the quotas see it, after any changes of nodes.
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"

namespace fairwater::test {
namespace {

struct CapacityNode {
  ResourceVector capacity;
  bool accepts = true;
};

}  // namespace

TEST_CASE("the capacity is that of the nodes, whatever came and went", "[property][allocator]") {
  const auto seed = GENERATE(range(1U, 21U));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  TestCluster cluster;
  cluster.tenant(1, {});
  cluster.submit(1, 100'000, cpu(1000));  // it has all that there is
  cluster.refresh(1);
  std::map<std::uint32_t, CapacityNode> nodes;
  const auto used_on = [&](std::uint32_t id) {
    ResourceVector used;
    for (const auto& [key, task] : cluster.running())
      if (task.node == NodeId{id}) used += task.demand;
    return used;
  };
  for (int step = 0; step < 300; ++step) {
    const std::uint32_t id = 1 + draw(8);
    const auto known = nodes.find(id);
    if (known == nodes.end() || draw(3) == 0) {
      CapacityNode& node = nodes[id];
      // No less than is held there.
      node = {used_on(id) + cpu(draw(6) * 1000), draw(3) != 0};
      cluster.node(id, node.capacity, {}, node.accepts);
    } else if (known->second.accepts && draw(2) == 0) {
      (void)cluster.deal(id);
    } else if (!cluster.running().empty()) {
      cluster.finish(TaskKey(std::next(cluster.running().begin(),
                                       draw(static_cast<std::uint32_t>(cluster.running().size())))
                                 ->first));
    }
    ResourceVector expected;
    for (const auto& [number, node] : nodes)
      expected += node.accepts ? node.capacity : used_on(number);
    CAPTURE(step);
    REQUIRE(cluster.allocator.tenant(TenantId{1}).quota[kCpu] == expected[kCpu]);
  }
}

}  // namespace fairwater::test
