// Gangs: a job whose tasks start at once or not at all, and end as one. Of state/job.hpp. Pure.
//
//             grant of all                 all have succeeded
//   waiting ───────────────> together ───────────────────────────> succeeded
//      ^                        │
//      │                        │ one ends otherwise, or is given back
//      │   the last has ended   v               the last has ended
//      └──────────────────── breaking ────────────────────────────> failed
//
// While it breaks, what still runs is stopped. It runs again as a whole, tasks that had succeeded
// too, while `retries` are left for what was the fault of its tasks, and always after what was not
// (a lost node, a lease; launches within their bounds). So all of its tasks have one attempt at any
// time when it waits, and: while it runs again, nothing of it has failed; once it has failed,
// nothing of it waits.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/job.hpp"

namespace fairwater::inline state {

/// Some of it ended otherwise than by success, or was given back, and the rest still runs: that is
/// to be stopped. False of a job that is cancelled, which is stopped anyway.
[[nodiscard]] bool is_breaking(const JobRecord& job);

/// Breaking, or broken, it has failed and does not run again.
[[nodiscard]] bool has_failed_as_gang(const JobRecord& job);

/// The gang was told to make room (TasksReclaimed), and this task ended for it, or failed before it
/// heard: mostly by the end of the others, which heard first. That is no failure.
[[nodiscard]] bool makes_room(const JobRecord& job, const TaskRecord& task,
                              const TaskResult& result);
/// As what it counts then: as one that was told to end.
[[nodiscard]] TaskResult made_room(TaskResult result);

/// All that ran has ended, and it runs again: tasks that had succeeded are to start over.
[[nodiscard]] bool starts_over(const JobRecord& job);

/// Tasks whose indices follow on each other, on one node.
struct GangPart {
  NodeId node;
  std::uint32_t tasks = 0;
  friend bool operator==(const GangPart&, const GangPart&) = default;
};
/// Where the tasks of a gang run, or ran last, in the order of their indices. `tasks`: all of them.
[[nodiscard]] std::vector<GangPart> parts_of(const std::map<std::uint32_t, TaskRecord>& tasks);

/// The task had succeeded, and waits as its next attempt.
void start_over(JobRecord& job, TaskRecord& task);

}  // namespace fairwater::inline state
