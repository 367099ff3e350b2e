// Preemption: whose room may be taken, how little of it, and that it comes to an end.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "preemption_model.hpp"

namespace fairwater::test {
namespace {

/// Of four processors each, and two tenants.
PreemptionModel two_nodes(const TenantTerms& borrower = {}) {
  PreemptionModel model;
  model.cycle.pass_to(1'000'000);
  model.tenant(1, borrower);
  model.tenant(2);
  model.node(1, cpu(4000), {"node1", "", {}});
  model.node(2, cpu(4000), {"node2", "", {}});
  return model;
}

/// Tenant 1 has borrowed all of them.
PreemptionModel borrowed(const TenantTerms& borrower = {},
                         PreemptionTerms theirs = {.priority = 0, .is_preemptible = true}) {
  PreemptionModel model = two_nodes(borrower);
  model.submit(1, 8, cpu(1000), theirs);
  REQUIRE(model.run().empty());
  REQUIRE(model.running().size() == 8);
  return model;
}

TEST_CASE("who is within quota and urgent takes what others run beyond theirs",
          "[unit][preemption]") {
  PreemptionModel model = borrowed();
  const JobId urgent = model.submit(2, 5, cpu(1000), kUrgent);
  CHECK(model.run().empty());  // nobody has run for long enough
  model.pass(kWhile_ms);
  const auto reclaims = model.run();
  CHECK(reclaims.size() == 4);  // its part; the fifth waits
  CHECK(model.run().empty());
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.running_of(urgent) == 4);
  model.pass(10 * kWhile_ms);
  CHECK(model.run().empty());
}

TEST_CASE("who does not preempt, or is not more urgent, waits", "[unit][preemption]") {
  PreemptionModel plain = borrowed();
  plain.submit(2, 1, cpu(1000), {.priority = 5, .is_preemptible = true});
  plain.pass(kWhile_ms);
  CHECK(plain.run().empty());
  PreemptionModel equal = borrowed({}, {.priority = 5, .is_preemptible = true});
  equal.submit(2, 1, cpu(1000), kUrgent);
  equal.pass(kWhile_ms);
  CHECK(equal.run().empty());
  PreemptionModel kept = borrowed({}, {.priority = 0, .is_preemptible = false});
  kept.submit(2, 1, cpu(1000), kUrgent);
  kept.pass(kWhile_ms);
  CHECK(kept.run().empty());
}

TEST_CASE("nothing within a tenant's min is preempted", "[unit][preemption]") {
  // Of the eighth processor half is the other's.
  PreemptionModel model = borrowed({.min = cpu(7000)});
  model.submit(2, 4, cpu(500), kUrgent);
  model.pass(kWhile_ms);
  CHECK(model.run().size() == 1);
  PreemptionModel guarded = borrowed({.min = cpu(7500)});
  guarded.submit(2, 4, cpu(100), kUrgent);
  guarded.pass(kWhile_ms);
  CHECK(guarded.run().empty());
}

TEST_CASE("the smallest set goes, the youngest of it first", "[unit][preemption]") {
  PreemptionModel model = two_nodes();
  const JobId small = model.submit(1, 4, cpu(1000));
  model.run();
  model.pass(10);
  const JobId large = model.submit(1, 1, cpu(4000));
  model.run();
  REQUIRE(model.running_of(small) == 4);
  REQUIRE(model.running_of(large) == 1);
  model.submit(2, 1, cpu(3000), kUrgent);
  model.pass(kWhile_ms);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 1);  // one large one instead of three small ones
  CHECK(reclaims[0].task.job == large);
}

TEST_CASE("of one node one large task goes in place of several younger ones",
          "[unit][preemption]") {
  PreemptionModel model;
  model.cycle.pass_to(1'000'000);
  for (const std::uint32_t id : {1U, 2U}) model.tenant(id);
  model.node(1, cpu(8000), {"node1", "", {}});
  const JobId large = model.submit(1, 1, cpu(4000));
  model.run();
  model.pass(10);
  model.submit(1, 4, cpu(1000));
  model.run();
  model.pass(kWhile_ms);
  model.submit(2, 1, cpu(3000), kUrgent);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 1);
  CHECK(reclaims[0].task.job == large);
}

