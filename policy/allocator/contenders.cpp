#include "policy/allocator/contenders.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "policy/allocator/deal_steps.hpp"
#include "policy/allocator/late_order.hpp"
#include "policy/allocator/node_choice.hpp"
#include "policy/allocator/state.hpp"
#include "policy/allocator/time_marks.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// A window shows so many ranges, as long as few were granted. Longer ones are looked through by
/// deals: a class costs a look at each of its demands.
constexpr std::size_t kLongestWindow = 128;
/// How wide a band is to either side, as a part: among few who wait one of them moves it more.
constexpr std::int64_t kNarrowest = 256;
constexpr std::int64_t kWidest = 4;

/// Whether a node has shared GPUs for a task, its room does not tell.
bool is_for_any_node(const AllocatorState& state, const WindowRange& entry) {
  const WaitingRange& task = entry.range;
  return task.count > 0 && task.rule == nullptr && !task.home && !task.is_gang &&
         !goes_by_rule(task) && !state.takes_shares(task.demand);
}

bool is_within_own_max(const TenantState& tenant, const ResourceVector& demand) {
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0 && tenant.used[r] + tenant.grown[r] + demand[r] > tenant.terms.max[r])
      return false;
  return true;
}

bool is_same(const RankKey& a, const RankKey& b) { return !(a < b) && !(b < a); }

/// Among the tenant's groups.
bool is_within_max_of_groups(const AllocatorState& state, const TenantState& tenant,
                             const ResourceVector& demand) {
  if (tenant.group == QuotaTree::kRoot) return true;
  for (const std::size_t r : ResourceSet::asked_by(demand))
    if (state.quotas().full_group(tenant, r, demand[r])) return false;
  return true;
}

}  // namespace

bool operator<(const Contender& a, const Contender& b) {
  const auto key = [](const Contender& of) {
    return std::tie(of.at_best, of.least, of.terms.per, of.terms.held, of.terms.owed, of.rank);
  };
  return key(a) < key(b);
}

bool Contenders::Demands::are_of(const TenantState& tenant) const {
  if (tenant.group != group || tenant.least_demand != least) return false;
  std::size_t at = 0;
  for (const WindowRange& entry : tenant.window) {
    if (at > 0 && entry.range.demand == next[at - 1]) continue;
    if (at == next.size() || entry.range.demand != next[at]) return false;
    ++at;
  }
  return at == next.size();
}

std::strong_ordering operator<=>(const Contenders::Demands& a, const Contenders::Demands& b) {
  if (a.group != b.group) return a.group <=> b.group;
  if (a.least != b.least) return a.least.amount <=> b.least.amount;
  return std::lexicographical_compare_three_way(
      a.next.begin(), a.next.end(), b.next.begin(), b.next.end(),
      [](const ResourceVector& x, const ResourceVector& y) { return x.amount <=> y.amount; });
}

// -- what changes
// ---------------------------------------------------------------------------------------

void Contenders::note(std::uint32_t slot) {
  if (slot >= places_.size()) places_.resize(slot + std::size_t{1});
  if (std::exchange(places_[slot].is_stale, true)) return;
  stale_.push_back(slot);
}

/// Without order until it is asked for again.
void Contenders::refresh(const AllocatorState& state) {
  if (std::exchange(debts_round_, state.debts_round()) != state.debts_round())
    for (Ordered& ordered : ordered_) ordered = {};
  for (const std::uint32_t slot : stale_) refresh(state, slot);
  stale_.clear();
}

Contenders::Kind Contenders::kind_of(const AllocatorState& state, const TenantState& tenant) {
  if (tenant.window.size() > kLongestWindow || state.quotas().is_promised_some(tenant.id))
    return Kind::other;
  std::size_t within_max = 0;
  for (const WindowRange& entry : tenant.window) {
    if (!is_for_any_node(state, entry)) return Kind::other;
    if (is_within_own_max(tenant, entry.range.demand)) ++within_max;
  }
  if (within_max == 0) return Kind::beyond_max;
  return within_max == tenant.window.size() ? Kind::of_class : Kind::other;
}

