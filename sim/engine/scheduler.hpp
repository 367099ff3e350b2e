// A scheduling policy in the simulator: told what happens, asked in each cycle what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/workload.hpp"

namespace fairwater::sim::inline engine {

struct TaskId {
  JobIndex job = 0;
  std::uint32_t index = 0;  ///< 0 .. tasks - 1
  friend constexpr auto operator<=>(const TaskId&, const TaskId&) = default;
};
struct Start {
  TaskId task;
  NodeIndex node = 0;
  Units units = 1;         ///< min_units to max_units of the job
  bool has_grown = false;  ///< of an elastic job over nodes: beyond its least
};
struct Resize {
  TaskId task;
  Units units = 1;  ///< from now on; min_units to max_units of the job
};

/// Carried out in this order.
struct Actions {
  std::vector<Resize> shrink;
  std::vector<TaskId> kill;  ///< stopped; the scheduler may start the task anew, all work is lost
  std::vector<Start> start;
  std::vector<Resize> grow;
  /// Told to end: they do no more work, and have their room until the scheduler is told that they
  /// ended. Then they wait again; but for those of elastic jobs over nodes, all their work is lost.
  std::vector<TaskId> take_back;
  /// The same, of tasks that have not grown: an elastic job may have fewer than its least then.
  std::vector<TaskId> preempt;
  [[nodiscard]] bool empty() const {
    return shrink.empty() && kill.empty() && start.empty() && grow.empty() && take_back.empty() &&
           preempt.empty();
  }
};

/// A tenant's account with the policy; zeros where the policy keeps none. In units granted, or in
/// unit-milliseconds where the ledger counts time.
struct Account {
  Units net = 0;       ///< positive when others owe it
  Units lent = 0;      ///< in all so far
  Units borrowed = 0;  ///< in all so far
  Units repaid = 0;    ///< in all so far
  double credit = 0;   ///< of the elastic policies, in units; of `sequence` in unit-seconds
  /// Where the ledger counts time: what it held so far, and what belonged to it.
  Units held = 0;
  Units part = 0;
};

/// Deterministic: the same calls give the same actions. Cluster and workload outlive it.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// What is told from here on happens at `now`. Told of each instant before anything else of it.
  virtual void pass_to(TimeMs /*now*/) {}
  virtual void submit(JobIndex job) = 0;
  /// The work of the elastic job over nodes is done: nothing of it starts from here on, and its
  /// tasks end.
  virtual void done(JobIndex /*job*/) {}
  /// The task ended by itself, or as it was told: its room is free again.
  virtual void end(TaskId task, NodeIndex node) = 0;
  /// The task had ended, and waits again with its gang, which the scheduler has preempted.
  virtual void start_over(TaskId /*task*/) {}
  /// Everything that happened up to `now` has been told.
  virtual Actions cycle(TimeMs now) = 0;
  /// When it is to be asked again even if nothing happens by then; none: it need not be.
  [[nodiscard]] virtual std::optional<TimeMs> wakes_at() const { return std::nullopt; }
  /// When the cluster changes by itself: what waits may start then though nothing happens before.
  [[nodiscard]] virtual std::optional<TimeMs> changes_at() const { return std::nullopt; }
  /// The run is over: accounts are asked for as of now.
  virtual void finish() {}
  [[nodiscard]] virtual Account account(TenantIndex /*tenant*/) const { return {}; }
};

}  // namespace fairwater::sim::inline engine
