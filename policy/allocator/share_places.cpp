#include "policy/allocator/share_places.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "policy/allocator/gangs.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

SharePlace at(NodeId node, Placement placement = Placement::unset) {
  return {{{node, 1}}, placement};
}

}  // namespace

bool skip_taken(const TenantState& tenant, std::uint32_t& cursor) {
  while (cursor < tenant.window.size() && tenant.window[cursor].range.count == 0) ++cursor;
  return cursor < tenant.window.size();
}

bool is_below_every_min(const TenantState& tenant) {
  const ResourceVector& min = tenant.terms.min;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (min[r] > 0 && tenant.used[r] >= min[r]) return false;
  return tenant.has_min;
}

std::optional<SharePlace> SharePlaces::find(const TenantState& tenant, const WindowRange& entry) {
  if (!state_.is_within_max(tenant, entry)) return std::nullopt;
  if (entry.is_gang()) return place_of_gang(tenant, entry);
  const WaitingRange& task = entry.range;
  if (task.home && state_.node_has_room(task.home, tenant, task)) return at(task.home);
  if (auto chosen = chosen_place(tenant, task)) return chosen;
  if (const auto node = first_node(tenant, task)) return at(*node);
  return std::nullopt;
}

std::optional<SharePlace> SharePlaces::find_room(const TenantState& tenant,
                                                 const WindowRange& entry) {
  if (entry.is_gang()) return place_of_gang(tenant, entry);
  const WaitingRange& task = entry.range;
  if (task.home && state_.node_has_room(task.home, tenant, task)) return at(task.home);
  if (const auto node = first_node(tenant, task)) return at(*node);
  return chosen_place(tenant, task);
}

std::optional<SharePlace> SharePlaces::chosen_place(const TenantState& tenant,
                                                    const WaitingRange& task) {
  const auto chosen = state_.choose_node(tenant, task);
  if (!chosen) return std::nullopt;
  return at(*chosen, told_rule(task.placement));
}

/// At the first of its sites that has room; where many have room that may not be used, the first
/// ones tell.
std::optional<NodeId> SharePlaces::first_node(const TenantState& tenant,
                                              const WaitingRange& task) const {
  const auto sites = task.rule == nullptr ? std::span<const std::string>{}
                                          : std::span<const std::string>{task.rule->sites};
  std::optional<NodeId> first;
  auto best = sites.end();
  std::uint32_t looks = 0;
  for (auto id = state_.next_with_room(NodeId{}, task); id && looks < SiteRooms::kMaxNodesLookedAt;
       id = state_.next_with_room(NodeId{id->value + 1}, task), ++looks) {
    if (!state_.node_has_room(*id, tenant, task)) continue;
    const auto site = std::find(sites.begin(), best, state_.node(*id).traits.site);
    if (!first || site < best) first = *id;
    best = std::min(best, site);
    if (best == sites.begin()) break;
  }
  return first;
}

std::optional<SharePlace> SharePlaces::place_of_gang(const TenantState& tenant,
                                                     const WindowRange& gang) {
  const auto node = first_node(tenant, gang.range);
  if (!node) return std::nullopt;
  const NodeRoom& here = state_.node(*node);
  auto shares = gang_start(state_, tenant, gang, {&here, here.free(), nullptr}, Predict::limits,
                           OtherPlaces::count);
  if (!shares) return std::nullopt;
  return SharePlace{*std::move(shares), Placement::unset};
}

std::size_t SharePlaces::start(TenantState& tenant, std::uint32_t range, const SharePlace& place,
                               GrantStep step) {
  std::size_t placed = 0;
  for (const GangShare& share : place.shares)
    for (std::uint32_t i = 0; i < share.tasks; ++i, ++placed)
      give(tenant, range, share, step, place.placement);
  return placed;
}

void SharePlaces::give(TenantState& tenant, std::uint32_t index, const GangShare& share,
                       GrantStep step, Placement placement) {
  WindowRange& entry = tenant.window[index];
  WaitingRange& range = entry.range;
  Grant grant{.task = {.job = range.job,
                       .index = range.first_index,
                       .attempt = range.attempt,
                       .incarnation = state_.settings.incarnation},
              .tenant = tenant.id,
              .cost = entry.task_cost(),
              .demand = range.demand,
              .step = step};
  grant.placement = placement;
  ++range.first_index;
  --range.count;
  NodeRoom& node = state_.node(share.node);
  grant.devices = state_.devices_of_placed(node, range, range.is_gang ? &share.gpus : nullptr);
  state_.place(node, tenant, grant, {range.limit_ms, range.expected_ms, 0, range.is_service},
               range.preemption, range.user);
  state_.refresh_room(node);
  if (range.count == 0) state_.note_granted_whole(tenant, entry);
  granted_.insert(tenant.rank.slot);
  const auto [found, is_new] = deal_of_.try_emplace(share.node, deals_.size());
  if (is_new) {
    Deal& deal = deals_.emplace_back();
    deal.node = share.node;
    deal.keeps_accounts = false;
  }
  deals_[found->second].grants.push_back(std::move(grant));
}

std::vector<Deal> SharePlaces::take_deals() {
  for (const Deal& deal : deals_) state_.record(deal);
  for (const std::uint32_t slot : granted_) state_.forget_granted(state_.at(slot));
  return std::move(deals_);
}

}  // namespace fairwater::inline policy::inline allocator
