#include "policy/allocator/by_time.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/contenders.hpp"
#include "policy/allocator/expected_room.hpp"
#include "policy/allocator/gangs.hpp"
#include "policy/allocator/give_way.hpp"
#include "policy/allocator/made_rooms.hpp"
#include "policy/allocator/time_turns.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

using Standing = AllocatorQuotas::Standing;

/// Where nobody knows how long tasks take.
constexpr std::int64_t kLeastMemoryMs = 1000;
/// How many tenants it gives a place when nothing fits any more, where it is to be quick.
constexpr std::size_t kMostLooks = 16;

TurnClass turn_class_of(Standing standing) {
  if (standing == Standing::at_quota) return TurnClass::beyond_quota;
  return standing == Standing::owing ? TurnClass::is_owing : TurnClass::has_claim;
}

GrantStep step_of(Standing standing) {
  switch (standing) {
    case Standing::within:
      return GrantStep::allowance;
    case Standing::straddling:
      return GrantStep::remainder;
    case Standing::owing:
    case Standing::at_quota:
      break;
  }
  return GrantStep::backfill;
}

/// From then on it is firm: it may start even where its tenant is at its mark.
LedgerMs firm_at(const TenantState& tenant, const WindowRange& entry) {
  if (entry.deferral_ms() == 0) return entry.firm_from_ms;
  return std::max(entry.firm_from_ms, moment_in(tenant.last_firm_ms, entry.deferral_ms()));
}

/// Of the tenant's tasks that have been late for so long the longest late. Null: there is none.
const WindowRange* longest_late(const TenantState& tenant, LedgerMs now_ms) {
  const WindowRange* longest = nullptr;
  for (const WindowRange& entry : tenant.window)
    if (entry.range.count > 0 && entry.deferral_ms() > 0 && entry.firm_from_ms <= now_ms &&
        (longest == nullptr || entry.late_from_ms < longest->late_from_ms))
      longest = &entry;
  return longest;
}

}  // namespace

PlaceByTime::Kept PlaceByTime::run(const std::vector<MadeRoom>& made_rooms,
                                   const std::optional<Reservation>& kept_before) {
  forget_places();
  kept_before_ = kept_before;
  deal_.state.correct_ends(*deal_.node);
  deal_.state.refresh_parts();
  deal_.state.refresh_turns();
  predict_ = deal_.state.settings.predict;
  start_in_made_rooms(deal_, made_rooms, [&](TenantState& tenant, std::uint32_t range) {
    return start(tenant, range, GrantStep::reserved);
  });
  if (!has_begun_gang()) place_late();
  if (!has_begun_gang()) place_in_turns();
  if (deal_.placed > 0) deal_.draw(deal_.placed);
  return {kept_, keeps_all_ && kept_};
}

