// Cycles by dominant shares where tenants are within others: the promise to siblings, and the
// examples of H-DRF's paper.
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "share_cluster.hpp"

namespace fairwater::test {
namespace {

TEST_CASE("by share, what a tenant leaves idle is for its siblings first", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster);
  cluster.node(1, cpu(100));
  const std::size_t max_deals = GENERATE(1, 1000);
  cluster.submit(kFirstOfA, waiting_tasks(200, cpu(1)));
  cluster.submit(kDeptB, waiting_tasks(200, cpu(1)));
  SECTION("one is idle") {
    cluster.run(max_deals);
    CHECK(cluster.held(kFirstOfA) == 50);
    CHECK(cluster.held(kDeptB) == 50);
  }
  SECTION("one is content with little") {
    cluster.submit(kSecondOfA, waiting_tasks(10, cpu(1)));
    cluster.run(max_deals);
    CHECK(cluster.held(kFirstOfA) == 40);
    CHECK(cluster.held(kSecondOfA) == 10);
    CHECK(cluster.held(kDeptB) == 50);
  }
  SECTION("one is kept from more by its max") {
    TenantTerms terms = tenant_in(kDeptA);
    terms.max = cpu(20);
    cluster.tenant(kSecondOfA, terms);
    cluster.submit(kSecondOfA, waiting_tasks(200, cpu(1)));
    cluster.run(max_deals);
    CHECK(cluster.held(kFirstOfA) == 30);
    CHECK(cluster.held(kSecondOfA) == 20);
    CHECK(cluster.held(kDeptB) == 50);
  }
  SECTION("one has tasks that fit nowhere") {
    cluster.submit(kSecondOfA, waiting_tasks(1, cpu(101)));
    cluster.run(max_deals);
    CHECK(cluster.held(kFirstOfA) == 50);
    CHECK(cluster.held(kDeptB) == 50);
  }
}

TEST_CASE("by share, jobs without room are looked past, in a tree too", "[unit][by_share]") {
  const std::uint32_t without_room = GENERATE(1U, 64U, 1000U);
  ShareCluster cluster;
  const bool has_groups = GENERATE(true, false);
  if (has_groups) two_departments(cluster);
  if (!has_groups) cluster.tenant(kFirstOfA, {});
  cluster.node(1, cpu(10));
  for (std::uint32_t i = 0; i < without_room; ++i)
    cluster.submit(kFirstOfA, waiting_tasks(1, cpu(11)));
  cluster.submit(kFirstOfA, waiting_tasks(4, cpu(1)));
  cluster.run();
  CHECK(cluster.held(kFirstOfA) == 4);
}

TEST_CASE("by share, weights count among siblings at each level", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster, 3);
  cluster.node(1, cpu(80));
  for (const std::uint32_t tenant : {kFirstOfA, kSecondOfA, kDeptB})
    cluster.submit(tenant, waiting_tasks(100, cpu(1)));
  cluster.run();
  CHECK(cluster.held(kFirstOfA) == 30);
  CHECK(cluster.held(kSecondOfA) == 10);
  CHECK(cluster.held(kDeptB) == 40);
}

TEST_CASE("by share, groups within groups leave to the nearest first", "[unit][by_share]") {
  ShareCluster cluster;
  cluster.group(1, group_in(kAtTop));
  cluster.group(2, group_in(1));
  cluster.tenant(21, tenant_in(2));
  cluster.tenant(22, tenant_in(2));
  cluster.tenant(11, tenant_in(1));
  cluster.tenant(31, tenant_in(kAtTop));
  cluster.node(1, cpu(80));
  for (const std::uint32_t tenant : {21U, 11U, 31U})
    cluster.submit(tenant, waiting_tasks(100, cpu(1)));
  cluster.run();
  CHECK(cluster.held(21) == 20);
  CHECK(cluster.held(11) == 20);
  CHECK(cluster.held(31) == 40);
}

TEST_CASE("by share, a group at its max leaves room to the others", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster);
  GroupTerms terms = group_in(kAtTop);
  terms.max = cpu(30);
  cluster.group(kDeptA, terms);
  cluster.node(1, cpu(100));
  for (const std::uint32_t tenant : {kFirstOfA, kSecondOfA, kDeptB})
    cluster.submit(tenant, waiting_tasks(200, cpu(1)));
  cluster.run();
  CHECK(cluster.held(kFirstOfA) == 15);
  CHECK(cluster.held(kSecondOfA) == 15);
  CHECK(cluster.held(kDeptB) == 70);
}

TEST_CASE("by share, a group below its own min comes first", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster);
  GroupTerms terms = group_in(kAtTop);
  terms.min[kCpu] = 60;
  cluster.group(kDeptA, terms);
  cluster.node(1, cpu(100));
  for (const std::uint32_t tenant : {kFirstOfA, kSecondOfA, kDeptB})
    cluster.submit(tenant, waiting_tasks(200, cpu(1)));
  std::map<GrantStep, int> steps;
  for (const Deal& deal : cluster.run())
    for (const Grant& grant : deal.grants) ++steps[grant.step];
  CHECK(cluster.held(kFirstOfA) == 30);
  CHECK(cluster.held(kSecondOfA) == 30);
  CHECK(cluster.held(kDeptB) == 40);
  CHECK(steps[GrantStep::guarantee] == 60);
  CHECK(steps[GrantStep::allowance] == 40);
}

