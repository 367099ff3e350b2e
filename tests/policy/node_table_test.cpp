#include "policy/allocator/node_table.hpp"

#include <catch2/catch.hpp>

namespace fairwater::test {
namespace {

TEST_CASE("nodes are found by their ids, whatever these are", "[unit][allocator]") {
  const NodeId far{(1U << 20) + 7};
  NodeTable<int> table;
  for (const NodeId id : {NodeId{5}, far, NodeId{1}})
    table.at_or_new(id) = static_cast<int>(id.value);
  const auto value_of = [](const NodeTable<int>& of, NodeId id) {
    const int* const found = of.find(id);
    return found == nullptr ? -1 : *found;
  };
  CHECK(value_of(table, NodeId{5}) == 5);
  CHECK(value_of(table, far) == static_cast<int>(far.value));
  CHECK(table.find(NodeId{2}) == nullptr);
  CHECK(table.find(NodeId{6}) == nullptr);
  CHECK(table.find(NodeId{far.value + 1}) == nullptr);
  CHECK(table.by_id().begin()->first == NodeId{1});

  NodeTable<int> copy(table);
  copy.at_or_new(NodeId{5}) = 50;
  copy.erase(NodeId{1});
  CHECK(value_of(copy, NodeId{5}) == 50);
  CHECK(copy.find(NodeId{1}) == nullptr);
  CHECK(value_of(table, NodeId{5}) == 5);
  CHECK(value_of(table, NodeId{1}) == 1);
}

}  // namespace
}  // namespace fairwater::test
