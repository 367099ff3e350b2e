#include "sim/report/metrics.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/report/statistics.hpp"

namespace fairwater::sim::inline report {
namespace {

constexpr double kShortestRun_ms = 10'000;

double seconds(Wide milliseconds) { return static_cast<double>(milliseconds) / 1000; }

double of_cluster(Wide share_parts) {
  return static_cast<double>(share_parts) / static_cast<double>(kShareParts);
}

}  // namespace

Recorder::Recorder(const Cluster& cluster, const Workload& workload, MetricsOptions options)
    : cluster_(cluster),
      workload_(workload),
      options_(std::move(options)),
      total_(total_capacity(cluster)),
      tenants_(cluster.tenants.size()),
      outcomes_(workload.jobs.size()),
      entitled_(cluster) {
  if (options_.horizon_ms == 0 && !workload.jobs.empty())
    options_.horizon_ms = workload.jobs.back().submit_ms;
  if (options_.horizon_ms == 0) options_.horizon_ms = std::numeric_limits<TimeMs>::max();
  for (const auto& job : workload.jobs) cost_.push_back(cost_of(cluster, job));
  for (const TimeMs length : options_.windows_ms) {
    Window window;
    window.length = window.end = window.result.length_ms = length;
    window.share_time_before.resize(tenants_.size());
    window.waits_all_along.resize(tenants_.size(), false);
    windows_.push_back(std::move(window));
  }
  next_sample_ = options_.sample_ms;
}

// -- time passes ---------------------------------------------------------------------------------

void Recorder::count_up_to(Tenant& tenant, TimeMs now) const {
  const TimeMs to_horizon =
      std::min(now, options_.horizon_ms) - std::min(tenant.counted, options_.horizon_ms);
  tenant.share_time_to_horizon += Wide{tenant.share} * to_horizon;
  tenant.unit_time_to_horizon += Wide{tenant.held_units} * to_horizon;
  tenant.share_time += Wide{tenant.share} * (now - tenant.counted);
  tenant.unit_time += Wide{tenant.held_units} * (now - tenant.counted);
  tenant.counted = now;
}

void Recorder::count_all(TimeMs now) {
  for (auto& tenant : tenants_) count_up_to(tenant, now);
}

void Recorder::advance(TimeMs now) {
  judge_moment(now - now_);
  const TimeMs to_horizon = std::min(now, options_.horizon_ms) - now_;
  if (to_horizon > 0)
    for (std::size_t r = 0; r < kMaxResources; ++r) used_time_[r] += Wide{used_[r]} * to_horizon;
  for (auto& window : windows_) {
    if (window.end - window.length == now_) note_who_waits(window);
    while (window.end <= now) close_window(window);
  }
  for (; next_sample_ <= now; next_sample_ += options_.sample_ms) take_sample();
  now_ = now;
}

void Recorder::judge_moment(TimeMs duration) {
  if (!deviation_is_known_) {
    entitled_.clear();
    for (const TenantIndex i : active_)
      entitled_.want(i, tenants_[i].wanted, tenants_[i].held + tenants_[i].waiting);
    const auto& entitled = entitled_.share_out(kShareParts);
    deviation_ = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const Amount off = tenants_[active_[i]].share - entitled[i];
      deviation_ = std::max(deviation_, off < 0 ? -off : off);
    }
    deviation_is_known_ = true;
  }
  largest_deviation_ = std::max(largest_deviation_, deviation_);
  deviation_time_ += Wide{deviation_} * duration;
}

void Recorder::note_who_waits(Window& window) const {
  for (std::size_t i = 0; i < tenants_.size(); ++i)
    window.waits_all_along[i] = tenants_[i].waiting_tasks > 0;
}

void Recorder::close_window(Window& window) {
  count_all(window.end);
  std::vector<double> use;
  for (std::size_t i = 0; i < tenants_.size(); ++i) {
    const Wide used = tenants_[i].share_time - window.share_time_before[i];
    window.share_time_before[i] = tenants_[i].share_time;
    if (window.waits_all_along[i])
      use.push_back(static_cast<double>(used) /
                    static_cast<double>(cluster_.tenants[i].terms.weight));
  }
  note_who_waits(window);
  window.end += window.length;
  if (use.size() < 2) return;
  const double jain = jain_index(use);
  ++window.result.windows;
  window.jain_sum += jain;
  window.result.least_jain = std::min(window.result.least_jain, jain);
}

void Recorder::take_sample() {
  std::vector<TenantSample> sample;
  sample.reserve(tenants_.size());
  for (TenantIndex i = 0; i < tenants_.size(); ++i) {
    Tenant& tenant = tenants_[i];
    count_up_to(tenant, next_sample_);
    const Account account = scheduler_ == nullptr ? Account{} : scheduler_->account(i);
    if (account.net < 0) tenant.in_debt += options_.sample_ms;
    sample.push_back({tenant.held, static_cast<double>(tenant.held_units),
                      seconds(tenant.unit_time), of_cluster(tenant.share), account.net,
                      account.credit, tenant.waiting_tasks});
  }
  result_.samples.push_back(std::move(sample));
}

