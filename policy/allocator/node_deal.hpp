// One heartbeat's deal in three stages over AllocatorState, with values between them: `entitle`
// (policy/allocator/entitle.hpp: whose are the free units), `place` (place.hpp: which tasks go onto
// the node) and `settle` (settle.hpp: what stays due, what becomes IOUs). Internal to
// policy/allocator.
//
// Decisions that the papers leave open, and why:
//
// Quota. A tenant may hold its water level; what it takes back above that on units it is owed does
// not count (`beyond_quota`), so that a repaid tenant keeps its fair part beside its arrears.
//
// Deficit. One freed slot is dealt in parts too small for a whole task. The part stays due to the
// tenant for its next deal, up to the cost of one task (K), so that while all are busy no IOU
// appears; only idle capacity and holes make IOUs.
//
// At quota. What falls to a tenant at its quota beyond K is passed on, by weight and without a
// claim, to those below: it holds its part already, and its longer tasks must not earn it claims.
// Who is owed keeps everything.
//
// Remainder. First those whose next task stays within their quota, then those below it whose task
// straddles it; among them the largest credit. So what every tenant holds stays within one task of
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
#include <map>
#include <optional>
#include <vector>

#include "policy/allocator/by_time.hpp"
#include "policy/allocator/deal_progress.hpp"
#include "policy/allocator/entitle.hpp"
#include "policy/allocator/place.hpp"
#include "policy/allocator/reserve.hpp"
#include "policy/allocator/settle.hpp"
#include "policy/core/ranked_list.hpp"

namespace fairwater::inline policy::inline allocator {

/// Deals one node after another, and keeps its working memory.
class NodeDeal {
 public:
  explicit NodeDeal(AllocatorState& state) : deal_(state) {}
  /// Runs all stages once and moves the state on. Nothing when no task was placed and the node
  /// keeps no other room than before.
  std::optional<Deal> run(NodeId node, bool gives_all_places);
  void begin_choices() { left_to_.clear(); }
  /// Whether the last run left a task to a node at a site that its job prefers to this one.
  [[nodiscard]] bool left_to_preferred() const { return deal_.tasks.left_to_preferred(); }
  /// See Allocator.
  [[nodiscard]] const std::vector<NodeId>& chosen_next() const { return chosen_next_; }
  [[nodiscard]] bool left_to_chosen() const { return left_to_chosen_; }
  [[nodiscard]] bool gave_up_choosing() const { return gave_up_choosing_; }
  /// Whether the last run placed tasks of a gang, and therefore nothing behind them.
  [[nodiscard]] bool placed_gang() const { return placed_gang_; }

 private:
  std::optional<Deal> run_stages();
  /// Places the tasks of the gang that was begun, and nothing else: whatever is kept there stays
  /// so.
  Deal continue_gang();
  /// Who waits and has a task that fits. Returns whether somebody waits in vain.
  [[nodiscard]] bool collect_claimants();
  /// The same where deals look at few of those who wait: who is needed.
  [[nodiscard]] bool collect_few_claimants();
  /// Where the ledger counts units: those of a class whose deficits may pay for a task.
  void add_those_with_deficits(Units least);
  /// False: it has no task that fits.
  bool add_claimant(TenantState& tenant);
  [[nodiscard]] Units free_units();
  /// Of those in classes who do not take part so far.
  [[nodiscard]] Units free_units_of_classes();
  /// What placement rules say after the deal of what still waits.
  void review_choices();
  void review_choice(const TenantState& tenant, const WaitingRange& task, bool is_here);

  DealProgress deal_;
  std::vector<RankKey> few_;
  std::vector<MadeRoom> made_rooms_;  ///< of the node, lifted
  bool placed_gang_ = false;
  std::vector<NodeId> chosen_next_;
  struct LeftTask {
    std::uint32_t tenant_slot = 0;
    WaitingRange task;
  };
  /// In this cycle, to nodes that were not dealt since.
  std::map<NodeId, std::vector<LeftTask>> left_to_;
  bool left_to_chosen_ = false;
  bool gave_up_choosing_ = false;
  EntitleStage entitle_{deal_};
  PlaceStage place_{deal_};
  PlaceByTime by_time_{deal_, place_};
  SettleStage settle_{deal_, entitle_};
};

}  // namespace fairwater::inline policy::inline allocator
