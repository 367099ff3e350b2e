// What a coordinator needs of an allocation policy: events go in, deals come out, and what it shows
// and explains. The sequence with a ledger (policy/allocator/deal_cycle.hpp) is one.
//
// A policy's deals say what they grant. Those of one that keeps no accounts say that
// (Deal::keeps_accounts) and nothing more: the ledger checks and applies a deal's lines, loans and
// repayments only where there are accounts that they move.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/allocator.hpp"

namespace fairwater::inline policy::inline allocator {

class Allocation {
 public:
  Allocation() = default;
  Allocation(const Allocation&) = default;
  Allocation(Allocation&&) = default;
  Allocation& operator=(const Allocation&) = default;
  Allocation& operator=(Allocation&&) = default;
  virtual ~Allocation() = default;

  // -- after a restart, when all tenants and nodes are set. See Allocator.
  virtual void restore(const AccountsSnapshot& accounts) = 0;
  virtual void restore_held(std::span<const HeldTask> held) = 0;
  virtual void restore_last_deal(std::uint64_t number) = 0;
  virtual void set_incarnation(std::uint32_t incarnation) = 0;

  // -- what is known. See Allocator.
  virtual void set_tenant(TenantId tenant, const TenantTerms& terms) = 0;
  virtual void set_tree(const TenantTree& tree, std::span<const Accounts::Division> divided) = 0;
  virtual Units remove_tenant(TenantId tenant) = 0;
  virtual void set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                        bool accepts) = 0;
  virtual void close_node_from(NodeId node, std::optional<LedgerMs> at_ms) = 0;
  virtual void remove_node(NodeId node) = 0;
  /// The node reported: it may have room.
  virtual void beat(NodeId node) = 0;
  virtual void take_window(DemandWindow window) = 0;
  virtual void withdraw(TenantId tenant, JobId job) = 0;
  virtual bool release(const TaskKey& task) = 0;
  virtual bool release_unheard(const TaskKey& task) = 0;
  virtual void note_told_to_end(const TaskKey& task) = 0;
  virtual void take_back(TenantId borrower, const std::vector<Advance>& advances) = 0;
  // -- debts. See IouBook and Allocator; none where there are no accounts.
  [[nodiscard]] virtual std::vector<IouBook::Iou> debts_of(TenantId debtor) const = 0;
  virtual void forgive(TenantId debtor, std::span<const ForgivenDebt> debts) = 0;
  // -- time. See Allocator; settlements where an account counts it.
  virtual void pass_to(LedgerMs now_ms) = 0;
  virtual std::optional<TimeSettlement> settle_time() = 0;
  /// Everything may have changed.
  virtual void consider_all_nodes() = 0;

  // -- growth of elastic jobs; none under a policy that leaves them as they started
  /// What must end since the last call, see Allocator::reclaim. To be called after every run().
  [[nodiscard]] virtual std::vector<Reclaim> take_reclaims() { return {}; }
  /// Something may have to end: settle_credits() is to be called each second.
  [[nodiscard]] virtual bool may_reclaim() const { return false; }
  /// See Allocator.
  virtual std::optional<CreditSettlement> settle_credits(std::int64_t) { return std::nullopt; }

  // -- deals
  [[nodiscard]] virtual bool is_due() const = 0;
  /// Deals the nodes that are due until `max_deals` deals are made or these have `max_entries`
  /// (Deal::entries) together; what is left stays due. Empty when nobody can use any room.
  [[nodiscard]] virtual std::vector<Deal> run(std::size_t max_deals, std::size_t max_entries) = 0;
  [[nodiscard]] virtual std::uint64_t last_deal() const = 0;

  // -- views. See Allocator.
  [[nodiscard]] virtual TenantView tenant(TenantId tenant) const = 0;
  [[nodiscard]] virtual NodeView node(NodeId node) const = 0;
  [[nodiscard]] virtual ClusterUse use() const = 0;
  [[nodiscard]] virtual std::uint64_t position() const = 0;  ///< 0 without a sequence
  [[nodiscard]] virtual bool could_ever_fit(const ResourceVector& demand,
                                            const PlacementRule* rule) const = 0;
  [[nodiscard]] virtual std::vector<Obstacle> explain_waiting(TenantId tenant, JobId job,
                                                              std::uint32_t index,
                                                              const ObstacleNames& names) const = 0;
  [[nodiscard]] virtual std::optional<std::int64_t> starts_in_ms(TenantId tenant,
                                                                 JobId job) const = 0;
  [[nodiscard]] virtual std::optional<ExplainedMark> explain_mark(TenantId tenant) const = 0;
};

}  // namespace fairwater::inline policy::inline allocator
