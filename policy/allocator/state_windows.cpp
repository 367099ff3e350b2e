// Of AllocatorState: what tenants wait for, and the lists that follow from it.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "policy/allocator/deal_steps.hpp"
#include "policy/allocator/state.hpp"
#include "policy/allocator/user_turns.hpp"
#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

constexpr std::uint32_t kLastTaskIndex = std::numeric_limits<std::uint32_t>::max();

/// False: it was so already.
bool put_in(RankedList& list, const RankKey& key, bool member) {
  return member ? list.insert(key) : list.erase(key);
}

/// Between being late and being firm, see policy/allocator/by_time.hpp.
LedgerMs deferral_ms(const WaitingRange& range, const AllocatorSettings& settings) {
  LedgerMs deferral_ms = 0;
  if (settings.deferral_patiences == 0) return 0;
  return __builtin_mul_overflow(range.patience_ms, settings.deferral_patiences, &deferral_ms)
             ? kNever
             : deferral_ms;
}

/// Per resource, of the tasks with each rule.
std::vector<RuleShape> least_of_rules(std::span<const WindowRange> window) {
  std::vector<RuleShape> shapes;
  for (const WindowRange& entry : window) {
    const auto has_its_rule = [&](const RuleShape& shape) {
      return names_same_nodes(shape.rule, entry.range.rule);
    };
    const auto known = std::find_if(shapes.begin(), shapes.end(), has_its_rule);
    if (known == shapes.end()) {
      shapes.push_back({entry.range.rule, entry.range.demand});
      continue;
    }
    for (std::size_t r = 0; r < kMaxResources; ++r)
      known->least[r] = std::min(known->least[r], entry.range.demand[r]);
  }
  return shapes;
}

bool are_same(std::span<const RuleShape> a, std::span<const RuleShape> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RuleShape& one, const RuleShape& other) {
                      return names_same_nodes(one.rule, other.rule) && one.least == other.least;
                    });
}

/// False: it is in none of the ranges.
bool strike_from(std::vector<WindowRange>& ranges, const TaskKey& task) {
  const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const WindowRange& entry) {
    return entry.range.job == task.job && entry.range.attempt == task.attempt &&
           task.index >= entry.range.first_index &&
           task.index - entry.range.first_index < entry.range.count;
  });
  if (found == ranges.end()) return false;
  WindowRange rest = *found;
  const std::uint32_t before = task.index - found->range.first_index;
  rest.range.first_index = task.index + 1;
  rest.range.count -= before + 1;
  found->range.count = before;
  const auto behind = before == 0 ? ranges.erase(found) : found + 1;
  if (rest.range.count > 0) ranges.insert(behind, rest);
  return true;
}

}  // namespace

// -- windows
// ---------------------------------------------------------------------------------------

void AllocatorState::refresh_lists(TenantState& tenant) {
  if (put_in(waiting_, tenant.rank, !tenant.window.empty()) && tenant.group != QuotaTree::kRoot)
    waits_in_groups_ = true;
  put_deficit(tenant, tenant.deficit);
  put_in(idle_unsettled_, tenant.rank, tenant.deficit != 0 && !tenant.waits());
  put_in(growing_, tenant.rank, !tenant.growth.empty());
  put_in(preempting_, tenant.rank, tenant.preempts && !tenant.window.empty());
  put_in(with_min_, tenant.rank, tenant.has_min && !tenant.window.empty());
  if (tenant.has_run_out())
    run_out_.insert(tenant.rank.slot);
  else
    run_out_.erase(tenant.rank.slot);
  refresh_shape(tenant);
  put_shortest(tenant, tenant.window.empty() ? kNever : tenant.shortest_run_ms);
  refresh_claims(tenant);
  note_contender(tenant);
}

bool AllocatorState::is_in_group_below_min(const TenantState& tenant) const {
  for (auto group = tenant.group; group != QuotaTree::kRoot; group = quotas_.group(group).parent)
    if (quotas_.is_below_min(group)) return true;
  return false;
}

bool AllocatorState::min_waits() const {
  if (!settings.preempts_for_min || allocates_by_share()) return false;
  const auto is_below_own = [&](const RankKey& key) { return at(key.slot).is_below_min(); };
  const auto is_below_groups = [&](const RankKey& key) {
    return is_in_group_below_min(at(key.slot));
  };
  return std::any_of(with_min_.begin(), with_min_.end(), is_below_own) ||
         (quotas_.some_group_is_below_min() &&
          std::any_of(waiting_.begin(), waiting_.end(), is_below_groups));
}

void AllocatorState::put_deficit(TenantState& tenant, Units deficit) {
  const Units before = std::exchange(tenant.known_deficit, deficit);
  if (before == deficit) return;
  const std::uint32_t slot = tenant.rank.slot;
  if (before != 0) deficits_.erase({std::abs(before), slot});
  if (deficit != 0) deficits_.emplace(std::abs(deficit), slot);
  if (before > 0 && deficit <= 0) unsettled_above_.erase(tenant.rank);
  if (before < 0 && deficit >= 0) unsettled_below_.erase(tenant.rank);
  if (deficit > 0 && before <= 0) unsettled_above_.insert(tenant.rank);
  if (deficit < 0 && before >= 0) unsettled_below_.insert(tenant.rank);
}

