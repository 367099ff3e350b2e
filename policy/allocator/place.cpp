#include "policy/allocator/place.hpp"

#include <algorithm>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// How well a tenant stands with its next task, best first.
enum class Claim : std::uint8_t { within_quota, straddles_quota, covered, none };

/// Before others: who has more credit.
Turn remainder_turn(Claim claim, Units credit) {
  return {.first = static_cast<Units>(claim), .second = -credit};
}

/// `covered`: above its quota, on units that it is owed.
Claim claim_of(TaskFinder& tasks, Claimant& claimant) {
  if (!claimant.has_work || !tasks.find_next(claimant)) return Claim::none;
  switch (tasks.standing(claimant)) {
    case TaskFinder::Standing::within:
      return Claim::within_quota;
    case TaskFinder::Standing::straddling:
      return Claim::straddles_quota;
    case TaskFinder::Standing::owing:  // nobody, where units are counted
    case TaskFinder::Standing::at_quota:
      break;
  }
  return claimant.is_owed() && claimant.credit >= claimant.next->cost ? Claim::covered
                                                                      : Claim::none;
}

}  // namespace

// -- the phases
// ------------------------------------------------------------------------------------

struct PlaceStage::Phase {
  PlaceStage& stage;
  static constexpr bool kAllMoveUp = false;

  [[nodiscard]] Claimant& claimant(std::size_t candidate) const {
    return stage.deal_.claimants[stage.candidates_[candidate]];
  }
  [[nodiscard]] TaskFinder& tasks() const { return stage.deal_.tasks; }
  /// Once a gang has begun its other nodes come first.
  [[nodiscard]] bool is_over() const {
    return stage.deal_.state.begun_gang || !tasks().something_may_fit();
  }
  void place_as(GrantStep step, std::size_t candidate, std::uint32_t range) const {
    stage.place(stage.candidates_[candidate], range, step);
  }
};

/// Step 3. Who may: whose next task is below its guarantee. Who first: who has had fewest, by rank.
struct PlaceStage::Guarantee : PlaceStage::Phase {
  std::vector<Units> tasks_placed;  ///< by candidate

  [[nodiscard]] std::optional<Turn> who_first(std::size_t candidate) const {
    Claimant& at = claimant(candidate);
    if (!tasks().find_next(at) || !tasks().is_guaranteed(at)) return std::nullopt;
    return Turn{.first = tasks_placed[candidate]};
  }
  [[nodiscard]] std::optional<std::uint32_t> who_may(std::size_t candidate) const {
    return claimant(candidate).cursor;
  }
  void place(std::size_t candidate, std::uint32_t range) {
    place_as(GrantStep::guarantee, candidate, range);
    ++tasks_placed[candidate];
  }
};

/// Before step 7. Who may: the one for whom the node kept its room, once.
struct PlaceStage::Reserved : PlaceStage::Phase {
  bool is_served = false;

  [[nodiscard]] std::optional<Turn> who_first(std::size_t) const {
    return is_served ? std::nullopt : std::optional(Turn{});
  }
  [[nodiscard]] std::optional<std::uint32_t> who_may(std::size_t candidate) const {
    Claimant& at = claimant(candidate);
    if (claim_of(tasks(), at) == Claim::none) return std::nullopt;
    return at.cursor;
  }
  void place(std::size_t candidate, std::uint32_t range) {
    place_as(GrantStep::reserved, candidate, range);
    is_served = true;
  }
};

/// Step 7. Who may: whose next task is within what is left of its allowance, and within its quota
/// or covered by what it is owed. Who first: who has used the smallest part of its allowance. While
/// allowances are within the node's room, what each places does not depend on the order.
struct PlaceStage::Allowance : PlaceStage::Phase {
  [[nodiscard]] std::optional<Turn> who_first(std::size_t candidate) const {
    const Claimant& at = claimant(candidate);
    return Turn{.second = -at.sum_of(EntryReason::placed), .per = at.allowance};
  }
  [[nodiscard]] std::optional<std::uint32_t> who_may(std::size_t candidate) const {
    Claimant& at = claimant(candidate);
    if (!tasks().find_next(at)) return std::nullopt;
    const Units cost = at.next->cost;
    if (cost > at.allowance + at.sum_of(EntryReason::placed)) return std::nullopt;
    const bool is_covered = at.is_owed() && at.credit >= cost;
    if (!is_covered && tasks().standing(at) != TaskFinder::Standing::within) return std::nullopt;
    return at.cursor;
  }
  void place(std::size_t candidate, std::uint32_t range) const {
    place_as(GrantStep::allowance, candidate, range);
  }
};

