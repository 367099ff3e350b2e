// The room that a node keeps for who has no room there now, where the ledger counts time.
#include <algorithm>
#include <tuple>

#include "policy/allocator/by_time.hpp"
#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/gangs.hpp"
#include "policy/allocator/taken_again.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Places that one deal gives. Bounds its work; figures move little beyond a few.
constexpr std::size_t kMostPlaces = 64;

/// Whether the first place is better than the other. Any that comes is better than one of which
/// that is not known.
bool comes_first(const KeptPlace& a, const KeptPlace& b) {
  return std::tuple(a.from_ms == kNever, a.is_taken_again, a.from_ms, a.node) <
         std::tuple(b.from_ms == kNever, b.is_taken_again, b.from_ms, b.node);
}

}  // namespace

void PlaceByTime::forget_places() {
  profile_.reset();
  places_ = 0;
  is_closed_ = keeps_all_ = false;
  elsewhere_.clear();
  left_.clear();
  kept_.reset();
}

/// The place that the task has so far.
std::vector<KeptPlace>::iterator PlaceByTime::place_of(TenantState& tenant,
                                                       const WaitingRange& task) {
  return std::find_if(tenant.kept.begin(), tenant.kept.end(), [&](const KeptPlace& place) {
    if (place.job) return place.job == task.job;
    const auto& reservation = deal_.state.node(place.node).reservation;
    return reservation && reservation->demand == task.demand;
  });
}

LedgerMs PlaceByTime::room_from(const WaitingRange& task,
                                const std::optional<ExpectedShares>& shares) const {
  const std::int64_t duration_ms = duration_of(task, predict_);
  if (!deal_.state.takes_shares(task.demand))
    return profile_->earliest(task.demand, duration_ms, kNever).value_or(kNever);
  if (!shares) return kNever;
  RoomProfile from_then = *profile_;
  from_then.pass_to(shares->from_ms);
  return from_then.earliest(task.demand, duration_ms, kNever).value_or(kNever);
}

bool PlaceByTime::leave_taken_again(const TenantState& tenant, const WindowRange& late) {
  auto taken = taken_again(deal_.state, *deal_.node, tenant, late);
  std::erase_if(taken, [&](const TakenAgain& room) { return left_.contains(room.task); });
  if (taken.empty()) return true;
  if (!profile_) profile_ = expected_room(*deal_.node, deal_.state.now_ms(), predict_);
  const LedgerMs all_has_ended_ms = moment_in(profile_->steps().back().from, 1);
  const auto from_ms = [&](const RoomProfile& room) {
    return room.earliest(late.range.demand, duration_of(late.range, predict_), all_has_ended_ms);
  };
  RoomProfile beside = *profile_;
  for (const TakenAgain& room : taken)
    if (!room.is_own) beside.take(room.from_ms, room.until_ms, room.task->demand);
  // Where nothing else becomes free it is better than nothing.
  if (!from_ms(beside)) return false;
  profile_ = beside;
  for (const TakenAgain& room : taken) {
    if (room.is_own)
      beside.take(room.from_ms, room.until_ms, room.task->demand);
    else
      left_.insert(room.task);
  }
  return from_ms(beside) == from_ms(*profile_);
}

bool PlaceByTime::keep_room(TenantState& tenant, const WindowRange& entry, bool has_claim,
                            bool is_taken_again) {
  if (entry.is_gang()) {
    keep_gang_room(tenant, entry, has_claim);
    return true;
  }
  AllocatorState& state = deal_.state;
  NodeRoom& node = *deal_.node;
  const WaitingRange& task = entry.range;
  // When a device is free, no time limit of room tells.
  if (names_devices(task)) return true;
  if (!profile_) profile_ = expected_room(node, state.now_ms(), predict_);
  std::optional<ExpectedShares> shares;
  if (state.takes_shares(task.demand)) shares = expected_shares(state, node, task, predict_);
  const LedgerMs from_ms = room_from(task, shares);
  if (!node.is_open_for(task, from_ms)) return false;
  if (from_ms == kNever && (!has_claim || places_ > 0)) {
    // Those with a claim came before: where nothing is expected to end nobody gets a place any
    // more.
    is_closed_ = node.ends.empty();
    return true;
  }
  const auto kept = place_of(tenant, task);
  const bool has_place = kept != tenant.kept.end();
  const KeptPlace here{task.job, node.id, from_ms, counts_late_from_ms(tenant, entry),
                       is_taken_again};
  if (has_place && kept->node != node.id && comes_first(*kept, here)) return true;
  if (!has_place && state.somewhere_has_room(tenant, task)) return true;
  if (!has_place || kept->node != node.id) {
    if (has_place) tenant.kept.erase(kept);
    tenant.kept.push_back(here);
    node.places_of.push_back(tenant.rank.slot);
  }
  if (shares && from_ms != kNever)
    node.kept_devices.push_back({tenant.rank.slot, task.job, from_ms, predict_, shares->names});
  if (!kept_) kept_ = Reservation{tenant.id, task.demand};
  if (from_ms == kNever)
    keeps_all_ = true;
  else
    profile_->take(from_ms, moment_in(from_ms, duration_of(task, predict_)), task.demand);
  is_closed_ = is_closed_ || ++places_ == kMostPlaces;
  return true;
}

/// By its plan, which is of several nodes, or of others.
void PlaceByTime::keep_gang_room(TenantState& tenant, const WindowRange& gang, bool has_claim) {
  AllocatorState& state = deal_.state;
  const PlanTerms terms{predict_, counts_late_from_ms(tenant, gang), has_claim};
  const GangPlan* plan = gang_plan(state, tenant, gang, terms);
  if (plan == nullptr) return;
  const std::uint32_t tasks = state.tasks_kept_on(*deal_.node, gang.range.job);
  if (tasks == 0) return;
  state.note_gang_turn(*deal_.node, gang.range.job);
  if (plan->from_ms == kNever) {
    keeps_all_ = true;
    kept_.reset();
    return;
  }
  if (!profile_) profile_ = expected_room(*deal_.node, state.now_ms(), predict_);
  profile_->take(plan->from_ms, moment_in(plan->from_ms, duration_of(gang.range, predict_)),
                 gang.range.demand * Amount{tasks});
}

bool PlaceByTime::may_use_node(const TenantState& tenant, const WindowRange& gang) const {
  const GangPlan* plan = deal_.state.gang_plan_of(tenant.rank.slot, gang.range.job);
  return plan != nullptr && !plan->shares.empty() &&
         deal_.state.is_allowed_on(*deal_.node, gang.range);
}

}  // namespace fairwater::inline policy::inline allocator
