// Room that was made by preemption is for whom it was made.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "preemption_model.hpp"
#include "shared_gpus.hpp"

namespace fairwater::test {
namespace {

AllocatorSettings by_time() {
  AllocatorSettings settings = default_settings();
  settings.accounting = Accounting::time;
  return settings;
}

/// Tenant 1 runs what one or two nodes of four processors in all have room for, and more of its
/// tasks wait, which are late: they come before everybody's turn.
struct LateBacklog {
  PreemptionModel model{by_time()};
  JobId backlog;

  explicit LateBacklog(std::uint32_t tasks = 8, std::uint32_t nodes = 2) {
    model.cycle.pass_to(1'000'000);
    model.tenant(1);
    model.tenant(2);
    for (std::uint32_t node = 1; node <= nodes; ++node) model.node(node, cpu(4000 / nodes));
    backlog = model.submit({.tenant = TenantId{1},
                            .demand = cpu(1000),
                            .preemption = {.priority = 0, .is_preemptible = true},
                            .is_late = true,
                            .limit_ms = 36'000'000},
                           tasks);
    REQUIRE(model.run().empty());
    REQUIRE(model.running_of(backlog) == 4);
  }
  JobId submit_urgent(std::uint32_t tasks, const ResourceVector& demand, bool is_gang = false) {
    return model.submit(
        {.tenant = TenantId{2}, .demand = demand, .preemption = kUrgent, .is_gang = is_gang},
        tasks);
  }
  std::vector<Reclaim> preempt() {
    model.pass(kWhile_ms);
    return model.run();
  }
  /// Two tasks were told to end, of which one has: the other.
  TaskKey make_half_of_room() {
    const auto reclaims = preempt();
    REQUIRE(reclaims.size() == 2);
    model.end(reclaims[0].task, true);
    CHECK(model.run().empty());
    CHECK(model.running_of(backlog) == 3);
    return reclaims[1].task;
  }
};

TEST_CASE("who was late before has nothing of the room that a preemption made",
          "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId urgent = cluster.submit_urgent(2, cpu(1000));
  CHECK(cluster.preempt().size() == 2);
  CHECK(cluster.preempt().empty());  // its room is coming
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 2);
  CHECK(model.running_of(cluster.backlog) == 2);
  CHECK(cluster.preempt().empty());
}

TEST_CASE("while one task of two has ended nobody else takes its room",
          "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId urgent = cluster.submit_urgent(1, cpu(2000));
  model.end(cluster.make_half_of_room(), true);
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 1);
  CHECK(model.running_of(cluster.backlog) == 2);
}

TEST_CASE("who preempted later has nothing of what comes for who did before",
          "[unit][preemption][made_room]") {
  LateBacklog cluster(8, 1);
  PreemptionModel& model = cluster.model;
  model.tenant(2, {.weight = 10});
  model.tenant(3, {.weight = 5});
  const JobId large = cluster.submit_urgent(1, cpu(2000));
  const JobId small = model.submit(3, 1, cpu(1000), kUrgent);
  const auto reclaims = cluster.preempt();
  REQUIRE(reclaims.size() == 3);
  model.end(reclaims[0].task, true);
  CHECK(model.run().empty());
  CHECK(model.running().size() == 3);
  model.end(reclaims[1].task, true);
  CHECK(model.run().empty());
  CHECK(model.running_of(large) == 1);
  CHECK(model.running_of(small) == 0);
  model.end(reclaims[2].task, true);
  CHECK(model.run().empty());
  CHECK(model.running_of(small) == 1);
  CHECK(model.running_of(cluster.backlog) == 1);
}

TEST_CASE("a gang has the room that was made for it on several nodes",
          "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const TaskKey other = model.running().begin()->first;
  model.end(other, false);
  CHECK(model.run().empty());  // a late one has it
  const JobId urgent = cluster.submit_urgent(2, cpu(1000), true);
  const TaskKey last = cluster.make_half_of_room();
  CHECK(model.running_of(urgent) == 0);
  model.end(last, true);
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 2);
}

