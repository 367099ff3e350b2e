// Of TenantJobs: in which order the rest should run, and how long that may take.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "policy/core/check.hpp"
#include "policy/prediction/patience.hpp"
#include "state/tenant_jobs.hpp"

namespace fairwater::inline state {
namespace {

/// What makes a tenant's tasks alike.
const std::string& class_of(const JobSpec& spec) {
  return spec.job_class.empty() ? spec.name : spec.job_class;
}

std::int64_t milliseconds_of(WallTime time) { return time.microseconds / 1000; }

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

/// Of jobs one after the other: those that are alike are looked up once.
class TenantJobs::Predictions {
 public:
  explicit Predictions(const TenantJobs& jobs) : jobs_(jobs) {}

  [[nodiscard]] const Prediction& of(const Job& job) {
    if (!last_ || !are_alike(last_->record.spec, job.record.spec))
      prediction_ = jobs_.expected(job);
    last_ = &job;
    return prediction_;
  }

 private:
  static bool are_alike(const JobSpec& one, const JobSpec& other) {
    return one.kind == other.kind && one.time_limit_ms == other.time_limit_ms &&
           class_of(one) == class_of(other);
  }

  const TenantJobs& jobs_;
  const Job* last_ = nullptr;
  Prediction prediction_;
};

WaitingRange TenantJobs::waiting_range(const Job& job, const AlikeTasks& tasks,
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
          .patience_ms = patience_ms(job.record.spec.time_limit_ms),
          .is_service = job.record.spec.kind == JobKind::service,
          .home = tasks.home,
          .is_gang = job.starts_together(),
          .preemption = preemption_terms(job.record.spec),
          .placement = placement_for(job.record.spec.placement, placement_),
          .user = job.record.spec.user,
          .kind = job.kind};
}

// -- the window -----------------------------------------------------------------------------------

QueueKey TenantJobs::key_of(const Job& job) const {
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
  ready_.begin_anew(policy == QueuePolicy::fair);
  for (const auto& [id, job] : jobs_)
    if (job.ready()) ready_.insert(job.record.spec.user, key_of(job), job.kind, &job);
}

std::optional<TenantJobs::NextUsers> TenantJobs::next_users() const {
  const auto& turns = ready_.turns();
  if (turns.size() < 2) return std::nullopt;
  const UserTurn& next = *turns.begin();
  const UserTurn& second = *std::next(turns.begin());
  return NextUsers{next.user, next.share, second.user, second.share, turns.size()};
}

std::vector<AlikeTasks> TenantJobs::alike(const Job& job, std::size_t limit, std::uint32_t tasks) {
  std::vector<AlikeTasks> all;
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

/// Its jobs, as policy/allocator/fair_window.hpp asks for them.
class TenantJobs::InTurns {
 public:
  InTurns(const TenantJobs& jobs, std::optional<WallTime> now) : jobs_(jobs), now_(now) {}

  [[nodiscard]] std::vector<AlikeTasks> waiting(const Job* job, std::size_t limit) const {
    ++jobs_.others_looked_at_;
    return alike(*job, limit, job->claimed());
  }
  [[nodiscard]] static Units cost(const Job* job) { return job->cost; }
  [[nodiscard]] static bool starts_together(const Job* job) { return job->starts_together(); }
  [[nodiscard]] WaitingRange range(const Job* job, const AlikeTasks& tasks) {
    const auto [known, is_new] = predictions_.try_emplace(job);
    if (is_new) known->second = jobs_.expected(*job);
    return jobs_.waiting_range(*job, tasks, known->second, now_);
  }

 private:
  const TenantJobs& jobs_;
  const std::optional<WallTime> now_;
  std::unordered_map<const Job*, Prediction> predictions_;
};

std::uint32_t TenantJobs::append_job(DemandWindow& window, const Job& job,
                                     const Prediction& prediction, const WindowBounds& bounds,
                                     std::optional<WallTime> now) const {
  ++others_looked_at_;
  std::uint32_t tasks = 0;
  for (const auto& next : alike(job, bounds.ranges, job.claimed())) {
    if (tasks >= bounds.tasks) break;
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
  show_growth(window, max_ranges, now);
  if (late_.empty()) return window;
  const WindowBounds bounds{max_ranges, max_tasks};
  if (policy_ == QueuePolicy::fair)
    show_in_turns(window, bounds, now);
  else
    show_in_order(window, bounds, now);
  tell_served(window, ready_);
  return window;
}

void TenantJobs::show_in_turns(DemandWindow& window, const WindowBounds& bounds,
                               std::optional<WallTime> now) const {
  InTurns jobs(*this, now);
  append_in_turns(window, ready_, jobs, bounds);
  if (now) show_first_late(window, bounds.ranges, now);
  append_hidden_in_turns(window, ready_, jobs, bounds);
}

void TenantJobs::show_in_order(DemandWindow& window, const WindowBounds& bounds,
                               std::optional<WallTime> now) const {
  Predictions predictions(*this);
  const auto append = [&](const Job* job, const WindowBounds& left) {
    return append_job(window, *job, predictions.of(*job), left, now);
  };
  append_in_order(window, ready_, bounds, append);
  if (now) show_first_late(window, bounds.ranges, now);
  append_hidden_kinds(window, ready_, bounds, append);
}

void TenantJobs::show_growth(DemandWindow& window, std::size_t max_ranges,
                             std::optional<WallTime> now) const {
  append_growth(window, growing_, max_ranges, [&](const Job* job, std::size_t ranges) {
    ++others_looked_at_;
    const Prediction prediction = expected(*job);
    for (const auto& next : alike(*job, ranges, room_to_grow(job->record)))
      window.growth.push_back(waiting_range(*job, next, prediction, now));
  });
}

/// Whatever the order: else the window could hide it for ever.
void TenantJobs::show_first_late(DemandWindow& window, std::size_t max_ranges,
                                 std::optional<WallTime> now) const {
  const JobId first_late = late_.begin()->second;
  const auto is_its = [&](const WaitingRange& range) { return range.job == first_late; };
  if (std::any_of(window.next.begin(), window.next.end(), is_its)) return;
  if (window.next.size() == max_ranges) window.next.pop_back();
  const Job& job = jobs_.at(first_late);
  (void)append_job(window, job, expected(job), {.ranges = 1, .tasks = 1}, now);
}

std::uint64_t TenantJobs::tasks_before(JobId id, std::uint32_t index) const {
  std::uint64_t before = 0;
  const auto place = jobs_.find(id);
  if (place == jobs_.end()) return before;
  const auto queue = ready_.queues().find(ready_.name_of(place->second.record.spec.user));
  if (queue == ready_.queues().end()) return before;
  const QueueKey own = key_of(place->second);
  for (const auto& [key, job] : queue->second.jobs()) {
    if (own < key) break;  // it is not among those that may start, and would stand here
    if (key != own) {
      before += job->claimed();
      continue;
    }
    if (job->record.spec.gang) return before;
    for (const auto& range : job->waiting.ranges(job->waiting.size()))
      if (range.first < index) before += std::min(range.count, index - range.first);
    return before;
  }
  return before;
}

std::optional<std::uint32_t> TenantJobs::place_to_grow(JobId id, std::uint32_t index) const {
  const auto place = jobs_.find(id);
  if (place == jobs_.end() || !is_elastic(place->second.record.spec)) return std::nullopt;
  const Job& job = place->second;
  std::uint32_t before = 0;
  for (const auto& range : job.waiting.ranges(job.waiting.size()))
    if (range.first < index) before += std::min(range.count, index - range.first);
  if (!job.waiting.contains(index) || before < job.claimed()) return std::nullopt;
  return before - job.claimed();
}

bool TenantJobs::waits_to_grow(JobId id, std::uint32_t index) const {
  return place_to_grow(id, index).has_value();
}

bool TenantJobs::is_beyond_limit(JobId id, std::uint32_t index) const {
  const auto place = place_to_grow(id, index);
  if (!place) return false;
  const Job& job = jobs_.at(id);
  return job.record.growth_limit.tasks > 0 && *place + job.claimed() >= room_to_grow(job.record);
}

bool TenantJobs::waits(JobId id, std::uint32_t index) const {
  auto place = jobs_.find(id);
  return place != jobs_.end() && place->second.waiting.contains(index);
}

}  // namespace fairwater::inline state
