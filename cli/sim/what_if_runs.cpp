#include "cli/sim/what_if_runs.hpp"

#include <algorithm>
#include <optional>

namespace fairwater::inline cli::inline sim_cli {
namespace {

constexpr std::int64_t kUnknownRun_ms = 60'000;

/// What an attempt took, when it ended by itself.
std::optional<std::int64_t> run_of(const TaskRecord& task) {
  if (!task.result || !task.result->started_at || !task.result->finished_at) return std::nullopt;
  switch (task.result->reason) {
    case EndReason::exited:
    case EndReason::signalled:
    case EndReason::memory_limit:
    case EndReason::time_limit:
    case EndReason::cancelled:
      return std::max<std::int64_t>(1, since_ms(task.result->started_at, task.result->finished_at));
    case EndReason::lease_expired:
    case EndReason::could_not_start:
    case EndReason::node_lost:
    case EndReason::launch_failed:
    case EndReason::supervisor_lost:
      break;
  }
  return std::nullopt;
}

bool has_ended(TaskState state) {
  return state == TaskState::succeeded || state == TaskState::failed ||
         state == TaskState::cancelled;
}

std::int64_t within_limit(const JobRecord& job, std::int64_t run_ms) {
  return job.spec.time_limit_ms > 0 ? std::min(run_ms, job.spec.time_limit_ms) : run_ms;
}

/// Runs of one program by one tenant.
std::pair<TenantId, std::string> class_of(const JobRecord& job) {
  return {job.tenant, job.spec.job_class};
}

template <class Map, class Key>
typename Map::mapped_type found_in(const Map& runs, const Key& key) {
  const auto found = runs.find(key);
  return found == runs.end() ? typename Map::mapped_type{} : found->second;
}

}  // namespace

std::int64_t since_ms(WallTime earlier, WallTime later) {
  return std::max<std::int64_t>(0, (later.microseconds - earlier.microseconds) / 1000);
}

WhatIfRuns::WhatIfRuns(const State& state, const Jobs& jobs,
                       const std::map<std::string, LiveJob>& live, const Outlook& outlook)
    : outlook_(outlook), tasks_(state.tasks.all()) {
  for (const auto& [key, job] : jobs)
    if (job.spec.kind != JobKind::service)  // what one took says nothing of others
      learn(job, live.contains(key));
}

void WhatIfRuns::learn(const JobRecord& job, bool is_live) {
  MeanRun own;
  visit_tasks(job, [&](std::uint32_t, const TaskRecord* task) {
    if (task == nullptr || task->state == TaskState::cancelled) return;
    if (const auto run_ms = run_of(*task)) own.add({*run_ms, 1});
  });
  if (is_live) of_job_[job.id] = own;
  of_tenant_[job.tenant].add(own);
  if (!job.spec.job_class.empty()) of_class_[class_of(job)].add(own);
}

std::int64_t WhatIfRuns::expected(const JobRecord& job) const {
  if (job.spec.kind == JobKind::service) return outlook_.horizon_ms;
  for (const MeanRun& known : {found_in(of_job_, job.id), found_in(of_class_, class_of(job)),
                               found_in(of_tenant_, job.tenant)})
    if (known.count > 0) return within_limit(job, known.sum_ms / known.count);
  return within_limit(job, kUnknownRun_ms);
}

std::int64_t WhatIfRuns::expected_rest(const JobRecord& job, const TaskRecord& task) const {
  if (job.cancelled) return 0;  // it is being stopped
  if (job.spec.kind == JobKind::service) return outlook_.horizon_ms;
  const std::int64_t age_ms = since_ms(task.granted_at, outlook_.now);
  const std::int64_t total_ms = expected(job);
  const std::int64_t outlived_ms = within_limit(job, 2 * age_ms);
  return std::max<std::int64_t>(0, (age_ms < total_ms ? total_ms : outlived_ms) - age_ms);
}

std::vector<sim::TimeMs> WhatIfRuns::of_past(const JobRecord& job) const {
  const bool shares_work = is_elastic(job.spec);
  std::vector<sim::TimeMs> runs_ms;
  visit_tasks(job, [&](std::uint32_t, const TaskRecord* task) {
    const auto run_ms =
        task != nullptr && has_ended(task->state) ? run_of(*task) : std::optional<std::int64_t>{};
    const bool is_unneeded = shares_work && (task == nullptr || has_ended(task->state));
    if (run_ms)
      runs_ms.push_back(*run_ms);
    else if (!job.cancelled && !is_unneeded)
      runs_ms.push_back(expected(job));
  });
  if (shares_work && !job.cancelled && runs_ms.size() < job.spec.tasks_min)
    runs_ms.resize(job.spec.tasks_min, expected(job));
  return runs_ms;
}

}  // namespace fairwater::inline cli::inline sim_cli
