// One heartbeat's deal as a pipeline of steps over AllocatorState. Internal to policy/.
//
// Decisions that the papers leave open, and why:
//
// Quota. A tenant may hold its water level; what it takes back above that on units it is owed does
// not count (`beyond_quota`), so that a repaid tenant keeps its fair part beside its arrears.
//
// Carry. One freed slot is dealt in parts too small for a whole task. The part stays in the
// tenant's hand for its next deal, up to the cost of one task (K), so that while all are busy no
// IOU appears; only idle capacity and holes make IOUs.
//
// At quota. What falls to a tenant at its quota beyond K is passed on, by weight and without a
// claim, to those below: it holds its part already, and its longer tasks must not earn it claims.
// Who is owed keeps everything.
//
// Remainder. First those whose next task stays within their quota, then those below it whose task
// straddles it; among them the largest hand. So what every tenant holds stays within one task of
// its share, whatever the order in which slots become free.
//
// Units. Every placed unit is dealt: tasks of several shapes can fill a node beyond the units of
// any one shape, and then the sequence deals as many more.
//
// Sites. Of a job's allowed sites the earlier ones are preferred: while a node at one of them has
// room for a task, one at a later site leaves it. No longer: a preference keeps nothing idle.
//
// No loans. Where the lender may not lend or the borrower may not borrow, a closing pair is passed
// on without a claim.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policy/allocator/deal_steps.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater {

/// Deals one node after another, and keeps its working memory.
class NodeDeal {
 public:
  explicit NodeDeal(AllocatorState& state) : state_(state) {}
  /// Runs all steps once and moves the state on. Nothing when no task was placed.
  std::optional<Deal> run(NodeId node);
  /// Whether the last run left a task to a node at a site that its job prefers to this one.
  [[nodiscard]] bool left_to_preferred() const { return left_to_preferred_; }

 private:
  using Index = std::uint32_t;  ///< of a part
  /// Ranges of a window that do not fit and are looked past in one deal. Bounds the work that one
  /// tenant can cause; windows are about as long.
  static constexpr std::uint32_t kMaxLookPast = 64;

  /// Place in a tenant's window.
  struct Cursor {
    std::uint32_t next = 0;     ///< first range that may still fit
    std::uint32_t skipped = 0;  ///< ranges before it that did not
  };
  using Standing = AllocatorQuotas::Standing;
  /// One tenant's part in this deal.
  struct Part {
    TenantState* tenant = nullptr;
    const WindowRange* next = nullptr;  ///< at the cursor; none when nothing fits
    Units hand = 0;                     ///< what it has due now; negative when it took more
    Cursor cursor;
    std::size_t checked = 0;  ///< how many tasks had been placed when the cursor was moved last
    /// With the task at the cursor; none: to be looked up.
    std::optional<Standing> standing;
    bool has_work = false;    ///< a task of its window fits here
    bool backfilled = false;  ///< step 8 placed a task of it
    std::uint32_t repay_remainder_millionths = 0;
    Index line_at = 0;  ///< in the deal, when it is there
    Units settled = 0;  ///< part of its balance that does not stay as carry
    TenantBalance line;
  };
  enum class Claim : std::uint8_t { within_quota, straddles_quota, covered, none };
  struct Contender {
    Claim claim;
    Units hand;
    Index part;
  };

  void start(NodeId node);
  void forget_parts();
  std::optional<Deal> run_steps();

  // The steps, in this order (docs/architecture.md, "Life of a heartbeat").
  void collect_work();
  [[nodiscard]] bool keep_room();
  void review_reservation();
  void serve_guarantees();
  [[nodiscard]] Units free_units();
  void deal_units(Units units);
  void settle_debts();
  void pass_on_at_quota();
  void pool();
  void place_first();
  void fill();
  void place_remainder();
  void backfill();
  void roll_back();
  void close();
  Deal commit();

  // Parts.
  Index part_of(TenantState& tenant);
  Index add_part(TenantState& tenant);
  void sort_by_rank();
  [[nodiscard]] bool ranks_before(Index a, Index b) const;

  // What a part may place.
  [[nodiscard]] bool rule_allows(const PlacementRule* rule);
  [[nodiscard]] bool is_left_to_preferred(const TenantState& tenant, const WaitingRange& task);
  [[nodiscard]] bool fits(const TenantState& tenant, const WindowRange& entry);
  /// The same for a node with that much free.
  [[nodiscard]] bool fits(const TenantState& tenant, const WindowRange& entry,
                          const ResourceVector& free);
  /// Moves the cursor to the first task that fits; false when there is none.
  bool find_next(const TenantState& tenant, Cursor& cursor);
  bool find_next(Part& part);
  [[nodiscard]] Units waiting_cost(Part& part);
  [[nodiscard]] Standing standing(const Part& part, const WindowRange& range);
  /// With the task at the cursor.
  [[nodiscard]] Standing standing(Part& part);
  [[nodiscard]] bool is_at_quota(Part& part);
  [[nodiscard]] bool is_owed(const Part& part) const;
  [[nodiscard]] bool is_guaranteed(const Part& part);
  [[nodiscard]] Claim claim(Part& part);
  [[nodiscard]] std::optional<std::uint32_t> largest_backup(Part& part);
  void place(Index index, std::uint32_t range, GrantStep step);

  // Reservations (policy/allocator/reserve.cpp).
  [[nodiscard]] const WindowRange* task_to_reserve(const TenantState& tenant);
  struct Blocked {
    TenantState* tenant = nullptr;
    const WindowRange* task = nullptr;
  };
  [[nodiscard]] Blocked most_due(std::optional<std::uint32_t> slot_before);

  // Closing.
  void undo_units();
  void share_passed_on();
  [[nodiscard]] std::vector<Position> positions_to_settle();
  /// It waits for more, but its next task would go beyond its quota, and nobody owes it.
  [[nodiscard]] bool holds_its_share(Part& part);
  [[nodiscard]] bool makes_iou(Part& lender, Part& borrower);
  void record_loans(const std::vector<Position>& positions);
  [[nodiscard]] bool touched(const Part& part) const;

  AllocatorState& state_;
  NodeId node_id_;
  const NodeRoom* node_ = nullptr;
  ResourceVector free_;
  /// Per resource the least that any task of those with work asks for: where this does not fit, all
  /// is done.
  ResourceVector least_demand_ = ResourceVector::filled(kUnlimited);
  bool somebody_is_blocked_ = false;  ///< waits, and none of its tasks fits here
  std::optional<Index> first_;        ///< for whom the node kept room that is large enough now
  Units carry_limit_ = 1;             ///< K
  std::size_t placed_tasks_ = 0;
  Units dealt_ = 0;
  Units placed_ = 0;
  std::vector<Part> parts_;
  std::vector<Index> order_;           ///< parts by rank
  std::size_t sorted_ = 0;             ///< first parts of `order_` that are in order
  std::vector<std::int32_t> part_at_;  ///< by the tenant's slot, -1: none
  std::vector<std::pair<const PlacementRule*, bool>> rules_;
  struct Preference {
    const PlacementRule* rule;
    ResourceVector demand;
    bool is_left;
  };
  std::vector<Preference> preferences_;  ///< of the tasks looked at; other nodes stay as they are
  bool left_to_preferred_ = false;
  std::optional<AllocatorQuotas::WaterMarks> marks_;  ///< grants do not move them
  std::vector<Index> passed_to_;                      ///< who shares what is passed on
  std::vector<Contender> contenders_;
  std::vector<PoolMember> members_;
  WaterFiller filler_;
  std::vector<Index> added_;
  Deal deal_;
};

}  // namespace fairwater
