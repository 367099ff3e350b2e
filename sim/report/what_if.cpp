#include "sim/report/what_if.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/report/metrics.hpp"
#include "sim/report/statistics.hpp"
#include "sim/schedulers/list.hpp"
#include "sim/schedulers/sequence.hpp"

namespace fairwater::sim::inline report {
namespace {

constexpr TimeMs kOutlookSamples = 500;

/// Hands everything on to a recorder, and keeps when jobs started and ended.
class JobWatch final : public Observer {
 public:
  JobWatch(const WhatIf& question, const Cluster& cluster, TimeMs sample_ms)
      : question_(question),
        recorder_(cluster, question.workload,
                  {.sample_ms = sample_ms, .windows_ms = {}, .horizon_ms = question.horizon_ms}),
        jobs_(question.workload.jobs.size()) {
    for (const auto& running : question.state.running) jobs_[running.task.job].ran_before = true;
  }

  void advance(TimeMs now) override {
    now_ = now;
    recorder_.advance(now);
  }
  void submitted(JobIndex job) override {
    jobs_[job].submitted = true;
    jobs_[job].tasks_left = question_.workload.jobs[job].tasks;
    recorder_.submitted(job);
  }
  void started(const Start& start) override {
    auto& first = jobs_[start.task.job].first_start;
    if (!first) first = now_;
    recorder_.started(start);
  }
  void preempted(TaskId task, std::int64_t lost) override { recorder_.preempted(task, lost); }
  void started_over(TaskId task, std::int64_t lost) override {
    ++jobs_[task.job].tasks_left;
    recorder_.started_over(task, lost);
  }
  void ended(TaskId task, NodeIndex node, Units units, bool killed) override {
    // An elastic job's tasks end otherwise only once its work is done.
    auto& tasks_left = jobs_[task.job].tasks_left;
    if (!killed) tasks_left = shares_work(question_.workload.jobs[task.job]) ? 0 : tasks_left - 1;
    recorder_.ended(task, node, units, killed);
  }
  void cycle_done(const Scheduler& scheduler) override { recorder_.cycle_done(scheduler); }

  [[nodiscard]] RunMetrics finish(const EngineResult& result, const Scheduler& scheduler) {
    return recorder_.finish(result, scheduler);
  }

  /// Fills in what this watch knows.
  void describe(std::vector<TenantOutlook>& tenants) const {
    std::vector<std::vector<double>> waits_s(tenants.size());
    for (JobIndex i = 0; i < jobs_.size(); ++i) {
      const Watched& watched = jobs_[i];
      if (!watched.submitted) continue;
      const Job& job = question_.workload.jobs[i];
      TenantOutlook& tenant = tenants[job.tenant];
      if (watched.tasks_left == 0) ++tenant.jobs_done;
      if (!watched.first_start) ++tenant.jobs_not_started;
      if (watched.ran_before) continue;
      const TimeMs until = watched.first_start.value_or(question_.horizon_ms);
      waits_s[job.tenant].push_back(static_cast<double>(until - job.submit_ms) / 1000);
    }
    for (TenantIndex i = 0; i < tenants.size(); ++i) {
      if (waits_s[i].empty()) continue;
      tenants[i].mean_wait_s = mean(waits_s[i]);
      tenants[i].p95_wait_s = quantile(std::move(waits_s[i]), 0.95);
    }
  }

 private:
  struct Watched {
    bool ran_before = false;
    bool submitted = false;
    std::optional<TimeMs> first_start;
    std::uint32_t tasks_left = 0;
  };
  const WhatIf& question_;
  Recorder recorder_;
  std::vector<Watched> jobs_;
  TimeMs now_ = 0;
};

Outlook look_ahead(const WhatIf& question, const Cluster& cluster, const InitialState& state) {
  Outlook outlook;
  outlook.sample_ms = std::max<TimeMs>(1, question.horizon_ms / kOutlookSamples);
  PolicyOptions policy;
  policy.name = "sequence";
  policy.mode = cluster.settings.mode;
  policy.backups = cluster.settings.backups;
  const bool counts_time = cluster.settings.accounting == Accounting::time &&
                           cluster.settings.allocation == AllocationRule::sequence;
  if (counts_time) policy.accounting = SequenceAccounting::time;
  policy.debts = cluster.settings.debts;
  policy.allocation = cluster.settings.allocation;
  policy.growth = cluster.settings.growth;
  policy.preempt_after_ms = cluster.settings.preempt_after_ms;
  policy.preempts_for_min = cluster.settings.preempts_for_min;
  SequenceScheduler scheduler{policy, cluster, question.workload, state};
  JobWatch watch{question, cluster, outlook.sample_ms};
  watch.cycle_done(scheduler);  // who owes now owes also when nothing ever happens
  const EngineResult result = run_engine(cluster, question.workload, scheduler, watch,
                                         {.cycle_ms = 0,
                                          .end_ms = question.horizon_ms,
                                          .step_ms = counts_time ? outlook.sample_ms : 0,
                                          .running = state.running});
  const RunMetrics metrics = watch.finish(result, scheduler);
  outlook.utilisation = metrics.utilisation;
  for (TenantIndex i = 0; i < cluster.tenants.size(); ++i) {
    TenantOutlook tenant;
    tenant.weight = place_of(cluster.tenants[i].terms).weight;
    tenant.mean_share = metrics.tenants[i].mean_share;
    tenant.net = metrics.tenants[i].account.net;
    tenant.time_in_debt_s = metrics.tenants[i].time_in_debt_s;
    outlook.tenants.push_back(tenant);
  }
  watch.describe(outlook.tenants);
  for (const auto& sample : metrics.samples) {
    auto& shares = outlook.shares.emplace_back();
    for (const auto& tenant : sample) shares.push_back(tenant.share);
  }
  return outlook;
}

/// Puts the proposal in force, and tells the state what was before.
void apply_proposal(const WhatIf& question, Cluster& cluster, InitialState& state) {
  state.before = tenant_tree(cluster);
  cluster.groups = question.proposed_groups;
  std::map<std::string, TenantIndex> known;
  for (TenantIndex i = 0; i < cluster.tenants.size(); ++i) known[cluster.tenants[i].name] = i;
  for (const auto& proposed : question.proposal) {
    const auto found = known.find(proposed.name);
    if (found == known.end()) {
      cluster.tenants.push_back(
          {proposed.name, proposed.terms, 0, proposed.placement, proposed.queue});
      continue;
    }
    SimTenant& tenant = cluster.tenants[found->second];
    tenant.placement = proposed.placement;
    tenant.queue = proposed.queue;
    tenant.terms = proposed.terms;
  }
}

}  // namespace

WhatIfReport compare(const WhatIf& question) {
  WhatIfReport report;
  report.horizon_ms = question.horizon_ms;
  report.accounting = question.cluster.settings.accounting;
  report.before = look_ahead(question, question.cluster, question.state);
  Cluster cluster = question.cluster;
  InitialState state = question.state;
  apply_proposal(question, cluster, state);
  report.after = look_ahead(question, cluster, state);
  for (const auto& tenant : cluster.tenants) report.tenants.push_back(tenant.name);
  return report;
}

}  // namespace fairwater::sim::inline report
