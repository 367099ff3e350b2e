// Of AllocatorState: nodes, what they hold and keep, and the record of a deal.
#include <algorithm>
#include <utility>

#include "policy/allocator/deal_arithmetic.hpp"
#include "policy/allocator/state.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

void forget_places_of(TenantState& tenant, NodeId node) {
  std::erase_if(tenant.kept, [&](const KeptPlace& place) { return place.node == node; });
}

/// Of what is counted one by one.
bool takes_devices(const Grant& grant) {
  for (std::size_t r = kMemory + 1; r < kMaxResources; ++r)
    if (grant.demand[r] > 0) return true;
  return !grant.devices.empty();
}

/// What the water level counts of it.
const ResourceVector& counted_capacity(const NodeRoom& node) {
  return node.accepts ? node.capacity : node.used;
}

}  // namespace

// -- nodes and held tasks
// --------------------------------------------------------------------------

NodeRoom& AllocatorState::node(NodeId id) {
  NodeRoom* const found = nodes_.find(id);
  FAIRWATER_CHECK(found != nullptr, "the node is known to the allocator");
  return *found;
}

const NodeRoom& AllocatorState::node(NodeId id) const {
  return const_cast<AllocatorState*>(this)->node(id);
}

void AllocatorState::set_node(NodeId id, const NodeTraits& traits, const ResourceVector& capacity,
                              bool accepts) {
  FAIRWATER_CHECK(ResourceVector{}.fits(capacity), "a node's capacity is not negative");
  NodeRoom& changed = nodes_.at_or_new(id);
  changed.id = id;
  capacity_ -= counted_capacity(changed);
  site_rooms_.remove(id, changed.traits.site);
  changed.traits = traits;
  rooms_.set_traits(id, traits);
  changed.capacity = capacity;
  changed.accepts = accepts;
  look_at_gpus(changed);
  capacity_ += counted_capacity(changed);
  if (!accepts) {
    forget_places(changed);
    forget_made_rooms(changed);
  }
  forget_gang_plans();
  gangs_without_room_.clear();
  changed.has_grown = counts_time();
  site_rooms_.add(id, traits.site, changed.free());
  choices_.note_node(id);
  put_reservation(changed);
  refresh_capacity();
}

void AllocatorState::close_node_from(NodeId id, LedgerMs at_ms) {
  NodeRoom& changed = node(id);
  if (std::exchange(changed.closes_ms, at_ms) == at_ms) return;
  forget_gang_plans();
  gangs_without_room_.clear();
  changed.has_grown = counts_time();
}

void AllocatorState::remove_node(NodeId id) {
  FAIRWATER_CHECK(node(id).running_tasks == 0, "a node that is removed runs no task");
  forget_places(node(id));
  forget_made_rooms(node(id));
  forget_gang_plans();
  accounts_.remove_node(id);
  follow_accounts();
  site_rooms_.remove(id, node(id).traits.site);
  rooms_.remove(id);
  regrown_rooms_.erase(id);
  unheard_ends_.forget(id);
  capacity_ -= counted_capacity(node(id));
  used_ -= node(id).used;
  nodes_.erase(id);
  choices_.note_node(id);
  refresh_capacity();
}

bool AllocatorState::may_use_room(const NodeRoom& node, const TenantState& tenant,
                                  const WaitingRange& task) const {
  const bool is_kept = (node.reservation && node.reservation->tenant_slot != tenant.rank.slot) ||
                       keeps_for_other_gang(node, task.job);
  return !is_kept && is_allowed_on(node, task);
}

bool AllocatorState::may_preempt_on(const NodeRoom& node, const TenantState& tenant,
                                    const WaitingRange& task) const {
  return counts_time() ? is_allowed_on(node, task) : may_use_room(node, tenant, task);
}

bool AllocatorState::may_use(const NodeRoom& node, const TenantState& tenant,
                             const WaitingRange& task) const {
  return may_use_room(node, tenant, task) && has_devices_for(node, task);
}