TEST_CASE("who preempts does so where another's task has a place, too",
          "[unit][preemption][made_room]") {
  LateBacklog cluster;  // more of its tasks wait: on one node the first has a place
  cluster.model.tenant(2, {.min = cpu(4000)});
  const JobId urgent = cluster.submit_urgent(2, cpu(2000), true);
  CHECK(cluster.preempt().size() == 4);
  cluster.model.end_reclaimed();
  CHECK(cluster.model.run().empty());
  CHECK(cluster.model.running_of(urgent) == 2);
}

TEST_CASE("nobody is preempted where room is free that is kept for another's place",
          "[unit][preemption][made_room]") {
  PreemptionModel model{gpus::sharing(Accounting::time)};
  model.pass(0);
  for (const std::uint32_t tenant : {1, 2, 3}) model.tenant(tenant);
  model.node(1, gpus::capacity_of(2), gpus::node_sharing(2));
  const JobId running = model.submit(1, 2, gpus::share(600));
  REQUIRE(model.run().empty());
  REQUIRE(model.running_of(running) == 2);
  const JobId late = model.submit(
      {.tenant = TenantId{3}, .demand = gpus::share(2 * kMilliPerGpu), .is_late = true}, 1);
  model.pass(kWhile_ms);
  REQUIRE(model.run().empty());
  const JobId urgent = model.submit(2, 1, gpus::share(300), kUrgent);
  CHECK(why(model, urgent) == "takes room on node node next that is kept for another's place");
  CHECK(model.run().empty());
  CHECK(why(model, urgent) == "room on node node is kept for it");
  model.cycle.beat(NodeId{1});
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 1);
  CHECK(model.running_of(late) == 0);
}

TEST_CASE("room that was made for who is cancelled is for all", "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId urgent = cluster.submit_urgent(1, cpu(2000));
  (void)cluster.make_half_of_room();
  model.cancel(urgent);
  CHECK(model.run().empty());
  CHECK(model.running_of(cluster.backlog) == 4);
}

TEST_CASE("a node that was drained has no room for who preempted there",
          "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId urgent = cluster.submit_urgent(1, cpu(1000));
  const auto reclaims = cluster.preempt();
  REQUIRE(reclaims.size() == 1);
  model.cycle.set_node(reclaims[0].node, {}, cpu(2000), false);
  model.cycle.set_node(reclaims[0].node, {}, cpu(2000), true);
  model.end_reclaimed();
  CHECK(model.run().size() == 1);  // once more
  CHECK(model.running_of(cluster.backlog) == 4);
  CHECK(model.running_of(urgent) == 0);
}

TEST_CASE("room that was made for a tenant that left is for all", "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  cluster.submit_urgent(1, cpu(1000));
  REQUIRE(cluster.preempt().size() == 1);
  (void)model.cycle.settle_time();
  model.cycle.remove_tenant(TenantId{2});
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(cluster.backlog) == 4);
}

TEST_CASE("who withdraws keeps no room", "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId urgent = cluster.submit_urgent(1, cpu(2000));
  (void)cluster.make_half_of_room();
  model.cycle.withdraw(TenantId{2}, urgent);
  CHECK(model.run().empty());
  CHECK(model.running_of(cluster.backlog) == 4);
}

TEST_CASE("what a gang cannot use any more is for all on its other nodes, too",
          "[unit][preemption][made_room]") {
  LateBacklog cluster(4);
  PreemptionModel& model = cluster.model;
  model.tenant(2, {.min = cpu(4000)});
  cluster.submit_urgent(2, cpu(2000), true);
  const auto reclaims = cluster.preempt();
  REQUIRE(reclaims.size() == 4);
  for (const Reclaim& reclaim : reclaims)
    if (reclaim.node == NodeId{1}) model.end(reclaim.task, true);
  CHECK(model.run().empty());
  CHECK(model.running_of(cluster.backlog) == 2);
  model.cycle.set_node(NodeId{2}, {}, cpu(2000), false);
  CHECK(model.run().empty());
  CHECK(model.running_of(cluster.backlog) == 4);
}

