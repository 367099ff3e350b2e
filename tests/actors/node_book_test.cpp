// What a node's actor knows of the tasks granted to its machine.
#include "actors/coordinator/node_book.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

TaskKey key(std::uint32_t index, std::uint32_t incarnation = 0) {
  return {JobId{1}, index, 1, incarnation};
}

LaunchOrder order(const TaskKey& task) {
  LaunchOrder order;
  order.task = task;
  order.command = {"true"};
  return order;
}

/// Two tasks of one tenant.
NodeBook book_of_two() {
  NodeBook book{{}};
  book.assign({}, order(key(0)));
  book.assign({}, order(key(1)));
  return book;
}

TaskResult result(const TaskKey& task, EndReason reason = EndReason::exited) {
  TaskResult result;
  result.task = task;
  result.reason = reason;
  return result;
}

AgentReport report(std::vector<TaskKey> running, std::vector<TaskResult> finished = {}) {
  AgentReport report;
  report.running = std::move(running);
  report.finished = std::move(finished);
  return report;
}

}  // namespace

TEST_CASE("Orders that are sent again name the same devices as before", "[unit][devices]") {
  NodeBook book{{}};
  for (const std::uint32_t index : {0u, 1u, 2u}) {
    LaunchOrder with_device = order(key(index));
    with_device.devices = {index == 1 ? "gpu1" : "gpu0"};
    book.assign({}, with_device);
  }
  const auto again = book.take_report(report({}), true, 0).launches;
  REQUIRE(again.size() == 3);
  for (const LaunchOrder& launch : again)
    CHECK(launch.devices == std::vector<std::string>{launch.task.index == 1 ? "gpu1" : "gpu0"});
}

TEST_CASE("A result of an assigned task is settled once, any other is forgotten", "[unit]") {
  NodeBook book = book_of_two();
  const auto told = report({key(1)}, {result(key(0)), result(key(7))});
  const auto outcome = book.take_report(told, false, 0);
  REQUIRE(outcome.settle.size() == 1);
  CHECK(outcome.settle[0].task == key(0));
  CHECK(outcome.acknowledge == std::vector{key(7)});
  CHECK(outcome.launches.empty());
  CHECK(book.take_report(told, false, 0).settle.empty());  // it is being made durable
  const auto groups = book.settled(outcome.settle);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].results.size() == 1);
  CHECK(book.size() == 1);
  CHECK_FALSE(book.knows(key(0)));
  CHECK(book.take_report(told, false, 0).acknowledge == std::vector{key(0), key(7)});
}

TEST_CASE("A result that could not be kept is settled when it is told again", "[unit]") {
  NodeBook book = book_of_two();
  const auto told = report({}, {result(key(0), EndReason::launch_failed)});
  const auto outcome = book.take_report(told, false, 0);
  REQUIRE(outcome.failed_launches.size() == 1);
  CHECK(outcome.settle.empty());
  book.not_settled(outcome.failed_launches);
  CHECK(book.take_report(told, false, 0).failed_launches.size() == 1);
}

TEST_CASE("Only an agent that registers shows what never reached it", "[unit]") {
  NodeBook book = book_of_two();
  CHECK(book.take_report(report({key(1)}), false, 0).launches.empty());
  const auto outcome = book.take_report(report({key(1)}), true, 0);
  REQUIRE(outcome.launches.size() == 1);
  CHECK(outcome.launches[0].task == key(0));
  CHECK(outcome.launches[0].command == std::vector<std::string>{"true"});
}

TEST_CASE("What an earlier life of the ledger granted is not sent again", "[unit]") {
  NodeBook book = book_of_two();
  book.assign({}, order(key(2, 1)));
  const auto outcome = book.take_report(report({key(0)}), true, 1);
  CHECK(outcome.returns == std::vector{key(1)});
  REQUIRE(outcome.launches.size() == 1);
  CHECK(outcome.launches[0].task == key(2, 1));
}

TEST_CASE("What runs there and belongs to nobody is stopped", "[unit]") {
  NodeBook book = book_of_two();
  const auto outcome = book.take_report(report({key(0), key(9)}), false, 0);
  REQUIRE(outcome.stops.size() == 1);
  CHECK(outcome.stops[0].task == key(9));
}

TEST_CASE("An order to stop is repeated to an agent that registers, until the task has ended",
          "[unit]") {
  NodeBook book = book_of_two();
  CHECK(book.request_stop(key(0)));
  CHECK_FALSE(book.request_stop(key(9)));
  CHECK(book.take_report(report({key(0), key(1)}), false, 0).stops.empty());
  CHECK(book.take_report(report({key(0), key(1)}), true, 0).stops.size() == 1);
  (void)book.take_report(report({key(1)}, {result(key(0))}), false, 0);
  (void)book.settled({result(key(0))});
  CHECK(book.take_report(report({key(1)}), true, 0).stops.empty());
}

TEST_CASE("What is being settled or given back is not given back once more", "[unit]") {
  NodeBook book = book_of_two();
  book.assign({}, order(key(2)));
  (void)book.take_report(report({}, {result(key(0))}), false, 0);
  book.begin_return({key(1)});
  CHECK(book.unsettled() == std::vector{key(2)});
  CHECK(book.take_report(report({}), true, 0).launches.size() == 1);
  const auto groups = book.take_back({key(1), key(2), key(9)});
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].keys == std::vector{key(1), key(2)});
  CHECK(book.size() == 1);
}

}  // namespace fairwater
