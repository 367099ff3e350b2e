// Elastic jobs in the live allocator: they grow into what is idle and nothing else, give it back to
// whoever is within quota, and no more than that takes; against a slow look at every node.
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "elastic_model.hpp"
#include "policy/allocator/unheard_ends.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("an elastic job starts within its quota and grows into what is idle", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.node(2, cpu(4000));
  model.submit(1, cpu(1000), 2, 20);
  CHECK(model.run().empty());
  CHECK(model.claimed(1) == 2);
  CHECK(model.extras(1) == 6);
  // What it started with is half a loan of the other's; growth is none, nor use of its quota.
  CHECK(model.cycle.tenant(TenantId{1}).net == -10);
  CHECK(model.cycle.tenant(TenantId{1}).request == cpu(2000));
}

TEST_CASE("what has grown makes room for who is within quota, and no more than is needed",
          "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.node(2, cpu(4000));
  model.submit(1, cpu(1000), 2, 20);
  model.run();
  model.submit(2, cpu(2000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].node == reclaims[1].node);
  CHECK(reclaims[0].claimant == TenantId{2});
  // The newest go first.
  CHECK(reclaims[0].task.index > reclaims[1].task.index);
  // While they end nothing more is told to, and nothing grows where they are.
  CHECK(model.run().empty());
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 1);
  CHECK(model.extras(1) == 4);
}

TEST_CASE("nothing grows into room of which its tenant has not heard that it is free",
          "[unit][growth]") {
  ElasticModel model;
  for (const std::uint32_t tenant : {1, 2, 3}) model.tenant(tenant);
  model.node(1, cpu(4000));
  const JobId fails = model.submit(2, cpu(1000), 1, 1);
  const JobId succeeds = model.submit(2, cpu(1000), 1, 1);
  REQUIRE(model.run().empty());
  model.submit(1, cpu(1000), 1, 8);
  REQUIRE(model.run().empty());
  REQUIRE(model.extras(1) == 1);
  const TaskKey failed{fails, 0, 1}, succeeded{succeeds, 0, 1};
  model.end_unheard(failed);
  model.end_unheard(succeeded);
  CHECK(model.run().empty());
  CHECK(model.extras(1) == 1);
  SECTION("it waits again") {
    model.note_end(failed, true);
    CHECK(model.run().empty());
    CHECK(model.claimed(2) == 1);
    CHECK(model.extras(1) == 1);
  }
  SECTION("others wait within their quota") {
    model.submit(3, cpu(1000), 2, 2);
    CHECK(model.run().empty());
    CHECK(model.claimed(3) == 2);
    model.note_end(failed, false);
  }
  model.note_end(succeeded, false);
  CHECK(model.run().empty());
  CHECK(model.extras(1) + model.claimed(2) + model.claimed(3) == 3);
}

TEST_CASE("ends are unheard until their tenant, or their node, is gone", "[unit][growth]") {
  UnheardEnds ends;
  const TaskKey first{JobId{1}, 0, 1}, second{JobId{2}, 0, 1}, third{JobId{3}, 0, 1};
  ends.add(first, TenantId{1}, NodeId{1}, cpu(1000));
  ends.add(first, TenantId{1}, NodeId{1}, cpu(1000));  // told twice
  ends.add(second, TenantId{2}, NodeId{1}, cpu(2000));
  ends.add(third, TenantId{2}, NodeId{2}, cpu(4000));
  CHECK(ends.on(NodeId{1}) == cpu(3000));
  ends.forget(TenantId{2});
  CHECK(ends.on(NodeId{1}) == cpu(1000));
  CHECK(ends.on(NodeId{2}).is_zero());
  ends.add(third, TenantId{2}, NodeId{2}, cpu(4000));
  ends.hear(std::vector{first, second});
  CHECK(ends.on(NodeId{1}).is_zero());
  CHECK(ends.on(NodeId{2}) == cpu(4000));
  ends.forget(NodeId{2});
  CHECK(ends.on(NodeId{2}).is_zero());
}

TEST_CASE("who waits beyond its quota takes nothing back", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2, {.max = cpu(1000)});
  model.node(1, cpu(4000));
  model.submit(1, cpu(1000), 1, 4);
  model.run();
  model.submit(2, cpu(1000), 2, 2);
  CHECK(model.run().size() == 1);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 1);
  CHECK(model.extras(1) == 2);
}

TEST_CASE("a tenant's own growth makes room below its max", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1, {.max = cpu(6000)});
  model.node(1, cpu(8000));
  model.submit(1, cpu(1000), 1, 8);
  model.run();
  CHECK(model.extras(1) == 5);
  model.submit(1, cpu(2000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  CHECK(reclaims[0].claimant == TenantId{1});
  SECTION("at once") {}
  SECTION("after a while in which it is looked at again") {
    model.settle(1000);
    CHECK(model.run().empty());
    model.settle(1000);
    CHECK(model.run().empty());
  }
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(1) == 2);
}

