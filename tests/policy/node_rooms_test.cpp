#include "policy/allocator/node_rooms.hpp"

#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "policy/allocator/waiting_shapes.hpp"

namespace fairwater::test {
namespace {

std::optional<NodeId> first_with_room(const std::map<NodeId, ResourceVector>& nodes, NodeId from,
                                      std::span<const ResourceVector> demands) {
  for (auto node = nodes.lower_bound(from); node != nodes.end(); ++node)
    for (const ResourceVector& demand : demands)
      if (demand.fits(node->second)) return node->first;
  return std::nullopt;
}

TEST_CASE("the next node with room is the one that a look at all finds", "[property][allocator]") {
  std::mt19937_64 random(5);
  const auto amounts = [&](std::uint64_t most) {
    return cpu_memory(static_cast<Amount>(random() % most), static_cast<Amount>(random() % most));
  };
  NodeRooms rooms;
  std::map<NodeId, ResourceVector> nodes;
  std::size_t found = 0;
  for (int i = 0; i < 20'000; ++i) {
    const NodeId node{1 + static_cast<std::uint32_t>(random() % 300)};
    if (random() % 4 == 0) {
      rooms.remove(node);
      nodes.erase(node);
    } else {
      nodes[node] = amounts(4);
      rooms.set(node, nodes[node]);
    }
    const std::vector<ResourceVector> demands{amounts(7), amounts(7)};
    const NodeId from{static_cast<std::uint32_t>(random() % 310)};
    const auto next = rooms.next(from, demands);
    REQUIRE(next == first_with_room(nodes, from, demands));
    found += next ? 1 : 0;
    if (next) REQUIRE(rooms.has_room(*next, demands));
  }
  CHECK(found > 1000);
  CHECK(found < 19'000);
}

TEST_CASE("many shapes are told by one as small as the smallest", "[unit][allocator]") {
  WaitingShapes shapes;
  const auto fits_some = [&](const ResourceVector& room) {
    const auto least = shapes.least();
    return std::any_of(least.begin(), least.end(),
                       [&](const ResourceVector& shape) { return shape.fits(room); });
  };
  CHECK_FALSE(fits_some(cpu(1'000'000)));
  for (Amount i = 1; i <= 20; ++i) shapes.add(cpu_memory(i, 21 - i));
  CHECK(shapes.least().size() == 1);
  CHECK(fits_some(cpu_memory(1, 1)));
  CHECK_FALSE(fits_some(cpu_memory(0, 20)));
  for (Amount i = 1; i <= 15; ++i) shapes.remove(cpu_memory(i, 21 - i));
  CHECK(shapes.least().size() == 5);
  CHECK(fits_some(cpu_memory(16, 5)));
  CHECK_FALSE(fits_some(cpu_memory(19, 1)));
}

}  // namespace
}  // namespace fairwater::test
