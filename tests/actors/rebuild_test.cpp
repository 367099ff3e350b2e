// What the coordinator deals by when it has begun anew from the ledger.
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "actors/coordinator/state.hpp"

namespace fairwater {
namespace {

using coordination::CoordinatorState;
using coordination::NodeEntry;

NodeRecord node_record(NodeId id, Amount cpu) {
  NodeRecord record;
  record.id = id;
  record.spec.traits.name = "node" + std::to_string(id.value);
  record.spec.capacity = {{"cpu", cpu}};
  return record;
}

NodeEntry entry_of(const NodeRecord& record, bool accepts) {
  NodeEntry entry;
  entry.record = record;
  entry.accepts = accepts;
  return entry;
}

TEST_CASE("nodes that registered while the ledger was being read are dealt to", "[actor]") {
  auto context = std::make_shared<ClusterContext>();
  context->ledger_end = [] { return LedgerEnd{}; };
  const auto& catalog = context->catalog;
  CoordinatorState state;
  state.context = context;
  ClusterSnapshot snapshot;
  snapshot.nodes = {node_of(node_record(NodeId{1}, 1'000), catalog),
                    node_of(node_record(NodeId{2}, 1'000), catalog)};
  state.nodes[NodeId{1}] = entry_of(node_record(NodeId{1}, 1'000), false);
  state.nodes[NodeId{2}] = entry_of(node_record(NodeId{2}, 4'000), true);  // it has grown
  state.nodes[NodeId{3}] = entry_of(node_record(NodeId{3}, 2'000), true);  // it is new

  rebuild(state, snapshot, 0);
  for (const auto& [id, node] : state.nodes)
    CHECK(state.allocation->node(id).capacity[kCpu] == node.record.spec.capacity.at("cpu"));
  state.allocation->set_tenant(TenantId{1}, {});
  ResourceVector demand;
  demand[kCpu] = 1000;
  ResourceVector pending;
  pending[kCpu] = 9000;
  DemandWindow window{
      .tenant = TenantId{1}, .next = {}, .pending = pending, .pending_tasks = 9, .seen_deal = 0};
  window.next.push_back({.job = JobId{1}, .count = 9, .demand = demand, .rule = nullptr});
  state.allocation->take_window(window);
  const auto deals = state.allocation->run(10, 1000);
  REQUIRE(deals.size() == 2);  // the first node takes nothing
  CHECK(deals[0].grants.size() == 4);
  CHECK(deals[1].grants.size() == 2);
}

}  // namespace
}  // namespace fairwater