bool AllocatorState::site_has_room(const std::string& site, const TenantState& tenant,
                                   const WaitingRange& task) {
  return site_rooms_.has_room(site, task.demand, [&](NodeId id) -> SiteRooms::Room {
    const NodeRoom& there = node(id);
    if (!there.accepts) return {.free = {}, .may_be_used = false};
    return {.free = there.free(), .may_be_used = may_use(there, tenant, task)};
  });
}

bool AllocatorState::node_has_room(NodeId id, const TenantState& tenant,
                                   const WaitingRange& task) const {
  const NodeRoom* const there = nodes_.find(id);
  return there != nullptr && there->accepts && task.demand.fits(there->free()) &&
         may_use(*there, tenant, task);
}

bool AllocatorState::is_within_max(const TenantState& tenant, const WindowRange& entry) const {
  for (const std::size_t r : entry.asks) {
    const Amount asked = entry.asked_at_once(r);
    if (asked > tenant.holdings[r].left && !quotas_.has_room(tenant, r, asked)) return false;
  }
  return true;
}

bool AllocatorState::may_have_room(const TenantState& tenant, const WindowRange& entry) {
  return !entry.is_gang() && is_within_max(tenant, entry) &&
         somewhere_has_room(tenant, entry.range, kFewLooks);
}

bool AllocatorState::somewhere_has_room(const TenantState& tenant, const WaitingRange& task,
                                        std::uint32_t most_looks) {
  std::uint32_t looked_at = 0;
  for (auto id = next_with_room(NodeId{}, task); id && looked_at < most_looks;
       id = next_with_room(NodeId{id->value + 1}, task), ++looked_at)
    if (node_has_room(*id, tenant, task)) return true;
  return false;
}

void AllocatorState::hold(NodeRoom& node, TenantState& holder, const Grant& grant,
                          const PlannedRun& run, const PreemptionTerms& preemption,
                          const std::string& user) {
  Held held{node.id, grant, run, now_ms(), kNever, false, preemption, clock_ms() - run.ran_ms,
            user};
  held.ends_ms = expected_end(held, settings.predict);
  const bool is_extra = grant.step == GrantStep::growth;
  if (counts_time() && held.ends_ms != kNever)
    node.ends.emplace(ExpectedEnd{held.ends_ms, grant.task},
                      EndingTask{grant.demand, expected_end(held, Predict::limits),
                                 is_extra ? std::nullopt : std::optional(holder.rank.slot)});
  const bool added = held_.emplace(grant.task, held).second;
  FAIRWATER_CHECK(added, "a task is held once");
  node.used += grant.demand;
  choices_.note_task(node.id, grant.demand, true);
  if (run.is_service) node.held_by_services += grant.demand;
  if (takes_devices(grant))
    node.device_uses.emplace(grant.task, DeviceUse{.demand = grant.demand,
                                                   .names = grant.devices,
                                                   .is_service = run.is_service,
                                                   .tenant = grant.tenant});
  count_shares(node, grant.demand, true);
  used_ += grant.demand;
  if (!node.accepts) capacity_ += grant.demand;
  ++node.running_tasks;
  if (is_extra) {
    holder.grown += grant.demand;
    holder.extras += grant.cost;
    extras_.emplace(grant.task, Extra{node.id, holder.id, grant.demand});
  } else {
    holder.used += grant.demand;
    if (grant.beyond_quota) holder.used_beyond_quota += grant.demand;
    count_user(holder, user, grant.cost);
  }
  ++holder.running_tasks;
  quotas_.hold(holder, grant.demand);
  note_contender(holder);
  count_held(holder);
}

void AllocatorState::place(NodeRoom& node, TenantState& tenant, const Grant& grant,
                           const PlannedRun& run, const PreemptionTerms& preemption,
                           const std::string& user) {
  if (tenant.pending_tasks > 0) --tenant.pending_tasks;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    tenant.pending[r] = std::max<Amount>(0, tenant.pending[r] - grant.demand[r]);
  tenant.unseen.push_back({deals + 1, grant.task, grant.demand, false, user});
  FAIRWATER_CHECK(grant.demand.fits(node.free()), "a node holds no more than it has");
  hold(node, tenant, grant, run, preemption, user);
  if (tenant.takes_turns) tenant.users[user].served = kServedSince + deals + 1;
  use_promise(grant.task.job);
}