TEST_CASE("nothing grows into a part of what was given back below a max", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1, {.max = cpu(4000)});
  model.node(1, cpu(8000));
  model.submit(1, cpu(500), 1, 9);
  model.run();
  REQUIRE(model.extras(1) == 7);
  model.submit(1, cpu(1000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 2);
  model.end(reclaims[0].task, true);
  CHECK(model.run().empty());  // half of what the other waits for
  CHECK(model.extras(1) == 6);
  model.end(reclaims[1].task, true);
  CHECK(model.run().empty());
  CHECK(model.claimed(1) == 2);
  CHECK(model.extras(1) == 5);
}

TEST_CASE("who has most credit grows first, and who has least gives back first", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  model.tenant(3);
  model.node(1, cpu(6000));
  model.submit(1, cpu(1000), 1, 6);
  model.run();
  REQUIRE(model.extras(1) == 5);
  model.settle(1000);  // one pays, the others earn
  CHECK(model.cycle.tenant(TenantId{1}).credit < 0);
  CHECK(model.cycle.tenant(TenantId{2}).credit > 0);
  model.submit(2, cpu(1000), 1, 6);
  model.run();
  model.end_reclaimed();
  model.run();
  CHECK(model.extras(1) == 4);
  // A task of one's ends: two has more credit.
  const auto of_one =
      std::find_if(model.running().begin(), model.running().end(), [](const auto& entry) {
        return entry.second.grant.tenant == TenantId{1} &&
               entry.second.grant.step == GrantStep::growth;
      });
  model.end(of_one->first, true);
  model.run();
  CHECK(model.extras(2) == 1);
  CHECK(model.extras(1) == 3);
  // Three comes: one gives back, not two.
  model.submit(3, cpu(1000), 1, 1);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 1);
  CHECK(reclaims[0].tenant == TenantId{1});
}

TEST_CASE("under bra nothing grows, and crea grows whoever has fewest", "[unit][growth]") {
  AllocatorSettings settings = default_settings();
  settings.growth = GrowthRule::bra;
  ElasticModel none(settings);
  none.tenant(1);
  none.node(1, cpu(4000));
  none.submit(1, cpu(1000), 1, 4);
  none.run();
  CHECK(none.extras(1) == 0);

  settings.growth = GrowthRule::crea;
  ElasticModel even(settings);
  even.tenant(1);
  even.tenant(2);
  even.node(1, cpu(6000));
  even.submit(1, cpu(1000), 1, 6);
  even.run();
  even.submit(2, cpu(1000), 1, 6);
  even.run();
  even.end_reclaimed();
  even.run();
  CHECK(even.extras(1) == 4);
  const TaskKey newest =
      std::prev(std::find_if(even.running().begin(), even.running().end(), [](const auto& entry) {
        return entry.first.job == JobId{2};
      }))->first;
  even.settle(1000);
  even.end(newest, true);
  even.run();
  CHECK(even.extras(2) == 1);
}

TEST_CASE("with a line for debts who owes too much gives back what it does not earn",
          "[unit][growth]") {
  AllocatorSettings settings = default_settings();
  settings.growth = GrowthRule::qrea_rebalance;
  ElasticModel model(settings);
  model.tenant(1);
  model.tenant(2);
  model.node(1, cpu(4000));
  model.submit(1, cpu(1000), 1, 4);
  model.run();
  REQUIRE(model.extras(1) == 3);
  for (int second = 0; second < 60 && model.extras(1) == 3; ++second) {
    model.settle(1000);
    model.run();
    model.end_reclaimed();
    model.run();
  }
  // Its part is two processors, of which one runs: it earns a third of the extras of three.
  CHECK(model.extras(1) == 1);
}

TEST_CASE("a job of several tasks starts whole in what has grown", "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2);
  for (std::uint32_t node = 1; node <= 3; ++node) model.node(node, cpu(2000));
  model.submit(1, cpu(1000), 3, 6);
  model.run();
  REQUIRE(model.extras(1) == 3);
  DemandWindow window{.tenant = TenantId{2},
                      .next = {},
                      .pending = cpu(3000),
                      .pending_tasks = 3,
                      .seen_deal = model.cycle.last_deal()};
  window.next.push_back(
      {.job = JobId{99}, .count = 3, .demand = cpu(1000), .rule = nullptr, .is_gang = true});
  model.cycle.take_window(window);
  for (const Deal& deal : model.cycle.run(100)) REQUIRE(deal.grants.empty());
  CHECK(model.cycle.take_reclaims().size() == 3);
  // One of four is beyond its quota of three processors: none of it takes anything.
  window.next.front().job = JobId{98};
  window.next.front().count = 4;
  window.pending = cpu(4000);
  window.pending_tasks = 4;
  model.cycle.take_window(window);
  (void)model.cycle.run(100);
  CHECK(model.cycle.take_reclaims().empty());
}