void PlaceByTime::place_late() {
  while (const auto late = has_begun_gang() ? std::nullopt : first_late()) {
    const WindowRange& entry = late->tenant->window[late->range];
    if (deal_.awaits_window() && deal_.tasks.standing(*late->tenant, entry) != Standing::within)
      return;
    const bool is_beyond_mark = entry.deferral_ms() > 0 && is_at_mark(*late->tenant, entry);
    if (start(*late->tenant, late->range, GrantStep::reserved)) {
      if (is_beyond_mark) late->tenant->last_firm_ms = deal_.state.now_ms();
      continue;
    }
    predict_ = Predict::limits;
    const bool is_taken_again = !entry.is_gang() && !leave_taken_again(*late->tenant, entry);
    const bool may_be_kept = keep_room(*late->tenant, entry, true, is_taken_again);
    const bool waits_elsewhere = !may_be_kept || names_devices(entry.range) ||
                                 (entry.is_gang() && !may_use_node(*late->tenant, entry));
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
  if (!deal_.state.something_is_in_time(*deal_.node)) return first;
  if (deal_.state.looks_at_few(*deal_.node)) {
    look_for_late_few(first);
  } else {
    for (const RankKey& key : deal_.state.waiting()) look_for_late(deal_.state.at(key.slot), first);
  }
  return first;
}

LedgerMs PlaceByTime::deferred_until_ms(const TenantState& tenant, const WindowRange& entry) const {
  const LedgerMs at_ms = firm_at(tenant, entry);
  if (entry.deferral_ms() == 0) return at_ms;
  const WindowRange* longest = longest_late(tenant, deal_.state.now_ms());
  if (longest == nullptr || longest->late_from_ms >= entry.late_from_ms) return at_ms;
  return std::max(at_ms, moment_in(firm_at(tenant, *longest), longest->deferral_ms()));
}

bool PlaceByTime::is_deferred(TenantState& tenant, const WindowRange& entry) {
  // Who may not borrow never holds more, however long it waits.
  const auto may_be = [&] {
    return (!tenant.may_exceed_quota() && deal_.tasks.standing(tenant, entry) != Standing::owing) ||
           deferred_until_ms(tenant, entry) > deal_.state.now_ms();
  };
  return is_at_mark(tenant, entry) && may_be();
}

bool PlaceByTime::is_at_mark(TenantState& tenant, const WindowRange& entry) {
  return deal_.tasks.standing(tenant, entry) >= Standing::owing ||
         (kept_before_ && gives_way(deal_.state, tenant, entry, *kept_before_));
}

LedgerMs PlaceByTime::counts_late_from_ms(TenantState& tenant, const WindowRange& entry) {
  return is_deferred(tenant, entry) ? deferred_until_ms(tenant, entry) : entry.late_from_ms;
}

/// Tenants are to be looked at in ranked order: what is asked of placement rules hangs on what was
/// found before.
void PlaceByTime::look_for_late(TenantState& tenant, std::optional<Late>& first) {
  const LedgerMs now_ms = deal_.state.now_ms();
  if (tenant.first_late_ms > now_ms) return;
  const MicroUnits held = deal_.state.held_in_time(tenant);
  for (std::uint32_t i = 0; i < tenant.window.size(); ++i) {
    const WindowRange& entry = tenant.window[i];
    if (entry.late_from_ms > now_ms) continue;
    const auto order = late_order(deal_.state, tenant, entry, held);
    if (first && order >= first->order) continue;
    if (std::find(elsewhere_.begin(), elsewhere_.end(), entry.range.job) != elsewhere_.end())
      continue;
    if (deal_.tasks.could_hold(tenant, entry) && !is_deferred(tenant, entry))
      first = Late{&tenant, i, order};
  }
}

void PlaceByTime::look_for_late_few(std::optional<Late>& first) {
  AllocatorState& state = deal_.state;
  const Contenders& contenders = state.contenders();
  const LedgerMs now_ms = state.now_ms();
  const auto are_late = [&](const Contenders::ByLateness& some) {
    return !some.empty() && some.begin()->first <= now_ms;
  };
  // Of those in classes nothing is asked of placement rules.
  if (!are_late(contenders.late_others())) {
    for (const auto& [demands, number] : contenders.classes()) look_for_late(number, first);
    return;
  }
  late_.clear();
  const auto add = [&](const Contenders::ByLateness& some) {
    for (auto late = some.begin(); late != some.end() && late->first <= now_ms; ++late)
      late_.push_back(state.at(late->second).rank);
  };
  add(contenders.late_others());
  for (const auto& [demands, number] : contenders.classes()) add(contenders.at(number).late);
  std::sort(late_.begin(), late_.end());
  for (const RankKey& key : late_) look_for_late(state.at(key.slot), first);
}

/// By late_order(); of two alike the one that is before the other in ranked order.
void PlaceByTime::look_for_late(std::uint32_t number, std::optional<Late>& first) {
  AllocatorState& state = deal_.state;
  const LedgerMs now_ms = state.now_ms();
  const auto look_at = [&](std::uint32_t slot) {
    TenantState& tenant = state.at(slot);
    std::optional<Late> found;
    look_for_late(tenant, found);
    if (found && (!first || found->order < first->order ||
                  (found->order == first->order && tenant.rank < first->tenant->rank)))
      first = found;
  };
  const Contenders::ByLateness& late = state.contenders().at(number).late;
  if (late.empty() || late.begin()->first > now_ms) return;
  // After one that is firm comes nobody who is owed less, and then nobody who is late only later.
  for (const auto& [less_kept_ms, from_ms, slot] : state.contenders().in_credit(state, number)) {
    if (first && LateOrder{false, false, less_kept_ms, 0} > first->order) return;
    if (from_ms <= now_ms) look_at(slot);
  }
  for (const auto& [from_ms, slot] : late) {
    if (from_ms > now_ms || (first && LateOrder{false, true, 0, from_ms} > first->order)) return;
    look_at(slot);
  }
}

void PlaceByTime::look_at_turn(Candidate& candidate) {
  const WindowRange& entry = candidate.tenant->window[candidate.cursor];
  candidate.standing = deal_.tasks.standing(*candidate.tenant, entry);
  candidate.turn = turn_of(turn_terms(deal_.state, *candidate.tenant, entry),
                           turn_class_of(candidate.standing), memory_ms_);
  candidate.is_looked_at = true;
}

bool PlaceByTime::comes_later(std::size_t a, std::size_t b) const {
  const auto order = compare_turns(candidates_[a].turn, candidates_[b].turn);
  return order != 0 ? order > 0 : candidates_[b].tenant->rank < candidates_[a].tenant->rank;
}

void PlaceByTime::push(std::size_t candidate) {
  queue_.push_back(candidate);
  std::push_heap(queue_.begin(), queue_.end(),
                 [&](std::size_t a, std::size_t b) { return comes_later(a, b); });
}

std::size_t PlaceByTime::pop() {
  std::pop_heap(queue_.begin(), queue_.end(),
                [&](std::size_t a, std::size_t b) { return comes_later(a, b); });
  const std::size_t front = queue_.back();
  queue_.pop_back();
  return front;
}

void PlaceByTime::add_candidate(TenantState& tenant, Expected& expected) {
  Candidate candidate;
  candidate.tenant = &tenant;
  if (!deal_.tasks.find_possible(tenant, candidate.cursor)) return;
  candidates_.push_back(candidate);
  expected.add(tenant.window[candidate.cursor].range.expected_ms);
}

/// Those who wait for something that the node could hold, and how long their next tasks take.
void PlaceByTime::find_candidates() {
  AllocatorState& state = deal_.state;
  candidates_.clear();
  queue_.clear();
  streams_.clear();
  if (!state.something_is_in_time(*deal_.node)) return;
  Expected expected;
  const bool looks_at_few = state.looks_at_few(*deal_.node);
  Contenders& contenders = state.contenders();
  for (const RankKey& key : looks_at_few ? contenders.others() : state.waiting())
    add_candidate(state.at(key.slot), expected);
  std::vector<std::uint32_t> classes;
  if (looks_at_few)
    for (const auto& [demands, number] : contenders.classes()) {
      const Contenders::Class& of = contenders.at(number);
      switch (contenders.possible(state, of, deal_.tasks.free_one_day())) {
        case Contenders::Possible::nothing:
          break;
        case Contenders::Possible::next:
          expected.add(of.expected_ms, of.known);
          classes.push_back(number);
          break;
        case Contenders::Possible::other:
          for (const std::uint32_t slot : of.members) add_candidate(state.at(slot), expected);
          break;
      }
    }
  memory_ms_ = std::max(kLeastMemoryMs, expected.mean_ms());
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    look_at_turn(candidates_[i]);
    queue_.push_back(i);
  }
  std::make_heap(queue_.begin(), queue_.end(),
                 [&](std::size_t a, std::size_t b) { return comes_later(a, b); });
  for (const std::uint32_t number : classes) {
    const Contenders::Order& order = contenders.in_order(state, number, memory_ms_);
    streams_.push_back({&order, order.begin()});
  }
}

