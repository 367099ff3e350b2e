// What a restart makes of what was stored.
#include "state/snapshot.hpp"

#include <catch2/catch.hpp>

namespace fairwater {
namespace {

TenantRecord stored_tenant(std::uint32_t id, Weight weight) {
  TenantRecord record;
  record.id = TenantId{id};
  record.spec.name = "t" + std::to_string(id);
  record.spec.weight = weight;
  return record;
}

NodeRecord stored_node() {
  NodeRecord record;
  record.id = NodeId{4};
  record.spec.traits.name = "n4";
  record.spec.capacity = {{"cpu", 4000}, {"memory", 8192}};
  return record;
}

JobRecord stored_job() {
  JobRecord job;
  job.id = JobId{9};
  job.tenant = TenantId{1};
  job.spec.resources = {{"cpu", 1000}};
  job.tasks.total = 8;
  return job;
}

TaskRecord stored_task() {
  TaskRecord task;
  task.state = TaskState::running;
  task.attempt = 2;
  task.node = NodeId{4};
  task.cost = 10;
  task.beyond_quota = true;
  return task;
}

AllocatorSettings settings_of(const ResourceCatalog& catalog) {
  AllocatorSettings settings;
  settings.granules = catalog.granules();
  settings.units = catalog.units();
  return settings;
}

}  // namespace

TEST_CASE("what runs is held where it runs, under its attempt", "[unit][snapshot]") {
  const auto held = held_task(stored_job(), 3, stored_task(), {}, {});
  CHECK(held.node == NodeId{4});
  CHECK(held.grant.task == TaskKey{JobId{9}, 3, 2});
  CHECK(held.grant.tenant == TenantId{1});
  CHECK(held.grant.cost == 10);
  CHECK(held.grant.demand[kCpu] == 1000);
  CHECK(held.grant.beyond_quota);
}

TEST_CASE("a cycle is restored with its accounts, its nodes and what they hold",
          "[unit][snapshot]") {
  const ResourceCatalog catalog;
  ClusterSnapshot snapshot;
  snapshot.tree = tree_of({stored_tenant(1, 2), stored_tenant(2, 1)}, catalog);
  snapshot.accounts = {.position = 2,
                       .tenants = {{TenantId{1}, 3, 250'000}, {TenantId{2}, -3, 0}},
                       .ious = {{1, 2, 25, 7}},
                       .last_iou_age = 9,
                       .reservations = {{NodeId{4}, {TenantId{2}, ResourceVector::filled(7)}}}};
  snapshot.nodes = {node_of(stored_node(), catalog)};
  snapshot.held = {held_task(stored_job(), 3, stored_task(), catalog, {})};
  snapshot.last_deal = 12;

  const DealCycle cycle = restore(settings_of(catalog), snapshot);
  const Allocator& allocator = cycle.allocator();
  CHECK(allocator.accounts().snapshot() == snapshot.accounts);
  CHECK(allocator.last_deal() == 12);
  CHECK(allocator.tenant(TenantId{1}).deficit == 3);
  CHECK(allocator.tenant(TenantId{1}).net == -25);
  CHECK(allocator.tenant(TenantId{1}).running_tasks == 1);
  CHECK(allocator.tenant(TenantId{2}).net == 25);
  const auto node = allocator.node(NodeId{4});
  CHECK(node.running_tasks == 1);
  CHECK(node.free[kCpu] == 3000);
  CHECK_FALSE(node.accepts);  // nobody has heard of it yet
  CHECK_FALSE(cycle.is_due());
}

}  // namespace fairwater
