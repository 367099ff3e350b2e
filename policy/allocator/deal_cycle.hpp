// A coordinator's turns around the allocator: which nodes may have room for somebody, and the deals
// of one cycle. The coordinator and the simulator drive the same one, so that what the simulator
// says of a policy is what a coordinator would do; but for places among many nodes (PlaceCare).
#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "policy/allocator/allocation.hpp"

namespace fairwater::inline policy::inline allocator {

/// Where the ledger counts time and there are many nodes: how the places of those who wait follow.
enum class PlaceCare : std::uint8_t {
  bounded,   ///< nodes without room, and who is not first in turn, are given places by and by
  thorough,  ///< by every node to all with every window: O(nodes * waiting)
};

class DealCycle final : public Allocation {
 public:
  explicit DealCycle(Allocator allocator) : allocator_(std::move(allocator)) {}

  void set_care(PlaceCare care) { care_ = care; }

  [[nodiscard]] Allocator& allocator() { return allocator_; }
  [[nodiscard]] const Allocator& allocator() const { return allocator_; }

  void restore(const AccountsSnapshot& accounts) override { allocator_.restore(accounts); }
  void restore_held(std::span<const HeldTask> held) override { allocator_.restore_held(held); }
  void restore_last_deal(std::uint64_t number) override { allocator_.restore_last_deal(number); }
  void set_incarnation(std::uint32_t incarnation) override {
    allocator_.set_incarnation(incarnation);
  }

  void set_tenant(TenantId tenant, const TenantTerms& terms) override {
    allocator_.set_tenant(tenant, terms);
  }
  void set_tree(const TenantTree& tree, std::span<const Accounts::Division> divided) override {
    allocator_.set_tree(tree, divided);
  }
  Units remove_tenant(TenantId tenant) override { return allocator_.remove_tenant(tenant); }
  /// A node that does not accept is never due.
  void set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                bool accepts) override;
  void close_node_from(NodeId node, std::optional<LedgerMs> at_ms) override;
  void remove_node(NodeId node) override;
  void beat(NodeId node) override;
  /// Somebody who waits makes every node due that may have room. Where the ledger counts time and
  /// there are few nodes, those without room are dealt too, and give places anew.
  void take_window(DemandWindow window) override;
  void withdraw(TenantId tenant, JobId job) override;
  bool release(const TaskKey& task) override { return allocator_.release(task); }
  bool release_unheard(const TaskKey& task) override { return allocator_.release_unheard(task); }
  void note_told_to_end(const TaskKey& task) override { allocator_.note_told_to_end(task); }
  void take_back(TenantId borrower, const std::vector<Advance>& advances) override {
    allocator_.take_back(borrower, advances);
  }
  [[nodiscard]] std::vector<IouBook::Iou> debts_of(TenantId debtor) const override {
    return allocator_.book().debts_of(debtor.value);
  }
  void forgive(TenantId debtor, std::span<const ForgivenDebt> debts) override {
    allocator_.forgive(debtor, debts);
  }
  void pass_to(LedgerMs now_ms) override { allocator_.pass_to(now_ms); }
  /// Where there are many nodes, some of those without room give places anew with each settlement,
  /// in turns.
  std::optional<TimeSettlement> settle_time() override;
  void consider_all_nodes() override;

  [[nodiscard]] std::vector<Reclaim> take_reclaims() override {
    return std::exchange(reclaims_, {});
  }
  [[nodiscard]] bool may_reclaim() const override {
    return allocator_.may_reclaim() || allocator_.may_reclaim_for_min();
  }
  std::optional<CreditSettlement> settle_credits(std::int64_t period_ms) override;
  /// A min that waits is one, too: who drives the cycle sees by may_reclaim() that time matters
  /// now.
  [[nodiscard]] bool is_due() const override {
    return !allocator_.awaits_window() && (next_due() || may_change_growth() ||
                                           (reclaim_due_ && allocator_.may_reclaim_for_min()));
  }
  /// By id, and once more those that left work to sites that jobs prefer, and those that placement
  /// rules choose until they choose none for what still waits. A gang's deals follow on each other,
  /// and are never parted by a bound. With `allocation: drf` all nodes are dealt together. When
  /// nothing else is due, what must end for those who wait is looked for, then elastic jobs grow.
  /// While a window that has run out is awaited nothing is dealt (policy/allocator/run_out.hpp).
  [[nodiscard]] std::vector<Deal> run(
      std::size_t max_deals,
      std::size_t max_entries = std::numeric_limits<std::size_t>::max()) override;
  [[nodiscard]] std::uint64_t last_deal() const override { return allocator_.last_deal(); }