/// Step 7, the node's next whole tasks. Who may: who has a claim. Who first: whose next task stays
/// within its quota, then whose task straddles it, then who is covered; among them the largest
/// credit.
struct PlaceStage::Remainder : PlaceStage::Phase {
  [[nodiscard]] std::optional<Turn> who_first(std::size_t candidate) const {
    Claimant& at = claimant(candidate);
    const Claim claim = claim_of(tasks(), at);
    if (claim == Claim::none) return std::nullopt;
    return remainder_turn(claim, at.credit);
  }
  [[nodiscard]] std::optional<std::uint32_t> who_may(std::size_t candidate) const {
    return claimant(candidate).cursor;
  }
  void place(std::size_t candidate, std::uint32_t range) const {
    place_as(GrantStep::remainder, candidate, range);
  }
};

/// Step 8. Who may: who may borrow and has a task that fits. Who first: the largest task, then the
/// largest credit.
struct PlaceStage::Backfill : PlaceStage::Phase {
  static constexpr bool kAllMoveUp = true;

  [[nodiscard]] std::optional<Turn> who_first(std::size_t candidate) const {
    Claimant& at = claimant(candidate);
    if (!at.tenant->takes_what_is_left()) return std::nullopt;
    const auto range = tasks().largest_backup(at);
    if (!range) return std::nullopt;
    return Turn{.first = -at.tenant->window[*range].cost, .second = -at.credit};
  }
  [[nodiscard]] std::optional<std::uint32_t> who_may(std::size_t candidate) const {
    return tasks().largest_backup(claimant(candidate));
  }
  void place(std::size_t candidate, std::uint32_t range) const {
    claimant(candidate).backfilled = true;
    place_as(GrantStep::backfill, candidate, range);
  }
};

// -- the stage
// -------------------------------------------------------------------------------------

template <class SomePhase>
void PlaceStage::run(SomePhase phase) {
  run_phase(phase, candidates_.size(), queue_);
}

void PlaceStage::run_guarantees() {
  candidates_.clear();
  for (const ClaimantIndex index : deal_.claimants.ranked())
    if (deal_.claimants[index].tenant->has_min) candidates_.push_back(index);
  if (!candidates_.empty()) run(Guarantee{{*this}, std::vector<Units>(candidates_.size(), 0)});
}

void PlaceStage::run_dealt(std::optional<ClaimantIndex> kept_for) {
  const auto collect = [&](bool with_allowance) {
    candidates_.resize(deal_.claimants.ranked().size());
    std::size_t found = 0;
    for (const ClaimantIndex index : deal_.claimants.ranked()) {
      const Claimant& claimant = deal_.claimants[index];
      if (claimant.has_work && (!with_allowance || claimant.allowance > 0))
        candidates_[found++] = index;
    }
    candidates_.resize(found);
  };
  if (kept_for) {
    candidates_.assign(1, *kept_for);
    run(Reserved{{*this}});
  }
  collect(true);
  run(Allowance{{*this}});
  if (!deal_.tasks.something_may_fit() || deal_.awaits_window()) return;
  if (deal_.looks_at_few) {
    run_remainder_of_few();
  } else {
    collect(false);
    run(Remainder{{*this}});
  }
  if (!deal_.tasks.something_may_fit() || deal_.state.begun_gang) return;
  deal_.take_all_in();
  collect(false);
  run(Backfill{{*this}});
}

bool PlaceStage::start_in_made_room(TenantState& tenant, std::uint32_t range) {
  if (!deal_.tasks.fits_now(tenant, tenant.window[range])) return false;
  auto index = deal_.claimants.find(tenant.rank.slot);
  if (!index) index = deal_.take_in(tenant);
  // What is before it in the window has its turn in the phases to come.
  const Claimant before = deal_.claimants[*index];
  const auto stand_at = [&](std::uint32_t cursor, const WindowRange* next) {
    Claimant& claimant = deal_.claimants[*index];
    claimant.cursor = cursor;
    claimant.next = next;
    claimant.standing.reset();
  };
  stand_at(range, &tenant.window[range]);
  place(*index, range, GrantStep::reserved);
  stand_at(before.cursor, before.next);
  deal_.claimants.sort();
  return true;
}

// -- the remainder among few
// ------------------------------------------------------------------------

