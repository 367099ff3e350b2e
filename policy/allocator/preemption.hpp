// Whom a task that preempts takes the place of. Internal to policy/allocator.
//
// Of all nodes the one where fewest must end, of its tasks the youngest, what has grown before
// others. Nobody must where room is free already that was kept for another tenant's place. Where a
// group that the claimant is in is full to its max, enough of them must be in that. Where
// tasks share GPUs only those count whose GPU helps: for a part, or a whole one, all that must end
// for it is on one GPU, but for what must end for the rest that it asks for.
//
// A gang ends as a whole, wherever its tasks are, and counts as one task of all that it holds. So
// it is looked at only where no node has room without its end: then the node where fewest tasks
// must end, these gangs' elsewhere among them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policy/allocator/group_lacks.hpp"
#include "policy/allocator/preemption_rights.hpp"
#include "policy/allocator/state.hpp"
#include "policy/allocator/victims.hpp"

namespace fairwater::inline policy::inline allocator {

/// Whether it runs beyond its tenant's quota of something that `entry`, of another tenant, asks
/// for, and not within its min. What others owe that tenant it may hold beyond its quota, but for
/// who preempts for a min. `gone`: what of that tenant's will have ended before.
[[nodiscard]] bool is_beyond_quota(const AllocatorState& state, const Victim& victim,
                                   const WindowRange& entry, const ResourceVector& gone,
                                   PreemptionRight right);

/// Whether it is within the min of a group that the claimant is not in. `gone`: what will have
/// ended before, beside what is ending.
[[nodiscard]] bool is_within_group_min(const AllocatorState& state, const GroupSums& groups,
                                       const Victim& victim, const TenantState& claimant,
                                       std::initializer_list<const GoneByTenant*> gone);

/// Of `victims`, all of that node, without whom it has so much room and nothing is missing below
/// maxes, those that may stay: the last first.
void leave_out_needless(VictimNumbers& victims, const std::vector<Victim>& all,
                        const AllocatorState& state, const ComingRooms& rooms, NodeId node,
                        ComingRoom room, const WaitingRange& task, GroupLacks lacks = {});

class Preemption {
 public:
  /// `preempted`: by tenant what is to end of theirs, but what has grown. `lacks`: what one task is
  /// missing below the maxes of groups.
  Preemption(const AllocatorState& state, const GroupSums& groups, ComingRooms& rooms,
             const std::vector<Victim>& victims, const GoneByTenant& preempted,
             const TenantState& claimant, const WindowRange& entry, PreemptionRight right,
             GroupLacks lacks)
      : state_(state),
        groups_(groups),
        rooms_(rooms),
        victims_(victims),
        preempted_(preempted),
        claimant_(claimant),
        entry_(entry),
        right_(right),
        lacks_(std::move(lacks)) {}

  /// Sets that are tried for a claimant where the largest tasks need not be the fewest.
  static constexpr std::size_t kMostSets = 2'048;
  /// Gangs of a node, the smallest, of which each is tried alone.
  static constexpr std::size_t kMostGangs = 64;

  struct Choice {
    NodeId node;
    VictimNumbers victims;
  };
  /// All on one node, but for gangs' tasks. None: nobody's end would do. O(victims), and where
  /// tasks share GPUs O(victims * GPUs). No set that was tried with fewer tasks that have not grown
  /// would do; kMostSets bounds them. With gangs O(victims * gangs of a node), kMostGangs at most.
  [[nodiscard]] std::optional<Choice> fewest();
  /// Wherever they are the youngest whose end gives what is missing below maxes; whether a node has
  /// room then is not asked. None: nobody's end would. O(victims).
  [[nodiscard]] std::optional<VictimNumbers> for_maxes() const;

 private:
  /// What of one node would have to end.
  struct Trial {
    ComingRoom room;
    GroupLacks lacks;
    GoneByTenant preempted{};
    VictimNumbers victims{};
  };