void Contenders::refresh(const AllocatorState& state, std::uint32_t slot) {
  const TenantState& known = state.at(slot);
  const TenantState* tenant = known.id && !known.window.empty() ? &known : nullptr;
  Place& place = places_[slot];
  place.is_stale = false;
  if (place.next_cost > 0 && --next_costs_.find(place.next_cost)->second == 0)
    next_costs_.erase(place.next_cost);
  place.next_cost = tenant == nullptr ? 0 : tenant->window.front().cost;
  if (place.next_cost > 0) ++next_costs_[place.next_cost];
  const Kind kind = tenant == nullptr ? Kind::beyond_max : kind_of(state, *tenant);
  put_among_others(slot, kind == Kind::other ? tenant : nullptr);
  const TenantState* member = kind == Kind::of_class ? tenant : nullptr;
  put_below_min(place, member);
  put_in_class(state, slot, member);
}

void Contenders::put_among_others(std::uint32_t slot, const TenantState* tenant) {
  Place& place = places_[slot];
  if (place.among_others) {
    if (place.other_late_ms != kNever) late_others_.erase({place.other_late_ms, slot});
    if (tenant == nullptr || !is_same(*place.among_others, tenant->rank)) {
      others_.erase(*place.among_others);
      place.among_others.reset();
    }
  }
  place.other_late_ms = kNever;
  if (tenant == nullptr) return;
  if (!place.among_others) others_.insert(place.among_others.emplace(tenant->rank));
  place.other_late_ms = tenant->first_late_ms;
  if (place.other_late_ms != kNever) late_others_.emplace(place.other_late_ms, slot);
}

void Contenders::put_below_min(Place& place, const TenantState* tenant) {
  if (place.below_min) below_min_.erase(*std::exchange(place.below_min, std::nullopt));
  if (tenant != nullptr && tenant->is_below_min())
    below_min_.insert(place.below_min.emplace(tenant->rank));
}

void Contenders::put_in_class(const AllocatorState& state, std::uint32_t slot,
                              const TenantState* tenant) {
  Place& place = places_[slot];
  if (place.number != kNone) {
    strike(slot);
    if (tenant == nullptr || !classes_[place.number].demands.are_of(*tenant)) leave(slot);
  }
  if (tenant == nullptr) return;
  if (place.number == kNone) join(slot, *tenant);
  enter(state, slot);
}

void Contenders::join(std::uint32_t slot, const TenantState& tenant) {
  Demands demands{tenant.group, tenant.least_demand, {}};
  for (const WindowRange& entry : tenant.window)
    if (demands.next.empty() || demands.next.back() != entry.range.demand)
      demands.next.push_back(entry.range.demand);
  const auto [known, is_new] = class_of_.try_emplace(std::move(demands), kNone);
  if (is_new) {
    if (free_numbers_.empty()) {
      free_numbers_.push_back(static_cast<std::uint32_t>(classes_.size()));
      classes_.emplace_back();
      ordered_.emplace_back();
    }
    known->second = free_numbers_.back();
    free_numbers_.pop_back();
    classes_[known->second].demands = known->first;
  }
  Class& joined = classes_[known->second];
  places_[slot].number = known->second;
  places_[slot].at = static_cast<std::uint32_t>(joined.members.size());
  joined.members.push_back(slot);
  joined.bounds.emplace_back();
}

void Contenders::leave(std::uint32_t slot) {
  Place& place = places_[slot];
  Class& left = classes_[place.number];
  places_[left.members.back()].at = place.at;
  left.members[place.at] = left.members.back();
  left.members.pop_back();
  left.bounds[place.at] = left.bounds.back();
  left.bounds.pop_back();
  if (left.members.empty()) {
    class_of_.erase(left.demands);
    free_numbers_.push_back(place.number);
    left = {};
    ordered_[place.number] = {};
  }
  place.number = kNone;
}

