// What a cluster is in the middle of when a simulation starts: an empty one by default.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/deal.hpp"
#include "policy/ledger/accounts.hpp"
#include "sim/engine/scheduler.hpp"

namespace fairwater::sim::inline engine {

/// A task that runs at time 0. Its job was submitted by then, and it is among the job's first
/// tasks: those behind them wait. Of an elastic job over nodes `run_ms` says what work is left.
struct RunningTask {
  TaskId task;
  NodeIndex node = 0;
  TimeMs left_ms = 0;  ///< until it ends by itself
  GrantStep step = GrantStep::allowance;
  bool beyond_quota = false;
  std::vector<std::string> devices{};  ///< by name: see Grant::devices
};

/// What the allocator calls them.
[[nodiscard]] inline TenantId tenant_id(TenantIndex tenant) { return {tenant + 1}; }
[[nodiscard]] inline NodeId node_id(NodeIndex node) { return {node + 1}; }

/// Empty vectors: nobody has any.
struct InitialState {
  /// Before the tree changed, of the tenants that were there: tenant_id() and node_id() are the
  /// ids.
  AccountsSnapshot accounts;
  std::vector<NodeIndex> closed;     ///< nodes that take no further task
  std::vector<RunningTask> running;  ///< fit on their nodes together
  /// When tenants' users were granted something last: numbers that grow with each grant.
  std::map<TenantIndex, std::map<std::string, std::uint64_t>> served;
  /// What the cluster's tenants and groups were until all of the above stood: those who come stand
  /// behind those that were there. None: what they are.
  std::optional<TenantTree> before;
};

[[nodiscard]] inline TenantTree tenant_tree(const Cluster& cluster) {
  TenantTree tree;
  for (std::uint32_t i = 0; i < cluster.groups.size(); ++i)
    tree.groups.push_back({GroupId{i + 1}, cluster.groups[i]});
  for (TenantIndex i = 0; i < cluster.tenants.size(); ++i)
    tree.tenants.push_back({tenant_id(i), cluster.tenants[i].terms});
  return tree;
}

}  // namespace fairwater::sim::inline engine
