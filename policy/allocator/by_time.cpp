#include "policy/allocator/by_time.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/gangs.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

using Standing = AllocatorQuotas::Standing;

Units bounded(Wide value) {
  constexpr Wide kMost = Wide{1} << 60;
  return static_cast<Units>(std::clamp(value, -kMost, kMost));
}

/// See the order in by_time.hpp.
Turn turn_of(const AllocatorState& state, const TenantState& tenant, const WindowRange& next,
             Standing standing, std::int64_t memory_ms) {
  const std::size_t resource = state.accounts().time().resource();
  const MicroUnits held = state.quotas().micro_units_of(tenant.used[resource], resource);
  const MicroUnits cost = state.quotas().micro_units_of(next.asked_at_once(resource), resource);
  const Wide owed = Wide{cost} * next.range.expected_ms - Wide{tenant.net} * kMicroUnitsPerUnit;
  return {.first = standing == Standing::at_quota ? 1 : 0,
          .second = bounded(Wide{held} + cost + quotient(owed, memory_ms)),
          .per = std::max<MicroUnits>(tenant.part, 1)};
}

/// Where nobody knows how long tasks take.
constexpr std::int64_t kLeastMemoryMs = 1000;
/// Places that one deal gives. Bounds its work; figures move little beyond a few.
constexpr std::size_t kMostPlaces = 64;
/// How many tenants it gives a place when nothing fits any more, where it is to be quick.
constexpr std::size_t kMostLooks = 16;
GrantStep step_of(Standing standing) {
  switch (standing) {
    case Standing::within:
      return GrantStep::allowance;
    case Standing::straddling:
      return GrantStep::remainder;
    case Standing::at_quota:
      break;
  }
  return GrantStep::backfill;
}

/// Whether this place is before one from then on there.
bool comes_first(const KeptPlace& place, LedgerMs from_ms, NodeId node) {
  return std::pair(place.from_ms, place.node) < std::pair(from_ms, node);
}

}  // namespace

PlaceByTime::Kept PlaceByTime::run() {
  forget_places();
  deal_.state.correct_ends(*deal_.node);
  deal_.state.refresh_parts();
  predict_ = deal_.state.settings.predict;
  place_late();
  if (!has_begun_gang()) place_in_turns();
  if (deal_.placed > 0) deal_.draw(deal_.placed);
  return {kept_, keeps_all_ && kept_};
}

void PlaceByTime::place_late() {
  while (const auto late = has_begun_gang() ? std::nullopt : first_late()) {
    const WindowRange& entry = late->tenant->window[late->range];
    if (start(*late->tenant, late->range, GrantStep::reserved)) continue;
    predict_ = Predict::limits;
    keep_room(*late->tenant, entry, true);
    const bool waits_elsewhere =
        names_devices(entry.range) || (entry.is_gang() && !may_use_node(*late->tenant, entry));
    if (waits_elsewhere) {
      elsewhere_.push_back(entry.range.job);
      continue;
    }
    is_closed_ = true;
    return;
  }
}

std::optional<PlaceByTime::Late> PlaceByTime::first_late() {
  std::optional<Late> first;
  const LedgerMs now_ms = deal_.state.now_ms();
  if (deal_.state.first_late_ms() > now_ms) return std::nullopt;
  LedgerMs first_late_ms = kNever;
  for (const RankKey& key : deal_.state.waiting()) {
    TenantState& tenant = deal_.state.at(key.slot);
    first_late_ms = std::min(first_late_ms, tenant.first_late_ms);
    if (tenant.first_late_ms > now_ms) continue;
    for (std::uint32_t i = 0; i < tenant.window.size(); ++i) {
      const WindowRange& entry = tenant.window[i];
      if (entry.late_from_ms > now_ms || (first && entry.late_from_ms >= first->from_ms)) continue;
      if (std::find(elsewhere_.begin(), elsewhere_.end(), entry.range.job) != elsewhere_.end())
        continue;
      if (deal_.tasks.could_hold(tenant, entry)) first = Late{&tenant, i, entry.late_from_ms};
    }
  }
  deal_.state.note_first_late(first_late_ms);
  return first;
}

void PlaceByTime::queue_up(std::size_t candidate) {
  Candidate& at = candidates_[candidate];
  const WindowRange& entry = at.tenant->window[at.cursor.next];
  at.standing = deal_.tasks.standing(*at.tenant, entry);
  queue_.push_back({turn_of(deal_.state, *at.tenant, entry, at.standing, memory_ms_), candidate});
}

/// Those who wait for something that the node could hold, and how long their next tasks take.
void PlaceByTime::find_candidates() {
  candidates_.clear();
  queue_.clear();
  Wide expected_ms = 0;
  std::int64_t known = 0;
  for (const RankKey& key : deal_.state.waiting()) {
    Candidate candidate;
    candidate.tenant = &deal_.state.at(key.slot);
    if (!deal_.tasks.find_possible(*candidate.tenant, candidate.cursor)) continue;
    candidates_.push_back(candidate);
    const WaitingRange& next = candidate.tenant->window[candidate.cursor.next].range;
    if (next.expected_ms == 0) continue;
    expected_ms += next.expected_ms;
    ++known;
  }
  memory_ms_ = kLeastMemoryMs;
  if (known > 0) memory_ms_ = std::max(memory_ms_, static_cast<std::int64_t>(expected_ms / known));
}

