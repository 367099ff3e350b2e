#include "state/tenant_jobs.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "policy/core/check.hpp"
#include "policy/prediction/patience.hpp"

namespace fairwater {
namespace {

/// What makes a tenant's tasks alike.
const std::string& class_of(const JobSpec& spec) {
  return spec.job_class.empty() ? spec.name : spec.job_class;
}

std::int64_t milliseconds_of(WallTime time) { return time.microseconds / 1000; }

/// Appends a range, merged with the one before where it continues it.
void append(DemandWindow& window, const WaitingRange& range) {
  if (!window.next.empty()) {
    auto& last = window.next.back();
    if (last.job == range.job && last.attempt == range.attempt &&
        last.first_index + last.count == range.first_index) {
      last.count += range.count;
      return;
    }
  }
  window.next.push_back(range);
}

}  // namespace

std::optional<PastRun> past_run(const JobSpec& spec, const TaskResult& result) {
  if (result.reason != EndReason::exited) return std::nullopt;
  const std::int64_t run_us = result.finished_at.microseconds - result.started_at.microseconds;
  return PastRun{class_of(spec), std::max<std::int64_t>(1, run_us / 1000), result.finished_at};
}

TenantJobs::TenantJobs(TenantId tenant, QueuePolicy policy, ResourceCatalog catalog)
    : tenant_(tenant), policy_(policy), catalog_(std::move(catalog)) {}

// -- bookkeeping ----------------------------------------------------------------------------------

void TenantJobs::count(const Job& job, bool add) {
  if (!job.ready()) return;
  const auto tasks = job.waiting.size();
  ResourceVector amount;
  for (std::size_t r = 0; r < kMaxResources; ++r) amount[r] = job.demand[r] * Amount{tasks};
  if (add) {
    ready_.insert(key_of(job));
    late_.insert(lateness_of(job));
    pending_ += amount;
    pending_tasks_ += tasks;
  } else {
    ready_.erase(key_of(job));
    late_.erase(lateness_of(job));
    pending_ -= amount;
    pending_tasks_ -= tasks;
  }
}

template <class Change>
void TenantJobs::change(Job& job, Change&& apply) {
  count(job, false);
  apply_durable(apply);
  count(job, true);
}

void TenantJobs::add(UnfinishedJob unfinished) {
  Job job;
  auto demand = catalog_.to_vector(unfinished.record.spec.resources, "resources");
  FAIRWATER_CHECK(demand.engaged(), "an admitted job's resources");
  auto rule = placement_of(unfinished.record.spec);
  FAIRWATER_CHECK(rule.engaged(), "an admitted job's placement");
  job.demand = *demand;
  job.rule = std::move(*rule);
  job.record = std::move(unfinished.record);
  job.waits_for = {unfinished.waits_for.begin(), unfinished.waits_for.end()};
  for (const JobId awaited : job.waits_for) dependents_[awaited].insert(job.record.id);
  std::uint32_t next = 0;  // tasks without a record wait for their first attempt
  for (auto& [index, task] : unfinished.tasks) {
    job.waiting.add(next, index - next, 1);
    next = index + 1;
    if (task.state == TaskState::pending && task.waits_until)
      job.backing_off.insert(index);
    else if (task.state == TaskState::pending)
      job.waiting.add(index, 1, task.attempt);
    if (task.state == TaskState::pending || task.state == TaskState::running)
      job.tasks.emplace(index, std::move(task));
  }
  job.waiting.add(next, job.record.tasks.total - next, 1);
  if (job.record.cancelled) {
    job.waiting.clear();
    job.backing_off.clear();
  }
  const JobId id = job.record.id;
  auto [place, added] = jobs_.emplace(id, std::move(job));
  FAIRWATER_CHECK(added, "a job is added once");
  bytes_ += spec_bytes(place->second.record.spec);
  count(place->second, true);
}

void TenantJobs::erase(std::map<JobId, Job>::iterator job) {
  bytes_ -= spec_bytes(job->second.record.spec);
  for (const JobId awaited : job->second.waits_for) {
    const auto dependents = dependents_.find(awaited);
    dependents->second.erase(job->first);
    if (dependents->second.empty()) dependents_.erase(dependents);
  }
  jobs_.erase(job);
}

const TenantJobs::Job& TenantJobs::other(JobId job) const {
  ++others_looked_at_;
  return jobs_.at(job);
}

const JobRecord& TenantJobs::record(JobId job) const {
  auto place = jobs_.find(job);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are known");
  return place->second.record;
}

// -- grants and results ---------------------------------------------------------------------------

std::optional<LaunchOrder> TenantJobs::grant(const Grant& grant, NodeId node, Moment moment) {
  auto place = jobs_.find(grant.task.job);
  if (place == jobs_.end()) return std::nullopt;
  auto& job = place->second;
  change(job, [&] {
    const bool waited = job.waiting.take(grant.task.index, grant.task.attempt);
    FAIRWATER_CHECK(waited || job.record.cancelled, "a grant is for a waiting task");
    grant_task(job.record, job.tasks[grant.task.index], grant, node, moment);
  });
  return launch_order(job.record, grant.task);
}

template <class Event>
AttemptOutcome TenantJobs::settle(const TaskKey& key, Event&& event) {
  const auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return {};
  auto& job = place->second;
  const auto task = job.tasks.find(key.index);
  if (task == job.tasks.end() || !is_run(task->second, task->second.node, key)) return {};
  AttemptOutcome outcome;
  change(job, [&] {
    TaskRecord& record = task->second;
    event(job.record, record);
    if (record.state != TaskState::pending) {
      job.tasks.erase(task);
    } else if (record.waits_until) {
      job.backing_off.insert(key.index);
      outcome.backing_off = BackingOff{{key.job, key.index, record.attempt}, record.waits_until};
    } else {
      job.waiting.add(key.index, 1, record.attempt);
    }
  });
  outcome.job_ended = is_terminal(state_of(job.record));
  if (outcome.job_ended) erase(place);
  return outcome;
}

void TenantJobs::remember(std::vector<PastRun> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const PastRun& a, const PastRun& b) {
    return a.finished_at.microseconds < b.finished_at.microseconds;
  });
  for (const PastRun& run : runs) run_times_.finished(run.task_class, tenant_, run.run_ms);
}

