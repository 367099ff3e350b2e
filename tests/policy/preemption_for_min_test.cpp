// Tasks within a min preempt, whatever their jobs say: their tenant's, or that of a group.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "preemption_model.hpp"

namespace fairwater::test {
namespace {

constexpr PreemptionTerms kOrdinary{.priority = 0, .is_preemptible = true};

/// Tenant 1 runs eight tasks on two nodes of four processors, and two more wait.
PreemptionModel lent_to_one(AllocatorSettings settings = default_settings(),
                            PreemptionTerms terms = kOrdinary) {
  PreemptionModel model(settings);
  model.cycle.pass_to(1'000'000);
  model.tenant(1);
  model.node(1, cpu(4000), {"node1", "", {}});
  model.node(2, cpu(4000));
  const JobId job = model.submit(1, 10, cpu(1000), terms);
  CHECK(model.run().empty());
  CHECK(model.running_of(job) == 8);
  return model;
}

TEST_CASE("tasks within a min take the place of what runs beyond a quota",
          "[unit][preemption][min]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  PreemptionModel model = lent_to_one(default_settings(accounting));
  model.tenant(2, {.min = cpu(2000)});
  const JobId guaranteed = model.submit(2, 6, cpu(1000), kOrdinary);
  CHECK(model.run().empty());  // they have not run for long enough
  model.pass(kWhile_ms);
  CHECK(model.run().size() == 2);  // and not four, which are its quota
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(guaranteed) == 2);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("room that is planned for a gang is no reason to wait below a min, or to be urgent",
          "[unit][preemption][min][gang]") {
  const bool is_for_min = GENERATE(true, false);
  const bool is_of_victim = GENERATE(true, false);
  const std::uint32_t tasks = GENERATE(7, 8);
  CAPTURE(is_for_min, is_of_victim, tasks);
  PreemptionModel model(default_settings(Accounting::time));
  model.cycle.pass_to(1'000'000);
  for (const std::uint32_t tenant : {1, 3}) model.tenant(tenant);
  for (const std::uint32_t node : {1, 2}) model.node(node, cpu(4000));
  const auto of = [](std::uint32_t tenant, bool is_gang) {
    return PreemptionModel::Job{.tenant = TenantId{tenant},
                                .demand = cpu(1000),
                                .preemption = kOrdinary,
                                .is_gang = is_gang,
                                .limit_ms = 600'000};
  };
  model.submit(of(1, false), 8);
  CHECK(model.run().empty());
  const JobId gang = model.submit(of(is_of_victim ? 1 : 3, true), tasks);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
  model.tenant(2, is_for_min ? TenantTerms{.min = cpu(2000)} : TenantTerms{});
  PreemptionModel::Job waiting = of(2, false);
  waiting.limit_ms = 60'000;
  if (!is_for_min) waiting.preemption = kUrgent;
  const JobId job = model.submit(waiting, 2);
  model.pass(1000);  // a min is looked at each second
  CHECK(model.run().size() == 2);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(job) == 2);
  CHECK(model.running_of(gang) == 0);
}

TEST_CASE("no priority stands against a min", "[unit][preemption][min]") {
  PreemptionModel model =
      lent_to_one(default_settings(), {.priority = 100, .preempts = true, .is_preemptible = true});
  model.tenant(2, {.min = cpu(1000)});
  const JobId guaranteed = model.submit(2, 1, cpu(1000), kOrdinary);
  model.pass(kWhile_ms);
  CHECK(model.run().size() == 1);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(guaranteed) == 1);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());  // nor is it preempted back
}

TEST_CASE("nobody is preempted for a min where that is switched off, or spared",
          "[unit][preemption][min]") {
  AllocatorSettings settings = default_settings();
  settings.preempts_for_min = GENERATE(false, true);
  PreemptionModel model =
      lent_to_one(settings, {.priority = 0, .is_preemptible = !settings.preempts_for_min});
  model.tenant(2, {.min = cpu(2000)});
  model.submit(2, 2, cpu(1000), kOrdinary);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("a gang preempts when all of it is within the min", "[unit][preemption][min]") {
  const auto accounting = GENERATE(Accounting::units, Accounting::time);
  const bool is_small = GENERATE(false, true);
  PreemptionModel model = lent_to_one(default_settings(accounting));
  model.tenant(2, {.min = cpu(3000)});
  const JobId gang =
      model.submit({.tenant = TenantId{2}, .demand = cpu(1000), .is_gang = true}, is_small ? 3 : 4);
  model.pass(kWhile_ms);
  CHECK(model.run().size() == (is_small ? 3 : 0));
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(gang) == (is_small ? 3 : 0));
}

TEST_CASE("mins that are too many preempt up to their part of the cluster",
          "[unit][preemption][min]") {
  PreemptionModel model = lent_to_one();
  model.tenant(2, {.min = cpu(8000)});
  model.tenant(3, {.min = cpu(8000)});
  const JobId one = model.submit(2, 8, cpu(1000), kOrdinary);
  const JobId other = model.submit(3, 8, cpu(1000), kOrdinary);
  for (int round = 0; round < 4; ++round) {
    model.pass(kWhile_ms);
    (void)model.run();
    model.end_reclaimed();
  }
  CHECK(model.running_of(one) == 4);
  CHECK(model.running_of(other) == 4);
}

/// Tenants 2 and 3 are in a group with a min of four processors; tenant 3 borrowed nothing.
struct Faculty {
  PreemptionModel model;
  JobId backlog;
  explicit Faculty(Accounting accounting) : model(default_settings(accounting)) {
    model.cycle.pass_to(1'000'000);
    GroupTerms faculty;
    faculty.min[kCpu] = 4000;
    model.group(1, faculty);
    model.tenant(1, {.weight = 7});
    model.tenant(2, in_group(1));
    model.tenant(3, in_group(1));
    model.node(1, cpu(8000));
    backlog = model.submit(1, 10, cpu(1000), kOrdinary);
    CHECK(model.run().empty());
    CHECK(model.running_of(backlog) == 8);
  }
};

TEST_CASE("tasks within the min of a group preempt who is not in it", "[unit][preemption][min]") {
  Faculty cluster(GENERATE(Accounting::units, Accounting::time));
  PreemptionModel& model = cluster.model;
  const JobId of_two = model.submit(2, 8, cpu(1000), kOrdinary);
  model.pass(kWhile_ms);
  CHECK(model.run().size() == 4);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(of_two) == 4);
  // Its sibling has its part of that when something ends, and not by preemption.
  model.submit(3, 8, cpu(1000), kOrdinary);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("why a task within a min has not been made room for is told",
          "[unit][preemption][min][explain]") {
  PreemptionModel model = lent_to_one();
  model.tenant(2, {.min = cpu(1000)});
  const JobId guaranteed = model.submit(2, 2, cpu(1000), kOrdinary);
  model.pass(kWhile_ms - 1500);
  CHECK(model.run().empty());
  CHECK(why(model, guaranteed) ==
        "preempts nobody for its min: of 8 tasks of other tenants that may be preempted 8 that ran "
        "for less than 30 s (the first has in 2 s)");
  model.pass(1500);
  CHECK(why(model, guaranteed) == "takes the place of 1 task on node node1 next");
  CHECK(model.run().size() == 1);
  CHECK(why(model, guaranteed) == "tasks on node node1 were told to end, and leave it room enough");
}

}  // namespace
}  // namespace fairwater::test