void AllocatorState::place_extra(NodeRoom& node, TenantState& tenant, const Grant& grant,
                                 const PlannedRun& run, const PreemptionTerms& preemption,
                                 const std::string& user) {
  tenant.unseen.push_back({deals + 1, grant.task, grant.demand, true, user});
  FAIRWATER_CHECK(grant.demand.fits(node.free()), "a node holds no more than it has");
  hold(node, tenant, grant, run, preemption, user);
}

std::vector<AllocatorState::Preemptible> AllocatorState::preemptible() const {
  std::vector<Preemptible> all;
  const auto may_end = [](const auto& running) {
    const Held& held = running.second;
    return held.preemption.is_preemptible && !held.reclaimed &&
           held.grant.step != GrantStep::growth;
  };
  for (auto at = held_.begin(); at != held_.end();) {
    const auto begin = at++;  // tasks of one job follow on each other
    const auto& [task, held] = *begin;
    if (held.preemption.ends_as_gang)
      while (at != held_.end() && at->first.job == task.job) ++at;
    if (!std::all_of(begin, at, may_end)) continue;
    Preemptible& found = all.emplace_back();
    found = {task,
             {held.node, held.grant.tenant, {}},
             held.preemption.priority,
             clock_ms() - held.begun_ms};
    for (auto each = begin; each != at; ++each) {
      const Held& part = each->second;
      found.held.demand += part.grant.demand;
      found.ran_ms = std::min(found.ran_ms, clock_ms() - part.begun_ms);
      if (held.preemption.ends_as_gang)
        found.gang.push_back({each->first, part.node, part.grant.demand});
    }
    std::stable_sort(found.gang.begin(), found.gang.end(),
                     [](const GangTask& a, const GangTask& b) { return a.node < b.node; });
  }
  return all;
}

bool AllocatorState::awaits_gang_on(NodeId node) const {
  return std::any_of(awaited_.begin(), awaited_.end(), [&](const std::set<NodeId>& nodes) {
    return nodes.contains(node) && std::any_of(nodes.begin(), nodes.end(),
                                               [&](NodeId id) { return ending_on_.contains(id); });
  });
}

void AllocatorState::note_reclaim(const TaskKey& task) {
  Held& held = held_.at(task);
  if (std::exchange(held.reclaimed, true)) return;
  TenantState& holder = tenant(held.grant.tenant);
  const bool has_grown = held.grant.step == GrantStep::growth;
  if (has_grown) extras_.erase(task);
  (has_grown ? holder.ending_grown : holder.ending) += held.grant.demand;
  NodeRoom& there = node(held.node);
  there.coming += held.grant.demand;
  ++there.ending_tasks;
  if (const auto use = there.device_uses.find(task); use != there.device_uses.end())
    use->second.is_ending = true;
  ending_on_.insert(there.id);
}

void AllocatorState::count_user(TenantState& tenant, const std::string& user, Units more) {
  const auto share = tenant.users.try_emplace(user).first;
  share->second.held += more;
  if (share->second == UserShare{}) tenant.users.erase(share);
  if (tenant.takes_turns) stale_turns_.insert(tenant.rank.slot);
}

LedgerMs AllocatorState::expected_end(const Held& held, Predict predict) const {
  const std::int64_t ran_ms = held.run.ran_ms + now_ms() - held.since_ms;
  const std::int64_t planned_ms = planned_run_ms(predict, held.run, ran_ms);
  return planned_ms > 0 ? moment_in(now_ms(), planned_ms - ran_ms) : kNever;
}

void AllocatorState::correct_ends(NodeRoom& node) {
  if (settings.predict == Predict::limits) return;
  while (!node.ends.empty() && node.ends.begin()->first.at_ms <= now_ms()) {
    auto end = node.ends.extract(node.ends.begin());
    Held& held = held_.at(end.key().task);
    held.ends_ms = expected_end(held, settings.predict);
    end.key().at_ms = held.ends_ms;
    node.ends.insert(std::move(end));
  }
}