void AllocatorState::refresh_shape(TenantState& tenant) {
  // By units a node's deal may change its reservation for one that is at its max.
  const auto counts = [&](const WindowRange& entry) {
    return !counts_time() || tenant.is_within_own_max(entry);
  };
  const bool may_take = std::any_of(tenant.window.begin(), tenant.window.end(), counts);
  const std::span<const RuleShape> shapes =
      may_take ? tenant.least_of_rules : std::span<const RuleShape>{};
  const auto stands_well = [&](const RuleRooms::Place& place, const RuleShape& shape) {
    return place.least == shape.least && !rooms_.has_better_place(place, shape.rule);
  };
  auto& known = tenant.known_shapes;
  if (std::equal(known.begin(), known.end(), shapes.begin(), shapes.end(), stands_well)) return;
  forget_shapes(tenant);
  const auto all_nodes = [&](auto&& visit) {
    for (const auto& [id, node] : nodes_.by_id()) visit(id, node.traits);
  };
  for (const RuleShape& shape : shapes) known.push_back(rooms_.add(shape, all_nodes));
}

void AllocatorState::forget_shapes(TenantState& tenant) {
  for (const RuleRooms::Place& place : std::exchange(tenant.known_shapes, {})) rooms_.remove(place);
}

void AllocatorState::put_shortest(TenantState& tenant, LedgerMs run_ms) {
  const LedgerMs before = std::exchange(tenant.known_shortest_ms, run_ms);
  if (before == run_ms) return;
  if (before != kNever) shortest_runs_.erase({before, tenant.rank.slot});
  if (run_ms != kNever) shortest_runs_.emplace(run_ms, tenant.rank.slot);
}

void AllocatorState::forget_granted(TenantState& tenant) {
  const auto is_empty = [](const WindowRange& entry) { return entry.range.count == 0; };
  std::erase_if(tenant.window, is_empty);
  std::erase_if(tenant.growth, is_empty);
  refresh_lists(tenant);
  quotas_.refresh(tenant);  // moves only where `pending` was told too low
}

bool AllocatorState::shows_what_has_room(const TenantState& tenant) {
  const WaitingRange* without = nullptr;
  // What has room rather stands behind: what stands before it is tried before it.
  return std::any_of(tenant.window.rbegin(), tenant.window.rend(), [&](const WindowRange& entry) {
    const WaitingRange& range = entry.range;
    if (range.count == 0) return false;
    if (without != nullptr && without->kind == range.kind && without->demand == range.demand)
      return false;
    without = &range;
    return may_have_room(tenant, entry);
  });
}

void AllocatorState::note_granted_whole(TenantState& tenant, const WindowRange& entry) {
  if (!entry.range.hides_alike) return;
  tenant.shows_no_room = may_have_room(tenant, entry) && !shows_what_has_room(tenant);
}

void AllocatorState::strike(TenantState& tenant, const TaskKey& task, const ResourceVector& demand,
                            bool counted_as_pending) {
  if (strike_from(tenant.growth, task)) return;
  if (!strike_from(tenant.window, task) && !counted_as_pending) return;
  if (tenant.pending_tasks > 0) --tenant.pending_tasks;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    tenant.pending[r] = std::max<Amount>(0, tenant.pending[r] - demand[r]);
}

