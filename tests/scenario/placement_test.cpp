// Placement rules on nodes of real processes.
#include <map>

#include <catch2/catch.hpp>

#include "tests/scenario/pages.hpp"
#include "tests/scenario/support.hpp"

namespace fairwater::scenario {
namespace {

ClusterSetup unlike_nodes() {
  return {.agents = {{"one", "cpu: 2, memory: 1GiB"},
                     {"two", "cpu: 3, memory: 2GiB"},
                     {"three", "cpu: 4, memory: 8GiB"}},
          .tenants = tenants({{"web", 1}})};
}

std::map<std::string, int> tasks_by_node(const json& job) {
  std::map<std::string, int> tasks;
  for (const json& task : job["task_list"]) ++tasks[task["node"].get<std::string>()];
  return tasks;
}

TEST_CASE("the examples of docs/placement.md run as they stand", "[scenario][placement]") {
  Cluster cluster(unlike_nodes());
  cluster.start();
  check_page(cluster, "docs/placement.md");
}

TEST_CASE("the examples of docs/dominant-shares.md run as they stand",
          "[scenario][placement][long][slow]") {
  Cluster cluster({.agents = {{"big", "cpu: 9, memory: 18GiB"}},
                   .tenants = tenants({{"a", 1}, {"b", 1}}),
                   .coordinator_lines = "allocation: drf\n"});
  cluster.start();
  check_page(cluster, "docs/dominant-shares.md");
  // What was granted is known to the next coordinator, and nothing more fits.
  cluster.stop_coordinator();
  cluster.start_coordinator();
  cluster.wait_for_nodes(1);
  CHECK(cluster.tenant("a")["running_tasks"] == 3);
  CHECK(cluster.tenant("b")["running_tasks"] == 2);
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("weights of single resources hold among real tasks, over a kill",
          "[scenario][placement]") {
  Cluster cluster(
      {.agents = {{"node1", "cpu: 8, memory: 4GiB"}}, .coordinator_lines = "allocation: drf\n"});
  cluster.start_coordinator();
  cluster.apply_tenants("tenants: [{name: a, weights: {cpu: 3, memory: 1}}, {name: b}]");
  for (const char* tenant : {"a", "b"})
    (void)cluster.submit(job_file(tenant, 20, "command: [sleep, \"600\"]"));
  cluster.start_agents();
  const auto hold = [&](int of_a, int of_b) {
    harness::wait_until(fmt::format("a holds {}, b {}", of_a, of_b), Duration(20'000), [&] {
      return cluster.tenant("a")["running_tasks"] == of_a &&
             cluster.tenant("b")["running_tasks"] == of_b;
    });
  };
  hold(6, 2);
  cluster.stop_coordinator(SIGKILL);
  cluster.start_coordinator();
  cluster.wait_for_nodes(1);
  hold(6, 2);
  CHECK(cluster.tenant("a")["weights"] == json({{"cpu", 3}, {"memory", 1}}));
  CHECK(ledger_is_sound(cluster));
}

TEST_CASE("a placement rule chooses among nodes as they drain, die and restart",
          "[scenario][placement]") {
  Cluster cluster(unlike_nodes());
  cluster.start();
  const auto packed = [&](int tasks) {
    const std::uint64_t job =
        cluster.submit(job_file("web", tasks, "placement: pack\ncommand: [sleep, '600']\n"));
    harness::wait_until(fmt::format("{} tasks run", tasks), Duration(20'000),
                        [&] { return cluster.job(job)["tasks"]["running"] == tasks; });
    return tasks_by_node(cluster.job(job));
  };
  using Tasks = std::map<std::string, int>;
  CHECK(packed(1) == Tasks{{"one", 1}});
  // What runs is known to the next coordinator, too: one is fuller than the others.
  cluster.stop_coordinator();
  cluster.start_coordinator();
  cluster.wait_for_nodes(3);
  CHECK(packed(1) == Tasks{{"one", 1}});
  cluster.ask({"node", "drain", "two", "--reason", "test"});
  CHECK(packed(1) == Tasks{{"three", 1}});
  cluster.ask({"node", "undrain", "two"});
  CHECK(packed(4) == Tasks{{"three", 3}, {"two", 1}});
  CHECK(ledger_is_sound(cluster));
}

}  // namespace
}  // namespace fairwater::scenario