bool PlaceStage::comes_later(const Waiting& a, const Waiting& b) {
  const auto order = compare_turns(a.turn, b.turn);
  return order != 0 ? order > 0 : b.rank < a.rank;
}

void PlaceStage::push(const Waiting& waiting) {
  few_.push_back(waiting);
  std::push_heap(few_.begin(), few_.end(), comes_later);
}

PlaceStage::Waiting PlaceStage::pop() {
  std::pop_heap(few_.begin(), few_.end(), comes_later);
  const Waiting front = few_.back();
  few_.pop_back();
  return front;
}

void PlaceStage::queue_up_few(const Remainder& phase) {
  few_.clear();
  straddling_.clear();
  candidates_.clear();
  const Contenders& contenders = deal_.state.contenders_of_deal();
  for (const auto& [demands, number] : contenders.classes()) {
    const Contenders::Class& of = contenders.at(number);
    if (of.has_work) queue_up(of);
  }
  deal_.claimants.sort();
  for (const ClaimantIndex index : deal_.claimants.ranked()) {
    if (!deal_.claimants[index].has_work) continue;
    candidates_.push_back(index);
    if (const auto turn = phase.who_first(candidates_.size() - 1))
      few_.push_back({*turn, deal_.claimants[index].tenant->rank});
  }
  std::make_heap(few_.begin(), few_.end(), comes_later);
}

void PlaceStage::queue_up(const Contenders::Class& of) {
  AllocatorState& state = deal_.state;
  const Contenders::Possible possible =
      state.contenders_of_deal().possible(state, of, deal_.tasks.free());
  if (possible == Contenders::Possible::nothing) return;
  const auto& height = of.heights;
  for (std::size_t i = 0; i < of.members.size(); ++i) {
    const std::uint32_t slot = of.members[i];
    const ClaimBounds& bounds = of.bounds[i];
    if (possible == Contenders::Possible::other) {
      if (!deal_.claimants.find(slot)) deal_.take_in(state.at(slot));
      continue;
    }
    if (height[0] < bounds.straddling[0] || height[1] < bounds.straddling[1] ||
        deal_.claimants.find(slot))
      continue;
    TenantState& tenant = state.at(slot);
    Waiting waiting{remainder_turn(Claim::straddles_quota, bounds.deficit), tenant.rank, true};
    if (height[0] < bounds.within[0] || height[1] < bounds.within[1]) {
      straddling_.push_back(waiting);
      continue;
    }
    const TaskFinder::Standing standing = deal_.tasks.standing(tenant, tenant.window.front());
    if (standing == TaskFinder::Standing::at_quota) continue;
    waiting.is_supposed = false;
    if (standing == TaskFinder::Standing::within)
      waiting.turn = remainder_turn(Claim::within_quota, bounds.deficit);
    few_.push_back(waiting);
  }
}

void PlaceStage::run_remainder_of_few() {
  Remainder phase{{*this}};
  queue_up_few(phase);
  AllocatorState& state = deal_.state;
  while (!phase.is_over()) {
    const bool may_be_within =
        !few_.empty() && few_.front().turn.first == static_cast<Units>(Claim::within_quota);
    if (!may_be_within && !straddling_.empty()) {
      few_.insert(few_.end(), straddling_.begin(), straddling_.end());
      straddling_.clear();
      std::make_heap(few_.begin(), few_.end(), comes_later);
    }
    if (few_.empty()) return;
    Waiting front = pop();
    TenantState& tenant = state.at(front.rank.slot);
    if (front.is_supposed &&
        deal_.tasks.standing(tenant, tenant.window.front()) == TaskFinder::Standing::at_quota)
      continue;
    front.is_supposed = false;
    auto index = deal_.claimants.find(front.rank.slot);
    if (!index) index = deal_.take_in(tenant);
    candidates_.assign(1, *index);
    auto turn = phase.who_first(0);
    if (turn == front.turn) {
      phase.place(0, deal_.claimants[*index].cursor);
      turn = phase.who_first(0);
    }
    if (!turn) continue;
    front.turn = *turn;
    push(front);
  }
}

void PlaceStage::place(ClaimantIndex index, std::uint32_t range_index, GrantStep step) {
  const WindowRange& entry = deal_.claimants[index].tenant->window[range_index];
  if (!entry.is_gang()) return place_task(index, range_index, step);
  const std::vector<GangShare> shares =
      deal_.tasks.gang_shares(*deal_.claimants[index].tenant, entry);
  FAIRWATER_CHECK(!shares.empty(), "a gang is placed where all of it has room");
  begin_gang(index, range_index, shares, step);
}

