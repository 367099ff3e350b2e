// Preemption where it is the max of a group that keeps an urgent task back.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "preemption_model.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kBorrower = 1, kOwner = 2, kSibling = 3, kOutsider = 4;

/// A faculty with a max of four processors, all of which the first of its three tenants holds, by
/// tasks on the first node; more of them wait, which come before everybody's turn where the ledger
/// counts time.
struct FullFaculty {
  PreemptionModel model;
  JobId backlog;

  explicit FullFaculty(Accounting accounting) : model(default_settings(accounting)) {
    model.cycle.pass_to(1'000'000);
    GroupTerms faculty;
    faculty.max = cpu(4000);
    model.group(1, faculty);
    for (const std::uint32_t member : {kBorrower, kOwner, kSibling})
      model.tenant(member, in_group(1));
    model.tenant(kOutsider);
    model.node(1, cpu(6000), {"node1", "", {}});
    backlog = submit_long(kBorrower, 8);
    REQUIRE(model.run().empty());
    REQUIRE(model.running_of(backlog) == 4);
  }
  JobId submit_long(std::uint32_t tenant, std::uint32_t tasks) {
    return model.submit({.tenant = TenantId{tenant},
                         .demand = cpu(1000),
                         .preemption = {.priority = 0, .is_preemptible = true},
                         .is_late = true,
                         .limit_ms = 36'000'000},
                        tasks);
  }
  std::vector<Reclaim> preempt() {
    model.pass(kWhile_ms);
    return model.run();
  }
  void end_reclaimed() {
    model.end_reclaimed();
    REQUIRE(model.run().empty());
  }
};

TEST_CASE("who is urgent takes what others in its group run beyond their quota, below its max",
          "[unit][preemption][below_max]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    INFO("by time: " << (accounting == Accounting::time));
    FullFaculty cluster(accounting);
    PreemptionModel& model = cluster.model;
    const JobId other = cluster.submit_long(kOutsider, 2);  // beyond the faculty's max
    REQUIRE(model.run().empty());
    REQUIRE(model.running_of(other) == 2);
    const JobId urgent = model.submit(kOwner, 3, cpu(1000), kUrgent);
    const auto reclaims = cluster.preempt();
    REQUIRE(reclaims.size() == 2);  // half of the max is its quota
    for (const Reclaim& reclaim : reclaims) CHECK(reclaim.tenant == TenantId{kBorrower});
    CHECK(cluster.preempt().empty());
    cluster.end_reclaimed();
    CHECK(model.running_of(urgent) == 2);
    CHECK(model.running_of(cluster.backlog) == 2);
    CHECK(model.running_of(other) == 2);
    CHECK(cluster.preempt().empty());
  }
}

TEST_CASE("a promise below a max is over with the start of its task",
          "[unit][preemption][below_max]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    INFO("by time: " << (accounting == Accounting::time));
    FullFaculty cluster(accounting);
    PreemptionModel& model = cluster.model;
    const JobId urgent = model.submit(kOwner, 3, cpu(1000), kUrgent);
    REQUIRE(cluster.preempt().size() == 2);
    cluster.end_reclaimed();
    REQUIRE(model.running_of(urgent) == 2);  // the third is beyond its quota
    const JobId late = cluster.submit_long(kSibling, 1);
    const auto obstacles =
        model.cycle.allocator().explain_waiting(TenantId{kSibling}, late, 0, ObstacleNames{});
    REQUIRE_FALSE(obstacles.empty());
    CHECK(obstacles.front().message ==
          "group 1, which it is in, holds 4000 of its max of 4000 millicores of cpu, the task asks "
          "for 1000");
  }
}

TEST_CASE("no more end below a max than the task needs there", "[unit][preemption][below_max]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    FullFaculty cluster(accounting);
    const JobId urgent = cluster.model.submit(kOwner, 1, cpu(1500), kUrgent);
    CHECK(cluster.preempt().size() == 2);
    cluster.end_reclaimed();
    CHECK(cluster.model.running_of(urgent) == 1);
    CHECK(cluster.model.running_of(cluster.backlog) == 2);
  }
}

