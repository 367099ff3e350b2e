#include "policy/allocator/group_turns.hpp"

#include <algorithm>

#include "policy/allocator/state.hpp"
#include "policy/core/wide.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

TurnPart& operator+=(TurnPart& sum, const TurnPart& more) {
  sum.part += more.part;
  sum.net += more.net;
  return sum;
}

TurnPart own_part(const TenantState& tenant) { return {tenant.part, tenant.net}; }

}  // namespace

GroupTurns::GroupTurns(const AllocatorState& state) : groups_(state.quotas().group_count()) {
  for (QuotaTree::Group group = 1; group < groups_.size(); ++group)
    groups_[group].parent = state.quotas().group(group).parent;
  for (std::uint32_t slot = 0; slot < state.slots(); ++slot) {
    const TenantState& tenant = state.at(slot);
    const bool waits = !tenant.window.empty();
    if (waits) groups_[tenant.group].waiting += own_part(tenant);
    for (QuotaTree::Group group = tenant.group; group != QuotaTree::kRoot;
         group = groups_[group].parent) {
      groups_[group].all += own_part(tenant);
      groups_[group].waits = groups_[group].waits || waits;
    }
  }
  for (QuotaTree::Group group = 1; group < groups_.size(); ++group)
    if (groups_[group].waits) groups_[groups_[group].parent].waiting += groups_[group].all;
  std::vector<bool> found(groups_.size());
  for (QuotaTree::Group group = 1; group < groups_.size(); ++group) find_turn(group, found);
}

TurnPart GroupTurns::of(const TenantState& tenant) const {
  return tenant.group == QuotaTree::kRoot ? own_part(tenant)
                                          : part_of(groups_[tenant.group], own_part(tenant));
}

void GroupTurns::find_turn(QuotaTree::Group group, std::vector<bool>& found) {
  if (found[group]) return;
  found[group] = true;
  Group& own = groups_[group];
  own.turn = own.all;
  if (own.parent == QuotaTree::kRoot) return;
  find_turn(own.parent, found);
  own.turn = part_of(groups_[own.parent], own.all);
}

TurnPart GroupTurns::part_of(const Group& group, const TurnPart& member) {
  const Wide waiting = group.waiting.part;
  if (waiting <= 0) return member;
  const auto share = [&](Wide of) { return quotient(of * member.part, waiting); };
  const Wide beside_siblings = member.net - share(group.waiting.net);
  const auto bounded = [](Wide amount) {
    return static_cast<std::int64_t>(std::clamp<Wide>(amount, -kUnlimited, kUnlimited));
  };
  return {
      .part = bounded(share(group.turn.part)),
      .net = bounded(quotient(beside_siblings * group.turn.part, waiting) + share(group.turn.net))};
}

}  // namespace fairwater::inline policy::inline allocator
