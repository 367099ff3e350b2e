// What a claimant may place next on the node that is dealt, and where it would stand with it: room,
// rules, quotas, guarantees. What was looked up once in a deal is kept here and nowhere else.
// Internal to policy/allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policy/allocator/claimants.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

class TaskFinder {
 public:
  using Standing = AllocatorQuotas::Standing;

  explicit TaskFinder(AllocatorState& state) : state_(state) {}
  void begin(const NodeRoom& node);

  [[nodiscard]] const ResourceVector& free() const { return free_; }
  /// When all has ended that ends by itself.
  [[nodiscard]] const ResourceVector& free_one_day() const { return free_one_day_; }
  /// A task was placed.
  void take(const WaitingRange& task) {
    free_ -= task.demand;
    ++placed_tasks_;
  }
  /// More of the node's room is kept for others than when the deal began.
  void look_at_room() {
    free_ = node_->free();
    ++placed_tasks_;
  }
  /// Somebody takes part, of whose tasks that may fit each asks for so much at least.
  void expect_tasks(const ResourceVector& least_demand);
  /// False: no task of anybody with work fits any more.
  [[nodiscard]] bool something_may_fit() const { return least_demand_.fits(free_); }
  /// Whether a task was left to its own node, or to one at a site that its job prefers to this one.
  [[nodiscard]] bool left_to_preferred() const { return left_to_preferred_; }
  /// What was asked of placement rules, alike tasks of a tenant once, and what was said last.
  struct Choice {
    const TenantState* tenant = nullptr;
    WaitingRange task;
    bool is_here = false;
  };
  [[nodiscard]] const std::vector<Choice>& choices() const { return choices_; }
  /// By which rule the node is chosen for the task; unset: by none.
  [[nodiscard]] Placement chosen_by(const TenantState& tenant, const WaitingRange& task);

  /// Whether it fits and is allowed here now. Of a gang: all of it, here and elsewhere.
  [[nodiscard]] bool fits_now(const TenantState& tenant, const WindowRange& entry) {
    return fits(tenant, entry);
  }
  /// The same if all that ends by itself had ended. Of a gang: one of its tasks.
  [[nodiscard]] bool could_hold(const TenantState& tenant, const WindowRange& entry) {
    return fits(tenant, entry, free_one_day_) && state_.has_shares_one_day(*node_, entry.range);
  }
  /// Where all of the gang has room now, here and elsewhere; empty: nowhere. Good until a task is
  /// placed.
  [[nodiscard]] const std::vector<GangShare>& gang_shares(const TenantState& tenant,
                                                          const WindowRange& gang);
  /// Moves the cursor on to a task of which could_hold() is true; false when there is none.
  bool find_possible(const TenantState& tenant, std::uint32_t& cursor);
  /// The place of the tenant's first task that fits, if there is one.
  [[nodiscard]] std::optional<std::uint32_t> first_that_fits(const TenantState& tenant);
  /// Moves the cursor to the first task that fits; false when there is none.
  bool find_next(Claimant& claimant);
  /// What its tasks that fit here cost in all; may stop at `enough`.
  [[nodiscard]] Units waiting_cost(Claimant& claimant, Units enough);
  /// The place in its window of the largest of the next tasks that fit.
  [[nodiscard]] std::optional<std::uint32_t> largest_backup(Claimant& claimant);
  /// The first task that could be held there, where the tenant's quota has room for it.
  [[nodiscard]] const WindowRange* task_to_reserve(const TenantState& tenant);

  /// Of the whole cluster.
  [[nodiscard]] const AllocatorQuotas::WaterMarks& marks();
  [[nodiscard]] Standing standing(TenantState& tenant, const WindowRange& range);
  /// With the task at the cursor.
  [[nodiscard]] Standing standing(Claimant& claimant);
  [[nodiscard]] bool is_at_quota(Claimant& claimant);
  /// Of the task at the cursor: below its tenant's guarantee in what it asks for; of a gang, still
  /// with all of its tasks.
  [[nodiscard]] bool is_guaranteed(const Claimant& claimant);

 private:
  [[nodiscard]] bool fits(const TenantState& tenant, const WindowRange& entry) {
    return fits(tenant, entry, free_) && state_.has_devices_for(*node_, entry.range) &&
           (!entry.is_gang() || !gang_shares(tenant, entry).empty());
  }
  /// The same for a node with that much free.
  [[nodiscard]] bool fits(const TenantState& tenant, const WindowRange& entry,
                          const ResourceVector& free);
  bool move_on(const TenantState& tenant, std::uint32_t& cursor);
  [[nodiscard]] bool rule_allows(const PlacementRule* rule);
  [[nodiscard]] bool is_left_to_preferred(const TenantState& tenant, const WaitingRange& task);
  /// Whether its placement rule chooses another node; nothing where it chooses none.
  [[nodiscard]] std::optional<bool> is_left_to_chosen(const TenantState& tenant,
                                                      const WaitingRange& task);
  [[nodiscard]] bool is_left_to_home(const TenantState& tenant, const WaitingRange& task);

  AllocatorState& state_;
  const NodeRoom* node_ = nullptr;
  ResourceVector free_;
  ResourceVector free_one_day_;
  /// Per resource the least that any task of those with work asks for.
  ResourceVector least_demand_;
  std::size_t asked_resources_ = 0;  ///< those behind are not free, and nobody with work asks
  std::size_t placed_tasks_ = 0;
  std::vector<std::pair<const PlacementRule*, bool>> rules_;
  struct Preference {
    const PlacementRule* rule;
    ResourceVector demand;
    std::int64_t longest_run_ms;
    bool is_left;
  };
  std::vector<Choice> choices_;
  std::vector<Preference> preferences_;  ///< of the tasks looked at; other nodes stay as they are
  struct GangLook {
    JobId job;
    std::size_t placed_tasks = 0;  ///< before it
    std::vector<GangShare> shares;
  };
  std::vector<GangLook> gang_looks_;
  bool left_to_preferred_ = false;
  std::optional<AllocatorQuotas::WaterMarks> marks_;  ///< grants do not move them
};

}  // namespace fairwater::inline policy::inline allocator
