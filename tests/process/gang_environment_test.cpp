// What a gang's tasks are told of each other.
#include "process/gang_environment.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

using Environment = std::map<std::string, std::string>;

LaunchOrder order_of(std::uint32_t index) {
  LaunchOrder order;
  order.task = {JobId{12}, index, 2};
  order.task_count = 5;
  order.gang_key = "secret";
  order.gang = {{"node2", "10.0.0.2", 2}, {"node1", "10.0.0.1", 3}};
  return order;
}

}  // namespace

TEST_CASE("A gang's tasks know their nodes, their place there and where to meet", "[process]") {
  Environment environment;
  name_gang(order_of(3), environment);
  CHECK(environment == Environment{{"FAIRWATER_HOSTS", "node2:2,node1:3"},
                                   {"FAIRWATER_LOCAL_INDEX", "1"},
                                   {"FAIRWATER_LOCAL_COUNT", "3"},
                                   {"FAIRWATER_GANG_KEY", "secret"},
                                   {"FAIRWATER_RENDEZVOUS", "10.0.0.2:20097"},
                                   {"RANK", "3"},
                                   {"WORLD_SIZE", "5"},
                                   {"LOCAL_RANK", "1"},
                                   {"LOCAL_WORLD_SIZE", "3"},
                                   {"MASTER_ADDR", "10.0.0.2"},
                                   {"MASTER_PORT", "20097"}});
}

TEST_CASE("What the job says of ranks stays", "[process]") {
  Environment environment{{"RANK", "mine"}, {"MASTER_PORT", "1"}};
  name_gang(order_of(0), environment);
  CHECK(environment.at("RANK") == "mine");
  CHECK(environment.at("MASTER_PORT") == "1");
  CHECK(environment.at("FAIRWATER_LOCAL_INDEX") == "0");
}

TEST_CASE("An address of IPv6 stands in brackets before its port", "[process]") {
  LaunchOrder order = order_of(0);
  order.gang.change().front().address = "fd00::7";
  Environment environment;
  name_gang(order, environment);
  CHECK(environment.at("FAIRWATER_RENDEZVOUS") == "[fd00::7]:20097");
  CHECK(environment.at("MASTER_ADDR") == "fd00::7");
}

TEST_CASE("A task of no gang is told nothing", "[process]") {
  LaunchOrder order = order_of(0);
  order.gang = {};
  Environment environment;
  name_gang(order, environment);
  CHECK(environment.empty());
}

}  // namespace fairwater