void AllocatorState::restore_held(std::span<const HeldTask> held) {
  for (const HeldTask& task : held) {
    TenantState& holder = tenant(task.grant.tenant);
    hold(node(task.node), holder, task.grant, task.run, task.preemption, task.user);
    if (task.reclaimed) note_reclaim(task.grant.task);
    quotas_.refresh(holder);
    refresh_room(node(task.node));
  }
  refresh_capacity();  // nodes that take no tasks count with what is held there
}

bool AllocatorState::release_unheard(const TaskKey& task) {
  const auto found = held_.find(task);
  if (found == held_.end()) return false;
  const Held& held = found->second;
  // Where nobody would grow it costs nothing.
  if (!growing_.empty()) unheard_ends_.add(task, held.grant.tenant, held.node, held.grant.demand);
  return release(task);
}

bool AllocatorState::release(const TaskKey& task) {
  const auto found = held_.find(task);
  if (found == held_.end()) return false;
  const Held& held = found->second;
  NodeRoom& held_on = node(held.node);
  held_on.used -= held.grant.demand;
  choices_.note_task(held_on.id, held.grant.demand, false);
  if (held.run.is_service) held_on.held_by_services -= held.grant.demand;
  held_on.device_uses.erase(task);
  count_shares(held_on, held.grant.demand, false);
  used_ -= held.grant.demand;
  if (!held_on.accepts) capacity_ -= held.grant.demand;
  site_rooms_.raise(held_on.traits.site, held_on.free());
  gangs_without_room_.clear();
  held_on.has_grown = counts_time();
  refresh_room(held_on);
  FAIRWATER_CHECK(held_on.running_tasks > 0 && ResourceVector{}.fits(held_on.used),
                  "what is released was held on its node");
  --held_on.running_tasks;
  held_on.ends.erase({held.ends_ms, task});
  TenantState& holder = tenant(held.grant.tenant);
  if (held.reclaimed) {
    held_on.coming -= held.grant.demand;
    if (--held_on.ending_tasks == 0) ending_on_.erase(held_on.id);
  }
  if (held.grant.step == GrantStep::growth) {
    holder.grown -= held.grant.demand;
    if (held.reclaimed) holder.ending_grown -= held.grant.demand;
    holder.extras -= held.grant.cost;
    extras_.erase(task);
  } else {
    holder.used -= held.grant.demand;
    if (held.reclaimed) holder.ending -= held.grant.demand;
    if (held.grant.beyond_quota) holder.used_beyond_quota -= held.grant.demand;
    count_user(holder, held.user, -held.grant.cost);
  }
  FAIRWATER_CHECK(holder.running_tasks > 0 && ResourceVector{}.fits(holder.used) &&
                      ResourceVector{}.fits(holder.grown),
                  "what is released was held by its tenant");
  --holder.running_tasks;
  quotas_.release(holder, held.grant.demand);
  note_contender(holder);
  refresh_shape(holder);
  count_held(holder);
  held_.erase(found);
  if (!held_on.accepts) refresh_capacity();
  return true;
}

void AllocatorState::refresh_room(const NodeRoom& node) {
  if (!node.accepts)
    rooms_.remove(node.id);
  else if (!node.made_rooms.empty() || (!counts_time() && node.reservation))
    rooms_.set(node.id, ResourceVector::filled(kUnlimited));
  else
    rooms_.set(node.id, room_for_one(node));
  if (node.accepts && node.has_grown)
    regrown_rooms_.insert(node.id);
  else
    regrown_rooms_.erase(node.id);
}

std::optional<NodeId> AllocatorState::next_that_matters(NodeId from) const {
  const auto with_room = rooms_.next_that_matters(from);
  const auto regrown = regrown_rooms_.lower_bound(from);
  if (regrown == regrown_rooms_.end() || (with_room && *with_room < *regrown)) return with_room;
  return *regrown;
}

bool AllocatorState::may_matter(NodeId node) const {
  return rooms_.may_matter(node) || regrown_rooms_.contains(node);
}

// -- the deal
// --------------------------------------------------------------------------------------

std::optional<Reservation> AllocatorState::lift_reservation(NodeRoom& node) {
  if (!node.reservation) return std::nullopt;
  const NodeReservation lifted = *std::exchange(node.reservation, std::nullopt);
  TenantState& holder = tenants_[lifted.tenant_slot];
  holder.reserved -= lifted.demand;
  return Reservation{holder.id, lifted.demand};
}

