// A cluster of one node that runs a task, whose agent comes again, or another in its place.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {

inline std::vector<TaskKey> launched(const FakeAgent& agent) {
  std::vector<TaskKey> keys;
  for (const auto& order : agent.launches()) keys.push_back(order.task);
  return keys;
}

inline NodeInfo node_of(ClusterFixture& cluster, std::size_t index = 0) {
  return cluster.ask<NodeList>(ListNodes{cluster.operator_caller()})->nodes.at(index);
}

/// An agent of a cluster where one job's task runs.
struct RegisteredNode {
  RegisteredNode() {
    cluster.apply({tenant_spec("only", 1)});
    job = cluster.submit("only", 1);
    agent = cluster.join("node1", 1);
    agent.running = launched(agent);
    REQUIRE(agent.running.size() == 1);
  }
  /// The agent's connection is gone.
  void cut() {
    caf::anon_send_exit(agent.link, caf::exit_reason::user_shutdown);
    cluster.run();
  }
  ClusterFixture cluster;
  JobId job;
  FakeAgent agent;
};

}  // namespace fairwater
