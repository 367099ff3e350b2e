// What the allocator knows, and the changes that do not need a deal. Internal to policy/: the
// public face is policy/allocator/allocator.hpp, the deal itself is policy/allocator/node_deal.hpp.
//
// Invariants
//   - carries of all tenants sum to zero;
//   - the water level's capacity is that of accepting nodes plus what is held on the others, so
//     that a draining node's tasks do not push their tenants above a quota that cannot contain
//     them;
//   - `waiting` holds exactly the tenants with a window that is not empty, `idle_carriers` those
//     with a carry and nothing left to wait for; both in ranked order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/allocator/allocator.hpp"
#include "policy/allocator/quotas.hpp"
#include "policy/allocator/site_rooms.hpp"
#include "policy/allocator/tenant.hpp"
#include "policy/core/ranked_list.hpp"
#include "policy/core/slot_index.hpp"
#include "policy/sequence/sequence.hpp"

namespace fairwater {

/// Room that a node keeps for a task that is due and larger than what is free (see
/// policy/allocator/reserve.cpp). Not kept over a restart: it comes up anew.
struct Reservation {
  std::uint32_t tenant_slot = 0;
  ResourceVector demand;
};

/// What a node holds and has left.
struct NodeRoom {
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
  void set_group(GroupId id, const GroupTerms& terms);
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
  void take_back(TenantId borrower, const std::vector<Advance>& advances);
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
  [[nodiscard]] NodeRoom& node(NodeId id);
  [[nodiscard]] const NodeRoom& node(NodeId id) const;
  [[nodiscard]] const std::map<NodeId, NodeRoom>& nodes() const { return nodes_; }
  /// Takes the room on the node and in the tenant's books; not yet in the water level.
  void hold(NodeId node, const Grant& grant);
  bool release(const TaskKey& task);
  /// The node must have no reservation.
  void reserve(NodeRoom& node, TenantState& tenant, const ResourceVector& demand);
  void cancel_reservation(NodeRoom& node);
  /// Whether some node of the site has room for the task now that its rule allows and that is not
  /// kept for somebody else's.
  [[nodiscard]] bool site_has_room(const std::string& site, const TenantState& tenant,
                                   const WaitingRange& task);
  [[nodiscard]] bool is_held(const TaskKey& task) const { return held_.contains(task); }

  // -- quotas
  // --------------------------------------------------------------------------------------
  [[nodiscard]] const AllocatorQuotas& quotas() const { return quotas_; }
  /// The tenant's quotas follow what it holds and waits for.
  void refresh_request(TenantState& tenant) { quotas_.refresh(tenant); }

  AllocatorSettings settings;
  Sequence sequence;
  std::uint64_t deals = 0;  ///< number of the last deal

 private:
  void refresh_capacity();
  /// A tenant that may not borrow holds at most its plain share of the capacity, or its min.
  void refresh_plain_shares();
  /// Brings every `net` that the book's last changes moved up to date.
  void follow_book();
  void follow_net(const IouBook::Iou& changed);
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
  std::map<NodeId, NodeRoom> nodes_;
  SiteRooms site_rooms_;
  std::map<TaskKey, HeldTask> held_;
  AllocatorQuotas quotas_;
};

}  // namespace fairwater