std::optional<Reservation> AllocatorState::stored_reservation(NodeId node) const {
  const Reservation* stored = accounts_.reservation(node);
  return stored == nullptr ? std::nullopt : std::optional(*stored);
}

void AllocatorState::keep_room(NodeRoom& node, const Reservation& kept) {
  TenantState& holder = tenant(kept.tenant);
  node.reservation = NodeReservation{holder.rank.slot, kept.demand};
  holder.reserved += kept.demand;
}

void AllocatorState::put_reservation(NodeRoom& node) {
  (void)lift_reservation(node);
  const Reservation* stored = accounts_.reservation(node.id);
  if (stored != nullptr && node.accepts && !allocates_by_share()) keep_room(node, *stored);
  refresh_room(node);
  if (!node.reservation) return;
  TenantState& holder = tenant(stored->tenant);
  const bool is_known = std::any_of(holder.kept.begin(), holder.kept.end(),
                                    [&](const KeptPlace& place) { return place.node == node.id; });
  if (!counts_time() || is_known) return;
  holder.kept.push_back({{}, node.id, kNever});
  node.places_of.push_back(holder.rank.slot);
}

// -- gangs
// -----------------------------------------------------------------------------------------

const GangPlan* AllocatorState::gang_plan_of(std::uint32_t tenant_slot, JobId job) const {
  for (const GangPlan& plan : gang_plans_)
    if (plan.tenant_slot == tenant_slot && plan.job == job) return &plan;
  return nullptr;
}

bool AllocatorState::keeps_for_other_gang(const NodeRoom& node, JobId gang) const {
  return std::any_of(node.kept_for_gangs.begin(), node.kept_for_gangs.end(),
                     [&](const auto& kept) { return gang_plans_[kept.plan].job != gang; });
}

std::uint32_t AllocatorState::tasks_kept_on(const NodeRoom& node, JobId gang) const {
  for (const NodeRoom::KeptForGang& kept : node.kept_for_gangs)
    if (gang_plans_[kept.plan].job == gang) return kept.tasks;
  return 0;
}

const GangPlan& AllocatorState::add_gang_plan(GangPlan plan) {
  for (std::size_t i = 0; i < plan.shares.size(); ++i) {
    NodeRoom& keeper = node(plan.shares[i].node);
    keeper.kept_for_gangs.push_back({gang_plans_.size(), i, plan.shares[i].tasks});
  }
  return gang_plans_.emplace_back(std::move(plan));
}

void AllocatorState::note_gang_turn(NodeRoom& node, JobId gang) const {
  for (NodeRoom::KeptForGang& kept : node.kept_for_gangs)
    if (gang_plans_[kept.plan].job == gang) kept.had_turn = true;
}

void AllocatorState::forget_gang_plans() {
  forgot_gang_plans_ = forgot_gang_plans_ || !gang_plans_.empty();
  for (const GangPlan& plan : gang_plans_)
    for (const GangShare& share : plan.shares)
      if (NodeRoom* const keeper = nodes_.find(share.node)) keeper->kept_for_gangs.clear();
  gang_plans_.clear();
}

// -- places
// ----------------------------------------------------------------------------------------

void AllocatorState::forget_places(NodeRoom& node) {
  for (const std::uint32_t slot : node.places_of) forget_places_of(tenants_[slot], node.id);
  node.places_of.clear();
  node.kept_devices.clear();
  for (NodeRoom::KeptForGang& kept : node.kept_for_gangs) kept.had_turn = false;
  if (counts_time()) (void)lift_reservation(node);
}

void AllocatorState::record(const Deal& deal) {
  FAIRWATER_CHECK(!arithmetic_problem(deal), "a deal adds up");
  ++deals;
  if (!deal.keeps_accounts) return;
  transaction_ = transaction_of(deal, std::move(transaction_));
  const Accounts::Refusal refusal = accounts_.apply(transaction_);
  transaction_.repayments = {};  // the deal's
  transaction_.loans = {};
  FAIRWATER_CHECK(!refusal, "the accounts take every deal");
  follow_accounts();
}

}  // namespace fairwater::inline policy::inline allocator