/// By their bounds nobody in the stream is before the candidate.
bool PlaceByTime::is_before(const Candidate& candidate, const Stream& stream) {
  const Contender& next = *stream.next;
  const auto first = static_cast<Units>(next.at_best);
  if (candidate.turn.first != first) return candidate.turn.first < first;
  return is_surely_before(candidate.turn, next.least);
}

std::optional<std::size_t> PlaceByTime::take_first() {
  for (;;) {
    Stream* first = nullptr;
    for (Stream& stream : streams_) {
      if (stream.is_empty()) continue;
      if (!queue_.empty() && is_before(candidates_[queue_.front()], stream)) continue;
      if (first == nullptr || *stream.next < *first->next) first = &stream;
    }
    if (first != nullptr) {
      take_next(*first);
      continue;
    }
    if (queue_.empty()) return std::nullopt;
    const std::size_t front = pop();
    take_twin(front);
    Candidate& candidate = candidates_[front];
    if (candidate.is_looked_at) return front;
    const Turn at_best = candidate.turn;
    look_at_turn(candidate);
    if (candidate.turn == at_best) return front;
    push(front);
  }
}

void PlaceByTime::take_next(Stream& stream) {
  const auto taken = stream.next++;
  if (!stream.is_empty() && stream.next->is_like(*taken)) {
    Contender behind_all = *taken;
    behind_all.rank = {.weight = 0, .id = 0, .slot = 0};
    stream.next = stream.order->upper_bound(behind_all);
  }
  take(taken, stream.next);
}

