// The simulator's clock: lets jobs arrive and tasks end in virtual time, asks the policy in
// between, and keeps the account that no policy can bend: what runs where, and that no node is over
// capacity.
//
// Exact: time is in whole milliseconds, the work of an elastic job in unit-milliseconds. Events of
// one instant are told in this order: ends by order of starting, ends of what was told to end by
// the order in which it was, then arrivals in the workload's order; then one cycle. Before an
// instant's events the policy is told that time passes, then the observer. O(log running) per
// event, besides the policy.
#pragma once

#include <functional>
#include <vector>

#include "sim/engine/initial_state.hpp"
#include "sim/engine/scheduler.hpp"
#include "sim/engine/workload.hpp"

namespace fairwater::sim::inline engine {

struct EngineOptions {
  /// 0: a cycle follows every instant at which something happened. Else cycles are at multiples of
  /// this alone.
  TimeMs cycle_ms = 0;
  TimeMs end_ms = 0;  ///< stop here; 0: when all work is done
  /// Above 0: time passes to each multiple of this as well, so that accounts are up to date there.
  TimeMs step_ms = 0;
  /// The scheduler must know of them, too. Jobs that were submitted before time 0 wait then.
  std::vector<RunningTask> running{};
};

/// Sees everything that happens, in order of time.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Time passes up to `now`, with nothing changed since the last call.
  virtual void advance(TimeMs /*now*/) {}
  virtual void submitted(JobIndex /*job*/) {}
  virtual void started(const Start& /*start*/) {}
  virtual void resized(TaskId /*task*/, Units /*before*/, Units /*after*/) {}
  /// Told to end so that another may run; it ends later. `lost`: unit-milliseconds of its work that
  /// have to be done again.
  virtual void preempted(TaskId /*task*/, std::int64_t /*lost*/) {}
  /// It had ended, and runs again with its gang, which was preempted: it waits again. `lost`: see
  /// preempted().
  virtual void started_over(TaskId /*task*/, std::int64_t /*lost*/) {}
  /// `killed`: by the policy, taken back or preempted; it waits again.
  virtual void ended(TaskId /*task*/, NodeIndex /*node*/, Units /*units*/, bool /*killed*/) {}
  virtual void cycle_done(const Scheduler& /*scheduler*/) {}
};

struct EngineResult {
  TimeMs end_ms = 0;          ///< when it stopped
  std::uint64_t events = 0;   ///< arrivals, ends and cycles
  std::uint64_t running = 0;  ///< tasks that still ran then
  std::uint64_t waiting = 0;  ///< tasks that still waited then
  Wide work_done = 0;         ///< unit-milliseconds that tasks ran until then, also those killed
};

/// Stops the process when the policy breaks a rule: starts a task twice, or more than fits.
EngineResult run_engine(const Cluster& cluster, const Workload& workload, Scheduler& scheduler,
                        Observer& observer, const EngineOptions& options);

}  // namespace fairwater::sim::inline engine
