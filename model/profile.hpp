// A class's profile: what its runs took at which amounts, as the ledger tells it, and what follows:
// the curve with its points (policy/saturation/class_curve.hpp), and the amounts of a job that
// leaves them to its class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job.hpp"
#include "policy/saturation/class_curve.hpp"

namespace fairwater::inline model {

/// Of one class, with the newest runs of each: what an answer holds and a choice reads. Without a
/// bound a class that runs every minute would cost more with each year.
inline constexpr std::size_t kMaxProfiledRuns = 20;
inline constexpr std::size_t kMaxProfiledAmounts = 200;

/// One task that ended, an attempt of one that hit the memory limit, or a whole job that measures
/// how its class makes use of more tasks.
struct ClassRun {
  JobId job = {};
  std::uint32_t index = 0;
  EndReason reason = EndReason::exited;
  std::int32_t exit_code = 0;
  std::int64_t run_ms = 0;  ///< 0 of such an attempt: how long it took was not kept
  std::int64_t cpu_ms = 0;
  std::int64_t peak_memory_kib = 0;  ///< 0: not known
  friend bool operator==(const ClassRun&, const ClassRun&) = default;
};
[[nodiscard]] bool completed(const ClassRun& run);
/// The program met a limit: more such runs would not tell more. (Others that failed may do better
/// when they are run again.)
[[nodiscard]] bool hit_limit(const ClassRun& run);

struct ClassAmounts {
  NamedAmounts resources;         ///< of whole jobs their tasks too, see kTasksOfClass
  std::vector<ClassRun> runs;     ///< newest first
  std::vector<JobId> unfinished;  ///< jobs that have not ended
  friend bool operator==(const ClassAmounts&, const ClassAmounts&) = default;
};

struct ClassProfile {
  std::string tenant;
  std::string job_class;
  std::vector<ClassAmounts> amounts;  ///< in the order of their amounts, each once
  bool more = false;                  ///< there are runs with other amounts, which are left out
  friend bool operator==(const ClassProfile&, const ClassProfile&) = default;
};

/// What a task's end tells of its class. None: it was stopped, was lost or could not start.
[[nodiscard]] std::optional<ClassRun> class_run(JobId job, std::uint32_t index,
                                                const TaskResult& result);
/// What a job that measures tasks tells: from the first of its tasks' start to the last one's end,
/// by its tasks' last results. None: it has not ended, or tells nothing.
[[nodiscard]] std::optional<ClassRun> whole_run(const JobRecord& job,
                                                const std::vector<TaskResult>& results);
/// Of each amounts those of the newest jobs are kept, as many as one answer holds; of one job those
/// that came first. O(runs kept).
void add_run(ClassProfile& profile, const NamedAmounts& resources, const ClassRun& run);
void add_unfinished(ClassProfile& profile, const NamedAmounts& resources, JobId job);

/// Whether they are the same but for what there is none of, named or not.
[[nodiscard]] bool are_same_amounts(NamedAmounts one, NamedAmounts other);

/// The curve over these resources, in ascending order of their names.
struct ProfileCurve {
  std::vector<std::string> resources;
  ClassCurve curve;
  [[nodiscard]] NamedAmounts amounts(std::size_t index) const;  ///< of curve.amounts[index]
};
/// Of single tasks. `fixed`: only runs that were given exactly these.
[[nodiscard]] ProfileCurve curve_of(const ClassProfile& profile, const NamedAmounts& fixed = {});
/// Of whole jobs, with the number of their tasks as one more resource.
[[nodiscard]] ProfileCurve whole_curve_of(const ClassProfile& profile);

/// Two numbers of tasks make no curve: the fewer would always be the point.
inline constexpr std::size_t kFewestNumbersOfTasks = 3;
/// How far an elastic job of the class is worth growing whose tasks are given just `resources`: the
/// `diagonal` point over the number of tasks. None known with fewer than kFewestNumbersOfTasks that
/// run.
[[nodiscard]] GrowthLimit growth_limit(const ClassProfile& profile, const NamedAmounts& resources);

/// The spec with the amounts that it leaves to the profile: the `diagonal` point of those runs that
/// were given the others. `invalid_input` naming `resources` when there is no such run that
/// completed.
[[nodiscard]] Expected<JobSpec> with_profiled_amounts(JobSpec spec, const ClassProfile& profile);

}  // namespace fairwater::inline model
