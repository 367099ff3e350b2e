// The second stage of a deal: which tasks go onto the node. Internal to policy/allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/allocator/contenders.hpp"
#include "policy/allocator/deal_progress.hpp"
#include "policy/allocator/turns.hpp"
#include "policy/core/ranked_list.hpp"

namespace fairwater::inline policy::inline allocator {

/// Five phases, each of which says who may place what and who is first; none reopens. Guarantees
/// come before the entitlement, because what they take is not dealt; the others follow it. Where
/// what was placed costs more than was dealt, more is drawn at once: credits order the remainder.
class PlaceStage {
 public:
  explicit PlaceStage(DealProgress& deal) : deal_(deal) {}

  /// Phase `guarantee`: a task to each that is below its guarantee, in turns.
  void run_guarantees();
  /// Phases `reserved` (the task that the node had kept its room for), `allowance`, `remainder` and
  /// `backfill`.
  void run_dealt(std::optional<ClaimantIndex> kept_for);
  /// The claimant's task at its cursor, `range` in its tenant's window, goes onto the node. A gang
  /// begins.
  void place(ClaimantIndex index, std::uint32_t range, GrantStep step);
  /// The gang at its cursor goes onto its nodes: its tasks on this one are placed, the others left
  /// to deals of theirs.
  void begin_gang(ClaimantIndex index, std::uint32_t range, std::span<const GangShare> shares,
                  GrantStep step);
  /// The task of that range in the tenant's window, or all of its gang, goes onto the node, where
  /// room was made for it. False: it has none. For a ledger that counts units.
  bool start_in_made_room(TenantState& tenant, std::uint32_t range);
  /// Places those tasks of the gang that was begun that are for this node.
  void continue_gang();

 private:
  void place_task(ClaimantIndex index, std::uint32_t range, GrantStep step);
  /// Whether a task placed now is held beyond its tenant's quota, on what it is owed.
  [[nodiscard]] bool is_beyond_quota(Claimant& claimant, GrantStep step);
  struct Phase;
  struct Guarantee;
  struct Reserved;
  struct Allowance;
  struct Remainder;
  struct Backfill;
  /// Runs it over `candidates_`.
  template <class SomePhase>
  void run(SomePhase phase);
  /// Phase `remainder` where those of classes do not take part before they place something.
  void run_remainder_of_few();
  /// In the queue of that phase.
  struct Waiting {
    Turn turn;
    RankKey rank;
    /// Its next task may straddle its quota, and nobody has looked.
    bool is_supposed = false;
  };
  static bool comes_later(const Waiting& a, const Waiting& b);
  void push(const Waiting& waiting);
  Waiting pop();
  /// Who takes part, and of classes those who may be within their quotas; the others who may
  /// straddle them wait in `straddling_`.
  void queue_up_few(const Remainder& phase);
  void queue_up(const Contenders::Class& of);

  DealProgress& deal_;
  std::vector<ClaimantIndex> candidates_;  ///< of the phase, ranked
  std::vector<QueuedTurn> queue_;
  std::vector<Waiting> few_;
  std::vector<Waiting> straddling_;
};

}  // namespace fairwater::inline policy::inline allocator
