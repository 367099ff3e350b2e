// By what turns count where tenants are in groups (policy/allocator/time_turns.hpp): siblings share
// what belongs to their group, whoever of them waits, and stand in for it beside others.
//
// What belongs to those of a group that do not wait is, in turns, the others', in proportion to
// their parts. And what these owe those, or are owed by them, says nothing of who of the group
// comes first, nor of how the group stands beside others. So a tenant's turn counts, level by
// level,
//   part = the group's * own part / the parts of those in the group that wait
//   net  = the same of (own net - its part of the nets of those that wait) + its part of the
//   group's,
// where at the top a group's part and net are the sums of all tenants in it. With everybody in the
// group at work these are the tenant's own, but for rounding.
//
// Internal to policy/allocator.
#pragma once

#include <vector>

#include "policy/allocator/tenant.hpp"
#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

class AllocatorState;

/// Good until parts, nets or who waits change.
class GroupTurns {
 public:
  /// O(tenants * depth)
  explicit GroupTurns(const AllocatorState& state);
  /// Of one that waits.
  [[nodiscard]] TurnPart of(const TenantState& tenant) const;

 private:
  struct Group {
    QuotaTree::Group parent = QuotaTree::kRoot;
    TurnPart all;      ///< of all tenants in it
    TurnPart waiting;  ///< of its members that wait, or have somebody who does
    bool waits = false;
    TurnPart turn;
  };
  [[nodiscard]] static TurnPart part_of(const Group& group, const TurnPart& member);
  /// Those around it first.
  void find_turn(QuotaTree::Group group, std::vector<bool>& found);

  std::vector<Group> groups_;
};

}  // namespace fairwater::inline policy::inline allocator
