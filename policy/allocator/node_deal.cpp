#include "policy/allocator/node_deal.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/made_rooms.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// floor(units * free / demand) without 128-bit division where it is not needed.
Units scaled(Units units, Amount free, Amount demand) {
  Amount product = 0;
  if (!__builtin_mul_overflow(units, free, &product)) return product / demand;
  return static_cast<Units>(std::min(Wide{units} * free / demand, Wide{kMaxDealUnits}));
}

/// The node's room in units of one task's shape.
Units units_of(const ResourceVector& free, const WindowRange& entry, DealMode mode) {
  if (entry.asks.empty()) return entry.task_cost();
  Units units = kMaxDealUnits;
  for (const std::size_t r : entry.asks) {
    const Amount demand = entry.range.demand[r];
    units = std::min(units, mode == DealMode::slots ? free[r] / demand
                                                    : scaled(entry.task_cost(), free[r], demand));
  }
  return units;
}

bool have_one_shape(const WindowRange& a, const WindowRange& b) {
  if (a.asks != b.asks) return false;
  for (const std::size_t r : a.asks)
    if (a.range.demand[r] != b.range.demand[r]) return false;
  return true;
}

}  // namespace

std::optional<Deal> NodeDeal::run(NodeId node, bool gives_all_places) {
  NodeRoom& dealt = deal_.state.node(node);
  deal_.gives_all_places = gives_all_places;
  made_rooms_.clear();
  if (!deal_.state.begun_gang) made_rooms_ = deal_.state.lift_made_rooms(dealt);
  deal_.begin(dealt);
  placed_gang_ = false;
  chosen_next_.clear();
  left_to_chosen_ = gave_up_choosing_ = false;
  if (!dealt.accepts || !ResourceVector{}.fits(dealt.free())) return std::nullopt;
  std::optional<BegunGang>& gang = deal_.state.begun_gang;
  std::optional<Deal> deal = gang ? continue_gang() : run_stages();
  deal_.claimants.forget();
  placed_gang_ = gang.has_value();
  if (gang && gang->rest.empty()) gang.reset();
  review_choices();
  return deal;
}

void NodeDeal::review_choices() {
  const auto left = left_to_.extract(deal_.node->id);
  const auto& choices = deal_.tasks.choices();
  for (const TaskFinder::Choice& choice : choices)
    review_choice(*choice.tenant, choice.task, choice.is_here);
  if (left.empty()) return;
  // Others of their tenants were before them: the node does not take them either.
  for (const auto& [slot, task] : left.mapped()) {
    const TenantState& tenant = deal_.state.at(slot);
    const bool is_reviewed =
        std::any_of(choices.begin(), choices.end(), [&, &left_task = task](const auto& choice) {
          return choice.tenant == &tenant && go_to_same_nodes(choice.task, left_task);
        });
    if (!is_reviewed) review_choice(tenant, task, true);
  }
}

void NodeDeal::review_choice(const TenantState& tenant, const WaitingRange& task, bool is_here) {
  AllocatorState& state = deal_.state;
  const NodeId here = deal_.node->id;
  const auto is_it = [&](const WaitingRange& other) { return go_to_same_nodes(other, task); };
  const bool still_waits = std::any_of(
      tenant.window.begin(), tenant.window.end(),
      [&](const WindowRange& entry) { return entry.range.count > 0 && is_it(entry.range); });
  if (!still_waits) return;
  left_to_chosen_ = left_to_chosen_ || !is_here;
  auto chosen = state.choose_node(tenant, task);
  // With a gang the deal ended early. Where none is chosen any more the node keeps its room for
  // others since the deal, and those that left the task to it may have some.
  if (is_here && !placed_gang_ && (!chosen || chosen == here)) {
    state.choices().refuse(here, task);
    chosen = state.choose_node(tenant, task);
    gave_up_choosing_ = gave_up_choosing_ || !chosen;
  }
  if (!chosen) return;
  chosen_next_.push_back(*chosen);
  std::vector<LeftTask>& left = left_to_[*chosen];
  const bool is_known = std::any_of(left.begin(), left.end(), [&](const LeftTask& other) {
    return other.tenant_slot == tenant.rank.slot && is_it(other.task);
  });
  if (!is_known) left.push_back({tenant.rank.slot, task});
}