Prediction TenantJobs::expected(const Job& job) const {
  const JobSpec& spec = job.record.spec;
  const auto limit_ms = spec.time_limit_ms > 0 ? std::optional(spec.time_limit_ms) : std::nullopt;
  return run_times_.expected(class_of(spec), tenant_, limit_ms).value_or(Prediction{});
}

WaitingRange TenantJobs::waiting_range(const Job& job, const WaitingTasks::Range& range,
                                       const Prediction& expected, std::optional<WallTime> now) {
  return {.job = job.record.id,
          .first_index = range.first,
          .count = range.count,
          .attempt = range.attempt,
          .demand = job.demand,
          .rule = job.rule,
          .expected_ms = expected.expected_ms,
          .expected_from = expected.source,
          .limit_ms = job.record.spec.time_limit_ms,
          .late_in_ms = now ? lateness_of(job).first - milliseconds_of(*now) : kNeverLate};
}

AttemptOutcome TenantJobs::end(const TaskResult& result, WallTime now) {
  if (const auto job = jobs_.find(result.task.job); job != jobs_.end())
    if (const auto run = past_run(job->second.record.spec, result))
      run_times_.finished(run->task_class, tenant_, run->run_ms);
  return settle(result.task,
                [&](JobRecord& job, TaskRecord& task) { end_task(job, task, result, now); });
}

AttemptOutcome TenantJobs::give_back(const TaskKey& key, bool node_lost, WallTime now) {
  return settle(
      key, [&](JobRecord& job, TaskRecord& task) { requeue_task(job, task, key, node_lost, now); });
}

// -- backing off ----------------------------------------------------------------------------------

