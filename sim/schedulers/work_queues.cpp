#include "sim/schedulers/work_queues.hpp"

#include <algorithm>
#include <limits>

#include "model/job.hpp"
#include "policy/core/check.hpp"
#include "policy/prediction/patience.hpp"

namespace fairwater::sim::inline schedulers {

WorkQueues::WorkQueues(const PolicyOptions& options, const Cluster& cluster,
                       const Workload& workload, const InitialState& initial, bool knows_runs)
    : cluster_(cluster),
      workload_(workload),
      predict_(options.predict),
      patience_percent_(options.patience_percent),
      counts_time_(options.accounting == SequenceAccounting::time &&
                   options.allocation == AllocationRule::sequence),
      knows_runs_(knows_runs),
      running_(workload.jobs.size()) {
  kinds_.reserve(workload.jobs.size());
  for (const Job& job : workload.jobs) {
    const std::uint32_t at_once = job.is_gang ? job.tasks : shares_work(job) ? job.least_tasks : 1;
    const auto preempts_below =
        job.preemption.preempts ? std::optional(job.preemption.priority) : std::nullopt;
    kinds_.push_back(kind_of(job.demand, at_once, job.rule.get(), preempts_below));
  }
  queues_.reserve(cluster.tenants.size());
  for (const SimTenant& tenant : cluster.tenants)
    queues_.emplace_back(tenant.queue.value_or(options.order));
  for (const auto& [tenant, served] : initial.served) {
    queues_[tenant].ready.remember_served(served);
    for (const auto& [user, number] : served) last_number_ = std::max(last_number_, number);
  }
}

// -- what changes ---------------------------------------------------------------------------------

void WorkQueues::add(JobIndex index, const AtStart& at_start) {
  const Job& job = workload_.jobs[index];
  queues_[job.tenant].ready.know(job.user);
  for (std::uint32_t i = 0; i < at_start.running; ++i)
    count_running(index, true, i >= at_start.running - at_start.grown);
  const std::uint32_t waiting = job.tasks - at_start.running;
  if (waiting == 0 && !shares_work(job)) return;
  change(index, [&](Unfinished& unfinished) {
    if (waiting > 0) unfinished.waiting.add(at_start.running, waiting, 1);
    if (!shares_work(job) || at_start.running == 0) return;
    unfinished.has_begun = true;
    unfinished.held = at_start.running - at_start.grown;
    ++elastic_jobs_;
  });
}

void WorkQueues::start(TaskId task, std::uint32_t attempt, bool has_grown, std::uint64_t number) {
  const Job& of_job = workload_.jobs[task.job];
  queues_[of_job.tenant].ready.serve(of_job.user, number);
  change(task.job, [&](Unfinished& job) {
    const bool waited = job.waiting.take(task.index, attempt);
    FAIRWATER_CHECK(waited, "a grant is for a waiting task");
    count_running(task.job, true, has_grown);
    if (!shares_work(workload_.jobs[task.job])) return;
    if (!std::exchange(job.has_begun, true)) ++elastic_jobs_;
    if (!has_grown) ++job.held;
  });
}

void WorkQueues::end(TaskId task, bool had_grown) {
  const Queue& queue = queues_[workload_.jobs[task.job].tenant];
  if (!queue.ready.takes_turns()) return;
  const auto count = [&] { count_running(task.job, false, had_grown); };
  if (queue.jobs.contains(task.job))
    change(task.job, [&](Unfinished&) { count(); });
  else
    count();
  changed_.insert(workload_.jobs[task.job].tenant);
}

void WorkQueues::wait_again(TaskId task, std::uint32_t attempt, bool had_grown) {
  const Job& job = workload_.jobs[task.job];
  if (shares_work(job) && !queues_[job.tenant].jobs.contains(task.job)) return;
  change(task.job, [&](Unfinished& unfinished) {
    unfinished.waiting.add(task.index, 1, attempt);
    if (shares_work(job) && !had_grown) --unfinished.held;
  });
}

void WorkQueues::wait_with_gang(TaskId task) {
  change(task.job, [&](Unfinished& unfinished) {
    const auto others = unfinished.waiting.ranges(1);
    FAIRWATER_CHECK(!others.empty(), "a task starts over with those of its gang that wait");
    unfinished.waiting.add(task.index, 1, others.front().attempt);
  });
}

void WorkQueues::done(JobIndex index) {
  change(index, [](Unfinished& job) { job.waiting.clear(); });
  const auto job = queues_[workload_.jobs[index].tenant].jobs.extract(index);
  if (job.mapped().has_begun) --elastic_jobs_;
}

void WorkQueues::note_run(JobIndex index, TimeMs run_ms) {
  const Job& job = workload_.jobs[index];
  run_times_.finished(class_of(job), tenant_id(job.tenant), run_ms);
}

bool WorkQueues::gathers(JobIndex index) const {
  const Job& job = workload_.jobs[index];
  if (!job.is_gang) return false;
  const std::map<JobIndex, Unfinished>& jobs = queues_[job.tenant].jobs;
  const auto found = jobs.find(index);
  return found != jobs.end() && found->second.waiting.size() < job.tasks;
}

std::uint32_t WorkQueues::claimed(JobIndex index, const Unfinished& unfinished) const {
  const Job& job = workload_.jobs[index];
  const std::uint32_t waiting = unfinished.waiting.size();
  if (job.is_gang && waiting < job.tasks) return 0;  // it waits until all of it does
  if (!shares_work(job)) return waiting;
  return std::min(waiting, job.least_tasks - std::min(job.least_tasks, unfinished.held));
}

bool WorkQueues::would_grow(JobIndex index, const Unfinished& unfinished) const {
  return shares_work(workload_.jobs[index]) && !unfinished.waiting.empty() &&
         claimed(index, unfinished) == 0;
}

template <class Change>
void WorkQueues::change(JobIndex index, Change&& apply) {
  const Job& job = workload_.jobs[index];
  Queue& queue = queues_[job.tenant];
  const auto found = queue.jobs.try_emplace(index).first;
  Unfinished& unfinished = found->second;
  const std::uint32_t claimed_before = claimed(index, unfinished);
  const QueueKey key_before = key_of(index);
  apply(unfinished);
  const std::uint32_t claimed_now = claimed(index, unfinished);
  const QueueKey key_now = key_of(index);
  const bool stays = claimed_before > 0 && claimed_now > 0 && key_before == key_now;
  if (claimed_before > 0 && !stays) queue.ready.erase(job.user, key_before, kinds_[index]);
  if (claimed_now > 0 && !stays) queue.ready.insert(job.user, key_now, kinds_[index], index);
  count_claimed(index, claimed_before, claimed_now);
  const QueueKey by_arrival{0, job_id(index)};
  if (would_grow(index, unfinished))
    (void)queue.growing.insert(by_arrival, kinds_[index], index);
  else
    (void)queue.growing.erase(by_arrival, kinds_[index]);
  if (unfinished.waiting.empty() && !shares_work(job)) queue.jobs.erase(found);
  changed_.insert(job.tenant);
}

void WorkQueues::count_claimed(JobIndex index, std::uint32_t before, std::uint32_t after) {
  const Job& job = workload_.jobs[index];
  Queue& queue = queues_[job.tenant];
  for (std::size_t r = 0; r < kMaxResources; ++r)
    queue.pending[r] += job.demand[r] * (Amount{after} - Amount{before});
  queue.pending_tasks += after;
  queue.pending_tasks -= before;
  queue.ready.count_tasks(kinds_[index], std::int64_t{after} - std::int64_t{before});
  if (before == 0 && after > 0) {
    queue.late.insert(lateness_of(index));
  } else if (before > 0 && after == 0) {
    queue.late.erase(lateness_of(index));
  }
}

void WorkQueues::count_running(JobIndex index, bool starts, bool has_grown) {
  const Job& job = workload_.jobs[index];
  Queue& queue = queues_[job.tenant];
  if (!queue.ready.takes_turns()) return;
  const Units held = has_grown ? 0 : cost_of(cluster_, job);
  FAIRWATER_CHECK(starts || running_[index] > 0, "what ends has run");
  running_[index] += starts ? 1 : -1;
  queue.ready.hold(job.user, starts ? held : -held);
}

QueueKey WorkQueues::key_of(JobIndex index) const {
  const Job& job = workload_.jobs[index];
  switch (queues_[job.tenant].policy) {
    case QueuePolicy::shortest_first:
      return {job.is_service ? std::numeric_limits<TimeMs>::max() : job.estimate_ms, job_id(index)};
    case QueuePolicy::priority:
      return {-std::int64_t{job.preemption.priority}, job_id(index)};
    case QueuePolicy::fair:
      return {running_[index], job_id(index)};
    case QueuePolicy::fifo:
      break;
  }
  return {0, job_id(index)};
}

WorkQueues::Lateness WorkQueues::lateness_of(JobIndex index) const {
  const Job& job = workload_.jobs[index];
  return {job.submit_ms + patience_of(job), index};
}

bool WorkQueues::starts_together(const Job& job, const Unfinished& unfinished) {
  return job.is_gang || (!unfinished.has_begun && job.least_tasks > 1);
}

// -- what is shown --------------------------------------------------------------------------------

TimeMs WorkQueues::patience_of(const Job& job) const {
  return patience_ms(job.is_service ? 0 : job.estimate_ms, patience_percent_);
}

Prediction WorkQueues::expected(const Job& job) const {
  if (job.is_service) return {};  // it is not expected to end
  const Prediction estimate{job.estimate_ms, PredictionSource::limit};
  if (knows_runs_ && predict_ == Predict::limits) return estimate;
  return run_times_.expected(class_of(job), tenant_id(job.tenant), job.estimate_ms)
      .value_or(estimate);
}

WaitingRange WorkQueues::waiting_range(JobIndex index, const Unfinished& unfinished,
                                       const WaitingTasks::Range& range, TimeMs now) const {
  const Job& job = workload_.jobs[index];
  const Prediction run_time = expected(job);
  return {.job = job_id(index),
          .first_index = range.first,
          .count = range.count,
          .attempt = range.attempt,
          .demand = job.demand,
          .rule = job.rule,
          .expected_ms = run_time.expected_ms,
          .expected_from = run_time.source,
          .limit_ms = limit_ms_of(job),
          .late_in_ms = lateness_of(index).first - now,
          .patience_ms = patience_of(job),
          .is_service = job.is_service,
          .is_gang = starts_together(job, unfinished),
          .preemption = preemption_of(job),
          .placement = placement_for(job.placement, cluster_.tenants[job.tenant].placement),
          .user = job.user,
          .kind = kinds_[index]};
}

std::vector<AlikeTasks> WorkQueues::waiting(JobIndex index, const Queue& queue,
                                            std::size_t limit) const {
  const Unfinished& job = queue.jobs.at(index);
  std::vector<AlikeTasks> alike;
  std::uint32_t left = claimed(index, job);
  for (auto range : job.waiting.ranges(limit)) {
    if (left == 0) break;
    range.count = std::min(range.count, left);
    left -= range.count;
    alike.push_back({range, {}});
  }
  return alike;
}

std::uint32_t WorkQueues::show(JobIndex index, const Queue& queue, const WindowBounds& most,
                               TimeMs now, DemandWindow& window) const {
  const Unfinished& job = queue.jobs.at(index);
  std::uint32_t shown = 0;
  for (const AlikeTasks& tasks : waiting(index, queue, most.ranges)) {
    if (shown >= most.tasks) break;
    window.next.push_back(waiting_range(index, job, tasks.range, now));
    shown += tasks.range.count;
  }
  return shown;
}

/// Its jobs, as policy/allocator/fair_window.hpp asks for them.
class WorkQueues::InTurns {
 public:
  InTurns(const WorkQueues& queues, const Queue& queue, TimeMs now)
      : queues_(queues), queue_(queue), now_(now) {}