Deal NodeDeal::continue_gang() {
  AllocatorState& state = deal_.state;
  Deal deal;
  deal.node = deal_.node->id;
  deal.position_before = state.sequence.position();
  deal.reservation = state.stored_reservation(deal.node);
  (void)(state.looks_at_few(*deal_.node) ? collect_few_claimants() : collect_claimants());
  place_.continue_gang();
  if (state.counts_time() && deal_.placed > 0) deal_.draw(deal_.placed);
  Entitlement entitlement;
  settle_.run(entitlement, deal);
  deal.position_after = state.sequence.position();
  state.record(deal);
  state.refresh_room(*deal_.node);
  return deal;
}

std::optional<Deal> NodeDeal::run_stages() {
  AllocatorState& state = deal_.state;
  Deal deal;
  deal.node = deal_.node->id;
  deal.position_before = state.sequence.position();
  std::optional<Reservation> kept_before;
  if (state.counts_time()) {
    kept_before = state.lift_reservation(*deal_.node);
    // They are given anew, and nothing that comes before them is kept back by the last ones.
    state.forget_places(*deal_.node);
  }
  const bool somebody_is_blocked =
      state.looks_at_few(*deal_.node) ? collect_few_claimants() : collect_claimants();
  Entitlement entitlement;
  PlaceByTime::Kept places;
  if (state.counts_time()) {
    place_.run_guarantees();
    places = by_time_.run(made_rooms_, kept_before);
    if (places.for_ever) deal.reservation = places.first;
  } else {
    kept_before = state.lift_reservation(*deal_.node);
    if (kept_before || somebody_is_blocked) deal_.take_all_in();
    const KeptRoom kept = review_room(deal_, kept_before, somebody_is_blocked);
    deal.reservation = kept.reservation;
    place_.run_guarantees();
    const Units units = kept.reservation ? 0 : free_units();
    if (units > 0) entitlement = entitle_.run(units);
    start_in_made_rooms(deal_, made_rooms_, [&](TenantState& tenant, std::uint32_t range) {
      return place_.start_in_made_room(tenant, range);
    });
    if (units > 0) place_.run_dealt(kept.kept_for);
  }
  // Guarantees are not dealt: without other tasks it is as if no unit had been.
  if (deal_.placed == 0) {
    deal_.undo_draws();
    entitlement = {};
  }
  const bool moves_on =
      !deal_.grants.empty() || deal.reservation != state.stored_reservation(deal_.node->id);
  if (moves_on) {
    if (!deal_.grants.empty()) settle_.run(entitlement, deal);
    deal.position_after = state.sequence.position();
    state.record(deal);  // puts a reservation that has changed
  }
  deal_.node->has_grown = false;
  state.put_reservation(*deal_.node);
  if (places.first && !places.for_ever) state.keep_room(*deal_.node, *places.first);
  return moves_on ? std::optional(std::move(deal)) : std::nullopt;
}

bool NodeDeal::add_claimant(TenantState& tenant) {
  const std::optional<std::uint32_t> cursor = deal_.tasks.first_that_fits(tenant);
  if (!cursor) return false;
  Claimant& claimant = deal_.claimants[deal_.claimants.add(tenant)];
  claimant.cursor = *cursor;
  claimant.next = &tenant.window[*cursor];
  claimant.has_work = true;
  deal_.tasks.expect_tasks(tenant.least_demand);
  return true;
}

bool NodeDeal::collect_claimants() {
  AllocatorState& state = deal_.state;
  state.look_for_no_work();
  if (!state.something_is_in_time(*deal_.node)) return !state.waiting().empty();
  bool somebody_is_blocked = false;
  for (const RankKey& key : state.waiting()) {
    TenantState& tenant = state.at(key.slot);
    deal_.deficit_limit = std::max(deal_.deficit_limit, tenant.window.front().cost);
    if (!add_claimant(tenant)) somebody_is_blocked = true;
  }
  deal_.claimants.note_sorted();
  return somebody_is_blocked;
}