std::vector<BackingOff> TenantJobs::backing_off() const {
  std::vector<BackingOff> all;
  for (const auto& [id, job] : jobs_)
    for (const auto index : job.backing_off) {
      const auto& task = job.tasks.at(index);
      all.push_back({{id, index, task.attempt}, task.waits_until});
    }
  return all;
}

void TenantJobs::end_backoff(const TaskKey& key) {
  auto place = jobs_.find(key.job);
  if (place == jobs_.end()) return;
  auto& job = place->second;
  if (!job.backing_off.contains(key.index) || job.tasks.at(key.index).attempt != key.attempt)
    return;
  change(job, [&] {
    job.backing_off.erase(key.index);
    job.waiting.add(key.index, 1, key.attempt);
  });
}

const TaskRecord* TenantJobs::backing_off(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end() || !place->second.backing_off.contains(index)) return nullptr;
  return &place->second.tasks.at(index);
}

// -- cancelling and dependencies ------------------------------------------------------------------

void TenantJobs::hold(JobId id) {
  auto place = jobs_.find(id);
  if (place != jobs_.end()) change(place->second, [&] { place->second.held = true; });
}

void TenantJobs::release_hold(JobId id) {
  auto place = jobs_.find(id);
  if (place != jobs_.end()) change(place->second, [&] { place->second.held = false; });
}

std::vector<RunningTask> TenantJobs::cancel(JobId id, const std::string& reason, WallTime now) {
  auto place = jobs_.find(id);
  if (place == jobs_.end()) return {};
  auto& job = place->second;
  change(job, [&] {
    (void)cancel_job(job.record, reason, now);
    job.waiting.clear();
    job.backing_off.clear();
  });
  std::vector<RunningTask> running;
  for (const auto& [index, task] : job.tasks)
    if (task.state == TaskState::running) running.push_back({task.node, run_of(id, index, task)});
  if (running.empty()) erase(place);
  return running;
}

std::vector<RunningTask> TenantJobs::to_stop() const {
  std::vector<RunningTask> running;
  for (const auto& [id, job] : jobs_) {
    if (!job.record.cancelled) continue;
    for (const auto& [index, task] : job.tasks)
      if (task.state == TaskState::running) running.push_back({task.node, run_of(id, index, task)});
  }
  return running;
}

void TenantJobs::dependency_met(JobId met) {
  const auto dependents = dependents_.extract(met);
  if (dependents.empty()) return;
  for (const JobId id : dependents.mapped()) {
    ++others_looked_at_;
    Job& job = jobs_.at(id);
    change(job, [&] { job.waits_for.erase(met); });
  }
}

std::vector<JobId> TenantJobs::waiting_for(JobId awaited) const {
  const auto dependents = dependents_.find(awaited);
  if (dependents == dependents_.end()) return {};
  others_looked_at_ += dependents->second.size();
  return {dependents->second.begin(), dependents->second.end()};
}

const std::set<JobId>& TenantJobs::dependencies(JobId id) const {
  auto place = jobs_.find(id);
  FAIRWATER_CHECK(place != jobs_.end(), "only live jobs are known");
  return place->second.waits_for;
}

// -- the window -----------------------------------------------------------------------------------

TenantJobs::QueueKey TenantJobs::key_of(const Job& job) const {
  const JobSpec& spec = job.record.spec;
  switch (policy_) {
    case QueuePolicy::priority:
      return {-std::int64_t{spec.priority}, job.record.id};
    case QueuePolicy::shortest_first:
      return {
          spec.time_limit_ms > 0 ? spec.time_limit_ms : std::numeric_limits<std::int64_t>::max(),
          job.record.id};
    case QueuePolicy::fair:
      return {job.record.tasks.running, job.record.id};
    case QueuePolicy::fifo:
      break;
  }
  return {0, job.record.id};
}

TenantJobs::LateKey TenantJobs::lateness_of(const Job& job) {
  const JobRecord& record = job.record;
  return {milliseconds_of(record.submitted_at) + patience_ms(record.spec.time_limit_ms), record.id};
}

void TenantJobs::set_policy(QueuePolicy policy) {
  policy_ = policy;
  ready_.clear();
  for (const auto& [id, job] : jobs_)
    if (job.ready()) ready_.insert(key_of(job));
}

