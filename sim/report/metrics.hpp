// What a run was like: waits, use, fairness, debts. Filled by the engine as an observer, so that no
// policy reports on itself but for its ledger.
//
// A tenant's share at a moment is its dominant share: what it holds of the resource of which it
// holds the largest part. Its entitled share is the water level (policy/quota/water_fill.hpp) of
// all shares that tenants hold or wait for, by weight (level by level where they are in groups),
// with the cluster as capacity (an elastic job over nodes waits for its least alone): exact for one
// resource, and for several an upper bound, as tenants may dominate in different ones. Tenants and
// groups are entitled to no more than their `max`.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/report/entitled_shares.hpp"

namespace fairwater::sim::inline report {

/// Shares are counted in these parts of the cluster.
inline constexpr Amount kShareParts = 1'000'000'000'000;

struct MetricsOptions {
  TimeMs sample_ms = 0;              ///< between two points of the series; > 0
  std::vector<TimeMs> windows_ms{};  ///< lengths for Jain's index; > 0
  /// Utilisation and shares count up to here; 0: up to the last arrival, or where all work is there
  /// from the start, up to the run's end.
  TimeMs horizon_ms = 0;
  Accounting accounting = Accounting::units;  ///< what accounts count
  bool with_preemption = false;               ///< RunMetrics::preemption is wanted
  bool with_urgent = false;                   ///< and of the jobs that preempt
  bool with_services = false;                 ///< RunMetrics::services is wanted
};

/// One moment of one tenant.
struct TenantSample {
  ResourceVector held;
  double held_units = 0;
  double cumulative_unit_s = 0;
  double share = 0;
  Units net = 0;
  double credit = 0;
  std::uint64_t waiting_tasks = 0;
};

struct JobMetrics {
  std::uint64_t jobs = 0;  ///< that ended
  double mean_wait_s = 0;  ///< from submission to the first task's start, of all that started
  double p95_wait_s = 0;
  double max_wait_s = 0;
  double mean_slowdown =
      0;  ///< of those that ended: (end - submission) / max(run, 10 s), at least 1
  double mean_completion_s = 0;  ///< from submission to the last task's end
};

struct TenantMetrics {
  JobMetrics jobs;
  std::uint64_t submitted = 0;
  std::uint64_t killed_tasks = 0;  ///< but for those that were preempted
  std::uint64_t preempted_tasks = 0;
  double lost_unit_s = 0;     ///< work of those, that had to be done again
  double unit_s = 0;          ///< units held, times seconds, up to the horizon
  double mean_share = 0;      ///< up to the horizon
  Account account;            ///< at the end
  double time_in_debt_s = 0;  ///< to the resolution of the samples
};

/// What jobs that preempt take, and what they have of it.
struct PreemptionMetrics {
  std::uint64_t tasks = 0;           ///< times that one was preempted
  double lost_unit_s = 0;            ///< work that had to be done again
  std::optional<JobMetrics> urgent;  ///< of the jobs that preempt
};

struct ServiceMetrics {
  std::uint64_t waiting_tasks = 0;  ///< at the end
  double mean_wait_s = 0;           ///< of those that started, to their first task's start
  double max_wait_s = 0;
};

struct WindowFairness {
  TimeMs length_ms = 0;
  std::uint64_t windows = 0;  ///< in which at least two tenants had waiting tasks all the time
  double mean_jain = 1;       ///< of share / weight among those tenants
  double least_jain = 1;
};

struct RunMetrics {
  EngineResult engine;
  Accounting accounting = Accounting::units;  ///< what accounts count
  TimeMs horizon_ms = 0;
  double utilisation = 0;  ///< of the most used resource, up to the horizon
  JobMetrics jobs;
  std::uint64_t failed_jobs = 0;      ///< with a task that was killed, and not to make room
  std::uint64_t unfinished_jobs = 0;  ///< of those submitted, but for services
  double largest_deviation = 0;       ///< |share - entitled share|, over tenants and moments
  double mean_deviation = 0;          ///< of the tenant farthest off, over time
  std::vector<WindowFairness> fairness;
  Units lent = 0;
  Units repaid = 0;
  double time_in_debt_s = 0;  ///< summed over tenants
  std::optional<PreemptionMetrics> preemption;
  std::optional<ServiceMetrics> services;
  std::vector<TenantMetrics> tenants;
  TimeMs sample_ms = 0;
  std::vector<std::vector<TenantSample>> samples;  ///< by sample, then tenant
};

class Recorder final : public Observer {
 public:
  Recorder(const Cluster& cluster, const Workload& workload, MetricsOptions options);