TEST_CASE("by share, a tenant below its min comes before all in the tree", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster);
  TenantTerms terms = tenant_in(kDeptA);
  terms.min = cpu(70);
  cluster.tenant(kSecondOfA, terms);
  cluster.node(1, cpu(100));
  for (const std::uint32_t tenant : {kFirstOfA, kSecondOfA, kDeptB})
    cluster.submit(tenant, waiting_tasks(200, cpu(1)));
  cluster.run();
  // Then a counts with twice what a1 has, until that is as much by weight.
  CHECK(cluster.held(kSecondOfA) == 70);
  CHECK(cluster.held(kFirstOfA) == 10);
  CHECK(cluster.held(kDeptB) == 20);
}

TEST_CASE("by share, gangs start whole within trees", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster);
  cluster.node(1, cpu(4));
  cluster.node(2, cpu(8));
  WaitingRange gang = waiting_tasks(7, cpu(1));
  gang.is_gang = true;
  cluster.submit(kFirstOfA, gang);
  cluster.submit(kSecondOfA, waiting_tasks(2, cpu(1)));
  cluster.submit(kDeptB, waiting_tasks(10, cpu(1)));
  cluster.run();
  CHECK(cluster.held(kFirstOfA) == 7);
  CHECK(cluster.held(kSecondOfA) == 0);  // its part is in use; b has less
  CHECK(cluster.held(kDeptB) == 5);
}

TEST_CASE("a gang that does not fit any more keeps nobody from anything", "[unit][by_share]") {
  ShareCluster cluster;
  two_departments(cluster);
  cluster.node(1, cpu(4));
  cluster.node(2, cpu(8));
  WaitingRange gang = waiting_tasks(10, cpu(1));
  gang.is_gang = true;
  cluster.submit(kDeptB, waiting_tasks(1, cpu(1)));
  cluster.submit(kDeptB, gang);
  cluster.submit(kFirstOfA, waiting_tasks(20, cpu(1)));
  cluster.run();
  CHECK(cluster.held(kFirstOfA) == 11);
  CHECK(cluster.held(kDeptB) == 1);
}

TEST_CASE("what is blocked does not make a group's others smaller: the paper's example",
          "[unit][by_share]") {
  ShareCluster cluster;
  cluster.tenant(1, tenant_in(kAtTop));
  cluster.tenant(2, tenant_in(kAtTop));
  cluster.group(3, group_in(kAtTop));
  cluster.tenant(31, tenant_in(3));
  cluster.tenant(32, tenant_in(3));
  cluster.tenant(4, tenant_in(kAtTop));
  cluster.node(1, cpu(30) + of_gpus(30));
  for (const std::uint32_t of_cpu : {1U, 2U, 31U})
    cluster.submit(of_cpu, waiting_tasks(100, cpu(1)));
  for (const std::uint32_t of_gpu : {32U, 4U})
    cluster.submit(of_gpu, waiting_tasks(100, of_gpus(1)));
  cluster.run();
  CHECK(cluster.held(1) == 10);
  CHECK(cluster.held(2) == 10);
  CHECK(cluster.held(31) == 10);
  CHECK(cluster.held(32) == 15);
  CHECK(cluster.held(4) == 15);
}

// A group's sum would be the larger by the one that wants gpus, which nobody else wants: of what
// ends of the processors all would go to the leaf beside the group.
TEST_CASE("nobody in a group starves for what its siblings hold, however long tasks come and go",
          "[property][by_share]") {
  constexpr std::uint32_t kAlone = 1, kGroup = 2, kCpuSibling = 21, kGpuSibling = 22;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random{seed};
    ShareCluster cluster;
    cluster.tenant(kAlone, tenant_in(kAtTop));
    cluster.group(kGroup, group_in(kAtTop));
    cluster.tenant(kCpuSibling, tenant_in(kGroup));
    cluster.tenant(kGpuSibling, tenant_in(kGroup));
    cluster.node(1, cpu_memory(10, 1000) + of_gpus(10));
    // They have memory as well: of that there is enough, and it goes on to count.
    cluster.submit(kAlone, waiting_tasks(5000, cpu_memory(1, 10)));
    cluster.submit(kCpuSibling, waiting_tasks(5000, cpu_memory(1, 10)));
    cluster.submit(kGpuSibling, waiting_tasks(5000, cpu_memory(0, 10) + of_gpus(1)));
    cluster.run();
    CHECK(cluster.held(kGpuSibling) == 10);
    for (int cycle = 0; cycle < 300; ++cycle) {
      // One task at a time, mostly of processors, and sometimes several at once.
      for (auto ends = random() % 8 == 0 ? 4 : 1; ends > 0; --ends) {
        auto running = cluster.running().begin();
        std::advance(running, static_cast<std::ptrdiff_t>(random() % cluster.running().size()));
        cluster.end(running->first);
      }
      cluster.run();
      REQUIRE(cluster.held(kAlone) == 5);
      REQUIRE(cluster.held(kCpuSibling) == 5);
      REQUIRE(cluster.held(kGpuSibling) == 10);
    }
  }
}

}  // namespace
}  // namespace fairwater::test
