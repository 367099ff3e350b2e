// What a tenant's part in a deal may place: room, rules, quotas, guarantees.

#include <algorithm>

#include "policy/allocator/node_deal.hpp"

namespace fairwater {

bool NodeDeal::rule_allows(const PlacementRule* rule) {
  if (rule == nullptr) return true;
  for (const auto& [known, allowed] : rules_)
    if (known == rule) return allowed;
  rules_.emplace_back(rule, rule->allows(node_->traits));
  return rules_.back().second;
}

/// While a node at a site that the job prefers to this one has room for the task, it is left for
/// that node: its next deal takes it.
bool NodeDeal::is_left_to_preferred(const TenantState& tenant, const WaitingRange& task) {
  const PlacementRule* rule = task.rule.get();
  if (rule == nullptr || rule->sites.size() < 2 || rule->sites.front() == node_->traits.site)
    return false;
  for (const Preference& known : preferences_)
    if (known.rule == rule && known.demand == task.demand) return known.is_left;
  bool is_left = false;
  for (const std::string& site : rule->sites) {
    if (is_left || site == node_->traits.site) break;
    is_left = state_.site_has_room(site, tenant, task);
  }
  preferences_.push_back({rule, task.demand, is_left});
  left_to_preferred_ = left_to_preferred_ || is_left;
  return is_left;
}

bool NodeDeal::fits(const TenantState& tenant, const WindowRange& entry) {
  return fits(tenant, entry, free_);
}

bool NodeDeal::fits(const TenantState& tenant, const WindowRange& entry,
                    const ResourceVector& free) {
  if (entry.range.count == 0) return false;
  const ResourceVector& demand = entry.range.demand;
  for (const std::size_t r : entry.asks)
    if (demand[r] > free[r] ||
        (demand[r] > tenant.holdings[r].left && !state_.quotas().has_room(tenant, r, demand[r])))
      return false;
  return rule_allows(entry.range.rule.get()) && !is_left_to_preferred(tenant, entry.range);
}

bool NodeDeal::find_next(const TenantState& tenant, Cursor& cursor) {
  // Room only shrinks within a deal: what did not fit before does not fit now.
  const std::vector<WindowRange>& window = tenant.window;
  for (; cursor.next < window.size() && cursor.skipped <= kMaxLookPast; ++cursor.next) {
    if (fits(tenant, window[cursor.next])) return true;
    if (window[cursor.next].range.count > 0) ++cursor.skipped;
  }
  cursor.next = static_cast<std::uint32_t>(window.size());
  return false;
}

bool NodeDeal::find_next(Part& part) {
  if (part.checked != placed_tasks_ && part.has_work) {
    const WindowRange* before = part.next;
    const bool found = find_next(*part.tenant, part.cursor);
    part.next = found ? &part.tenant->window[part.cursor.next] : nullptr;
    if (part.next != before) part.standing.reset();
    part.checked = placed_tasks_;
  }
  return part.next != nullptr;
}

Units NodeDeal::waiting_cost(Part& part) {
  if (!find_next(part)) return 0;
  const auto cost_of = [](const WindowRange& entry) {
    return Wide{entry.cost} * entry.range.count;
  };
  Wide cost = cost_of(*part.next);
  const std::vector<WindowRange>& window = part.tenant->window;
  for (std::size_t i = part.cursor.next + std::size_t{1}; i < window.size() && cost < dealt_; ++i)
    if (fits(*part.tenant, window[i])) cost += cost_of(window[i]);
  return static_cast<Units>(std::min(cost, Wide{kMaxDealUnits}));
}

NodeDeal::Standing NodeDeal::standing(const Part& part, const WindowRange& range) {
  if (!marks_) marks_ = state_.quotas().water_marks();
  return state_.quotas().standing(*part.tenant, range, *marks_);
}

NodeDeal::Standing NodeDeal::standing(Part& part) {
  if (!part.standing) part.standing = standing(part, *part.next);
  return *part.standing;
}

bool NodeDeal::is_at_quota(Part& part) {
  return find_next(part) && standing(part) == Standing::at_quota;
}

bool NodeDeal::is_owed(const Part& part) const {
  return part.line.received > 0 || part.tenant->net > 0;
}

bool NodeDeal::is_guaranteed(const Part& part) {
  const ResourceVector& min = part.tenant->terms.min;
  if (!marks_) marks_ = state_.quotas().water_marks();
  bool asks = false;
  for (const std::size_t r : part.next->asks) {
    if (min[r] <= 0) continue;
    if (!state_.quotas().is_below_guarantee(*part.tenant, r, *marks_)) return false;
    asks = true;
  }
  return asks;
}

NodeDeal::Claim NodeDeal::claim(Part& part) {
  if (!part.has_work || !find_next(part)) return Claim::none;
  switch (standing(part)) {
    case Standing::within:
      return Claim::within_quota;
    case Standing::straddling:
      return Claim::straddles_quota;
    case Standing::at_quota:
      break;
  }
  return is_owed(part) && part.hand >= part.next->cost ? Claim::covered : Claim::none;
}

std::optional<std::uint32_t> NodeDeal::largest_backup(Part& part) {
  if (!part.has_work || !find_next(part)) return std::nullopt;
  const std::vector<WindowRange>& window = part.tenant->window;
  std::optional<std::uint32_t> largest;
  std::uint64_t seen = 0;
  std::uint32_t skipped = part.cursor.skipped;
  for (std::uint32_t i = part.cursor.next; i < window.size() && seen < state_.settings.backups;
       ++i) {
    if (!fits(*part.tenant, window[i])) {
      if (window[i].range.count > 0 && ++skipped > kMaxLookPast) break;
      continue;
    }
    seen += window[i].range.count;
    if (!largest || window[i].cost > window[*largest].cost) largest = i;
  }
  return largest;
}

}  // namespace fairwater
