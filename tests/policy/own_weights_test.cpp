// Weights of single resources: what belongs to whom, however the ledger counts.
#include <catch2/catch.hpp>

#include "allocator_cluster.hpp"
#include "share_cluster.hpp"
#include "timed_cluster.hpp"

namespace fairwater::test {
namespace {

constexpr std::uint32_t kPlain = 1;
constexpr std::uint32_t kHeavy = 2;  // of memory it has three times the other's

TenantTerms heavy_of_memory(GroupId group = {}) {
  TenantTerms terms;
  terms.place = QuotaPlace{.group = group};
  terms.place->own_weights[kMemory] = 3;
  return terms;
}

TEST_CASE("of each resource quotas follow the weights for it", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(kPlain, {});
  cluster.tenant(kHeavy, heavy_of_memory());
  cluster.node(1, cpu_memory(8000, 16'384));
  for (const std::uint32_t tenant : {kPlain, kHeavy}) {
    cluster.submit(tenant, 100, cpu_memory(1000, 512));
    cluster.refresh(tenant);
  }
  const auto quota = [&](std::uint32_t tenant) {
    return cluster.allocator.tenant(TenantId{tenant}).quota;
  };
  CHECK(quota(kPlain) == cpu_memory(4000, 4096));
  CHECK(quota(kHeavy) == cpu_memory(4000, 12'288));
  // Who may not borrow has its share by the same weights.
  TenantTerms bound = heavy_of_memory();
  bound.may_borrow = false;
  cluster.tenant(kHeavy, bound);
  cluster.tenant(kPlain, {.max = cpu_memory(1000, 512)});
  CHECK(quota(kHeavy) == cpu_memory(4000, 12'288));
  SECTION("also those of groups, at each level") {
    const GroupId group{1};
    cluster.group(group.value, {.place = bound.place.value()});
    cluster.tenant(kPlain, {});
    for (const std::uint32_t tenant : {3U, 4U}) {
      cluster.tenant(tenant, tenant == 3 ? heavy_of_memory(group)
                                         : TenantTerms{.place = QuotaPlace{.group = group}});
      cluster.submit(tenant, 100, cpu_memory(1000, 512));
      cluster.refresh(tenant);
    }
    cluster.tenant(kHeavy, {.max = {}});
    CHECK(quota(kPlain) == cpu_memory(4000, 4096));
    CHECK(quota(3) == cpu_memory(2000, 9216));
    CHECK(quota(4) == cpu_memory(2000, 3072));
    GroupTerms lighter{.place = {}};
    cluster.group(group.value, lighter);
    CHECK(quota(kPlain) == cpu_memory(4000, 8192));
    CHECK(quota(3) == cpu_memory(2000, 6144));
  }
}

TEST_CASE("by units a tenant holds what its quota by its own weights is", "[unit][allocator]") {
  TestCluster cluster;
  cluster.tenant(kPlain, {});
  cluster.tenant(kHeavy, heavy_of_memory());
  cluster.node(1, cpu_memory(16'000, 16'384));
  for (const std::uint32_t tenant : {kPlain, kHeavy}) {
    cluster.submit(tenant, 1000, cpu_memory(100, 1024));
    cluster.refresh(tenant);
  }
  cluster.deal(1);
  for (int turn = 0; turn < 60; ++turn) cluster.turn_over_oldest();
  CHECK(cluster.held_cpu(kPlain) == 400);
  CHECK(cluster.held_cpu(kHeavy) == 1200);
}

TEST_CASE("by time a tenant holds what belongs to it by its own weights", "[unit][by_time]") {
  AllocatorSettings settings = default_settings();
  settings.accounting = Accounting::time;
  TimedCluster cluster(settings);
  cluster.tenant(kPlain, {});
  cluster.tenant(kHeavy, heavy_of_memory());
  cluster.node(1, cpu_memory(16'000, 16'384));
  TimedCluster::Task task = task_of(1000);
  task.demand = cpu_memory(100, 1024);
  for (const std::uint32_t tenant : {kPlain, kHeavy}) cluster.submit(tenant, 100'000, task);
  cluster.run_until(20'000);
  CHECK(cluster.held(kPlain) == 4);
  CHECK(cluster.held(kHeavy) == 12);
  CHECK(cluster.net(kHeavy) == Approx(0).margin(100));
}

TEST_CASE("by dominant share it has by its own weights", "[unit][by_share]") {
  ShareCluster cluster;
  cluster.node(1, cpu_memory(16'000, 16'384));
  cluster.tenant(kPlain, {});
  cluster.tenant(kHeavy, heavy_of_memory());
  SECTION("of the resource that it has more weight for") {
    for (const std::uint32_t tenant : {kPlain, kHeavy})
      cluster.submit(tenant, waiting_tasks(100, cpu_memory(100, 1024)));
    cluster.run();
    CHECK(cluster.held(kPlain) == 4);
    CHECK(cluster.held(kHeavy) == 12);
  }
  SECTION("of others as much as everybody") {
    for (const std::uint32_t tenant : {kPlain, kHeavy})
      cluster.submit(tenant, waiting_tasks(100, cpu_memory(1000, 128)));
    cluster.run();
    CHECK(cluster.held(kPlain) == 8);
    CHECK(cluster.held(kHeavy) == 8);
  }
}

}  // namespace
}  // namespace fairwater::test
