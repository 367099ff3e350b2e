// What a cluster is in the middle of when a simulation starts: an empty one by default.
#pragma once

#include <optional>
#include <vector>

#include "policy/allocator/deal.hpp"
#include "policy/ledger/iou_book.hpp"
#include "sim/engine/scheduler.hpp"

namespace fairwater::sim {

/// A task that runs at time 0. Its job was submitted by then, and it is among the job's first
/// tasks: those behind them wait.
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

/// Empty vectors: nobody has any. As after a coordinator's restart, fractions of a unit that a
/// debtor with a `repay_millionths` below one was about to pay back are forgotten.
struct InitialState {
  std::uint64_t position = 0;        ///< of the sequence, before `changes`
  std::vector<Units> carry;          ///< by tenant, of those that were there
  std::vector<IouBook::Iou> ious;    ///< members are places in Cluster::tenants
  std::vector<NodeIndex> closed;     ///< nodes that take no further task
  std::vector<RunningTask> running;  ///< fit on their nodes together
  std::vector<TermsChange> changes;  ///< made in this order, when all of the above stands
};

}  // namespace fairwater::sim
