// What happens to a job and its tasks: one function per event, applied by the ledger's fold to what
// is stored and by the tenant's actor to what lives. Pure.
//
//             grant                    end: succeeded, failed, cancelled
//   pending ─────────> running ─────────────────────────────────────────> ended
//      ^                  │
//      └──────────────────┘ end, where it runs again; requeue; any end of a service
//
// A job's counts name every task once: total = pending + running + succeeded + failed + cancelled +
// unneeded.
// Cancelling counts all that wait as cancelled, and leaves their records alone: a record says of a
// waiting task which attempt comes next, not whether it will.
#pragma once

#include <cstdint>

#include "model/journal.hpp"
#include "state/contradiction.hpp"

namespace fairwater::inline state {

/// The journal record by which something happens.
struct Moment {
  std::uint64_t record = 0;
  WallTime time;
};

/// A task that no node can start is tried for a quarter of an hour (see backoff_ms) before it
/// fails: long enough to make room on a disk, short enough that its owner hears of it.
inline constexpr std::uint32_t kMaxLaunchFailures = 20;
/// A task that is lost again and again most likely ends its supervisors or its nodes itself. Ten
/// machines that fail under one task by chance are rarer than that.
inline constexpr std::uint32_t kMaxLosses = 10;
inline constexpr std::int64_t kMaxBackoff_ms = 60'000;

/// How long a task waits after its `troubles`-th launch failure or loss: 1 s, doubling, at most
/// kMaxBackoff_ms.
[[nodiscard]] std::int64_t backoff_ms(std::uint32_t troubles);

/// The job as its submission makes it. Throws Contradiction when it has no task.
[[nodiscard]] JobRecord submitted_job(JobSubmitted submitted, WallTime now);

/// Whether the task runs on the node under this very attempt. Words on any other come late or
/// twice, and change nothing.
[[nodiscard]] bool is_run(const TaskRecord& task, NodeId node, const TaskKey& key);

/// The step at which a task of the job is given this much memory (MiB): what a grant made before
/// the job's step rose still says. 0 where it is no step's.
[[nodiscard]] std::uint32_t memory_step_of(const JobSpec& spec, Amount memory);

/// A waiting task of the grant's tenant begins to run, at the step `memory_step`. Throws
/// Contradiction when it does not wait for this attempt.
void grant_task(JobRecord& job, TaskRecord& task, const Grant& grant, NodeId node, Moment moment,
                std::uint32_t memory_step = 0);

/// The running attempt ended so. Exit status 0 is success. `cancelled` results and those of
/// cancelled jobs are final; failures run again while `failures < retries`. What is not the task's
/// doing runs again without being counted there: `lease_expired` and `node_lost` at once,
/// `launch_failed` and `supervisor_lost` after a pause from `now` on and within their own bounds.
///
/// A gang ends as one, see state/gang.hpp: its failures are counted together, and a task that ends
/// while the gang breaks runs again with it, or counts as cancelled when the gang has failed.
///
/// A task that hit its memory limit runs again with more while its job has a step above the one
/// that it ran at (ProfiledAmounts); it is not counted in `failures`. What of the job is granted
/// next starts at that step, too.
///
/// A task that was reclaimed and then stopped runs again, and nothing is counted; a gang's, with
/// the whole gang.
///
/// A service's task runs again whatever ended it, after the pause of state/service.hpp; when it was
/// stopped on order (its node drains) at once. Only its job's cancellation is final.
void end_task(JobRecord& job, TaskRecord& task, const TaskResult& result, WallTime now);

/// The running attempt goes back to its queue as the next one. `node_lost`: it was ordered, and its
/// node declared lost; it fails when that makes kMaxLosses, or pauses if it is a service's.
void requeue_task(JobRecord& job, TaskRecord& task, const TaskKey& key, bool node_lost,
                  WallTime now);

/// What of the elastic job has not begun is not needed any more, see state/elastic.hpp. Nothing
/// happens to one that winds down already, was cancelled or has ended: false.
bool wind_down(JobRecord& job, WallTime now);

/// What waits will not run. Nothing happens to a job that was cancelled or has ended: false.
bool cancel_job(JobRecord& job, const std::string& reason, WallTime now);

}  // namespace fairwater::inline state