void Contenders::strike(std::uint32_t slot) {
  Place& place = places_[slot];
  Class& of = classes_[place.number];
  of.expected_ms -= place.expected_ms;
  if (place.expected_ms > 0) --of.known;
  Ordered& ordered = ordered_[place.number];
  if (ordered.in_credit) ordered.in_credit->erase({place.less_kept_ms, place.late_ms, slot});
  place.less_kept_ms = 0;
  if (place.late_ms != kNever) of.late.erase({place.late_ms, slot});
  if (place.in_order && ordered.band.is_known) ordered.order.erase(*place.in_order);
  place.in_order.reset();
}

void Contenders::enter(const AllocatorState& state, std::uint32_t slot) {
  Place& place = places_[slot];
  Class& of = classes_[place.number];
  const TenantState& tenant = state.at(slot);
  if (!state.counts_time()) {
    of.bounds[place.at] = bounds_of(state, tenant);
    return;
  }
  place.expected_ms = tenant.window.front().range.expected_ms;
  of.expected_ms += place.expected_ms;
  if (place.expected_ms > 0) ++of.known;
  place.late_ms = tenant.first_late_ms;
  if (place.late_ms != kNever) of.late.emplace(place.late_ms, slot);
  Ordered& ordered = ordered_[place.number];
  if (ordered.in_credit) put_in_credit(state, slot, *ordered.in_credit);
  if (ordered.band.is_known)
    ordered.order.insert(place.in_order.emplace(contender_of(state, tenant, ordered.band)));
}

/// As AllocatorQuotas::standing().
ClaimBounds Contenders::bounds_of(const AllocatorState& state, const TenantState& tenant) {
  const WindowRange& next = tenant.window.front();
  ClaimBounds bounds{.deficit = tenant.deficit,
                     .waits_for = static_cast<Units>(
                         std::min(Wide{next.task_cost()} * next.range.count, Wide{kMaxDealUnits}))};
  std::size_t told = 0;
  for (const std::size_t r : next.asks) {
    if (told == ClaimBounds::kResources) break;
    const Amount held = tenant.holdings[r].counted;
    bounds.within[told] = state.quotas().surely_less_below(tenant, r, held + next.asked_at_once(r));
    bounds.straddling[told] = state.quotas().surely_less_below(tenant, r, held + 1);
    ++told;
  }
  return bounds;
}

// -- what deals ask
// ---------------------------------------------------------------------------------------

Units Contenders::largest_next_cost() const {
  return next_costs_.empty() ? 0 : next_costs_.rbegin()->first;
}

Contenders::Possible Contenders::possible(const AllocatorState& state, const Class& of,
                                          const ResourceVector& free) const {
  const TenantState& member = state.at(of.members.front());
  const std::vector<ResourceVector>& next = of.demands.next;
  const auto is_possible = [&](const ResourceVector& demand) {
    return demand.fits(free) && is_within_max_of_groups(state, member, demand);
  };
  const auto first = std::find_if(next.begin(), next.end(), is_possible);
  if (first == next.end()) return Possible::nothing;
  return first == next.begin() ? Possible::next : Possible::other;
}

void Contenders::look_for_work(const AllocatorState& state, const ResourceVector& free) {
  for (const auto& [demands, number] : class_of_) {
    Class& of = classes_[number];
    of.has_work = possible(state, of, free) != Possible::nothing;
    if (!of.has_work || state.counts_time()) continue;
    const AllocatorQuotas::WaterMarks marks = state.quotas().water_marks(demands.group);
    std::size_t told = 0;
    of.heights = {};
    for (const std::size_t r : state.at(of.members.front()).window.front().asks)
      if (told < of.heights.size()) of.heights[told++] = marks[r];
  }
}

void Contenders::look_for_no_work() {
  for (Class& of : classes_) of.has_work = false;
}

