// What deals build on: the value from which a coordinator's restart, its beginning anew, the
// simulator and what-if start, and the one function that makes a cycle of it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/job.hpp"
#include "model/node.hpp"
#include "model/resources.hpp"
#include "model/tenant.hpp"
#include "policy/allocator/deal_cycle.hpp"

namespace fairwater::inline state {

struct ClusterSnapshot {
  struct Node {
    NodeId id;
    NodeTraits traits;
    ResourceVector capacity;
    bool accepts = false;  ///< nobody has been heard of yet
  };

  TenantTree tree;
  AccountsSnapshot accounts;
  std::vector<Node> nodes;
  std::vector<HeldTask> held;   ///< what runs, or is about to
  std::uint64_t last_deal = 0;  ///< see Allocator::restore_last_deal
  LedgerMs clock_ms = 0;        ///< where the ledger counts units: see Allocator::pass_to
};

/// What the ledger keeps, in the allocator's terms. It was admitted: whatever the catalog does not
/// know is a broken invariant.
[[nodiscard]] TenantTree tree_of(const std::vector<TenantRecord>& tenants,
                                 const ResourceCatalog& catalog);
[[nodiscard]] ClusterSnapshot::Node node_of(const NodeRecord& record,
                                            const ResourceCatalog& catalog);
/// The task runs; what is left of its time limit counts from `now`.
[[nodiscard]] HeldTask held_task(const JobRecord& job, std::uint32_t index, const TaskRecord& task,
                                 const ResourceCatalog& catalog, WallTime now);

/// Same snapshot, same deals.
[[nodiscard]] DealCycle restore(const AllocatorSettings& settings, const ClusterSnapshot& snapshot);

}  // namespace fairwater::inline state