  /// What has tasks there and may have to end; without gangs, or with them.
  [[nodiscard]] std::map<NodeId, VictimNumbers> candidates(bool with_gangs) const;
  [[nodiscard]] std::optional<Choice> fewest_of(const std::map<NodeId, VictimNumbers>& candidates);
  [[nodiscard]] std::optional<VictimNumbers> on_node(NodeId node, const VictimNumbers& candidates);
  [[nodiscard]] std::optional<VictimNumbers> for_one_gpu(NodeId node,
                                                         const VictimNumbers& candidates);
  [[nodiscard]] std::optional<VictimNumbers> for_whole_gpus(NodeId node,
                                                            const VictimNumbers& candidates);
  /// Of those that have not grown as few as will do, where amounts alone are asked for.
  [[nodiscard]] std::optional<VictimNumbers> for_amounts(NodeId node,
                                                         const VictimNumbers& candidates);
  /// The same where there are gangs among them: one of these, or more of them if that is too
  /// little.
  [[nodiscard]] std::optional<VictimNumbers> with_gangs(NodeId node,
                                                        const VictimNumbers& candidates);
  [[nodiscard]] const VictimNumbers* fewer(const std::optional<VictimNumbers>& a,
                                           const std::optional<VictimNumbers>& b) const;
  /// How many of them have not grown. Candidates that have come first.
  [[nodiscard]] std::size_t preempted_of(const VictimNumbers& victims) const;
  /// Fewer cannot be enough beside all that has grown.
  [[nodiscard]] std::size_t least_of(const Trial& grown_ended,
                                     const VictimNumbers& candidates) const;
  /// So many of `others` that are enough beside what has ended, the first that are found while
  /// sets may be tried.
  [[nodiscard]] std::optional<Trial> so_many(NodeId node, const Trial& so_far,
                                             std::span<const std::size_t> others,
                                             std::size_t count);
  /// What may stay is left out.
  [[nodiscard]] VictimNumbers without_needless(NodeId node, Trial trial);
  /// The first of them that are enough, but for those that may stay.
  [[nodiscard]] std::optional<VictimNumbers> gather(NodeId node, const VictimNumbers& candidates);
  /// As many, but younger where that will do.
  void make_younger(VictimNumbers& victims, NodeId node, const VictimNumbers& candidates);
  [[nodiscard]] Trial trial_on(NodeId node) { return {rooms_.on(node), lacks_}; }
  [[nodiscard]] bool is_enough(NodeId node, const Trial& trial) const {
    return trial.lacks.are_covered() && rooms_.has_room(node, entry_.range, trial.room);
  }
  void note(GroupLacks& lacks, std::size_t victim, bool ends) const;
  /// Ends the victim in the trial, if it may.
  bool end(Trial& trial, NodeId node, std::size_t victim) const;
  /// Whether this task, which has not grown, may end for it. `with`: what is to end of tenants',
  /// likewise, beside `preempted`.
  [[nodiscard]] bool may_preempt(const Victim& victim, const GoneByTenant& with) const;
  /// What the victim has of that GPU, which it shares or has as a whole.
  [[nodiscard]] Amount shares_on(NodeId node, const std::string& gpu, std::size_t victim) const;
  [[nodiscard]] VictimNumbers on_gpu(NodeId node, const std::string& gpu,
                                     const VictimNumbers& candidates) const;
  /// Those, and behind them the others where there is too little of something else.
  [[nodiscard]] VictimNumbers with_others(VictimNumbers first, NodeId node,
                                          const VictimNumbers& candidates);

  const AllocatorState& state_;
  const GroupSums& groups_;
  ComingRooms& rooms_;
  const std::vector<Victim>& victims_;
  const GoneByTenant& preempted_;
  const TenantState& claimant_;
  const WindowRange& entry_;
  const PreemptionRight right_;
  const GroupLacks lacks_;
  std::size_t sets_to_try_ = kMostSets;
};

}  // namespace fairwater::inline policy::inline allocator