// -- what changes --------------------------------------------------------------------------------

Amount Recorder::share_of(const ResourceVector& amounts) const {
  Amount share = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (total_[r] > 0)
      share = std::max(share, static_cast<Amount>(Wide{amounts[r]} * kShareParts / total_[r]));
  return share;
}

void Recorder::refresh(TenantIndex index) {
  Tenant& tenant = tenants_[index];
  count_up_to(tenant, now_);
  tenant.share = share_of(tenant.held);
  tenant.wanted = share_of(tenant.held + tenant.waiting);
  const bool was_active = std::exchange(tenant.is_active, tenant.wanted > 0);
  deviation_is_known_ = false;
  if (tenant.waiting_tasks == 0)
    for (auto& window : windows_) window.waits_all_along[index] = false;
  if (was_active == tenant.is_active) return;
  const auto place = std::lower_bound(active_.begin(), active_.end(), index);
  if (was_active)
    active_.erase(place);
  else
    active_.insert(place, index);
}

void Recorder::hold(TenantIndex index, const Job& job, Units units, int sign) {
  Tenant& tenant = tenants_[index];
  count_up_to(tenant, now_);
  const ResourceVector demand = demand_of(job, sign * units);
  tenant.held += demand;
  used_ += demand;
  tenant.held_units += sign * units * cost_[static_cast<std::size_t>(&job - workload_.jobs.data())];
}

void Recorder::wait(TenantIndex index, const Job& job, std::uint32_t tasks, int sign) {
  Tenant& tenant = tenants_[index];
  tenant.waiting += demand_of(job, sign * job.min_units * Units{tasks});
  tenant.waiting_tasks += static_cast<std::uint64_t>(sign * std::int64_t{tasks});
}

void Recorder::submitted(JobIndex index) {
  const Job& job = workload_.jobs[index];
  outcomes_[index].tasks_left = job.tasks;
  outcomes_[index].waiting = shares_work(job) ? job.least_tasks : job.tasks;
  ++tenants_[job.tenant].submitted;
  wait(job.tenant, job, outcomes_[index].waiting, 1);
  refresh(job.tenant);
}

void Recorder::started(const Start& start) {
  const Job& job = workload_.jobs[start.task.job];
  Outcome& outcome = outcomes_[start.task.job];
  if (outcome.first_start < 0) outcome.first_start = now_;
  if (!start.has_grown) {
    --outcome.waiting;
    wait(job.tenant, job, 1, -1);
  }
  hold(job.tenant, job, start.units, 1);
  refresh(job.tenant);
}

void Recorder::resized(TaskId task, Units before, Units after) {
  const Job& job = workload_.jobs[task.job];
  hold(job.tenant, job, before, -1);
  hold(job.tenant, job, after, 1);
  refresh(job.tenant);
}

void Recorder::preempted(TaskId task, std::int64_t lost) {
  Tenant& tenant = tenants_[workload_.jobs[task.job].tenant];
  ++tenant.preempted_tasks;
  tenant.lost_time += Wide{lost} * cost_[task.job];
  preempted_.insert(task);
}

void Recorder::started_over(TaskId task, std::int64_t lost) {
  const TenantIndex tenant = workload_.jobs[task.job].tenant;
  tenants_[tenant].lost_time += Wide{lost} * cost_[task.job];
  ++outcomes_[task.job].tasks_left;
  wait_again(task);
  refresh(tenant);
}

void Recorder::ended(TaskId task, NodeIndex /*node*/, Units units, bool killed) {
  const Job& job = workload_.jobs[task.job];
  Outcome& outcome = outcomes_[task.job];
  const bool was_preempted = preempted_.erase(task) > 0;
  hold(job.tenant, job, units, -1);
  if (killed) {
    if (was_preempted || !shares_work(job)) wait_again(task);
    if (!was_preempted && !shares_work(job)) {
      outcome.killed = true;
      ++tenants_[job.tenant].killed_tasks;
    }
  } else if (shares_work(job)) {
    note_done(task);
  } else if (--outcome.tasks_left == 0) {
    outcome.end = now_;
  }
  refresh(job.tenant);
}

void Recorder::wait_again(TaskId task) {
  const Job& job = workload_.jobs[task.job];
  ++outcomes_[task.job].waiting;
  wait(job.tenant, job, 1, 1);
}

void Recorder::note_done(TaskId task) {
  const Job& job = workload_.jobs[task.job];
  Outcome& outcome = outcomes_[task.job];
  outcome.end = now_;
  wait(job.tenant, job, std::exchange(outcome.waiting, 0), -1);
}

void Recorder::cycle_done(const Scheduler& scheduler) { scheduler_ = &scheduler; }

// -- the end -------------------------------------------------------------------------------------

