#include "actors/agent/known_cluster.hpp"

#include <catch2/catch.hpp>

#include "actors/agent/early_orders.hpp"

using namespace fairwater;

namespace {

LedgerMark mark(std::uint32_t incarnation, std::uint64_t number) {
  LedgerMark mark;
  mark.incarnation = incarnation;
  mark.number = number;
  return mark;
}

AgentOrders order_of(std::uint64_t epoch, std::size_t command_bytes) {
  AgentOrders orders;
  orders.launches.emplace_back();
  orders.launches.back().epoch = epoch;
  orders.launches.back().command = {std::string(command_bytes, 'x')};
  return orders;
}

}  // namespace

TEST_CASE("an agent writes a newer epoch at once, and a number within a second", "[agent]") {
  KnownCluster cluster({"water", mark(0, 5), 3});
  CHECK_FALSE(cluster.take_to_keep(0));

  cluster.learn("water", mark(0, 6), 4);
  CHECK(cluster.take_to_keep(100) == ClusterMemory{"water", mark(0, 6), 4});
  cluster.learn("water", mark(0, 7), 4);
  CHECK_FALSE(cluster.take_to_keep(1'099));
  CHECK(cluster.take_to_keep(1'100) == ClusterMemory{"water", mark(0, 7), 4});
  cluster.learn("water", mark(0, 7), 5);
  CHECK(cluster.take_to_keep(1'101) == ClusterMemory{"water", mark(0, 7), 5});
  CHECK_FALSE(cluster.take_to_keep(9'999));
}

TEST_CASE("an agent believes no older coordinator of its cluster", "[agent]") {
  KnownCluster cluster({"water", mark(1, 5), 3});
  CHECK(cluster.is_deposed("", 1, 2));
  CHECK(cluster.is_deposed("water", 0, 9));
  CHECK_FALSE(cluster.is_deposed("", 1, 3));
  CHECK_FALSE(cluster.is_deposed("", 2, 1));
  CHECK_FALSE(cluster.is_deposed("land", 0, 1));

  cluster.learn("water", mark(1, 4), 2);
  CHECK(cluster.memory() == ClusterMemory{"water", mark(1, 5), 3});
  cluster.learn("water", mark(2, 1), 1);  // taken back: its epochs count anew
  CHECK(cluster.memory() == ClusterMemory{"water", mark(2, 1), 1});
  cluster.learn("land", mark(0, 1), 1);
  CHECK(cluster.memory() == ClusterMemory{"land", mark(0, 1), 1});
}

TEST_CASE("an agent keeps orders that come early, up to a bound", "[agent]") {
  EarlyOrders early;
  early.keep(order_of(7, 10));
  early.keep(order_of(8, EarlyOrders::kMaxBytes));
  early.keep(order_of(9, 10));
  const auto kept = early.take();
  REQUIRE(kept.size() == 2);
  CHECK(newest_epoch(kept[0]) == 7);
  CHECK(newest_epoch(kept[1]) == 9);
  CHECK(early.take().empty());

  early.keep(order_of(1, EarlyOrders::kMaxBytes - 1'000));
  CHECK(early.take().size() == 1);
}