bool Contenders::deficit_may_matter(const TenantState& tenant) const {
  const Place& place = places_[tenant.rank.slot];
  const Class& of = classes_[place.number];
  const ClaimBounds& bounds = of.bounds[place.at];
  // Where they ask for other things, too, another task may be next before the deal is over.
  if (of.demands.next.size() > 1 || tenant.net > 0 || bounds.deficit > bounds.waits_for)
    return true;
  return !(of.heights[0] < bounds.within[0] || of.heights[1] < bounds.within[1]);
}

bool Contenders::has_work(std::uint32_t slot) const {
  return slot < places_.size() && places_[slot].number != kNone &&
         classes_[places_[slot].number].has_work;
}

// -- order
// ---------------------------------------------------------------------------------------

Contender Contenders::contender_of(const AllocatorState& state, const TenantState& tenant,
                                   const Band& band) {
  const WindowRange& next = tenant.window.front();
  const bool has_no_claim = is_surely_without_claim(state, tenant, next, band.highest);
  Contender contender{.at_best = has_no_claim ? TurnClass::beyond_quota : TurnClass::has_claim,
                      .least = 0,
                      .terms = turn_terms(state, tenant, next),
                      .rank = tenant.rank};
  contender.least = least_value(contender.terms, band.least_memory_ms, band.most_memory_ms);
  return contender;
}

bool Contenders::is_within(const Band& band, const AllocatorQuotas::WaterMarks& marks,
                           std::int64_t memory_ms) {
  if (!band.is_known || memory_ms < band.least_memory_ms || memory_ms > band.most_memory_ms)
    return false;
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    if (std::isnan(marks[r]) && std::isnan(band.highest[r])) continue;
    if (!(marks[r] >= band.lowest[r] && marks[r] <= band.highest[r])) return false;
  }
  return true;
}

const Contenders::Order& Contenders::in_order(const AllocatorState& state, std::uint32_t number,
                                              std::int64_t memory_ms) {
  const Class& of = classes_[number];
  Ordered& ordered = ordered_[number];
  const AllocatorQuotas::WaterMarks marks = state.quotas().water_marks(of.demands.group);
  if (is_within(ordered.band, marks, memory_ms)) return ordered.order;
  const auto members = static_cast<std::int64_t>(of.members.size());
  const std::int64_t part = std::clamp(members / 16, kWidest, kNarrowest);
  const double beside = 1.0 / static_cast<double>(part);
  Band& band = ordered.band;
  band = {.is_known = true,
          .least_memory_ms = std::max<std::int64_t>(1, memory_ms - memory_ms / part),
          .most_memory_ms = memory_ms + memory_ms / part};
  for (std::size_t r = 0; r < kMaxResources; ++r) {
    band.lowest[r] = marks[r] * (1 - beside);
    band.highest[r] = marks[r] * (1 + beside);
  }
  std::vector<Contender> contenders;
  contenders.reserve(of.members.size());
  for (const std::uint32_t slot : of.members)
    contenders.push_back(places_[slot].in_order.emplace(contender_of(state, state.at(slot), band)));
  std::sort(contenders.begin(), contenders.end());
  ordered.order = Order(contenders.begin(), contenders.end());
  return ordered.order;
}

void Contenders::put_in_credit(const AllocatorState& state, std::uint32_t slot, ByCredit& credit) {
  Place& place = places_[slot];
  if (place.late_ms == kNever) return;
  const TenantState& tenant = state.at(slot);
  place.less_kept_ms = -kept_from_part_ms(state, tenant, state.held_in_time(tenant));
  if (place.less_kept_ms != 0) credit.emplace(place.less_kept_ms, place.late_ms, slot);
}

const Contenders::ByCredit& Contenders::in_credit(const AllocatorState& state,
                                                  std::uint32_t number) {
  std::optional<ByCredit>& credit = ordered_[number].in_credit;
  if (!credit) {
    credit.emplace();
    for (const auto& [late_ms, slot] : classes_[number].late) put_in_credit(state, slot, *credit);
  }
  return *credit;
}

}  // namespace fairwater::inline policy::inline allocator