/// The smallest set of tasks of one node without which there would be room, by a look at all sets.
std::optional<std::size_t> fewest_by_look(const PreemptionModel& model,
                                          const std::map<NodeId, ResourceVector>& nodes,
                                          TenantId urgent, const ResourceVector& demand) {
  std::optional<std::size_t> fewest;
  for (const auto& [node, capacity] : nodes) {
    const auto kept = model.cycle.node(node).reserved_for;
    if (kept && *kept != urgent) continue;
    ResourceVector fixed;
    std::vector<ResourceVector> tasks;
    for (const auto& [key, task] : model.running()) {
      if (task.node != node) continue;
      const auto& job = model.job(key.job);
      if (job.preemption.is_preemptible && task.grant.tenant != urgent &&
          model.now_ms() - task.since_ms >= kWhile_ms)
        tasks.push_back(job.demand);
      else
        fixed += job.demand;
    }
    REQUIRE(tasks.size() <= 14);
    for (std::uint32_t set = 0; set < 1U << tasks.size(); ++set) {
      const auto size = static_cast<std::size_t>(std::popcount(set));
      if (fewest && size >= *fewest) continue;
      ResourceVector held = fixed;
      for (std::size_t i = 0; i < tasks.size(); ++i)
        if ((set >> i & 1) == 0) held += tasks[i];
      if ((held + demand).fits(capacity)) fewest = size;
    }
  }
  return fewest;
}

TEST_CASE("of all sets of tasks the smallest goes, and the urgent one gets its room",
          "[property][preemption]") {
  constexpr std::uint32_t kUrgentTenant = 2, kHuge = 9;
  std::size_t preempted = 0, several = 0;
  // In some of a thousand neither the youngest nor the largest of any resource are the fewest.
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return static_cast<Amount>(from + random() % (to - from + 1));
    };
    PreemptionModel model;
    model.cycle.pass_to(model.now_ms());
    // Beside what the huge one waits for, which no node will have, next to nothing is the holders'.
    model.tenant(kUrgentTenant, {.min = cpu_memory(12'000, 12'288)});
    model.tenant(kHuge, {.weight = 1000});
    for (const std::uint32_t id : {1U, 3U, 4U}) model.tenant(id);
    std::map<NodeId, ResourceVector> nodes;
    for (std::uint32_t id = 1; id <= 2; ++id) {
      nodes[NodeId{id}] = cpu_memory(draw(6, 12) * 1000, draw(6, 12) * 1024);
      model.node(id, nodes[NodeId{id}]);
    }
    for (int i = 0; i < 14; ++i) {
      model.pass(draw(1, 3));
      (void)model.submit(std::vector<std::uint32_t>{1, 3, 4}[random() % 3], 1,
                         cpu_memory(draw(1, 40) * 100, draw(1, 40) * 100),
                         {.priority = 0, .is_preemptible = draw(0, 8) > 0});
      REQUIRE(model.run().empty());
    }
    (void)model.submit(kHuge, 1, cpu_memory(1'000'000, 1'000'000));
    model.pass(kWhile_ms);
    const ResourceVector demand = cpu_memory(draw(10, 60) * 100, draw(10, 60) * 100);
    const JobId urgent = model.submit(kUrgentTenant, 1, demand, kUrgent);
    const auto reclaims = model.run();
    if (model.running_of(urgent) == 1) continue;
    const auto fewest = fewest_by_look(model, nodes, TenantId{kUrgentTenant}, demand);
    CHECK(reclaims.size() == fewest.value_or(0));
    preempted += reclaims.size();
    several += reclaims.size() > 1 ? 1 : 0;
    model.end_reclaimed();
    CHECK(model.run().empty());
    CHECK(model.running_of(urgent) == (fewest ? 1 : 0));
  }
  CHECK(preempted > 4000);
  CHECK(several > 1000);
}

TEST_CASE("what has grown goes before anything is preempted", "[unit][preemption]") {
  PreemptionModel model = borrowed();
  // One of the eight ends, and an elastic job grows there.
  const TaskKey first = model.running().begin()->first;
  model.end(first, false);
  DemandWindow growing{
      .tenant = TenantId{1},
      .next = {},
      .growth = {{.job = JobId{77}, .count = 1, .demand = cpu(1000), .rule = nullptr}},
      .pending = {},
      .pending_tasks = 0,
      .seen_deal = model.cycle.last_deal()};
  model.cycle.take_window(growing);
  REQUIRE(model.cycle.run(10).size() == 1);
  model.submit(2, 1, cpu(1000), kUrgent);
  model.pass(kWhile_ms);
  (void)model.cycle.run(10);
  const auto reclaims = model.cycle.take_reclaims();
  REQUIRE(reclaims.size() == 1);
  CHECK(reclaims[0].task.job == JobId{77});
  CHECK_FALSE(reclaims[0].preempted);
}