TEST_CASE("what is made below a max is for whom it was made, wherever that starts",
          "[unit][preemption][below_max]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    INFO("by time: " << (accounting == Accounting::time));
    FullFaculty cluster(accounting);
    PreemptionModel& model = cluster.model;
    model.node(2, cpu(4000), {"node2", "there", {}});
    REQUIRE(model.run().empty());
    // Where it counts units who is within its quota has as much right to that: there it is the
    // backlog that would start.
    const JobId late = cluster.submit_long(kSibling, accounting == Accounting::time ? 4 : 0);
    REQUIRE(model.run().empty());
    const JobId urgent = model.submit(
        {.tenant = TenantId{kOwner}, .demand = cpu(1000), .preemption = kUrgent, .site = "there"},
        1);
    REQUIRE(cluster.preempt().size() == 1);
    CHECK(model.running_of(urgent) == 0);
    CHECK(cluster.preempt().empty());
    cluster.end_reclaimed();
    model.cycle.beat(NodeId{1});
    REQUIRE(model.run().empty());
    model.cycle.beat(NodeId{2});
    REQUIRE(model.run().empty());
    CHECK(model.running_of(urgent) == 1);
    CHECK(model.running_of(late) == 0);
    CHECK(model.running_of(cluster.backlog) == 3);
  }
}

TEST_CASE("below a max and on a node the fewest end that make both",
          "[unit][preemption][below_max]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    FullFaculty cluster(accounting);
    PreemptionModel& model = cluster.model;
    const JobId other = cluster.submit_long(kOutsider, 2);
    REQUIRE(model.run().empty());
    REQUIRE(model.running_of(other) == 2);
    const JobId urgent = model.submit(kOwner, 1, cpu(2000), kUrgent);
    const auto reclaims = cluster.preempt();
    CHECK(reclaims.size() == 2);
    for (const Reclaim& reclaim : reclaims) CHECK(reclaim.tenant == TenantId{kBorrower});
    cluster.end_reclaimed();
    CHECK(model.running_of(urgent) == 1);
  }
}

TEST_CASE("nobody ends below a max for who gets nothing by it", "[unit][preemption][below_max]") {
  FullFaculty cluster(Accounting::units);
  PreemptionModel& model = cluster.model;
  model.node(2, cpu(2000), {"node2", "there", {}});
  const JobId service = model.submit(
      {.tenant = TenantId{kOutsider}, .demand = cpu(2000), .preemption = {}, .site = "there"}, 1);
  REQUIRE(model.run().empty());
  REQUIRE(model.running_of(service) == 1);
  const JobId urgent = model.submit(
      {.tenant = TenantId{kOwner}, .demand = cpu(1000), .preemption = kUrgent, .site = "there"}, 1);
  CHECK(cluster.preempt().empty());
  CHECK(why(model, urgent) ==
        "preempts nobody: of 4 tasks of other tenants within what is at its max that may be "
        "preempted 4 that leave too little below the max, or where it has no room");
}

TEST_CASE("a gang preempts below a max for all of its tasks or none",
          "[unit][preemption][below_max]") {
  for (const Accounting accounting : {Accounting::units, Accounting::time}) {
    FullFaculty cluster(accounting);
    PreemptionModel& model = cluster.model;
    const auto gang_of = [&](std::uint32_t tasks) {
      return model.submit(
          {.tenant = TenantId{kOwner}, .demand = cpu(1000), .preemption = kUrgent, .is_gang = true},
          tasks);
    };
    const JobId large = gang_of(3);  // beyond its quota of the max
    CHECK(cluster.preempt().empty());
    model.cancel(large);
    const JobId urgent = gang_of(2);
    CHECK(cluster.preempt().size() == 2);
    cluster.end_reclaimed();
    CHECK(model.running_of(urgent) == 2);
  }
}

TEST_CASE("whom an urgent task takes the place of below a max is told",
          "[unit][preemption][below_max][explain]") {
  FullFaculty cluster(Accounting::time);
  PreemptionModel& model = cluster.model;
  const JobId urgent = model.submit(kOwner, 1, cpu(1000), kUrgent);
  CHECK(why(model, urgent) ==
        "preempts nobody: of 4 tasks of other tenants within what is at its max that may be "
        "preempted 4 that ran for less than 30 s (the first has in 30 s)");
  model.pass(kWhile_ms);
  CHECK(why(model, urgent) == "takes the place of 1 task below the max next");
  REQUIRE(model.run().size() == 1);
  CHECK(why(model, urgent) == "tasks on node node1 were told to end, and leave it room enough");
  const JobId late = cluster.submit_long(kSibling, 1);
  REQUIRE(model.run().empty());
  ObstacleNames names;
  names.groups[GroupId{1}] = "faculty";
  const auto obstacles =
      model.cycle.allocator().explain_waiting(TenantId{kSibling}, late, 0, names);
  REQUIRE_FALSE(obstacles.empty());
  CHECK(obstacles.front().message ==
        "faculty, which it is in, holds 4000 of its max of 4000 millicores of cpu, 1000 are kept "
        "for who preempted others, the task asks for 1000");
}

}  // namespace
}  // namespace fairwater::test