void PlaceByTime::take_twin(std::size_t candidate) {
  const Candidate& before = candidates_[candidate];
  const auto last = before.last_twin;
  const auto twin = std::exchange(candidates_[candidate].twin, last);
  if (twin != last) take(twin, last);
}

void PlaceByTime::take(Contenders::Order::const_iterator taken,
                       Contenders::Order::const_iterator last_twin) {
  Candidate& candidate = candidates_.emplace_back();
  candidate.tenant = &deal_.state.at(taken->rank.slot);
  candidate.turn = turn_of(taken->terms, taken->at_best, memory_ms_);
  candidate.twin = std::next(taken);
  candidate.last_twin = last_twin;
  push(candidates_.size() - 1);
}

void PlaceByTime::place_in_turns() {
  find_candidates();
  std::size_t looks = kMostLooks;
  while (!has_begun_gang() && !keeps_all_ && (deal_.tasks.something_may_fit() || !is_closed_)) {
    const bool is_quick = !deal_.gives_all_places && !deal_.tasks.something_may_fit();
    if (is_quick && looks-- == 0) break;
    const auto first = take_first();
    if (!first) break;
    Candidate& candidate = candidates_[*first];
    TenantState& tenant = *candidate.tenant;
    const WindowRange& entry = tenant.window[candidate.cursor];
    const Standing standing = candidate.standing;
    if (standing != Standing::within && deal_.awaits_window()) break;
    if (standing == Standing::at_quota && !tenant.takes_what_is_left()) {
      ++candidate.cursor;
    } else if (!start(tenant, candidate.cursor, step_of(standing))) {
      if (!is_closed_) (void)keep_room(tenant, entry, standing < Standing::owing);
      ++candidate.cursor;
    }
    if (is_quick || !deal_.tasks.find_possible(tenant, candidate.cursor)) continue;
    look_at_turn(candidate);
    push(*first);
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
  const auto shares = gang_start(deal_.state, tenant, entry, here, predict_, places);
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

ClaimantIndex PlaceByTime::take_part(TenantState& tenant, std::uint32_t range, GrantStep step) {
  const ClaimantIndex index = deal_.claimants.of(tenant);
  Claimant& claimant = deal_.claimants[index];
  claimant.cursor = range;
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
