#include "policy/allocator/state.hpp"

#include <algorithm>
#include <utility>

#include "policy/allocator/deal_steps.hpp"
#include "policy/allocator/group_turns.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// 0: of none of its tasks is known how long it runs. None: it has none.
std::optional<std::int64_t> shortest_expected_ms(const std::vector<WindowRange>& window) {
  std::optional<std::int64_t> shortest_ms;
  for (const WindowRange& entry : window) {
    if (entry.range.count == 0) continue;
    if (!shortest_ms) shortest_ms = 0;
    const std::int64_t expected_ms = entry.range.expected_ms;
    if (expected_ms > 0 && (*shortest_ms == 0 || expected_ms < *shortest_ms))
      shortest_ms = expected_ms;
  }
  return shortest_ms;
}

}  // namespace

AllocatorState::AllocatorState(AllocatorSettings allocator_settings)
    : settings(allocator_settings),
      choices_(allocator_settings.most_chosen_demands, allocator_settings.most_kept_nodes),
      quotas_(allocator_settings.granules, allocator_settings.units) {
  FAIRWATER_CHECK(!counts_time() || settings.mode == DealMode::sized,
                  "time is counted of what tasks ask for");
  const auto shared = std::find(settings.resources.begin(), settings.resources.end(), kSharedGpus);
  if (shared != settings.resources.end())
    shared_resource_ = static_cast<std::size_t>(shared - settings.resources.begin());
}

Units AllocatorState::cost(const ResourceVector& demand) const {
  if (settings.mode == DealMode::slots) return 1;
  return std::min(cost_in_units(demand, settings.granules, settings.units), kMaxDealUnits);
}

TenantState& AllocatorState::tenant(TenantId id) {
  const std::uint32_t slot = slot_of_.find(id.value);
  FAIRWATER_CHECK(slot != SlotIndex::kNone, "the tenant is known to the allocator");
  return tenants_[slot];
}

const TenantState& AllocatorState::tenant(TenantId id) const {
  return const_cast<AllocatorState*>(this)->tenant(id);
}

// -- tenants
// ---------------------------------------------------------------------------------------

void AllocatorState::take_off_lists(TenantState& tenant) {
  for (RankedList* list : {&waiting_, &idle_unsettled_, &growing_, &preempting_, &with_min_})
    list->erase(tenant.rank);
  run_out_.erase(tenant.rank.slot);
  put_deficit(tenant, 0);
}

void AllocatorState::set_group(GroupId id, const GroupTerms& terms) {
  quotas_.set_group(id, terms);
  follow_groups();
  follow_terms();
}

void AllocatorState::set_tenant(TenantId id, const TenantTerms& terms) {
  const std::uint32_t slot = slot_of_.find(id.value);
  if (slot == SlotIndex::kNone) {
    accounts_.join(id, terms.weight);
  } else {
    quotas_.leave(tenants_[slot]);
    accounts_.reweigh(id, terms.weight);
  }
  TenantState& changed = enter(id, terms);
  follow_position();
  quotas_.join(changed);
  refresh_promises();
  follow_terms();
}

