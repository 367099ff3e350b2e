// What the allocator knows, and the changes that do not need a deal. Internal to policy/: the
// public face is policy/allocator.hpp, the deal itself is policy/allocator_deal.hpp.
//
// Invariants
//   - carries of all tenants sum to zero;
//   - a tenant's request in the water level is what it holds plus what it waits for, so a grant
//     moves nothing there and a release or a new window moves one group;
//   - the water level's capacity is that of accepting nodes plus what is held on the others, so
//     that a draining node's tasks do not push their tenants above a quota that cannot contain
//     them;
//   - `waiting` holds exactly the tenants with a window that is not empty, `idle_carriers` those
//     with a carry and nothing left to wait for; both in ranked order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "policy/allocator.hpp"
#include "policy/ranked_list.hpp"
#include "policy/resource_set.hpp"
#include "policy/sequence.hpp"
#include "policy/slot_index.hpp"
#include "policy/water_fill.hpp"

namespace fairwater {

struct WindowRange {
  WaitingRange range;
  ResourceSet asks;
  Units cost = 1;
};

/// A grant that the tenant's window may not have heard of yet.
struct UnseenGrant {
  std::uint64_t deal = 0;
  TaskKey task;
  ResourceVector demand;
};

/// What a tenant holds of one resource and may hold: follows from its state, and lies together
/// because a deal looks at it for all who wait.
struct Holding {
  Amount counted = 0;  ///< of what it holds, the part that counts against its quota
  Amount wanted = 0;   ///< min(request, max), see policy/water_fill.hpp
  Amount base = 0;     ///< min(wanted, min)
  Amount left = 0;     ///< up to its own max
};

/// What a deal looks at for all who wait comes first: it fills a cache line, and the holdings of
/// two resources another.
struct alignas(64) TenantState {
  TenantId id;
  bool has_min = false;  ///< of any resource
  RankKey rank;
  Units carry = 0;
  Units net = 0;  ///< in the book
  std::vector<WindowRange> window;
  std::uint64_t pending_tasks = 0;
  std::uint64_t running_tasks = 0;
  std::uint64_t seen_deal = 0;                              ///< of the window
  std::vector<UnseenGrant> unseen;                          ///< later than `seen_deal`, by deal
  alignas(64) std::array<Holding, kMaxResources> holdings;  ///< see refresh_holding
  /// Per resource the least that any task in the window asks for: where this does not fit, nothing
  /// does.
  ResourceVector least_demand;
  ResourceVector pending;
  ResourceVector used;
  ResourceVector used_beyond_quota;  ///< part of `used`
  ResourceVector reserved;           ///< of all reservations for it
  TenantTerms terms;
  std::uint32_t repay_remainder_millionths = 0;  ///< of a unit; not kept over a restart
  [[nodiscard]] bool waits() const { return pending_tasks > 0 || !window.empty(); }
  [[nodiscard]] ResourceVector held_against_quota() const { return used - used_beyond_quota; }
};

/// Room that a node keeps for a task that is due and larger than what is free (see
/// policy/allocator_reserve.cpp). Not kept over a restart: it comes up anew.
struct Reservation {
  std::uint32_t tenant_slot = 0;
  ResourceVector demand;
};

struct NodeState {
  NodeTraits traits;
  ResourceVector capacity;
  ResourceVector used;
  std::optional<Reservation> reservation;
  std::uint64_t running_tasks = 0;
  bool accepts = false;
  [[nodiscard]] ResourceVector free() const { return capacity - used; }
};

struct HeldTask {
  NodeId node;
  Grant grant;
};

class AllocatorState {
 public:
  explicit AllocatorState(AllocatorSettings settings);

  // -- tenants
  // -------------------------------------------------------------------------------------
  void set_tenant(TenantId id, const TenantTerms& terms);
  Units remove_tenant(TenantId id);
  [[nodiscard]] TenantState& tenant(TenantId id);
  [[nodiscard]] const TenantState& tenant(TenantId id) const;
  [[nodiscard]] bool has_tenant(TenantId id) const {
    return slot_of_.find(id.value) != SlotIndex::kNone;
  }
  [[nodiscard]] TenantState& at(std::uint32_t slot) { return tenants_[slot]; }
  [[nodiscard]] std::size_t slots() const { return tenants_.size(); }
  void set_carry(TenantState& tenant, Units carry);
  /// Puts repayments, then loans, into the book.
  void record(const std::vector<Repayment>& repayments, const std::vector<Loan>& loans);
  void restore_iou(const IouBook::Iou& iou);
  [[nodiscard]] const IouBook& book() const { return book_; }
  /// Tenants with a carry other than zero, in ranked order.
  [[nodiscard]] const RankedList& carriers() const { return carriers_; }
  [[nodiscard]] const RankedList& waiting() const { return waiting_; }
  [[nodiscard]] const RankedList& idle_carriers() const { return idle_carriers_; }