TEST_CASE("why nobody was preempted for a task is told", "[unit][preemption][explain]") {
  const std::string of_eight =
      "preempts nobody: of 8 tasks of other tenants that may be preempted ";
  PreemptionModel model = borrowed();
  const JobId plain = model.submit(2, 1, cpu(1000));
  CHECK(why(model, plain).empty());
  PreemptionModel soon = borrowed();
  const JobId urgent = soon.submit(2, 1, cpu(1000), kUrgent);
  soon.pass(kWhile_ms - 1500);
  CHECK(soon.run().empty());
  CHECK(why(soon, urgent) == of_eight + "8 that ran for less than 30 s (the first has in 2 s)");
  soon.pass(1500);
  CHECK(why(soon, urgent) == "takes the place of 1 task on node node1 next");
  CHECK(soon.run().size() == 1);
  CHECK(why(soon, urgent) == "tasks on node node1 were told to end, and leave it room enough");

  PreemptionModel equal = borrowed({}, {.priority = 5, .is_preemptible = true});
  const JobId no_higher = equal.submit(2, 1, cpu(1000), kUrgent);
  equal.pass(kWhile_ms);
  CHECK(equal.run().empty());
  CHECK(why(equal, no_higher) == of_eight + "8 of no lower priority than 5");

  PreemptionModel guarded = borrowed({.min = cpu(7500)});
  const JobId small = guarded.submit(2, 1, cpu(100), kUrgent);
  guarded.pass(kWhile_ms);
  CHECK(guarded.run().empty());
  CHECK(why(guarded, small) ==
        of_eight + "8 within their tenant's quota, what it is owed, or a min");

  PreemptionModel kept = borrowed({}, {.priority = 0, .is_preemptible = false});
  const JobId in_vain = kept.submit(2, 1, cpu(1000), kUrgent);
  kept.pass(kWhile_ms);
  CHECK(kept.run().empty());
  CHECK(why(kept, in_vain) ==
        "preempts nobody: no task of another tenant runs that may be preempted");
}

TEST_CASE("who is beyond quota is told that it preempts nobody", "[unit][preemption][explain]") {
  PreemptionModel model = borrowed({.min = cpu(6000)});
  const JobId wide = model.submit(2, 1, cpu(3000), kUrgent);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
  CHECK(why(model, wide) ==
        "preempts nobody: its tenant holds 0 of its runtime quota of 1000 millicores of cpu, and "
        "it asks for 3000");
}

TEST_CASE("who needs more of one node than may go is told so", "[unit][preemption][explain]") {
  PreemptionModel model = two_nodes();
  model.submit(1, 2, cpu(3000), {.priority = 0, .is_preemptible = false});
  model.submit(1, 2, cpu(1000));
  model.run();
  const JobId wide = model.submit(2, 1, cpu(4000), kUrgent);
  model.pass(kWhile_ms);
  CHECK(model.run().empty());
  CHECK(why(model, wide) ==
        "preempts nobody: of 2 tasks of other tenants that may be preempted 2 on nodes where it "
        "would have no room even then");
}

/// Two tenants whose ledger counts time, and two nodes of four processors each, at sites x and y.
/// For 100 s the first has all eight, and owes for four: it gives half of its part way.
struct OwingModel {
  static constexpr PreemptionTerms kPlain{.priority = 0, .is_preemptible = true};
  PreemptionModel model{default_settings(Accounting::time)};