/// Fair among the tenant's jobs: the next task is always of the job with the fewest running or
/// chosen ones. Each job that is begun makes a range, so only the first `max_ranges` can be.
void TenantJobs::append_fair(DemandWindow& window, std::size_t max_ranges, std::uint32_t max_tasks,
                             std::optional<WallTime> now) const {
  struct Turn {
    std::uint32_t busy;
    JobId id;
    auto operator<=>(const Turn&) const = default;
  };
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  std::map<JobId, std::vector<WaitingTasks::Range>> rest;
  for (const auto& key : ready_) {
    if (turns.size() == max_ranges) break;
    const auto& job = other(key.second);
    turns.push({job.record.tasks.running, key.second});
    rest[key.second] = job.waiting.ranges(max_ranges);
  }
  for (std::uint32_t tasks = 0; tasks < max_tasks && !turns.empty();) {
    if (window.next.size() >= max_ranges) return;
    const auto turn = turns.top();
    turns.pop();
    auto& ranges = rest[turn.id];
    if (ranges.empty()) continue;
    const auto& job = jobs_.at(turn.id);
    auto& first = ranges.front();
    append(window, waiting_range(job, {first.first, 1, first.attempt}, expected(job), now));
    ++tasks;
    ++first.first;
    if (--first.count == 0) ranges.erase(ranges.begin());
    turns.push({turn.busy + 1, turn.id});
  }
}

std::uint32_t TenantJobs::append_job(DemandWindow& window, JobId id, std::size_t max_ranges,
                                     std::uint32_t max_tasks, std::optional<WallTime> now) const {
  const auto& job = other(id);
  const Prediction prediction = expected(job);
  std::uint32_t tasks = 0;
  for (const auto& range : job.waiting.ranges(max_ranges - window.next.size())) {
    if (tasks >= max_tasks) break;
    window.next.push_back(waiting_range(job, range, prediction, now));
    tasks += range.count;
  }
  return tasks;
}

DemandWindow TenantJobs::window(std::size_t max_ranges, std::uint32_t max_tasks,
                                std::uint64_t seen_deal, std::optional<WallTime> now) const {
  DemandWindow window;
  window.tenant = tenant_;
  window.pending = pending_;
  window.pending_tasks = pending_tasks_;
  window.seen_deal = seen_deal;
  if (late_.empty()) return window;
  if (policy_ == QueuePolicy::fair) {
    append_fair(window, max_ranges, max_tasks, now);
  } else {
    std::uint32_t tasks = 0;
    for (const auto& key : ready_) {
      if (window.next.size() >= max_ranges || tasks >= max_tasks) break;
      tasks += append_job(window, key.second, max_ranges, max_tasks - tasks, now);
    }
  }
  if (now) show_first_late(window, max_ranges, now);
  return window;
}

/// Whatever the order: else the window could hide it for ever.
void TenantJobs::show_first_late(DemandWindow& window, std::size_t max_ranges,
                                 std::optional<WallTime> now) const {
  const JobId first_late = late_.begin()->second;
  const auto is_its = [&](const WaitingRange& range) { return range.job == first_late; };
  if (std::any_of(window.next.begin(), window.next.end(), is_its)) return;
  if (window.next.size() == max_ranges) window.next.pop_back();
  (void)append_job(window, first_late, window.next.size() + 1, 1, now);
}

std::uint64_t TenantJobs::tasks_before(JobId id, std::uint32_t index) const {
  std::uint64_t before = 0;
  for (const auto& key : ready_) {
    const auto& job = jobs_.at(key.second);
    if (key.second != id) {
      before += job.waiting.size();
      continue;
    }
    for (const auto& range : job.waiting.ranges(job.waiting.size()))
      if (range.first < index) before += std::min(range.count, index - range.first);
    return before;
  }
  return before;
}

bool TenantJobs::waits(JobId id, std::uint32_t index) const {
  auto place = jobs_.find(id);
  return place != jobs_.end() && place->second.waiting.contains(index);
}

}  // namespace fairwater
