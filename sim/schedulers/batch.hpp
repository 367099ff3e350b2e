// What batch systems do, without regard for tenants. But for `proportional` they start a gang on
// the first nodes that have room for all of it.
//
// `fifo`: first come first served; the head of the queue holds everybody behind it back.
// `easy`: EASY backfilling (Lifka, "The ANL/IBM SP scheduling system", 1995): the head gets a
//   reservation on the node where, by the estimates, it can start first; tasks behind it start now
//   where they fit and do not delay it: on another node, or when they end before the reservation,
//   or on room that the head leaves then. A gang's reservation is on several nodes, for when all of
//   it can start.
// `easy-sjbf`: the same, but those behind the head are tried by the shortest estimate first
// (Tsafrir,
//   Etsion and Feitelson, "Backfilling using system-generated predictions rather than user runtime
//   estimates", IEEE TPDS 2007), by arrival where estimates are equal.
// `proportional`: the usual share of each heartbeat. A node's free units are divided by weight
//   among the tenants that wait (whole units, the largest fractions first, heavier tenants first on
//   ties); each takes its next tasks in order while they fit its part; what is left goes to the
//   next tasks that fit, heavier tenants first. Nothing is remembered between heartbeats.
#pragma once

#include <set>

#include "sim/engine/queues.hpp"

namespace fairwater::sim::inline schedulers {

class FifoScheduler final : public Scheduler {
 public:
  FifoScheduler(const Cluster& cluster, const Workload& workload);
  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;

 private:
  const Workload& workload_;
  Room room_;
  ArrivalQueue queue_;
};

/// In which those behind the head are tried.
enum class BackfillOrder : std::uint8_t { arrival = 0, shortest_estimate = 1 };

class EasyScheduler final : public Scheduler {
 public:
  EasyScheduler(const Cluster& cluster, const Workload& workload, BackfillOrder order);
  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;

 private:
  struct Expected {
    TimeMs end = 0;
    TaskId task;
    friend constexpr auto operator<=>(const Expected&, const Expected&) = default;
  };
  struct Reservation {
    TimeMs at = 0;
    std::map<NodeIndex, ResourceVector> spare;  ///< room that the head leaves then on its nodes
  };
  struct Ending {
    TimeMs at = 0;
    NodeIndex node = 0;
    JobIndex job = 0;
  };
  /// True when the job at that place left the queue.
  bool start(std::size_t place, const std::vector<NodeIndex>& nodes, TimeMs now, Actions& actions);
  [[nodiscard]] Reservation reserve(const Job& head, TimeMs now) const;
  [[nodiscard]] Reservation reserve_for_gang(const Job& head, TimeMs now) const;
  [[nodiscard]] std::vector<Ending> endings_for(const Job& job, TimeMs now) const;
  /// For what starts at once of the job; none: nowhere now.
  [[nodiscard]] std::vector<NodeIndex> backfill_nodes(const Job& job, const Reservation& head,
                                                      TimeMs now) const;
  [[nodiscard]] std::vector<NodeIndex> backfill_nodes_of_gang(const Job& gang,
                                                              const Reservation& head,
                                                              TimeMs now) const;
  /// The places in the queue behind the head, as they are tried.
  [[nodiscard]] std::vector<std::size_t> candidates() const;
  void backfill(TimeMs now, Actions& actions);

  const Workload& workload_;
  const BackfillOrder order_;
  Room room_;
  ArrivalQueue queue_;
  std::vector<std::set<Expected>> running_;  ///< by node
  std::map<TaskId, TimeMs> expected_end_;
};

class ProportionalScheduler final : public Scheduler {
 public:
  ProportionalScheduler(const Cluster& cluster, const Workload& workload);
  void submit(JobIndex job) override;
  void end(TaskId task, NodeIndex node) override;
  Actions cycle(TimeMs now) override;

 private:
  void deal(NodeIndex node, Actions& actions);
  /// Starts the tenant's next task there when it costs at most `part`; what it cost, or none.
  std::optional<Units> start_next(TenantIndex tenant, NodeIndex node, Units part, Actions& actions);

  const Cluster& cluster_;
  const Workload& workload_;
  Room room_;
  std::vector<ArrivalQueue> queues_;
  std::vector<TenantIndex> ranked_;  ///< heavier first, then input order
  std::set<NodeIndex> due_;
};

}  // namespace fairwater::sim::inline schedulers
