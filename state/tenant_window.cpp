// Of TenantJobs: in which order the rest should run, and how long that may take.
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "policy/core/check.hpp"
#include "policy/prediction/patience.hpp"
#include "state/tenant_jobs.hpp"

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
        last.first_index + last.count == range.first_index && !last.home && !range.home) {
      last.count += range.count;
      return;
    }
  }
  window.next.push_back(range);
}

}  // namespace

// -- how long tasks run ---------------------------------------------------------------------------

std::optional<PastRun> past_run(const JobSpec& spec, const TaskResult& result) {
  if (result.reason != EndReason::exited || spec.kind == JobKind::service) return std::nullopt;
  const std::int64_t run_us = result.finished_at.microseconds - result.started_at.microseconds;
  return PastRun{class_of(spec), std::max<std::int64_t>(1, run_us / 1000), result.finished_at};
}

void TenantJobs::remember(std::vector<PastRun> runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const PastRun& a, const PastRun& b) {
    return a.finished_at.microseconds < b.finished_at.microseconds;
  });
  for (const PastRun& run : runs) run_times_.finished(run.task_class, tenant_, run.run_ms);
}

Prediction TenantJobs::expected(const Job& job) const {
  const JobSpec& spec = job.record.spec;
  if (spec.kind == JobKind::service) return {};  // it is not expected to end
  const auto limit_ms = spec.time_limit_ms > 0 ? std::optional(spec.time_limit_ms) : std::nullopt;
  return run_times_.expected(class_of(spec), tenant_, limit_ms).value_or(Prediction{});
}

WaitingRange TenantJobs::waiting_range(const Job& job, const Alike& tasks,
                                       const Prediction& expected,
                                       std::optional<WallTime> now) const {
  return {.job = job.record.id,
          .first_index = tasks.range.first,
          .count = tasks.range.count,
          .attempt = tasks.range.attempt,
          .demand = job.demand,
          .rule = job.rule,
          .expected_ms = expected.expected_ms,
          .expected_from = expected.source,
          .limit_ms = job.record.spec.time_limit_ms,
          .late_in_ms = now ? lateness_of(job).first - milliseconds_of(*now) : kNeverLate,
          .is_service = job.record.spec.kind == JobKind::service,
          .home = tasks.home,
          .is_gang = job.starts_together(),
          .preemption = preemption_terms(job.record.spec),
          .placement = placement_for(job.record.spec.placement, placement_)};
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
  return {milliseconds_of(job.waits_since) + patience_ms(record.spec.time_limit_ms), record.id};
}

void TenantJobs::set_policy(QueuePolicy policy) {
  policy_ = policy;
  ready_.clear();
  for (const auto& [id, job] : jobs_)
    if (job.ready()) ready_.insert(key_of(job));
}

std::vector<TenantJobs::Alike> TenantJobs::alike(const Job& job, std::size_t limit,
                                                 std::uint32_t tasks) {
  std::vector<Alike> all;
  for (const auto& range : job.waiting.ranges(limit)) {
    std::uint32_t next = range.first;
    const std::uint32_t end = range.first + std::min(range.count, tasks);
    tasks -= end - next;
    const auto add_until = [&](std::uint32_t until, NodeId home) {
      if (until > next && all.size() < limit)
        all.push_back({{next, until - next, range.attempt}, home});
      next = until;
    };
    for (auto index = job.homing.lower_bound(range.first);
         index != job.homing.end() && *index < end; ++index) {
      add_until(*index, {});
      add_until(*index + 1, job.tasks.at(*index).node);
    }
    add_until(end, {});
  }
  return all;
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
  std::map<JobId, std::vector<Alike>> rest;
  for (const auto& key : ready_) {
    if (turns.size() == max_ranges) break;
    const auto& job = other(key.second);
    turns.push({job.record.tasks.running, key.second});
    rest[key.second] = alike(job, max_ranges, job.claimed());
  }
  for (std::uint32_t tasks = 0; tasks < max_tasks && !turns.empty();) {
    if (window.next.size() >= max_ranges) return;
    const auto turn = turns.top();
    turns.pop();
    auto& ranges = rest[turn.id];
    if (ranges.empty()) continue;
    const auto& job = jobs_.at(turn.id);
    if (job.starts_together()) {
      window.next.push_back(waiting_range(job, ranges.front(), expected(job), now));
      tasks += job.claimed();
      ranges.clear();
      continue;
    }
    auto& [first, home] = ranges.front();
    append(window, waiting_range(job, {{first.first, 1, first.attempt}, home}, expected(job), now));
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
  for (const auto& next : alike(job, max_ranges - window.next.size(), job.claimed())) {
    if (tasks >= max_tasks) break;
    window.next.push_back(waiting_range(job, next, prediction, now));
    tasks += next.range.count;
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
  append_growth(window, max_ranges, now);
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

void TenantJobs::append_growth(DemandWindow& window, std::size_t max_ranges,
                               std::optional<WallTime> now) const {
  for (const JobId id : growing_) {
    if (window.growth.size() >= max_ranges) return;
    const Job& job = other(id);
    const Prediction prediction = expected(job);
    for (const auto& next : alike(job, max_ranges - window.growth.size(), job.waiting.size()))
      window.growth.push_back(waiting_range(job, next, prediction, now));
  }
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
      before += job.claimed();
      continue;
    }
    for (const auto& range : job.waiting.ranges(job.waiting.size()))
      if (range.first < index) before += std::min(range.count, index - range.first);
    return before;
  }
  return before;
}

bool TenantJobs::waits_to_grow(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end() || !is_elastic(place->second.record.spec)) return false;
  const Job& job = place->second;
  std::uint32_t before = 0;
  for (const auto& range : job.waiting.ranges(job.waiting.size()))
    if (range.first < index) before += std::min(range.count, index - range.first);
  return job.waiting.contains(index) && before >= job.claimed();
}

bool TenantJobs::waits(JobId id, std::uint32_t index) const {
  auto place = jobs_.find(id);
  return place != jobs_.end() && place->second.waiting.contains(index);
}

}  // namespace fairwater
