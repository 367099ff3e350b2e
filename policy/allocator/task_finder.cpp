#include "policy/allocator/task_finder.hpp"

#include <algorithm>
#include <string>

#include "policy/allocator/deal_steps.hpp"
#include "policy/allocator/gangs.hpp"
#include "policy/allocator/time_marks.hpp"

namespace fairwater::inline policy::inline allocator {

void TaskFinder::begin(const NodeRoom& node) {
  node_ = &node;
  free_ = node.free();
  free_one_day_ = node.free_one_day();
  asked_resources_ = kMaxResources;
  while (asked_resources_ > 0 && free_[asked_resources_ - 1] == 0) --asked_resources_;
  least_demand_ = ResourceVector::filled(kUnlimited);
  for (std::size_t r = asked_resources_; r < kMaxResources; ++r) least_demand_[r] = 0;
  placed_tasks_ = 0;
  rules_.clear();
  preferences_.clear();
  gang_looks_.clear();
  choices_.clear();
  left_to_preferred_ = false;
  marks_.reset();
}

void TaskFinder::expect_tasks(const ResourceVector& least_demand) {
  for (std::size_t r = 0; r < asked_resources_; ++r)
    least_demand_[r] = std::min(least_demand_[r], least_demand[r]);
}

// -- room and rules
// --------------------------------------------------------------------------------

bool TaskFinder::rule_allows(const PlacementRule* rule) {
  if (rule == nullptr) return true;
  for (const auto& [known, allowed] : rules_)
    if (known == rule) return allowed;
  rules_.emplace_back(rule, rule->allows(node_->traits));
  return rules_.back().second;
}

/// While a node at a site that the job prefers to this one has room for the task, it is left for
/// that node: its next deal takes it.
bool TaskFinder::is_left_to_preferred(const TenantState& tenant, const WaitingRange& task) {
  const PlacementRule* rule = task.rule.get();
  if (rule == nullptr || rule->sites.size() < 2 || rule->sites.front() == node_->traits.site)
    return false;
  for (const Preference& known : preferences_)
    if (known.rule == rule && known.demand == task.demand &&
        known.longest_run_ms == longest_run_ms(task))
      return known.is_left;
  bool is_left = false;
  for (const std::string& site : rule->sites) {
    if (is_left || site == node_->traits.site) break;
    is_left = state_.site_has_room(site, tenant, task);
  }
  preferences_.push_back({rule, task.demand, longest_run_ms(task), is_left});
  left_to_preferred_ = left_to_preferred_ || is_left;
  return is_left;
}

std::optional<bool> TaskFinder::is_left_to_chosen(const TenantState& tenant,
                                                  const WaitingRange& task) {
  if (!goes_by_rule(task)) return std::nullopt;
  const std::optional<NodeId> chosen = state_.choose_node(tenant, task);
  const bool is_here = chosen == node_->id;
  const auto asked = std::find_if(choices_.begin(), choices_.end(), [&](const Choice& choice) {
    return choice.tenant == &tenant && go_to_same_nodes(choice.task, task);
  });
  if (asked == choices_.end())
    choices_.push_back({&tenant, task, is_here});
  else
    asked->is_here = is_here;
  return chosen ? std::optional(!is_here) : std::nullopt;
}

Placement TaskFinder::chosen_by(const TenantState& tenant, const WaitingRange& task) {
  const bool is_chosen =
      goes_by_rule(task) && task.home != node_->id && state_.choose_node(tenant, task) == node_->id;
  return is_chosen ? told_rule(task.placement) : Placement::unset;
}

bool TaskFinder::is_left_to_home(const TenantState& tenant, const WaitingRange& task) {
  if (!task.home || task.home == node_->id || !state_.node_has_room(task.home, tenant, task))
    return false;
  left_to_preferred_ = true;
  return true;
}

bool TaskFinder::fits(const TenantState& tenant, const WindowRange& entry,
                      const ResourceVector& free) {
  if (entry.range.count == 0) return false;
  const ResourceVector& demand = entry.range.demand;
  for (const std::size_t r : entry.asks)
    if (demand[r] > free[r] || (entry.asked_at_once(r) > tenant.holdings[r].left &&
                                !state_.quotas().has_room(tenant, r, entry.asked_at_once(r))))
      return false;
  if (!rule_allows(entry.range.rule.get()) || !node_->is_open_for(entry.range, state_.clock_ms()) ||
      is_left_to_home(tenant, entry.range))
    return false;
  if (entry.range.home == node_->id) return true;
  if (const auto is_left = is_left_to_chosen(tenant, entry.range)) return !*is_left;
  return !is_left_to_preferred(tenant, entry.range);
}

/// Elsewhere nothing changes while a node is dealt.
const std::vector<GangShare>& TaskFinder::gang_shares(const TenantState& tenant,
                                                      const WindowRange& gang) {
  for (const GangLook& look : gang_looks_)
    if (look.job == gang.range.job && look.placed_tasks == placed_tasks_) return look.shares;
  auto shares = gang_start(state_, tenant, gang, {node_, free_, nullptr}, state_.settings.predict,
                           OtherPlaces::count);
  return gang_looks_
      .emplace_back(GangLook{gang.range.job, placed_tasks_,
                             std::move(shares).value_or(std::vector<GangShare>{})})
      .shares;
}

bool TaskFinder::move_on(const TenantState& tenant, std::uint32_t& cursor) {
  // Room only shrinks within a deal: what did not fit before does not fit now.
  const std::vector<WindowRange>& window = tenant.window;
  for (; cursor < window.size(); ++cursor)
    if (fits(tenant, window[cursor])) return true;
  return false;
}

bool TaskFinder::find_possible(const TenantState& tenant, std::uint32_t& cursor) {
  const std::vector<WindowRange>& window = tenant.window;
  for (; cursor < window.size(); ++cursor)
    if (could_hold(tenant, window[cursor])) return true;
  return false;
}

std::optional<std::uint32_t> TaskFinder::first_that_fits(const TenantState& tenant) {
  std::uint32_t cursor = 0;
  if (fits(tenant, tenant.window.front())) return cursor;
  if (!tenant.least_demand.fits(free_) || !move_on(tenant, cursor)) return std::nullopt;
  return cursor;
}

bool TaskFinder::find_next(Claimant& claimant) {
  if (claimant.checked != placed_tasks_ && claimant.has_work) {
    const WindowRange* before = claimant.next;
    const bool found = move_on(*claimant.tenant, claimant.cursor);
    claimant.next = found ? &claimant.tenant->window[claimant.cursor] : nullptr;
    if (claimant.next != before) claimant.standing.reset();
    claimant.checked = placed_tasks_;
  }
  return claimant.next != nullptr;
}

Units TaskFinder::waiting_cost(Claimant& claimant, Units enough) {
  if (!find_next(claimant)) return 0;
  const auto cost_of = [](const WindowRange& entry) {
    return Wide{entry.task_cost()} * entry.range.count;
  };
  Wide cost = cost_of(*claimant.next);
  const std::vector<WindowRange>& window = claimant.tenant->window;
  for (std::size_t i = claimant.cursor + std::size_t{1}; i < window.size() && cost < enough; ++i)
    if (fits(*claimant.tenant, window[i])) cost += cost_of(window[i]);
  return static_cast<Units>(std::min(cost, Wide{kMaxDealUnits}));
}

std::optional<std::uint32_t> TaskFinder::largest_backup(Claimant& claimant) {
  if (!claimant.has_work || !find_next(claimant)) return std::nullopt;
  const std::vector<WindowRange>& window = claimant.tenant->window;
  std::optional<std::uint32_t> largest;
  std::uint64_t seen = 0;
  for (std::uint32_t i = claimant.cursor; i < window.size() && seen < state_.settings.backups;
       ++i) {
    if (!fits(*claimant.tenant, window[i])) continue;
    seen += window[i].range.count;
    if (!largest || window[i].cost > window[*largest].cost) largest = i;
  }
  return largest;
}

const WindowRange* TaskFinder::task_to_reserve(const TenantState& tenant) {
  for (const WindowRange& entry : tenant.window) {
    // Room alone would not do for those who wait for a device.
    if (entry.is_gang() || names_devices(entry.range)) continue;
    if (!could_hold(tenant, entry)) continue;
    return state_.quotas().may_reserve(tenant, entry, marks()) ? &entry : nullptr;
  }
  return nullptr;
}

// -- quotas and guarantees
// -------------------------------------------------------------------------

const AllocatorQuotas::WaterMarks& TaskFinder::marks() {
  if (!marks_) marks_ = state_.quotas().water_marks();
  return *marks_;
}

TaskFinder::Standing TaskFinder::standing(TenantState& tenant, const WindowRange& range) {
  return allocator::standing(state_, tenant, range, marks());
}

TaskFinder::Standing TaskFinder::standing(Claimant& claimant) {
  if (!claimant.standing) claimant.standing = standing(*claimant.tenant, *claimant.next);
  return *claimant.standing;
}

bool TaskFinder::is_at_quota(Claimant& claimant) {
  return find_next(claimant) && standing(claimant) == Standing::at_quota;
}

bool TaskFinder::is_guaranteed(const Claimant& claimant) {
  const ResourceVector& min = claimant.tenant->terms.min;
  const WindowRange& next = *claimant.next;
  bool asks = false;
  for (const std::size_t r : next.asks) {
    if (min[r] <= 0) continue;
    if (!state_.quotas().is_below_guarantee(*claimant.tenant, r, marks())) return false;
    if (next.is_gang() && claimant.tenant->used[r] + next.asked_at_once(r) > min[r]) return false;
    asks = true;
  }
  return asks;
}

}  // namespace fairwater::inline policy::inline allocator
