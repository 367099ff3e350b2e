// Jobs and tasks.
#pragma once

#include "model/job.hpp"
#include "schema/fields/field.hpp"

namespace fairwater::inline schema {

template <>
struct EnumLast<JobKind> {
  static constexpr JobKind value = JobKind::service;
};

template <>
struct EnumLast<TaskState> {
  static constexpr TaskState value = TaskState::cancelled;
};

template <>
struct EnumLast<JobState> {
  static constexpr JobState value = JobState::cancelled;
};

template <>
struct EnumLast<EndReason> {
  static constexpr EndReason value = kLastEndReason;
};

template <>
struct EnumLast<GrantStep> {
  static constexpr GrantStep value = GrantStep::growth;
};

template <>
struct EnumLast<Placement> {
  static constexpr Placement value = Placement::pack;
};

template <>
struct Fields<TaskKey> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(job, Job);
    FAIRWATER_FIELD(index, Index);
    FAIRWATER_FIELD(attempt, Attempt);
    FAIRWATER_FIELD(incarnation, Incarnation);
  }
};

template <>
struct Fields<ProfiledAmounts> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(all, All);
    FAIRWATER_FIELD(resources, Resources);
    FAIRWATER_FIELD(runs, Runs);
    FAIRWATER_FIELD(confidence_permille, ConfidencePermille);
    FAIRWATER_FIELD(memory_steps, MemorySteps);
  }
};

template <>
struct Fields<JobSpec> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(name, Name);
    FAIRWATER_FIELD(job_class, JobClass);
    FAIRWATER_FIELD(command, Command);
    FAIRWATER_FIELD(environment, Environment);
    FAIRWATER_FIELD(directory, Directory);
    FAIRWATER_FIELD(tasks_min, TasksMin);
    FAIRWATER_FIELD(tasks_max, TasksMax);
    FAIRWATER_FIELD(resources, Resources);
    FAIRWATER_FIELD(kind, Kind);
    FAIRWATER_FIELD(priority, Priority);
    FAIRWATER_FIELD(gang, Gang);
    FAIRWATER_FIELD(labels, Labels);
    FAIRWATER_FIELD(sites, Sites);
    FAIRWATER_FIELD(devices, Devices);
    FAIRWATER_FIELD(time_limit_ms, TimeLimitMs);
    FAIRWATER_FIELD(grace_ms, GraceMs);
    FAIRWATER_FIELD(retries, Retries);
    FAIRWATER_FIELD(after, After);
    FAIRWATER_FIELD(preemptible, Preemptible);
    FAIRWATER_FIELD(preempt, Preempt);
    FAIRWATER_SPARSE_FIELD(notify, Notify);
    FAIRWATER_FIELD(exclusive_cpus, ExclusiveCpus);
    FAIRWATER_SPARSE_FIELD(profiled, Profiled);
    FAIRWATER_FIELD(placement, Placement);
    FAIRWATER_SPARSE_FIELD(user, User);
    FAIRWATER_FIELD(lease_ms, LeaseMs);
    FAIRWATER_FIELD(measures_tasks, MeasuresTasks);
  }
};

template <>
struct Fields<TaskResult> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(task, Task);
    FAIRWATER_FIELD(reason, Reason);
    FAIRWATER_FIELD(exit_code, ExitCode);
    FAIRWATER_FIELD(signal, Signal);
    FAIRWATER_FIELD(started_at, StartedAt);
    FAIRWATER_FIELD(finished_at, FinishedAt);
    FAIRWATER_FIELD(cpu_ms, CpuMs);
    FAIRWATER_FIELD(peak_memory_kib, PeakMemoryKib);
    FAIRWATER_FIELD(message, Message);
  }
};

template <>
struct Fields<TaskRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(state, State);
    FAIRWATER_FIELD(attempt, Attempt);
    FAIRWATER_FIELD(failures, Failures);
    FAIRWATER_FIELD(node, Node);
    FAIRWATER_FIELD(cost, Cost);
    FAIRWATER_FIELD(step, Step);
    FAIRWATER_FIELD(beyond_quota, BeyondQuota);
    FAIRWATER_FIELD(grant_cycle, GrantCycle);
    FAIRWATER_FIELD(granted_at, GrantedAt);
    FAIRWATER_FIELD(result, Result);
    FAIRWATER_FIELD(launch_failures, LaunchFailures);
    FAIRWATER_FIELD(losses, Losses);
    FAIRWATER_FIELD(waits_until, WaitsUntil);
    FAIRWATER_FIELD(incarnation, Incarnation);
    FAIRWATER_FIELD(restarts, Restarts);
    FAIRWATER_FIELD(memory_step, MemoryStep);
    FAIRWATER_FIELD(reclaimed, Reclaimed);
    FAIRWATER_SPARSE_FIELD(devices, Devices);
  }
};

template <>
struct Fields<TaskCounts> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(total, Total);
    FAIRWATER_FIELD(running, Running);
    FAIRWATER_FIELD(succeeded, Succeeded);
    FAIRWATER_FIELD(failed, Failed);
    FAIRWATER_FIELD(cancelled, Cancelled);
    FAIRWATER_FIELD(unneeded, Unneeded);
  }
};

template <>
struct Fields<GrowthLimit> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(tasks, Tasks);
    FAIRWATER_FIELD(runs, Runs);
    FAIRWATER_FIELD(confidence_permille, ConfidencePermille);
  }
};

template <>
struct Fields<JobRecord> {
  template <class Visit>
  static constexpr void each(Visit&& visit) {
    FAIRWATER_FIELD(id, Id);
    FAIRWATER_FIELD(tenant, Tenant);
    FAIRWATER_FIELD(spec, Spec);
    FAIRWATER_FIELD(submitted_at, SubmittedAt);
    FAIRWATER_FIELD(started_at, StartedAt);
    FAIRWATER_FIELD(finished_at, FinishedAt);
    FAIRWATER_FIELD(tasks, Tasks);
    FAIRWATER_FIELD(cancelled, Cancelled);
    FAIRWATER_FIELD(cancel_reason, CancelReason);
    FAIRWATER_FIELD(gang_failures, GangFailures);
    FAIRWATER_FIELD(memory_step, MemoryStep);
    FAIRWATER_FIELD(begun, Begun);
    FAIRWATER_FIELD(grown, Grown);
    FAIRWATER_FIELD(winding_down, WindingDown);
    FAIRWATER_SPARSE_FIELD(growth_limit, GrowthLimit);
  }
};

}  // namespace fairwater::inline schema
