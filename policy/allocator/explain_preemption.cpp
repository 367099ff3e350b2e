#include "policy/allocator/explain_preemption.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "policy/allocator/coming_room.hpp"
#include "policy/allocator/preemption.hpp"
#include "policy/allocator/time_marks.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Tasks of other tenants that may be preempted at all, by what keeps them from it.
struct Spared {
  std::size_t all = 0;
  std::size_t not_lower = 0;  ///< in priority
  std::size_t young = 0;      ///< of the rest
  std::int64_t oldest_young_ms = 0;
  std::size_t within_quota = 0;  ///< of the rest
  [[nodiscard]] std::size_t none() const { return all - not_lower - young - within_quota; }
};

Spared spared_from(const AllocatorState& state, const GroupSums& groups,
                   const TenantState& claimant, const WindowRange& entry, PreemptionRight right,
                   const GroupLacks& lacks) {
  Spared spared;
  for (const auto& [task, held, priority, ran_ms, gang] : state.preemptible()) {
    const std::size_t tasks = std::max<std::size_t>(1, gang.size());
    const TenantState& holder = state.tenant(held.tenant);
    if (holder.id == claimant.id) continue;
    if (right.spared != QuotaTree::kRoot && is_in_group(state, holder, right.spared)) continue;
    if (!lacks.are_covered() && !lacks.are_eased_by(state, holder, held.demand)) continue;
    spared.all += tasks;
    if (priority >= right.below_priority) {
      spared.not_lower += tasks;
    } else if (ran_ms < state.settings.preempt_after_ms) {
      spared.young += tasks;
      spared.oldest_young_ms = std::max(spared.oldest_young_ms, ran_ms);
    } else if (!is_beyond_quota(state, {task, held, priority}, entry, holder.ending, right) ||
               is_within_group_min(state, groups, {task, held, priority}, claimant, {})) {
      spared.within_quota += tasks;
    }
  }
  return spared;
}

std::string seconds_text(std::int64_t ms) { return std::to_string((ms + 999) / 1000) + " s"; }

std::string tasks_text(std::size_t tasks) {
  return std::to_string(tasks) + (tasks == 1 ? " task" : " tasks");
}

std::string victims_text(const VictimNumbers& chosen, const std::vector<Victim>& all) {
  const bool ends_gang =
      std::any_of(chosen.begin(), chosen.end(), [&](std::size_t i) { return all[i].is_gang(); });
  return tasks_text(tasks_of(chosen, all)) + (ends_gang ? " (a gang's, wherever they run)" : "");
}

std::string spared_text(const AllocatorState& state, PreemptionRight right, const Spared& spared,
                        bool is_below_max) {
  const std::int64_t least_ms = state.settings.preempt_after_ms;
  const std::string within = is_below_max ? " within what is at its max" : "";
  const std::string nobody =
      std::string("preempts nobody") + (right.is_for_min() ? " for its min: " : ": ");
  if (spared.all == 0)
    return nobody + "no task of another tenant" + within + " runs that may be preempted";
  std::string text = nobody + "of " + tasks_text(spared.all) + " of other tenants" + within +
                     " that may be preempted";
  auto add = [&, is_first = true](std::size_t count, const std::string& what) mutable {
    if (count > 0) text += (is_first ? " " : ", ") + std::to_string(count) + " " + what;
    is_first = is_first && count == 0;
  };
  add(spared.not_lower, "of no lower priority than " + std::to_string(right.below_priority));
  add(spared.young, "that ran for less than " + seconds_text(least_ms) + " (the first has in " +
                        seconds_text(least_ms - spared.oldest_young_ms) + ")");
  add(spared.within_quota, "within their tenant's quota, what it is owed, or a min");
  add(spared.none(), is_below_max ? "that leave too little below the max, or where it has no room"
                                  : "on nodes where it would have no room even then");
  return text;
}

/// A node that has room for it once what was told to end has ended.
std::optional<NodeId> node_with_coming_room(const AllocatorState& state, const TenantState& tenant,
                                            const WindowRange& entry, ComingRooms& rooms,
                                            const GroupLacks& lacks) {
  if (const auto made = state.node_with_made_room(tenant.id, entry.range.job)) return made;
  if (!lacks.are_covered()) return std::nullopt;
  for (const NodeId id : state.ending_on()) {
    const NodeRoom& node = state.node(id);
    if (node.accepts && state.may_use_room(node, tenant, entry.range) &&
        rooms.has_room(id, entry.range, rooms.on(id)))
      return id;
  }
  return std::nullopt;
}

bool some_node_has_room(const AllocatorState& state, const TenantState& tenant,
                        const WaitingRange& task) {
  return std::any_of(state.nodes().begin(), state.nodes().end(), [&](const auto& node) {
    return state.node_has_room(node.first, tenant, task);
  });
}

}  // namespace

std::optional<std::string> explain_preemption(
    AllocatorState& state, TenantState& tenant, const WindowRange& entry,
    const std::function<std::string(Amount, std::size_t)>& amount_text) {
  const GroupSums groups(state);
  const GoneByTenant none;
  const AllocatorState::Claims nothing{{},
                                       std::vector<ResourceVector>(state.quotas().group_count())};
  auto rights = preemption_rights(state, tenant, entry, state.settings.preempts_for_min,
                                  {groups, none, nothing});
  if (rights.empty()) {
    if (!entry.range.preemption.preempts) return std::nullopt;
    return "preempts nobody: it names devices";
  }
  const ResourceVector held = tenant.held_against_quota();
  const ResourceVector quota = state.quotas().quota(tenant);
  for (const std::size_t r : entry.asks)
    if (entry.asked_at_once(r) > quota[r] - held[r])
      return "preempts nobody: its tenant holds " + std::to_string(held[r]) +
             " of its runtime quota of " + amount_text(quota[r], r) + ", and it asks for " +
             std::to_string(entry.asked_at_once(r));
  keep_below_mark(rights, entry, quota - held - given_way_below_quota(state, tenant));
  if (rights.empty()) return "preempts nobody: its tenant is at its mark while it owes others";
  ComingRooms rooms(state);
  const GroupLacks lacks(state, groups, tenant, entry.range.demand);
  if (const auto node = node_with_coming_room(state, tenant, entry, rooms, lacks))
    return state.ending_on().contains(*node)
               ? "tasks on node " + state.node(*node).traits.name +
                     " were told to end, and leave it room enough"
               : "room on node " + state.node(*node).traits.name + " is kept for it";
  std::vector<Victim> victims;
  for (const auto& [task, extra] : state.extras()) victims.push_back({task, extra, 0, true});
  const std::vector<Victim> others = preemptible_victims(state);
  victims.insert(victims.end(), others.begin(), others.end());
  for (const PreemptionRight& right : rights) {
    Preemption preemption(state, groups, rooms, victims, none, tenant, entry, right, lacks);
    if (const auto chosen = lacks.are_covered() ? std::nullopt : preemption.for_maxes();
        chosen && some_node_has_room(state, tenant, entry.range))
      return "takes the place of " + victims_text(*chosen, victims) + " below the max next";
    if (const auto choice = preemption.fewest()) {
      const std::string& name = state.node(choice->node).traits.name;
      return choice->victims.empty()
                 ? "takes room on node " + name + " next that is kept for another's place"
                 : "takes the place of " + victims_text(choice->victims, victims) + " on node " +
                       name + " next";
    }
  }
  const PreemptionRight& strongest = rights.front();
  return spared_text(state, strongest, spared_from(state, groups, tenant, entry, strongest, lacks),
                     !lacks.are_covered());
}

}  // namespace fairwater::inline policy::inline allocator