void PlaceByTime::place_in_turns() {
  find_candidates();
  for (std::size_t i = 0; i < candidates_.size(); ++i) queue_up(i);
  std::make_heap(queue_.begin(), queue_.end(), ComesLater{});
  std::size_t looks = kMostLooks;
  while (!queue_.empty() && !has_begun_gang() && !keeps_all_ &&
         (deal_.tasks.something_may_fit() || !is_closed_)) {
    const bool is_quick = !deal_.gives_all_places && !deal_.tasks.something_may_fit();
    if (is_quick && looks-- == 0) break;
    std::pop_heap(queue_.begin(), queue_.end(), ComesLater{});
    const std::size_t front = queue_.back().candidate;
    queue_.pop_back();
    Candidate& candidate = candidates_[front];
    TenantState& tenant = *candidate.tenant;
    const WindowRange& entry = tenant.window[candidate.cursor.next];
    const Standing standing = candidate.standing;
    if (standing == Standing::at_quota && !tenant.terms.may_borrow) {
      ++candidate.cursor.next;
    } else if (!start(tenant, candidate.cursor.next, step_of(standing))) {
      if (!is_closed_) keep_room(tenant, entry, standing != Standing::at_quota);
      ++candidate.cursor.next;
      ++candidate.cursor.skipped;
    }
    if (is_quick || !deal_.tasks.find_possible(tenant, candidate.cursor)) continue;
    queue_up(front);
    std::push_heap(queue_.begin(), queue_.end(), ComesLater{});
  }
}

bool PlaceByTime::start(TenantState& tenant, std::uint32_t range, GrantStep step) {
  const WindowRange& entry = tenant.window[range];
  if (!entry.is_gang()) {
    if (!may_start(tenant, entry)) return false;
    place(tenant, range, step);
    return true;
  }
  // Since it was found others may have been placed, up to a max that they share.
  if (!deal_.tasks.could_hold(tenant, entry)) return false;
  const RoomHere here{deal_.node, deal_.tasks.free(), profile_ ? &*profile_ : nullptr};
  const auto places =
      step == GrantStep::reserved ? OtherPlaces::of_later_yield : OtherPlaces::count;
  const auto shares = gang_start(deal_.state, entry, here, predict_, places);
  if (!shares) return false;
  place_.begin_gang(take_part(tenant, range, step), range, *shares, step);
  return true;
}

bool PlaceByTime::may_start(const TenantState& tenant, const WindowRange& entry) {
  if (keeps_all_ || !deal_.tasks.fits_now(tenant, entry)) return false;
  const LedgerMs now_ms = deal_.state.now_ms();
  return !profile_ ||
         profile_->earliest(entry.range.demand, duration_of(entry.range, predict_), now_ms + 1)
             .has_value();
}

void PlaceByTime::forget_places() {
  deal_.state.forget_places(*deal_.node);
  profile_.reset();
  places_ = 0;
  is_closed_ = keeps_all_ = false;
  elsewhere_.clear();
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

void PlaceByTime::keep_room(TenantState& tenant, const WindowRange& entry, bool has_claim) {
  if (entry.is_gang()) return keep_gang_room(tenant, entry, has_claim);
  AllocatorState& state = deal_.state;
  NodeRoom& node = *deal_.node;
  const WaitingRange& task = entry.range;
  // When a device is free, no time limit of room tells.
  if (names_devices(task)) return;
  if (!profile_) profile_ = expected_room(node, state.now_ms(), predict_);
  std::optional<ExpectedShares> shares;
  if (state.takes_shares(task.demand)) shares = expected_shares(state, node, task, predict_);
  const LedgerMs from_ms = room_from(task, shares);
  if (from_ms == kNever && (!has_claim || places_ > 0)) {
    // Those with a claim came before: where nothing is expected to end nobody gets a place any
    // more.
    is_closed_ = node.ends.empty();
    return;
  }
  const auto kept = place_of(tenant, task);
  const bool has_place = kept != tenant.kept.end();
  if (has_place && kept->node != node.id && comes_first(*kept, from_ms, node.id)) return;
  if (!has_place && state.somewhere_has_room(tenant, task)) return;
  if (!has_place || kept->node != node.id) {
    if (has_place) tenant.kept.erase(kept);
    tenant.kept.push_back({task.job, node.id, from_ms, entry.late_from_ms});
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
}

/// By its plan, which is of several nodes, or of others.
void PlaceByTime::keep_gang_room(const TenantState& tenant, const WindowRange& gang,
                                 bool has_claim) {
  AllocatorState& state = deal_.state;
  const GangPlan* plan = gang_plan(state, tenant, gang, predict_, has_claim);
  if (plan == nullptr) return;
  const std::uint32_t tasks = state.tasks_kept_on(*deal_.node, gang.range.job);
  if (tasks == 0) return;
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
  const PlacementRule* rule = gang.range.rule.get();
  return plan != nullptr && !plan->shares.empty() &&
         (rule == nullptr || rule->allows(deal_.node->traits));
}

ClaimantIndex PlaceByTime::take_part(TenantState& tenant, std::uint32_t range, GrantStep step) {
  const ClaimantIndex index = deal_.claimants.of(tenant);
  Claimant& claimant = deal_.claimants[index];
  claimant.cursor.next = range;
  claimant.next = &tenant.window[range];
  claimant.standing.reset();
  claimant.backfilled = claimant.backfilled || step == GrantStep::backfill;
  return index;
}

void PlaceByTime::place(TenantState& tenant, std::uint32_t range, GrantStep step) {
  const ClaimantIndex index = take_part(tenant, range, step);
  const WaitingRange& task = tenant.window[range].range;
  const LedgerMs now_ms = deal_.state.now_ms();
  if (profile_) profile_->take(now_ms, moment_in(now_ms, duration_of(task, predict_)), task.demand);
  place_.place(index, range, step);
}

}  // namespace fairwater::inline policy::inline allocator
