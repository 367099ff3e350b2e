#include "policy/allocator/node_deal.hpp"

#include <algorithm>

namespace fairwater {
namespace {

/// floor(units * free / demand) without 128-bit division where it is not needed.
Units scaled(Units units, Amount free, Amount demand) {
  Amount product = 0;
  if (!__builtin_mul_overflow(units, free, &product)) return product / demand;
  return static_cast<Units>(std::min(Wide{units} * free / demand, Wide{kMaxDealUnits}));
}

/// The node's room in units of one task's shape.
Units units_of(const ResourceVector& free, const WindowRange& entry, DealMode mode) {
  if (entry.asks.empty()) return entry.cost;
  Units units = kMaxDealUnits;
  for (const std::size_t r : entry.asks) {
    const Amount demand = entry.range.demand[r];
    units = std::min(
        units, mode == DealMode::slots ? free[r] / demand : scaled(entry.cost, free[r], demand));
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

std::optional<Deal> NodeDeal::run(NodeId node) {
  start(node);
  if (!node_->accepts || !ResourceVector{}.fits(free_)) return std::nullopt;
  std::optional<Deal> deal = run_steps();
  forget_parts();
  return deal;
}

void NodeDeal::start(NodeId node) {
  node_id_ = node;
  node_ = &state_.node(node);
  free_ = node_->free();
  least_demand_ = ResourceVector::filled(kUnlimited);
  carry_limit_ = 1;
  dealt_ = placed_ = 0;
  placed_tasks_ = 0;
  somebody_is_blocked_ = false;
  first_.reset();
  rules_.clear();
  preferences_.clear();
  left_to_preferred_ = false;
  marks_.reset();
  passed_to_.clear();
  deal_ = Deal{};
  part_at_.resize(state_.slots(), -1);
}

void NodeDeal::forget_parts() {
  for (const Part& part : parts_) part_at_[part.tenant->rank.slot] = -1;
  parts_.clear();
  order_.clear();
  sorted_ = 0;
}

std::optional<Deal> NodeDeal::run_steps() {
  collect_work();
  if (parts_.empty()) {
    review_reservation();
    return std::nullopt;
  }
  deal_.node = node_id_;
  deal_.position_before = state_.sequence.position();
  const bool keeps_room = keep_room();
  serve_guarantees();
  if (const Units units = keeps_room ? 0 : free_units(); units > 0) {
    deal_units(units);
    settle_debts();
    pass_on_at_quota();
    pool();
    place_first();
    fill();
    place_remainder();
    backfill();
  }
  if (deal_.grants.empty()) {
    undo_units();
    return std::nullopt;
  }
  roll_back();
  close();
  return commit();
}

// -- parts
// -----------------------------------------------------------------------------------------

NodeDeal::Index NodeDeal::add_part(TenantState& tenant) {
  const Index index = static_cast<Index>(parts_.size());
  Part& part = parts_.emplace_back();
  part.tenant = &tenant;
  part.line.carried = tenant.carry;
  part.hand = tenant.carry;
  part.repay_remainder_millionths = tenant.repay_remainder_millionths;
  part_at_[tenant.rank.slot] = static_cast<std::int32_t>(index);
  order_.push_back(index);
  return index;
}

NodeDeal::Index NodeDeal::part_of(TenantState& tenant) {
  const std::int32_t index = part_at_[tenant.rank.slot];
  return index >= 0 ? static_cast<Index>(index) : add_part(tenant);
}

bool NodeDeal::ranks_before(Index a, Index b) const {
  return parts_[a].tenant->rank < parts_[b].tenant->rank;
}

/// Puts the parts that were added in among the others, from the last backwards.
void NodeDeal::sort_by_rank() {
  if (sorted_ == order_.size()) return;
  const auto before = [&](Index a, Index b) { return ranks_before(a, b); };
  auto old_end = order_.begin() + static_cast<std::ptrdiff_t>(sorted_);
  std::sort(old_end, order_.end(), before);
  added_.assign(old_end, order_.end());
  auto end = order_.end();
  for (auto index = added_.rbegin(); index != added_.rend(); ++index) {
    const auto place = std::upper_bound(order_.begin(), old_end, *index, before);
    end = std::move_backward(place, old_end, end);
    *--end = *index;
    old_end = place;
  }
  sorted_ = order_.size();
}

// -- the steps
// -------------------------------------------------------------------------------------

void NodeDeal::collect_work() {
  std::size_t resources = kMaxResources;
  while (resources > 0 && free_[resources - 1] == 0) --resources;
  for (const RankKey& key : state_.waiting()) {
    TenantState& tenant = state_.at(key.slot);
    carry_limit_ = std::max(carry_limit_, tenant.window.front().cost);
    Cursor cursor;
    if (!fits(tenant, tenant.window.front()) &&
        (!tenant.least_demand.fits(free_) || !find_next(tenant, cursor))) {
      somebody_is_blocked_ = true;
      continue;
    }
    Part& part = parts_[add_part(tenant)];
    part.cursor = cursor;
    part.next = &tenant.window[cursor.next];
    part.has_work = true;
    for (std::size_t r = 0; r < resources; ++r)
      least_demand_[r] = std::min(least_demand_[r], tenant.least_demand[r]);
  }
  sorted_ = order_.size();
  // Nobody with work asks for what is not free.
  for (std::size_t r = resources; r < kMaxResources; ++r) least_demand_[r] = 0;
}

void NodeDeal::serve_guarantees() {
  std::vector<Index> below;
  for (const Index index : order_)
    if (parts_[index].tenant->has_min) below.push_back(index);
  while (!below.empty()) {
    std::erase_if(below, [&](Index index) {
      return !find_next(parts_[index]) || !is_guaranteed(parts_[index]);
    });
    for (const Index index : below)
      if (find_next(parts_[index]) && is_guaranteed(parts_[index]))
        place(index, parts_[index].cursor.next, GrantStep::guarantee);
  }
}

Units NodeDeal::free_units() {
  Units units = 0;
  const WindowRange* seen = nullptr;
  for (const Index index : order_) {
    if (!find_next(parts_[index])) continue;
    const WindowRange& entry = *parts_[index].next;
    if (seen != nullptr && have_one_shape(*seen, entry)) continue;
    units = std::max(units, units_of(free_, entry, state_.settings.mode));
    seen = &entry;
  }
  return units;
}

void NodeDeal::deal_units(Units units) {
  for (const Sequence::Count& count : deal_slots(state_.sequence, units)) {
    Part& part = parts_[part_of(state_.tenant(TenantId{count.member}))];
    part.line.granted += static_cast<Units>(count.slots);
    part.hand += static_cast<Units>(count.slots);
  }
  dealt_ += units;
  sort_by_rank();
}

void NodeDeal::settle_debts() {
  std::vector<TenantId> creditors;
  for (const Index index : order_) {
    const TenantId tenant = parts_[index].tenant->id;
    if (parts_[index].has_work && parts_[index].tenant->net > 0) creditors.push_back(tenant);
  }
  if (creditors.empty()) return;
  for (const Index index : order_) {
    Part& debtor = parts_[index];
    if (debtor.line.granted == 0 || debtor.tenant->net >= 0) continue;
    const RepaymentBudget budget =
        repayment_budget(debtor.line.granted, debtor.tenant->terms.repay_millionths,
                         debtor.has_work, debtor.tenant->repay_remainder_millionths);
    debtor.repay_remainder_millionths = budget.remainder_millionths;
    for (const Repayment& repayment :
         settle(state_.book(), debtor.tenant->id, budget.units, creditors)) {
      debtor.line.paid += repayment.units;
      debtor.hand -= repayment.units;
      Part& creditor = parts_[part_of(state_.tenant(repayment.creditor))];
      creditor.line.received += repayment.units;
      creditor.hand += repayment.units;
      deal_.repayments.push_back(repayment);
    }
  }
}

void NodeDeal::pass_on_at_quota() {
  std::vector<Index> givers;
  for (const Index index : order_) {
    Part& part = parts_[index];
    if (part.has_work && part.hand > carry_limit_ && !is_owed(part) && is_at_quota(part))
      givers.push_back(index);
  }
  if (givers.empty()) return;
  for (const Index index : order_)
    if (parts_[index].has_work && !is_at_quota(parts_[index])) passed_to_.push_back(index);
  if (passed_to_.empty()) return;
  for (const Index index : givers) {
    Part& part = parts_[index];
    part.line.passed_on = part.hand - carry_limit_;
    part.hand = carry_limit_;
  }
  share_passed_on();
  for (const Index index : passed_to_) parts_[index].hand += parts_[index].line.passed_to;
}

void NodeDeal::share_passed_on() {
  Units total = 0;
  for (const Index index : order_) total += parts_[index].line.passed_on;
  std::vector<Vessel> vessels;
  for (const Index index : passed_to_)
    vessels.push_back({.weight = parts_[index].tenant->terms.weight, .room = kMaxDealUnits});
  const std::vector<Units> shares = pour(total, vessels, filler_);
  for (std::size_t i = 0; i < passed_to_.size(); ++i)
    parts_[passed_to_[i]].line.passed_to = shares[i];
}

void NodeDeal::pool() {
  std::vector<PoolMember>& members = members_;
  members.resize(order_.size());
  bool somebody_leaves = false;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Part& part = parts_[order_[i]];
    part.line.allowance = std::max<Units>(0, part.hand);
    members[i] = {.weight = part.tenant->rank.weight,
                  .allowance = part.line.allowance,
                  .demand = waiting_cost(part)};
    somebody_leaves = somebody_leaves || members[i].allowance > members[i].demand;
  }
  if (!somebody_leaves) return;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Part& part = parts_[order_[i]];
    members[i].takes = part.has_work && !is_at_quota(part);
  }
  const std::vector<Units> changes = pool_changes(members, filler_);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    parts_[order_[i]].line.pooled = changes[i];
    parts_[order_[i]].line.allowance += changes[i];
  }
}

void NodeDeal::fill() {
  std::vector<Index> filling;
  std::vector<Filler> fillers;
  for (const Index index : order_) {
    const Part& part = parts_[index];
    if (!part.has_work || part.line.allowance == 0) continue;
    filling.push_back(index);
    fillers.push_back({.allowance = part.line.allowance, .placed = part.line.placed});
  }
  fill_allowances(
      fillers,
      [&](std::size_t i) -> std::optional<Units> {
        Part& part = parts_[filling[i]];
        if (!find_next(part)) return std::nullopt;
        const WindowRange& entry = *part.next;
        if (entry.cost > fillers[i].allowance - fillers[i].placed) return std::nullopt;
        const bool covered = is_owed(part) && part.hand >= entry.cost;
        if (!covered && standing(part) != Standing::within) return std::nullopt;
        return entry.cost;
      },
      [&](std::size_t i) {
        place(filling[i], parts_[filling[i]].cursor.next, GrantStep::allowance);
      });
}

void NodeDeal::place_remainder() {
  if (!least_demand_.fits(free_)) return;
  const auto later = [&](const Contender& a, const Contender& b) {
    if (a.claim != b.claim) return a.claim > b.claim;
    return a.hand != b.hand ? a.hand < b.hand : ranks_before(b.part, a.part);
  };
  std::vector<Contender>& contenders = contenders_;
  contenders.clear();
  for (const Index index : order_) {
    const Claim now = claim(parts_[index]);
    if (now != Claim::none) contenders.push_back({now, parts_[index].hand, index});
  }
  std::make_heap(contenders.begin(), contenders.end(), later);
  while (!contenders.empty() && least_demand_.fits(free_)) {
    std::pop_heap(contenders.begin(), contenders.end(), later);
    Contender& best = contenders.back();
    // The room has shrunk and hands have moved since it was put there.
    const Claim now = claim(parts_[best.part]);
    if (now == best.claim && parts_[best.part].hand == best.hand)
      place(best.part, parts_[best.part].cursor.next, GrantStep::remainder);
    best.claim = claim(parts_[best.part]);
    best.hand = parts_[best.part].hand;
    if (best.claim == Claim::none)
      contenders.pop_back();
    else
      std::push_heap(contenders.begin(), contenders.end(), later);
  }
}

void NodeDeal::backfill() {
  while (least_demand_.fits(free_)) {
    BackfillCandidate best;
    Index best_part = 0;
    std::uint32_t best_range = 0;
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      Part& part = parts_[order_[rank]];
      if (!part.tenant->terms.may_borrow) continue;
      const std::optional<std::uint32_t> range = largest_backup(part);
      if (!range) continue;
      const BackfillCandidate candidate{
          .cost = part.tenant->window[*range].cost, .hand = part.hand, .rank = rank};
      if (!backfills_before(candidate, best)) continue;
      best = candidate;
      best_part = order_[rank];
      best_range = *range;
    }
    if (best.cost == 0) return;
    place(best_part, best_range, GrantStep::backfill);
  }
}