  [[nodiscard]] TenantView tenant(TenantId tenant) const override {
    return allocator_.tenant(tenant);
  }
  [[nodiscard]] NodeView node(NodeId node) const override { return allocator_.node(node); }
  [[nodiscard]] ClusterUse use() const override { return allocator_.use(); }
  [[nodiscard]] std::uint64_t position() const override { return allocator_.position(); }
  [[nodiscard]] bool could_ever_fit(const ResourceVector& demand,
                                    const PlacementRule* rule) const override {
    return allocator_.could_ever_fit(demand, rule);
  }
  [[nodiscard]] std::vector<Obstacle> explain_waiting(TenantId tenant, JobId job,
                                                      std::uint32_t index,
                                                      const ObstacleNames& names) const override {
    return allocator_.explain_waiting(tenant, job, index, names);
  }
  [[nodiscard]] std::optional<std::int64_t> starts_in_ms(TenantId tenant,
                                                         JobId job) const override {
    return allocator_.starts_in_ms(tenant, job);
  }
  [[nodiscard]] std::optional<ExplainedMark> explain_mark(TenantId tenant) const override {
    return allocator_.explain_mark(tenant);
  }

 private:
  /// Up to so many nodes give places with each window, whatever the care.
  static constexpr std::size_t kFewNodes = 32;
  /// Tenants that wait, on so many nodes together, are looked at for places with each settlement.
  static constexpr std::size_t kLooksPerSettlement = 1600;

  /// Whether nodes without room are dealt, to give places.
  [[nodiscard]] bool gives_places() const { return allocator_.counts_time(); }
  [[nodiscard]] bool is_thorough() const {
    return care_ == PlaceCare::thorough || accepting_.size() <= kFewNodes;
  }
  [[nodiscard]] std::vector<Deal> run_by_share(std::size_t max_deals, std::size_t max_entries);
  /// Nodes that were not dealt may have room again that was kept for who preempted: true.
  bool look_at_freed_rooms();
  [[nodiscard]] std::optional<NodeId> next_due() const;
  [[nodiscard]] bool deals_all_nodes() const;
  /// Something may grow, or have to end for somebody.
  [[nodiscard]] bool may_change_growth() const;
  void strike_due(NodeId node);
  /// The cycle dealt nodes that placed nothing so often, since room that was made was last given
  /// up. Beyond a bound placement rules choose nothing more in it, so that it ends whatever they do
  /// to each other: true when that begins.
  bool bound_looks(std::size_t in_vain, std::size_t deals);
  void take_back();
  /// What must end, and growth into what is left.
  void grow(std::vector<Deal>& deals, std::size_t max_deals, std::size_t max_entries);

  Allocator allocator_;
  PlaceCare care_ = PlaceCare::bounded;
  std::set<NodeId> accepting_;
  std::set<NodeId> due_;
  /// From there on all that may matter are due, or all that accept.
  std::optional<NodeId> rooms_from_;
  std::optional<NodeId> all_from_;
  std::set<NodeId> in_turn_;  ///< of `due_`, those that give all places now
  NodeId gave_places_;        ///< the last of them so far
  bool growth_due_ = false;   ///< since the last look more may be idle
  bool reclaim_due_ = false;  ///< the same of what is wanted
  /// A min waited at the last settlement of credits. Whom its tasks would preempt is looked at once
  /// for each, which are a second apart: it costs a look at all tasks that run.
  bool min_due_ = false;
  std::vector<Reclaim> reclaims_;
};

}  // namespace fairwater::inline policy::inline allocator
