// What a cluster is in the middle of when a simulation starts: an empty one by default.
#pragma once

#include <optional>
#include <vector>

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
};

/// A tenant whose terms in Cluster::tenants hold from time 0 on.
struct TermsChange {
  TenantIndex tenant = 0;
  std::optional<TenantTerms> before;  ///< none: it comes; it stands behind those that were there
};

/// What the allocator calls them.
[[nodiscard]] inline TenantId tenant_id(TenantIndex tenant) { return {tenant + 1}; }
[[nodiscard]] inline NodeId node_id(NodeIndex node) { return {node + 1}; }

/// Empty vectors: nobody has any.
struct InitialState {
  /// Before `changes`, of the tenants that were there: tenant_id() and node_id() are the ids.
  AccountsSnapshot accounts;
  std::vector<NodeIndex> closed;     ///< nodes that take no further task
  std::vector<RunningTask> running;  ///< fit on their nodes together
  std::vector<TermsChange> changes;  ///< made in this order, when all of the above stands
};

}  // namespace fairwater::sim::inline engine