/// Only what is owed goes beyond the quota; a backfill is borrowed and counts. Where the ledger
/// counts time, what is owed moves marks instead.
bool PlaceStage::is_beyond_quota(Claimant& claimant, GrantStep step) {
  if (deal_.state.counts_time()) return false;
  if (step == GrantStep::guarantee || step == GrantStep::backfill) return false;
  return deal_.tasks.standing(claimant) == TaskFinder::Standing::at_quota;
}

void PlaceStage::begin_gang(ClaimantIndex index, std::uint32_t range_index,
                            std::span<const GangShare> shares, GrantStep step) {
  Claimant& claimant = deal_.claimants[index];
  const TenantState& tenant = *claimant.tenant;
  BegunGang gang{tenant.rank.slot,
                 tenant.window[range_index].range.job,
                 step,
                 is_beyond_quota(claimant, step),
                 {}};
  std::uint32_t here = 0;
  for (const GangShare& share : shares)
    if (share.node == deal_.node->id) {
      here = share.tasks;
      gang.gpus = share.gpus;
    } else {
      gang.rest.push_back(share);
    }
  std::reverse(gang.rest.begin(), gang.rest.end());
  deal_.state.forget_gang_plans();
  deal_.state.begun_gang = std::move(gang);
  for (std::uint32_t i = 0; i < here; ++i) place_task(index, range_index, step);
}

void PlaceStage::continue_gang() {
  BegunGang& gang = *deal_.state.begun_gang;
  FAIRWATER_CHECK(gang.rest.back().node == deal_.node->id, "a gang is placed without a break");
  const std::uint32_t tasks = gang.rest.back().tasks;
  gang.gpus = std::move(gang.rest.back().gpus);
  gang.rest.pop_back();
  TenantState& tenant = deal_.state.at(gang.tenant_slot);
  const auto entry =
      std::find_if(tenant.window.begin(), tenant.window.end(),
                   [&](const WindowRange& range) { return range.range.job == gang.job; });
  FAIRWATER_CHECK(entry != tenant.window.end() && entry->range.count >= tasks,
                  "a gang waits until it is whole");
  const auto range = static_cast<std::uint32_t>(entry - tenant.window.begin());
  const ClaimantIndex index = deal_.claimants.of(tenant);
  deal_.claimants[index].next = &*entry;
  deal_.claimants[index].backfilled = gang.step == GrantStep::backfill;
  for (std::uint32_t i = 0; i < tasks; ++i) place_task(index, range, gang.step);
}

void PlaceStage::place_task(ClaimantIndex index, std::uint32_t range_index, GrantStep step) {
  Claimant& claimant = deal_.claimants[index];
  TenantState& tenant = *claimant.tenant;
  WindowRange& entry = tenant.window[range_index];
  WaitingRange& range = entry.range;
  const Units cost = entry.task_cost();
  Grant grant{.task = {.job = range.job,
                       .index = range.first_index,
                       .attempt = range.attempt,
                       .incarnation = deal_.state.settings.incarnation},
              .tenant = tenant.id,
              .cost = cost,
              .demand = range.demand,
              .step = step};
  const std::optional<BegunGang>& gang = deal_.state.begun_gang;
  grant.beyond_quota = gang ? gang->beyond_quota : is_beyond_quota(claimant, step);
  if (!range.is_gang) grant.placement = deal_.tasks.chosen_by(tenant, range);
  grant.devices = deal_.state.devices_of_placed(*deal_.node, range, gang ? &gang->gpus : nullptr);
  deal_.tasks.take(range);
  claimant.standing.reset();
  ++range.first_index;
  --range.count;
  deal_.state.place(*deal_.node, tenant, grant,
                    {range.limit_ms, range.expected_ms, 0, range.is_service}, range.preemption,
                    range.user);
  if (range.count == 0) {
    deal_.state.note_granted_whole(tenant, entry);
    if (tenant.has_run_out()) deal_.run_out.push_back(tenant.rank.slot);
  }
  deal_.grants.push_back(grant);
  if (step == GrantStep::guarantee) {
    claimant.guaranteed += cost;
    return;
  }
  deal_.claimants.post(index, EntryReason::placed, -cost);
  deal_.placed += cost;
  if (!deal_.state.counts_time() && deal_.placed > deal_.dealt)
    deal_.draw(deal_.placed - deal_.dealt);
}

}  // namespace fairwater::inline policy::inline allocator
