// `conservative`: conservative backfilling (Mu'alem and Feitelson, "Utilization, predictability,
// workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS
// 2001). Every waiting task has a reservation: when it arrives it gets the earliest moment, and of
// equal ones the first node, at which it delays no reservation of others. A gang has one for all of
// its tasks: the earliest moment at which they have room together, on the first nodes that have it.
//
// When a task ends early, reservations move up: in the order of their starts each is made anew,
// over and over until none moves. None ever moves back while estimates are upper bounds. A task
// beyond its estimate is expected to end in the next millisecond; reservations that it is in the
// way of are made anew with all behind them on their nodes, in the order of their starts.
//
// A cycle costs O(waiting tasks * steps of the profiles that got room).
#pragma once

#include <set>

#include "sim/engine/queues.hpp"
#include "sim/schedulers/gang_places.hpp"

namespace fairwater::sim::inline schedulers {

class ConservativeScheduler final : public Scheduler {
 public:
  ConservativeScheduler(const Cluster& cluster, const Workload& workload);
  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;

 private:
  /// Of a task, or by its first task of a gang.
  struct Reservation {
    TimeMs start = 0;
    TaskId task;
    std::vector<NodeTasks> nodes;
    friend bool operator<(const Reservation& left, const Reservation& right) {
      return std::pair{left.start, left.task} < std::pair{right.start, right.task};
    }
  };
  struct Expected {
    TimeMs end = 0;
    TaskId task;
    friend constexpr auto operator<=>(const Expected&, const Expected&) = default;
  };
  struct Node {
    RoomProfile profile;
    std::set<Expected> running;
    TimeMs freed_until = 0;  ///< before this there may be room that reservations have not seen
  };
  [[nodiscard]] TimeMs duration_of(TaskId task) const;
  [[nodiscard]] bool may_run(const Job& job, NodeIndex node) const;
  void take_room(const Reservation& reservation);
  void give_room_back(const Reservation& reservation);
  void reserve_earliest(TaskId task);
  [[nodiscard]] std::optional<GangPlace> earliest_of_gang(const Job& gang, TaskId task,
                                                          TimeMs limit) const;
  void extend_overdue(NodeIndex node, TimeMs now);
  [[nodiscard]] std::vector<bool> broken_nodes(TimeMs now) const;
  void mend(const std::vector<bool>& broken);
  /// Where it could start before that, thanks to room that was freed.
  [[nodiscard]] std::optional<GangPlace> earlier_place(const Reservation& reservation) const;
  [[nodiscard]] std::optional<GangPlace> earlier_place_of_gang(
      const Reservation& reservation) const;
  /// False when it stays where it is.
  bool move_up(const Reservation& reservation);
  void compress();
  /// True when some reservation moved.
  bool compress_once();
  void start_due(TimeMs now, Actions& actions);

  const Cluster& cluster_;
  const Workload& workload_;
  std::vector<Node> nodes_;
  std::vector<JobIndex> arrived_;  ///< since the last cycle
  std::set<Reservation> reservations_;
  std::map<TaskId, TimeMs> expected_end_;  ///< of what runs
};

}  // namespace fairwater::sim::inline schedulers