JobMetrics Recorder::measure(const std::vector<JobIndex>& jobs) const {
  JobMetrics metrics;
  std::vector<double> waits;
  double slowdown = 0, completion = 0;
  for (const JobIndex index : jobs) {
    const Outcome& outcome = outcomes_[index];
    const Job& job = workload_.jobs[index];
    if (job.is_service || outcome.first_start < 0) continue;
    waits.push_back(seconds(outcome.first_start - job.submit_ms));
    if (outcome.end < 0) continue;
    ++metrics.jobs;
    const auto turnaround = static_cast<double>(outcome.end - job.submit_ms);
    completion += turnaround / 1000;
    slowdown +=
        std::max(1.0, turnaround / std::max(static_cast<double>(job.run_ms), kShortestRun_ms));
  }
  if (waits.empty()) return metrics;
  metrics.mean_wait_s = mean(waits);
  metrics.max_wait_s = *std::max_element(waits.begin(), waits.end());
  metrics.p95_wait_s = quantile(std::move(waits), 0.95);
  if (metrics.jobs == 0) return metrics;
  const auto count = static_cast<double>(metrics.jobs);
  metrics.mean_slowdown = slowdown / count;
  metrics.mean_completion_s = completion / count;
  return metrics;
}

PreemptionMetrics Recorder::measure_preemption() const {
  PreemptionMetrics metrics;
  Wide lost = 0;
  for (const Tenant& tenant : tenants_) {
    metrics.tasks += tenant.preempted_tasks;
    lost += tenant.lost_time;
  }
  metrics.lost_unit_s = seconds(lost);
  if (!options_.with_urgent) return metrics;
  std::vector<JobIndex> urgent;
  for (JobIndex i = 0; i < outcomes_.size(); ++i)
    if (workload_.jobs[i].preemption.preempts) urgent.push_back(i);
  metrics.urgent = measure(urgent);
  return metrics;
}

ServiceMetrics Recorder::measure_services() const {
  ServiceMetrics metrics;
  std::vector<double> waits;
  for (JobIndex i = 0; i < outcomes_.size(); ++i) {
    if (!workload_.jobs[i].is_service) continue;
    metrics.waiting_tasks += outcomes_[i].waiting;
    if (outcomes_[i].first_start >= 0)
      waits.push_back(seconds(outcomes_[i].first_start - workload_.jobs[i].submit_ms));
  }
  if (waits.empty()) return metrics;
  metrics.mean_wait_s = mean(waits);
  metrics.max_wait_s = *std::max_element(waits.begin(), waits.end());
  return metrics;
}

RunMetrics Recorder::finish(const EngineResult& engine, const Scheduler& scheduler) {
  result_.engine = engine;
  result_.accounting = options_.accounting;
  result_.sample_ms = options_.sample_ms;
  result_.horizon_ms = std::min(options_.horizon_ms, engine.end_ms);
  const auto horizon = static_cast<double>(std::max<TimeMs>(result_.horizon_ms, 1));
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (total_[r] > 0)
      result_.utilisation =
          std::max(result_.utilisation,
                   static_cast<double>(used_time_[r]) / static_cast<double>(total_[r]) / horizon);
  result_.largest_deviation = of_cluster(largest_deviation_);
  result_.mean_deviation =
      of_cluster(deviation_time_) / static_cast<double>(std::max<TimeMs>(engine.end_ms, 1));
  for (auto& window : windows_) {
    if (window.result.windows > 0)
      window.result.mean_jain = window.jain_sum / static_cast<double>(window.result.windows);
    result_.fairness.push_back(window.result);
  }
  std::vector<std::vector<JobIndex>> jobs_of(tenants_.size());
  std::vector<JobIndex> all;
  for (JobIndex i = 0; i < outcomes_.size(); ++i) {
    jobs_of[workload_.jobs[i].tenant].push_back(i);
    all.push_back(i);
    if (outcomes_[i].killed) ++result_.failed_jobs;
    const bool was_submitted = outcomes_[i].tasks_left > 0;
    if (was_submitted && outcomes_[i].end < 0 && !workload_.jobs[i].is_service)
      ++result_.unfinished_jobs;
  }
  result_.jobs = measure(all);
  if (options_.with_preemption) result_.preemption = measure_preemption();
  if (options_.with_services) result_.services = measure_services();
  count_all(engine.end_ms);
  for (TenantIndex i = 0; i < tenants_.size(); ++i) {
    TenantMetrics metrics;
    metrics.jobs = measure(jobs_of[i]);
    metrics.submitted = tenants_[i].submitted;
    metrics.killed_tasks = tenants_[i].killed_tasks;
    metrics.preempted_tasks = tenants_[i].preempted_tasks;
    metrics.lost_unit_s = seconds(tenants_[i].lost_time);
    metrics.unit_s = seconds(tenants_[i].unit_time_to_horizon);
    metrics.mean_share = of_cluster(tenants_[i].share_time_to_horizon) / horizon;
    metrics.account = scheduler.account(i);
    metrics.time_in_debt_s = seconds(tenants_[i].in_debt);
    result_.lent += metrics.account.lent;
    result_.repaid += metrics.account.repaid;
    result_.time_in_debt_s += metrics.time_in_debt_s;
    result_.tenants.push_back(metrics);
  }
  return std::move(result_);
}

}  // namespace fairwater::sim::inline report