void AllocatorState::set_window(DemandWindow window) {
  TenantState& changed = tenant(window.tenant);
  FAIRWATER_CHECK(window.seen_deal <= deals, "a tenant has seen no deal that is still to come");
  FAIRWATER_CHECK(ResourceVector{}.fits(window.pending), "nothing negative waits");
  unheard_ends_.hear(window.heard);
  if (window.seen_deal < changed.seen_deal) return;
  changed.seen_deal = window.seen_deal;
  changed.window.clear();
  changed.growth.clear();
  for (WaitingRange& range : window.next)
    if (range.count > 0) changed.window.push_back(entry_of(std::move(range)));
  for (WaitingRange& range : window.growth)
    if (range.count > 0) changed.growth.push_back(entry_of(std::move(range)));
  changed.pending = window.pending;
  changed.pending_tasks = window.pending_tasks;
  std::erase_if(changed.unseen,
                [&](const UnseenGrant& grant) { return grant.deal <= window.seen_deal; });
  std::set<TaskKey> struck;
  for (const UnseenGrant& grant : changed.unseen) {
    strike(changed, grant.task, grant.demand, !grant.is_growth);
    struck.insert(grant.task);
  }
  std::vector<std::pair<TaskKey, ResourceVector>> held;
  for (const auto* ranges : {&changed.window, &changed.growth})
    for (const WindowRange& entry : *ranges)
      for (auto task = held_.lower_bound(TaskKey{entry.range.job, entry.range.first_index, 0});
           task != held_.end() && task->first.job == entry.range.job &&
           task->first.index - entry.range.first_index < entry.range.count;
           ++task)
        if (!struck.contains(task->first))
          held.emplace_back(task->first, task->second.grant.demand);
  for (const auto& [task, demand] : held) strike(changed, task, demand, false);

  changed.shows_no_room =
      changed.shows_no_room && !changed.unseen.empty() && !shows_what_has_room(changed);

  changed.preempts =
      std::any_of(changed.window.begin(), changed.window.end(),
                  [](const WindowRange& entry) { return entry.range.preemption.preempts; });
  changed.shortest_run_ms = kNever;
  for (const WindowRange& entry : changed.window)
    if (const std::int64_t run_ms = longest_run_ms(entry.range); run_ms > 0)
      changed.shortest_run_ms = std::min<LedgerMs>(changed.shortest_run_ms, run_ms);
  changed.first_late_ms = kNever;
  for (const WindowRange& entry : changed.window)
    changed.first_late_ms = std::min(changed.first_late_ms, entry.late_from_ms);
  if (auto least = least_of_rules(changed.window); !are_same(least, changed.least_of_rules)) {
    forget_shapes(changed);
    changed.least_of_rules = std::move(least);
    changed.least_demand = ResourceVector::filled(kUnlimited);
    for (const RuleShape& shape : changed.least_of_rules)
      for (std::size_t r = 0; r < kMaxResources; ++r)
        changed.least_demand[r] = std::min(changed.least_demand[r], shape.least[r]);
  }
  take_served(changed, window);
  const auto named_before = std::exchange(changed.named_devices, {});
  for (const WindowRange& entry : changed.window)
    if (names_devices(entry.range))
      changed.named_devices.insert(entry.range.rule->devices.begin(),
                                   entry.range.rule->devices.end());
  if (changed.named_devices.empty())
    naming_devices_.erase(changed.rank.slot);
  else
    naming_devices_.insert(changed.rank.slot);
  if (changed.named_devices != named_before) choices_.forget_shares();
  refresh_lists(changed);
  quotas_.refresh(changed);
  trim_made_rooms(changed.id);
  trim_promises(changed.id);
}

void AllocatorState::take_served(TenantState& tenant, const DemandWindow& window) {
  tenant.takes_turns = window.takes_turns;
  for (auto& [user, share] : tenant.users) share.served = 0;
  if (tenant.takes_turns) {
    for (const auto& [user, served] : window.served) tenant.users[user].served = served;
    for (const UnseenGrant& grant : tenant.unseen)
      if (!grant.is_growth) tenant.users[grant.user].served = kServedSince + grant.deal;
    stale_turns_.insert(tenant.rank.slot);
  }
  std::erase_if(tenant.users, [](const auto& user) { return user.second == UserShare{}; });
}

void AllocatorState::arrange_turns() {
  if (begun_gang) return;
  for (const std::uint32_t slot : std::exchange(stale_turns_, {})) {
    TenantState& tenant = tenants_[slot];
    if (!tenant.takes_turns) continue;
    tenant.window = in_turns(std::move(tenant.window), tenant.users);
    refresh_claims(tenant);
    note_contender(tenant);
  }
}

WindowRange AllocatorState::entry_of(WaitingRange range) const {
  FAIRWATER_CHECK(ResourceVector{}.fits(range.demand), "a task asks for nothing negative");
  FAIRWATER_CHECK(range.attempt > 0 && range.count - 1 <= kLastTaskIndex - range.first_index,
                  "a window names tasks that can be");
  FAIRWATER_CHECK(range.expected_ms >= 0 && range.limit_ms >= 0, "a run takes some time or none");
  FAIRWATER_CHECK(range.patience_ms >= 0, "patience is some time or none");
  const ResourceSet asks = ResourceSet::asked_by(range.demand);
  const std::uint32_t at_once = range.is_gang ? range.count : 1;
  const Units range_cost = std::min(cost(range.demand), kMaxDealUnits / at_once) * at_once;
  const LedgerMs late_from_ms = moment_in(now_ms(), range.late_in_ms);
  const LedgerMs firm_from_ms = moment_in(late_from_ms, deferral_ms(range, settings));
  if (range.placement == Placement::unset && takes_shares(range.demand)) range.placement = kByOffer;
  return {std::move(range), asks, range_cost, late_from_ms, firm_from_ms, at_once};
}

void AllocatorState::withdraw(TenantId id, JobId job) {
  TenantState& changed = tenant(id);
  for (const WindowRange& entry : changed.window) {
    if (entry.range.job != job) continue;
    const std::uint64_t count = entry.range.count;
    changed.pending_tasks -= std::min(changed.pending_tasks, count);
    for (std::size_t r = 0; r < kMaxResources; ++r)
      changed.pending[r] = static_cast<Amount>(std::max<Wide>(
          0, Wide{changed.pending[r]} - Wide{entry.range.demand[r]} * static_cast<Wide>(count)));
  }
  const auto is_its = [&](const WindowRange& entry) { return entry.range.job == job; };
  std::erase_if(changed.window, is_its);
  std::erase_if(changed.growth, is_its);
  refresh_lists(changed);
  quotas_.refresh(changed);
  trim_made_rooms(id);
  trim_promises(id);
}

}  // namespace fairwater::inline policy::inline allocator