  // -- windows
  // -------------------------------------------------------------------------------------
  void set_window(DemandWindow window);
  void withdraw(TenantId id, JobId job);
  /// To be called after a change of window, pending or carry.
  void refresh_lists(const TenantState& tenant);
  [[nodiscard]] Units cost(const ResourceVector& demand) const;

  // -- nodes and held tasks
  // ------------------------------------------------------------------------
  void set_node(NodeId id, const NodeTraits& traits, const ResourceVector& capacity, bool accepts);
  void remove_node(NodeId id);
  [[nodiscard]] NodeState& node(NodeId id);
  [[nodiscard]] const NodeState& node(NodeId id) const;
  [[nodiscard]] const std::map<NodeId, NodeState>& nodes() const { return nodes_; }
  /// Takes the room on the node and in the tenant's books; not yet in the water level.
  void hold(NodeId node, const Grant& grant);
  bool release(const TaskKey& task);
  /// The node must have no reservation.
  void reserve(NodeState& node, TenantState& tenant, const ResourceVector& demand);
  void cancel_reservation(NodeState& node);
  [[nodiscard]] bool is_held(const TaskKey& task) const { return held_.contains(task); }

  // -- quotas
  // --------------------------------------------------------------------------------------
  /// The tenant's holdings, and its request in the water level, follow what it holds and waits for.
  void refresh_request(TenantState& tenant);
  [[nodiscard]] ResourceVector quota(const TenantState& tenant) const;
  /// Where a tenant would stand with its quota when it got a task more.
  enum class Standing : std::uint8_t {
    within,      ///< in every resource that the task asks for
    straddling,  ///< it is below it now, but in some resource the task goes beyond
    at_quota,    ///< in some resource that the task asks for it holds it already
  };
  /// Where the water of a level stands, about.
  struct Height {
    bool is_limited = false;  ///< somebody wants more than it gets
    double poured = 0;        ///< per weight; not a number while even the bases are too much
  };
  using WaterMarks = std::array<Height, kMaxResources>;
  /// Good until the next change.
  [[nodiscard]] WaterMarks water_marks() const;
  /// True when the tenant's quota of one resource is `amount` or more. The height nearly always
  /// tells, in O(1); within two units of it the exact quota is read.
  [[nodiscard]] bool quota_is_at_least(const TenantState& tenant, std::size_t resource,
                                       Amount amount, const WaterMarks& marks) const;
  /// For a task of `range`. What it holds beyond its quota on what it is owed does not count.
  [[nodiscard]] Standing standing(const TenantState& tenant, const WindowRange& range,
                                  const WaterMarks& marks) const;
  /// Whether the tenant would be within its quota with a task of `range` beside what it holds and
  /// what is reserved for it.
  [[nodiscard]] bool may_reserve(const TenantState& tenant, const WindowRange& range,
                                 const WaterMarks& marks) const;
  [[nodiscard]] bool counts(std::size_t resource) const { return settings.granules[resource] > 0; }

  AllocatorSettings settings;
  Sequence sequence;
  std::uint64_t deals = 0;  ///< number of the last deal

 private:
  void refresh_capacity();
  /// A tenant that may not borrow holds at most its plain share of the capacity, or its min.
  void refresh_plain_shares();
  [[nodiscard]] QuotaGroup group(const TenantState& tenant, std::size_t resource) const;
  /// Brings every `net` that the book's last changes moved up to date.
  void follow_book();
  void follow_net(const IouBook::Iou& changed);
  void refresh_holding(TenantState& tenant, std::size_t resource);
  void strike(TenantState& tenant, const TaskKey& task, const ResourceVector& demand,
              bool counted_as_pending);

  std::vector<TenantState> tenants_;  ///< by slot; slots of tenants that left are used again
  std::vector<std::uint32_t> free_slots_;
  SlotIndex slot_of_;  ///< by the tenant's id
  std::uint64_t joined_ = 0;
  IouBook book_;
  std::set<TenantId> may_not_borrow_;
  RankedList waiting_;
  RankedList carriers_;
  RankedList idle_carriers_;
  Units sum_of_carries_ = 0;
  std::map<NodeId, NodeState> nodes_;
  std::map<TaskKey, HeldTask> held_;
  std::array<WaterLevel, kMaxResources> levels_;
};

}  // namespace fairwater