TEST_CASE("nothing grows into room that a gang will have with what ends elsewhere",
          "[unit][growth]") {
  ElasticModel model;
  model.tenant(1);
  model.tenant(2, {.weight = 3});
  for (const std::uint32_t node : {1, 2}) model.node(node, cpu(2000));
  model.submit(1, cpu(1000), 1, 8);
  REQUIRE(model.run().empty());
  REQUIRE(model.extras(1) == 3);
  model.submit(2, cpu(1000), 3, 3, true);
  const auto reclaims = model.run();
  REQUIRE(reclaims.size() == 3);
  const auto on_first = std::find_if(reclaims.begin(), reclaims.end(), [](const Reclaim& reclaim) {
    return reclaim.node == NodeId{1};
  });
  REQUIRE(on_first != reclaims.end());
  model.end(on_first->task, true);
  CHECK(model.run().empty());
  CHECK(model.extras(1) == 2);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 3);
  CHECK(model.extras(1) == 0);
}

TEST_CASE("what has grown makes room also where a gang is to start some time", "[unit][growth]") {
  ElasticModel model(default_settings(Accounting::time));
  model.cycle.pass_to(1'000'000);
  for (const std::uint32_t id : {1, 2}) {
    model.tenant(id);
    model.node(id, cpu(4000));
  }
  model.submit(1, cpu(1000), 4, 4, false, 600'000);
  model.submit(2, cpu(1000), 1, 8, false, 2'400'000);
  REQUIRE(model.run().empty());
  REQUIRE(model.extras(2) == 3);
  model.submit(1, cpu(1000), 7, 7, true, 600'000);
  REQUIRE(model.run().empty());
  model.submit(2, cpu(1000), 1, 1, false, 60'000);
  CHECK(model.run().size() == 1);
  model.end_reclaimed();
  CHECK(model.run().empty());
  CHECK(model.claimed(2) == 2);
  CHECK(model.extras(2) == 2);
}

TEST_CASE("random elastic clusters grow, give back and keep all bounds", "[property][growth]") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](std::uint64_t from, std::uint64_t to) {
      return from + random() % (to - from + 1);
    };
    AllocatorSettings settings = default_settings();
    settings.growth = static_cast<GrowthRule>(draw(0, 1) == 0 ? 0 : 2);
    ElasticModel model(settings);
    const auto tenants = static_cast<std::uint32_t>(draw(1, 4));
    for (std::uint32_t id = 1; id <= tenants; ++id) {
      TenantTerms terms;
      terms.weight = static_cast<Weight>(draw(1, 5));
      if (draw(0, 3) == 0) terms.max = cpu_memory(static_cast<Amount>(draw(4, 8)) * 1000, 9000);
      if (draw(0, 3) == 0) terms.min = cpu(static_cast<Amount>(draw(1, 2)) * 1000);
      model.tenant(id, terms);
    }
    for (std::uint32_t id = 1; id <= draw(1, 4); ++id)
      model.node(id, cpu_memory(static_cast<Amount>(draw(2, 8)) * 1000, 8192));
    std::map<TaskKey, bool> unheard;  // whether they wait again
    const auto hear = [&] {
      const auto [key, again] = *unheard.begin();
      unheard.erase(unheard.begin());
      model.note_end(key, again);
    };
    for (int step = 0; step < 60; ++step) {
      if (!unheard.empty() && draw(0, 1) == 0) hear();
      switch (draw(0, 5)) {
        case 0:
        case 1: {
          const auto min = static_cast<std::uint32_t>(draw(1, 3));
          const auto more = static_cast<std::uint32_t>(draw(0, 1) == 0 ? 0 : draw(1, 8));
          model.submit(static_cast<std::uint32_t>(draw(1, tenants)),
                       cpu_memory(static_cast<Amount>(draw(1, 4)) * 500,
                                  static_cast<Amount>(draw(0, 4)) * 256),
                       min, min + more);
          break;
        }
        case 2:
          model.end_reclaimed();
          break;
        case 3:
          model.settle(static_cast<std::int64_t>(draw(1, 5000)));
          break;
        default:
          if (model.running().empty()) break;
          auto task = model.running().begin();
          std::advance(task, static_cast<std::ptrdiff_t>(draw(0, model.running().size() - 1)));
          const TaskKey key = task->first;
          const bool again = task->second.told_to_end || draw(0, 3) == 0;
          if (draw(0, 2) == 0) {
            model.end_unheard(key);
            unheard.emplace(key, again);
          } else {
            model.end(key, again);
          }
      }
      model.run();
    }
    while (!unheard.empty()) hear();
    model.run();
  }
}

}  // namespace
}  // namespace fairwater::test