  void advance(TimeMs now) override;
  void submitted(JobIndex job) override;
  void started(const Start& start) override;
  void resized(TaskId task, Units before, Units after) override;
  void preempted(TaskId task, std::int64_t lost) override;
  void started_over(TaskId task, std::int64_t lost) override;
  void ended(TaskId task, NodeIndex node, Units units, bool killed) override;
  void cycle_done(const Scheduler& scheduler) override;

  /// Takes what was measured out; to be called once, with what the engine returned.
  [[nodiscard]] RunMetrics finish(const EngineResult& engine, const Scheduler& scheduler);

 private:
  struct Outcome {
    TimeMs first_start = -1;
    TimeMs end = -1;
    std::uint32_t tasks_left = 0;
    std::uint32_t waiting = 0;  ///< tasks; of an elastic job over nodes so many of its least
    bool killed = false;
  };
  struct Tenant {
    ResourceVector held;
    ResourceVector waiting;
    std::uint64_t waiting_tasks = 0;
    Units held_units = 0;
    Amount share = 0;   ///< of what is held
    Amount wanted = 0;  ///< share of what is held or waits
    bool is_active = false;
    Wide share_time = 0;  ///< share parts times milliseconds, up to `counted`
    Wide unit_time = 0;
    Wide share_time_to_horizon = 0;
    Wide unit_time_to_horizon = 0;
    TimeMs counted = 0;
    std::uint64_t killed_tasks = 0;
    std::uint64_t preempted_tasks = 0;
    Wide lost_time = 0;  ///< units times milliseconds
    std::uint64_t submitted = 0;
    TimeMs in_debt = 0;
  };
  struct Window {
    TimeMs length = 0;
    TimeMs end = 0;
    std::vector<Wide> share_time_before;  ///< by tenant
    std::vector<bool> waits_all_along;
    double jain_sum = 0;
    WindowFairness result;
  };
  /// Also back in time, as far as the tenant's share was the same.
  void count_up_to(Tenant& tenant, TimeMs now) const;
  void count_all(TimeMs now);
  /// What is held or waits has changed.
  void refresh(TenantIndex tenant);
  [[nodiscard]] Amount share_of(const ResourceVector& amounts) const;
  void judge_moment(TimeMs duration);
  /// At a window's start, once all that happens at that instant has happened.
  void note_who_waits(Window& window) const;
  void close_window(Window& window);
  void take_sample();
  void hold(TenantIndex tenant, const Job& job, Units units, int sign);
  void wait(TenantIndex tenant, const Job& job, std::uint32_t tasks, int sign);
  /// The task waits again; an elastic job over nodes for one of its least.
  void wait_again(TaskId task);
  /// Of an elastic job over nodes: nothing of it waits any more.
  void note_done(TaskId task);
  [[nodiscard]] JobMetrics measure(const std::vector<JobIndex>& jobs) const;
  [[nodiscard]] PreemptionMetrics measure_preemption() const;
  [[nodiscard]] ServiceMetrics measure_services() const;

  const Cluster& cluster_;
  const Workload& workload_;
  MetricsOptions options_;
  ResourceVector total_;
  TimeMs now_ = 0;
  std::vector<Tenant> tenants_;
  std::vector<TenantIndex> active_;  ///< that hold or wait, in order
  std::vector<Outcome> outcomes_;
  std::set<TaskId> preempted_;  ///< that have not ended yet
  std::vector<Units> cost_;     ///< of a unit of each job
  ResourceVector used_;
  std::array<Wide, kMaxResources> used_time_{};
  std::vector<Window> windows_;
  TimeMs next_sample_ = 0;
  const Scheduler* scheduler_ = nullptr;  ///< as of the last cycle
  EntitledShares entitled_;
  bool deviation_is_known_ = false;
  Amount deviation_ = 0;  ///< now, of the tenant farthest off
  Amount largest_deviation_ = 0;
  Wide deviation_time_ = 0;
  RunMetrics result_;
};

}  // namespace fairwater::sim::inline report