TenantState& AllocatorState::enter(TenantId id, const TenantTerms& terms) {
  std::uint32_t slot = slot_of_.find(id.value);
  if (slot == SlotIndex::kNone) {
    slot = static_cast<std::uint32_t>(tenants_.size());
    if (free_slots_.empty()) {
      tenants_.emplace_back();
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
    slot_of_.set(id.value, slot);
    tenants_[slot].id = id;
    tenants_[slot].rank = {.weight = terms.weight, .id = id.value, .slot = slot};
    sequence.join_at(id.value, terms.weight, id.value);
  } else if (tenants_[slot].terms.weight != terms.weight) {
    sequence.reweigh(id.value, terms.weight);
  }
  TenantState& changed = tenants_[slot];
  take_off_lists(changed);
  changed.rank.weight = terms.weight;
  changed.terms = terms;
  changed.has_min = !terms.min.is_zero();
  refresh_lists(changed);
  if (terms.borrows())
    may_not_borrow_.erase(id);
  else
    may_not_borrow_.insert(id);
  if (counts_time()) {
    // What one that leaves still holds beyond its part is borrowed as before, and what it owes is
    // paid back by any.
    accounts_.time().set_rights(id, terms.may_lend, terms.may_borrow);
    accounts_.set_caps(id, terms.caps);
  }
  return changed;
}

void AllocatorState::set_tree(const TenantTree& tree, std::span<const Accounts::Division> divided) {
  for (const Accounts::Division& division : divided) {
    const TenantState& leaver = tenant(division.tenant);
    FAIRWATER_CHECK(leaver.running_tasks == 0, "a tenant that is divided holds no task");
    lift_reservations(leaver);
  }
  std::vector<Accounts::Member> members;
  for (const auto& [id, terms] : tree.tenants) members.push_back({id, terms.weight});
  accounts_.follow_tree(members, divided);
  const bool has_other_groups = !quotas_.has_groups(tree.groups);
  if (has_other_groups) {
    quotas_ = AllocatorQuotas(settings.granules, settings.units);
    (void)quotas_.set_capacity(capacity_);
  }
  for (const auto& [id, terms] : tree.groups) quotas_.set_group(id, terms);
  if (!has_other_groups) follow_groups();
  for (const auto& [id, terms] : tree.tenants) {
    const std::uint32_t slot = slot_of_.find(id.value);
    const bool is_known = slot != SlotIndex::kNone;
    if (is_known && !has_other_groups && tenants_[slot].terms == terms) continue;
    if (is_known && !has_other_groups) quotas_.leave(tenants_[slot]);
    quotas_.join(enter(id, terms));
  }
  follow_accounts();
  for (const Accounts::Division& division : divided) forget(tenant(division.tenant));
  refresh_promises();
  follow_position();
  follow_terms();
}

Units AllocatorState::remove_tenant(TenantId id) {
  TenantState& leaver = tenant(id);
  FAIRWATER_CHECK(leaver.running_tasks == 0, "a tenant that leaves holds no task");
  FAIRWATER_CHECK(leaver.net >= 0, "a tenant that leaves owes nothing");
  lift_reservations(leaver);
  const Units forgiven = accounts_.leave(id);
  follow_accounts();
  quotas_.leave(leaver);
  forget(leaver);
  refresh_promises();
  follow_position();
  follow_terms();
  return forgiven;
}

void AllocatorState::lift_reservations(const TenantState& leaver) {
  for (auto& [node_id, node] : nodes_.by_id())
    if (node.reservation && node.reservation->tenant_slot == leaver.rank.slot)
      (void)lift_reservation(node);
  forget_gang_plans();
}

void AllocatorState::forget(TenantState& leaver) {
  const TenantId id = leaver.id;
  sequence.leave(id.value);
  forget_shapes(leaver);
  put_shortest(leaver, kNever);
  take_off_lists(leaver);
  note_contender(leaver);
  may_not_borrow_.erase(id);
  stale_turns_.erase(leaver.rank.slot);
  unheard_ends_.forget(id);
  leaver.window.clear();
  if (std::erase_if(promises_, [&](const MadeRoom& room) { return room.tenant == id; }) > 0)
    note_freed_made_rooms();
  trim_made_rooms(id);
  creditors_.erase(leaver.rank.slot);
  if (naming_devices_.erase(leaver.rank.slot) > 0) choices_.forget_shares();
  free_slots_.push_back(leaver.rank.slot);
  slot_of_.erase(id.value);
  leaver = TenantState{};
}

void AllocatorState::take_back(TenantId borrower, const std::vector<Advance>& advances) {
  accounts_.take_back(borrower, advances);
  follow_accounts();
}

void AllocatorState::forgive(TenantId debtor, std::span<const ForgivenDebt> debts) {
  const Accounts::Refusal refusal = accounts_.forgive(debtor, debts);
  FAIRWATER_CHECK(!refusal, "no more is forgiven than is owed");
  begin_debts_round();
  follow_accounts();
}

void AllocatorState::restore(const AccountsSnapshot& snapshot) {
  sequence.set_position(snapshot.position);
  accounts_.restore(snapshot);
  follow_accounts();
  begin_debts_round();
  for (const IouBook::Iou& iou : snapshot.ious) follow_nets(iou);
}

void AllocatorState::follow_accounts() {
  const Accounts::Changes& changes = accounts_.take_changes();
  for (const TenantId id : changes.tenants)
    if (accounts_.has(id)) follow_account(accounts_.account(id));
  for (const IouBook::Iou& changed : changes.ious) follow_nets(changed);
  for (const NodeId id : changes.nodes)
    if (NodeRoom* const changed = nodes_.find(id)) put_reservation(*changed);
}

void AllocatorState::follow_account(const Account& account) {
  TenantState& tenant = tenants_[slot_of_.find(account.tenant.value)];
  tenant.repay_remainder_millionths = account.repay_remainder_millionths;
  tenant.credit = account.credit;
  if (std::exchange(tenant.deficit, account.deficit) != account.deficit) refresh_lists(tenant);
}

void AllocatorState::follow_position() {
  const Accounts::Refusal refusal = accounts_.move_to(sequence.position());
  FAIRWATER_CHECK(!refusal, "the sequence and the accounts have one period");
}

void AllocatorState::follow_net(IouBook::Member member) {
  const std::uint32_t slot = slot_of_.find(member);
  const Units net = accounts_.book().net(member);
  if (slot == SlotIndex::kNone || tenants_[slot].net == net) return;
  tenants_[slot].net = net;
  if (!counts_time() && net > 0)
    creditors_.insert(slot);
  else if (!counts_time())
    creditors_.erase(slot);
  refresh_claims(tenants_[slot]);
}

void AllocatorState::follow_nets(const IouBook::Iou& changed) {
  begin_debts_round();
  for (const IouBook::Member member : {changed.debtor, changed.creditor}) follow_net(member);
}

// -- time
// ------------------------------------------------------------------------------------------

void AllocatorState::pass_to(LedgerMs now_ms) {
  clock_ms_ = now_ms;
  if (!counts_time() || now_ms == accounts_.time().now_ms()) return;
  refresh_parts();
  accounts_.time().pass_to(now_ms);
}

std::optional<TimeSettlement> AllocatorState::settle_time() {
  if (!counts_time()) return std::nullopt;
  forget_gang_plans();
  refresh_parts();
  (void)loan_groups();
  const std::uint32_t counted = accounts_.time().resource();
  std::optional<TimeSettlement> settlement = accounts_.settle_time(settings.debts, scarcest());
  if (!settlement) return std::nullopt;
  if (settlement->resource != counted) {
    for (const TenantState& known : tenants_)
      if (known.id) count_held(known);
    parts_are_stale_ = true;
    refresh_parts();
  }
  begin_debts_round();
  // Who passed an IOU on has the same net as before.
  for (const TimeLine& line : settlement->lines)
    if (line.position != 0 || line.decayed != 0) follow_net(line.tenant.value);
  accounts_.forget_changes();
  return settlement;
}

const LoanGroups& AllocatorState::loan_groups() {
  if (std::exchange(loan_groups_are_stale_, false))
    accounts_.set_groups(quotas_.loan_groups(tenants_));
  return accounts_.groups();
}

void AllocatorState::count_held(const TenantState& tenant) {
  if (counts_time()) accounts_.time().set_held(tenant.id, held_in_time(tenant));
}

MicroUnits AllocatorState::held_in_time(const TenantState& tenant) const {
  const std::size_t resource = accounts_.time().resource();
  return quotas_.micro_units_of(tenant.used[resource], resource);
}

MicroUnits AllocatorState::cost_in_time(const WindowRange& entry) const {
  const std::size_t resource = accounts_.time().resource();
  return quotas_.micro_units_of(entry.asked_at_once(resource), resource);
}

std::uint32_t AllocatorState::scarcest() const {
  return static_cast<std::uint32_t>(quotas_.scarcest(used_));
}

void AllocatorState::refresh_parts() {
  if (!counts_time() || !std::exchange(parts_are_stale_, false)) return;
  const std::size_t resource = accounts_.time().resource();
  for (TenantState& known : tenants_) {
    if (!known.id) continue;
    known.part = quotas_.part(known, resource);
    known.kept_for_mins = quotas_.kept_for_mins(known, resource, known.part);
    accounts_.time().set_part(known.id, known.part);
  }
  begin_debts_round();
}

void AllocatorState::refresh_turns() {
  if (!counts_time() || quotas_.group_count() == 1) return;
  if (std::exchange(waits_in_groups_, false)) begin_debts_round();
  if (std::exchange(turns_round_, debts_round_) == debts_round_) return;
  const GroupTurns turns(*this);
  for (const RankKey& key : waiting_) {
    TenantState& tenant = tenants_[key.slot];
    if (tenant.group != QuotaTree::kRoot) tenant.turn = turns.of(tenant);
  }
}

void AllocatorState::begin_debts_round() {
  ++debts_round_;
  ++claims_round_;
}

/// Who has run out claims what it did until its next window says what comes.
void AllocatorState::refresh_claims(TenantState& tenant) {
  if (!counts_time()) return;
  std::int64_t claims_for_ms = -1;
  if (tenant.net > 0) {
    const std::int64_t before_ms = tenant.has_run_out() ? tenant.claims_for_ms : -1;
    claims_for_ms = shortest_expected_ms(tenant.window).value_or(before_ms);
  }
  if (std::exchange(tenant.claims_for_ms, claims_for_ms) != claims_for_ms) ++claims_round_;
}

// -- credits for growth
// ----------------------------------------------------------------------------

GrowthStanding AllocatorState::growth_standing(const TenantState& tenant) const {
  const std::size_t resource = scarcest();
  const MicroUnits part = quotas_.part(tenant, resource);
  const MicroUnits held = quotas_.micro_units_of(tenant.used[resource], resource);
  return {.credit = tenant.credit,
          .extras = tenant.extras,
          .part = part,
          .unused = std::max<MicroUnits>(part - held, 0)};
}

GrowthTotals AllocatorState::growth_totals() const {
  GrowthTotals totals;
  for (const TenantState& known : tenants_) {
    if (!known.id) continue;
    totals.extras += known.extras;
    totals.unused += growth_standing(known).unused;
  }
  return totals;
}

std::optional<CreditSettlement> AllocatorState::settle_credits(std::int64_t period_ms) {
  CreditSettlement settlement{std::clamp<std::int64_t>(period_ms, 1, kMaxCreditPeriod_ms)};
  bool somebody_grew = false;
  for (const TenantState& known : tenants_) {
    if (!known.id) continue;
    const GrowthStanding standing = growth_standing(known);
    somebody_grew = somebody_grew || standing.extras > 0;
    if (standing.extras > 0 || standing.unused > 0)
      settlement.lines.push_back(
          {known.id, std::min(standing.extras, kMaxCreditExtras), standing.unused});
  }
  if (!somebody_grew) return std::nullopt;
  std::sort(settlement.lines.begin(), settlement.lines.end(),
            [](const CreditLine& a, const CreditLine& b) { return a.tenant < b.tenant; });
  fairwater::settle_credits(settlement);
  const Accounts::Refusal refusal = accounts_.apply(settlement);
  FAIRWATER_CHECK(!refusal, "the accounts take every settlement of credits");
  follow_accounts();
  return settlement;
}

// -- quotas
// ----------------------------------------------------------------------------------------

void AllocatorState::refresh_capacity() {
  if (!quotas_.set_capacity(capacity_)) return;
  parts_are_stale_ = true;
  refresh_plain_shares();
}

void AllocatorState::follow_groups() {
  for (TenantState& known : tenants_) {
    if (!known.id) continue;
    const bool before = std::exchange(known.group_may_borrow, quotas_.groups_may_borrow(known));
    if (before != known.group_may_borrow) note_contender(known);
  }
}

void AllocatorState::follow_terms() {
  parts_are_stale_ = true;
  loan_groups_are_stale_ = true;
  refresh_plain_shares();
}

void AllocatorState::refresh_plain_shares() {
  quotas_.refresh_groups();
  for (const TenantId id : may_not_borrow_) {
    quotas_.refresh(tenant(id));
    note_contender(tenant(id));
  }
}

}  // namespace fairwater::inline policy::inline allocator