  OwingModel() {
    model.cycle.pass_to(model.now_ms());
    for (const std::uint32_t tenant : {1U, 2U}) model.tenant(tenant, {.repay_millionths = 500'000});
    model.node(1, cpu(4000), {"node1", "x", {}});
    model.node(2, cpu(4000), {"node2", "y", {}});
    (void)submit(1, 8, kPlain);
    REQUIRE(model.run().empty());
    pass(100'000);
  }
  JobId submit(std::uint32_t tenant, std::uint32_t tasks, PreemptionTerms terms,
               const std::string& site = {}) {
    return model.submit({.tenant = TenantId{tenant},
                         .demand = cpu(1000),
                         .preemption = terms,
                         .limit_ms = 60'000,
                         .site = site},
                        tasks);
  }
  void pass(std::int64_t ms) {
    model.pass(ms);
    (void)model.cycle.settle_time();
  }
  void end_all() {
    const auto running = model.running();
    for (const auto& [task, run] : running) model.end(task, false);
    REQUIRE(model.run().empty());
  }
};

TEST_CASE("who owes takes nothing from whom it owes, and that keeps what it is owed",
          "[unit][preemption][explain]") {
  OwingModel owing;
  PreemptionModel& model = owing.model;
  const JobId rest = owing.submit(1, 8, OwingModel::kPlain);
  const JobId owed = owing.submit(2, 8, OwingModel::kPlain);
  owing.end_all();
  REQUIRE(model.running_of(owed) == 6);
  model.cancel(rest);
  const JobId urgent = owing.submit(1, 2, kUrgent);
  owing.pass(kWhile_ms);
  CHECK(model.run().empty());
  CHECK(why(model, urgent) == "preempts nobody: its tenant is at its mark while it owes others");
  // It gives nothing way any more, but what the other holds is owed to it still.
  model.cancel(owed);
  CHECK(model.run().empty());
  CHECK(why(model, urgent) ==
        "preempts nobody: of 6 tasks of other tenants that may be preempted 6 within their "
        "tenant's quota, what it is owed, or a min");
  // It has had all: 400 processor-seconds.
  owing.pass(200'000);
  CHECK(model.run().size() == 2);
}

TEST_CASE("who owes takes from others what is below its mark", "[unit][preemption]") {
  OwingModel owing;
  PreemptionModel& model = owing.model;
  model.tenant(3);
  const JobId owed = owing.submit(2, 8, OwingModel::kPlain, "x");
  const JobId borrowed = owing.submit(3, 4, OwingModel::kPlain, "y");
  owing.end_all();
  REQUIRE(model.running_of(owed) == 4);
  REQUIRE(model.running_of(borrowed) == 4);
  // Of its 8/3 it gives 4/3 way.
  (void)owing.submit(1, 4, kUrgent, "y");
  owing.pass(kWhile_ms);
  CHECK(model.run().size() == 1);
}

TEST_CASE("preemption comes to an end, whatever is asked for", "[property][preemption]") {
  std::size_t of_gangs = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    AllocatorSettings settings = default_settings();
    settings.accounting = draw(0, 1) == 0 ? Accounting::units : Accounting::time;
    PreemptionModel model{settings};
    model.cycle.pass_to(1'000'000);
    const auto tenants = static_cast<std::uint32_t>(draw(2, 4));
    const bool has_group = draw(0, 1) == 0;
    if (has_group) {
      GroupTerms faculty;
      faculty.max = cpu(static_cast<Amount>(draw(4, 12)) * 1000);
      model.group(1, faculty);
    }
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      TenantTerms terms;
      terms.weight = static_cast<Weight>(draw(1, 5));
      if (draw(0, 3) == 0) terms.min = cpu(static_cast<Amount>(draw(1, 2)) * 1000);
      model.tenant(id, has_group && draw(0, 2) > 0 ? in_group(1, terms) : terms);
    }
    for (std::uint32_t id = 1; id <= draw(1, 3); ++id)
      model.node(id, cpu(static_cast<Amount>(draw(2, 8)) * 1000));
    for (int step = 0; step < 20; ++step) {
      const auto tasks = static_cast<std::uint32_t>(draw(1, 6));
      model.submit({.tenant = TenantId{static_cast<std::uint32_t>(draw(1, tenants))},
                    .demand = cpu(static_cast<Amount>(draw(1, 4)) * 500),
                    .preemption = {.priority = static_cast<std::int32_t>(draw(0, 3)),
                                   .preempts = draw(0, 1) == 0,
                                   .is_preemptible = draw(0, 4) > 0},
                    .is_gang = draw(0, 3) == 0},
                   tasks);
      if (draw(0, 2) == 0 && !model.running().empty()) {
        const TaskKey done = model.running().begin()->first;
        model.end(done, model.running().begin()->second.told_to_end);
      }
      model.pass(static_cast<std::int64_t>(draw(0, 40'000)));
      for (const Reclaim& reclaim : model.run()) of_gangs += model.job(reclaim.task.job).is_gang;
      if (draw(0, 1) == 0) model.end_reclaimed();
    }
    // Requests stay as they are, and nothing ends but what is told to: in the end nothing is.
    int rounds = 0;
    for (int quiet = 0; quiet < 2; ++rounds) {
      REQUIRE(rounds < 200);
      model.end_reclaimed();
      model.pass(kWhile_ms);
      quiet = model.run().empty() ? quiet + 1 : 0;
    }
  }
  CHECK(of_gangs > 20);
}

}  // namespace
}  // namespace fairwater::test