TEST_CASE("whose share shrank meanwhile has room only as far as it may borrow",
          "[unit][preemption][made_room]") {
  for (const bool may_borrow : {false, true}) {
    CAPTURE(may_borrow);
    LateBacklog cluster;
    PreemptionModel& model = cluster.model;
    model.tenant(2, {.may_borrow = may_borrow});
    const JobId urgent = cluster.submit_urgent(2, cpu(1000));
    const auto reclaims = cluster.preempt();
    REQUIRE(reclaims.size() == 2);
    model.end(reclaims[0].task, true);
    CHECK(model.run().empty());
    REQUIRE(model.running_of(urgent) == 1);
    model.tenant(1, {.weight = 9});
    model.end(reclaims[1].task, true);
    CHECK(model.run().empty());
    CHECK(model.running_of(urgent) == (may_borrow ? 2 : 1));
    CHECK(model.running_of(cluster.backlog) == (may_borrow ? 2 : 3));
  }
}

TEST_CASE("a guarantee comes before room that was made", "[unit][preemption][made_room]") {
  LateBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId urgent = cluster.submit_urgent(1, cpu(1000));
  REQUIRE(cluster.preempt().size() == 1);
  model.tenant(3, {.min = cpu(1000)});
  const JobId guaranteed = model.submit(3, 1, cpu(1000));
  model.end_reclaimed();
  CHECK(model.run().size() == 1);  // once more
  CHECK(model.running_of(guaranteed) == 1);
  CHECK(model.running_of(urgent) == 0);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 1);
}

/// Of a ledger that counts units: tenant 2 owes tenant 1 more units than there is room for, and
/// tenant 1 runs on all of it.
struct OwedBacklog {
  PreemptionModel model;
  JobId backlog;

  OwedBacklog() {
    model.tenant(1);
    model.tenant(2);
    model.node(1, cpu(2000));
    model.node(2, cpu(2000));
    for (int round = 0; round < 4; ++round) {
      const JobId borrower = model.submit(2, 4, cpu(1000));
      REQUIRE(model.run().empty());
      REQUIRE(model.running_of(borrower) == 4);
      for (const auto& [task, running] : std::map(model.running())) model.end(task, false);
    }
    backlog = model.submit(1, 20, cpu(1000));
    REQUIRE(model.run().empty());
    REQUIRE(model.running_of(backlog) == 4);
    REQUIRE(model.cycle.tenant(TenantId{1}).net > 2);
  }
};

TEST_CASE("who is owed units has nothing of the room that a preemption made",
          "[unit][preemption][made_room]") {
  OwedBacklog cluster;
  PreemptionModel& model = cluster.model;
  const bool is_gang = GENERATE(false, true);
  const JobId urgent = model.submit(
      {.tenant = TenantId{2}, .demand = cpu(1000), .preemption = kUrgent, .is_gang = is_gang}, 2);
  model.pass(kWhile_ms);
  REQUIRE(model.run().size() == 2);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 2);
  CHECK(model.running_of(cluster.backlog) == 2);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("what a debtor's task waits for in made room stays kept until all of it has come",
          "[unit][preemption][made_room]") {
  OwedBacklog cluster;
  PreemptionModel& model = cluster.model;
  const JobId small = model.submit(2, 1, cpu(500));  // before it in the window
  const JobId urgent = model.submit(2, 1, cpu(1500), kUrgent);
  model.pass(kWhile_ms);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  model.end(reclaims[0].task, true);
  CHECK(model.run().empty());
  CHECK(model.running().size() == 3);
  model.end(reclaims[1].task, true);
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 1);
  CHECK(model.running_of(small) == 1);  // which fits beside it
  CHECK(model.running_of(cluster.backlog) == 2);
}

}  // namespace
}  // namespace fairwater::test