  [[nodiscard]] std::vector<AlikeTasks> waiting(JobIndex job, std::size_t limit) const {
    return queues_.waiting(job, queue_, limit);
  }
  [[nodiscard]] Units cost(JobIndex job) const {
    return cost_of(queues_.cluster_, queues_.workload_.jobs[job]);
  }
  [[nodiscard]] bool starts_together(JobIndex job) const {
    return WorkQueues::starts_together(queues_.workload_.jobs[job], queue_.jobs.at(job));
  }
  [[nodiscard]] WaitingRange range(JobIndex job, const AlikeTasks& tasks) const {
    return queues_.waiting_range(job, queue_.jobs.at(job), tasks.range, now_);
  }

 private:
  const WorkQueues& queues_;
  const Queue& queue_;
  const TimeMs now_;
};

DemandWindow WorkQueues::window(TenantIndex tenant, TimeMs now, std::uint64_t seen_deal) const {
  const Queue& queue = queues_[tenant];
  DemandWindow window;
  window.tenant = tenant_id(tenant);
  window.pending = queue.pending;
  window.pending_tasks = queue.pending_tasks;
  window.seen_deal = seen_deal;
  if (queue.policy == QueuePolicy::fair) {
    InTurns jobs(*this, queue, now);
    append_in_turns(window, queue.ready, jobs, kWindowBounds);
    if (counts_time_) show_first_late(queue, now, window);
    append_hidden_in_turns(window, queue.ready, jobs, kWindowBounds);
  } else {
    const auto append = [&](JobIndex job, const WindowBounds& left) {
      return show(job, queue, left, now, window);
    };
    append_in_order(window, queue.ready, kWindowBounds, append);
    if (counts_time_) show_first_late(queue, now, window);
    append_hidden_kinds(window, queue.ready, kWindowBounds, append);
  }
  show_growth(queue, now, window);
  tell_served(window, queue.ready);
  return window;
}

void WorkQueues::show_growth(const Queue& queue, TimeMs now, DemandWindow& window) const {
  append_growth(window, queue.growing, kWindowBounds.ranges, [&](JobIndex index, std::size_t most) {
    const Unfinished& job = queue.jobs.at(index);
    for (const auto& range : job.waiting.ranges(most))
      window.growth.push_back(waiting_range(index, job, range, now));
  });
}

/// Whatever the order: else the window could hide it for ever.
void WorkQueues::show_first_late(const Queue& queue, TimeMs now, DemandWindow& window) const {
  if (queue.late.empty()) return;
  const JobIndex index = queue.late.begin()->second;
  const auto is_its = [&](const WaitingRange& range) { return range.job == job_id(index); };
  if (std::any_of(window.next.begin(), window.next.end(), is_its)) return;
  if (window.next.size() == kWindowBounds.ranges) window.next.pop_back();
  const Unfinished& job = queue.jobs.at(index);
  window.next.push_back(waiting_range(index, job, job.waiting.ranges(1).front(), now));
}

}  // namespace fairwater::sim::inline schedulers
