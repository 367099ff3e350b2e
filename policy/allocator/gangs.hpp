// Gangs: tasks of one job that start at once or not at all, on any number of nodes.
//
// Start. A gang has its turn in a deal like any task, as one that is as large as all of its tasks
// together: by its tenant's order, quota, mark and max. It starts when there is room for all of
// them at that moment, on whichever nodes. Those of the node that is dealt are placed in its deal,
// the others in deals of their nodes that follow at once and place nothing else (BegunGang): all of
// them make one record of the journal, so that no part of a gang is ever granted alone.
//
// Of GPUs that tasks share a node has room for as many of its tasks as single ones have: all ask
// for the same, so it is the same whichever each of them gets. Which GPUs they are is chosen with
// the nodes, so that its tasks get those that they were counted for.
//
// Which nodes. Of one site where one has room for all, the job's own order first; and then of as
// few nodes as possible: those with room for most of them, the lower id of two alike.
//
// Kept room, where the ledger counts time. A gang that has no room at its turn gets a plan: the
// first moment at which its tasks must have room together, by when what runs must end, and so many
// of them on each node. The nodes keep that room from that moment on; others run meanwhile where
// they end before it or fit beside it. A plan is whole or there is none, and it takes what earlier
// plans leave, for as long as the gang may run: plans may share nodes. Of nodes that would do it
// takes those that become free last, so that others may hold what is free now. All plans are made
// anew each second (on few nodes in every cycle), in the order of the deals: no two gangs ever wait
// for what the other keeps. A late gang's plan, or start, takes nothing from what is late longer,
// and everything from others; where it could have tasks nothing else gets a place meanwhile. Of
// GPUs that tasks share a plan is of particular ones: others that come after it get them only if
// they end before it begins, and another gang's plan has them when this gang has run.
//
// Where no moment can be told, because something there has no limit, the nodes keep all that
// becomes free, for a gang that is below its mark or late. Nobody knows how long that may take, so
// it goes in turns: for kKeepMs it is kept, for as long it is left to others. (What a single task
// has kept so is one node; a gang could stop a cluster.)
//
// Where the ledger counts units, and for guarantees, no room is kept: there is no time to plan by.
//
// Internal to policy/allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policy/allocator/room_profile.hpp"
#include "policy/allocator/state.hpp"

namespace fairwater::inline policy::inline allocator {

/// What a deal has left of the node that it deals.
struct RoomHere {
  const NodeRoom* node = nullptr;
  ResourceVector free;
  const RoomProfile* profile = nullptr;  ///< with the places given so far; null: there are none
};

/// How a gang looks at what others have kept on other nodes.
enum class OtherPlaces : std::uint8_t {
  count,           ///< nothing is taken from them
  of_later_yield,  ///< a late gang comes before all that was not late before it
};

/// Where all of the gang's tasks may start now; none when that is nowhere. Whether its tenant may
/// hold so much is not looked at. O(nodes with room * log), and O(places) of those that have any;
/// O(log gangs) where all nodes together have too little room and none has got more since.
[[nodiscard]] std::optional<std::vector<GangShare>> gang_start(AllocatorState& state,
                                                               const TenantState& tenant,
                                                               const WindowRange& gang,
                                                               const RoomHere& here,
                                                               Predict predict, OtherPlaces places);

/// How a gang's plan is made.
struct PlanTerms {
  Predict predict = Predict::limits;
  LedgerMs late_from_ms = kNever;  ///< of the gang; of one that is deferred, when it is firm
  bool may_keep_all = false;       ///< it has a claim
};

/// The gang's plan, made where there is none yet. Null: there is no moment, or what it could use is
/// kept for others. O((nodes + tasks that run) * log) when it is made.
[[nodiscard]] const GangPlan* gang_plan(AllocatorState& state, const TenantState& tenant,
                                        const WindowRange& gang, const PlanTerms& terms);

/// For how many of its tasks there is room on the nodes that it may use, at most all of them each.
struct GangRoom {
  std::uint64_t now = 0;
  std::uint64_t one_day = 0;         ///< if all had ended that ends by itself
  std::uint64_t empty = 0;           ///< if nothing ran
  std::uint64_t closed_one_day = 0;  ///< the same on nodes that take no tasks now
  std::uint64_t closed_empty = 0;
  std::vector<const NodeRoom*> closed;  ///< those nodes
};
/// O(nodes).
[[nodiscard]] GangRoom gang_room(const AllocatorState& state, const WindowRange& gang);

}  // namespace fairwater::inline policy::inline allocator
