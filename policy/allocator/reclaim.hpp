// What must end so that tasks that wait get room. Internal to policy/allocator.
//
// What has grown (policy/allocator/growth.hpp). A task that waits, is within its tenant's quota and
// has no room anywhere takes its place: of tenants in the rule's order the last first, of each the
// newest job's last task first, and of all nodes the first that has room for the task then; no more
// than it needs, and nothing where that would not help. So does one that its tenant's max keeps
// back, of its own, or a group's, of anybody's in the group; and nothing grows into what that
// leaves below the max until the task has begun. A gang does for all of its tasks or
// for none. Room that is coming already counts first, and until it has come nothing grows into what
// is free for a gang elsewhere. Of GPUs that tasks share it is planned which ones become free, and
// who of those that are served gets which: what ends leaves a part of one, or whole ones. Tasks
// that wait beyond their quota take nothing back: the quotas share out the whole cluster, whatever
// has grown. Who has grown beyond its rule's bound gives back the rest.
//
// Preemption. Where that is not enough, a task whose job may preempt takes the place of tasks of
// lower priority that run beyond their tenant's quota of something it asks for, once they have run
// for a while, and one within a min of tasks of any priority (preemption_rights.hpp): never of
// services or gangs, and nothing that is within a tenant's min. Of all nodes
// the one where fewest must end, of its tasks the youngest (policy/allocator/preemption.hpp). Where
// the max of a group keeps the task back they are tasks in that group, and what that leaves below
// the max is promised to it: nobody else takes it, who may start where the task may not.
//
// That room is kept for it, and for all tasks of its gang: who is late, has a turn before it or is
// owed units would take it otherwise, and be preempted next (made_rooms.hpp).
//
// Nobody preempts back: who preempts is within its quota with the task, whom it preempts was beyond
// it; and from the one to the other priorities only fall, or what is within mins rises. So while
// requests stay as they are, every preemption brings what somebody holds beyond its quota down, and
// they come to an end.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// See Allocator::reclaim. Where nobody can take anything but for a min, only those who can are
/// looked at. O(extras * log, and for each task that takes room back; tasks that run,
/// once somebody preempts), at most kMostReclaimers of those.
[[nodiscard]] std::vector<Reclaim> reclaim(AllocatorState& state, bool for_min);

/// Tasks for which one call takes room back: a bound of its work. Those behind have the next.
inline constexpr std::size_t kMostReclaimers = 256;
/// With so many tasks that are to end nobody else is served: they are one record of the journal.
inline constexpr std::size_t kMostReclaimed = 4'096;

}  // namespace fairwater::inline policy::inline allocator