/// Of a class those who may be guaranteed something, and those whose deficit is too large to stay;
/// the others take part when they place something, or something is dealt to them, or their deficits
/// are needed (settle.hpp).
bool NodeDeal::collect_few_claimants() {
  AllocatorState& state = deal_.state;
  Contenders& contenders = state.contenders();
  deal_.deficit_limit = std::max(deal_.deficit_limit, contenders.largest_next_cost());
  contenders.look_for_work(state, deal_.tasks.free());
  std::size_t with_work = 0;
  Units least_cost = kMaxDealUnits;
  for (const auto& [demands, number] : contenders.classes()) {
    const Contenders::Class& of = contenders.at(number);
    if (!of.has_work) continue;
    with_work += of.members.size();
    deal_.tasks.expect_tasks(demands.least);
    for (const ResourceVector& demand : demands.next)
      least_cost = std::min(least_cost, state.cost(demand));
  }
  few_.assign(contenders.others().begin(), contenders.others().end());
  few_.insert(few_.end(), contenders.below_min().begin(), contenders.below_min().end());
  add_those_with_deficits(state.counts_time() ? deal_.deficit_limit + 1
                                              : std::min(least_cost, deal_.deficit_limit + 1));
  std::sort(few_.begin(), few_.end());
  for (const RankKey& key : few_)
    if (!deal_.claimants.find(key.slot) && add_claimant(state.at(key.slot)) &&
        !contenders.has_work(key.slot))
      ++with_work;
  deal_.claimants.note_sorted();
  deal_.looks_at_few = !state.counts_time();
  return with_work < state.waiting().size();
}

void NodeDeal::add_those_with_deficits(Units least) {
  const Contenders& contenders = deal_.state.contenders_of_deal();
  const auto& deficits = deal_.state.deficits();
  for (auto last = deficits.rbegin(); last != deficits.rend() && last->first >= least; ++last) {
    const TenantState& tenant = deal_.state.at(last->second);
    const bool is_too_large = last->first > deal_.deficit_limit;
    if (contenders.has_work(last->second) &&
        (is_too_large || (tenant.deficit > 0 && contenders.deficit_may_matter(tenant))))
      few_.push_back(tenant.rank);
  }
}

/// The most that tasks of one shape could use.
Units NodeDeal::free_units() {
  Units units = deal_.looks_at_few ? free_units_of_classes() : 0;
  const WindowRange* seen = nullptr;
  for (const ClaimantIndex index : deal_.claimants.ranked()) {
    Claimant& claimant = deal_.claimants[index];
    if (!deal_.tasks.find_next(claimant)) continue;
    const WindowRange& entry = *claimant.next;
    if (seen != nullptr && have_one_shape(*seen, entry)) continue;
    units = std::max(units, units_of(deal_.tasks.free(), entry, deal_.state.settings.mode));
    seen = &entry;
  }
  return units;
}

/// All in a class have tasks of the same shapes: one tells.
Units NodeDeal::free_units_of_classes() {
  AllocatorState& state = deal_.state;
  const Contenders& contenders = state.contenders_of_deal();
  Units units = 0;
  for (const auto& [demands, number] : contenders.classes()) {
    const Contenders::Class& of = contenders.at(number);
    if (!of.has_work) continue;
    const auto member = std::find_if(of.members.begin(), of.members.end(), [&](std::uint32_t slot) {
      return !deal_.claimants.find(slot);
    });
    if (member == of.members.end()) continue;
    const TenantState& tenant = state.at(*member);
    if (const auto cursor = deal_.tasks.first_that_fits(tenant))
      units = std::max(units,
                       units_of(deal_.tasks.free(), tenant.window[*cursor], state.settings.mode));
  }
  return units;
}

}  // namespace fairwater::inline policy::inline allocator