void NodeDeal::place(Index index, std::uint32_t range_index, GrantStep step) {
  Part& part = parts_[index];
  TenantState& tenant = *part.tenant;
  WindowRange& entry = tenant.window[range_index];
  WaitingRange& range = entry.range;
  const Units cost = entry.cost;
  Grant grant{.task = {.job = range.job,
                       .index = range.first_index,
                       .attempt = range.attempt,
                       .incarnation = state_.settings.incarnation},
              .tenant = tenant.id,
              .cost = cost,
              .demand = range.demand,
              .step = step};
  // Only what is owed goes beyond the quota; a backfill is borrowed and counts.
  if (step != GrantStep::guarantee && step != GrantStep::backfill)
    grant.beyond_quota = standing(part) == Standing::at_quota;
  ++placed_tasks_;
  part.standing.reset();
  ++range.first_index;
  --range.count;
  free_ -= range.demand;
  if (tenant.pending_tasks > 0) --tenant.pending_tasks;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    tenant.pending[r] = std::max<Amount>(0, tenant.pending[r] - grant.demand[r]);
  tenant.unseen.push_back({state_.deals + 1, grant.task, grant.demand});
  state_.hold(node_id_, grant);
  deal_.grants.push_back(grant);
  if (step == GrantStep::guarantee) {
    part.line.guaranteed += cost;
    return;
  }
  if (step == GrantStep::backfill) part.backfilled = true;
  part.line.placed += cost;
  part.hand -= cost;
  placed_ += cost;
  if (placed_ > dealt_) deal_units(placed_ - dealt_);
}

}  // namespace fairwater
