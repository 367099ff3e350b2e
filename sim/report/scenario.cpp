#include "sim/report/scenario.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "sim/traces/generators.hpp"

namespace fairwater::sim::inline report {
namespace {

constexpr TimeMs kSamplesPerRun = 300;

std::int64_t draw(const Range& range, SplitMix64& random) {
  const auto steps = static_cast<std::uint64_t>((range.high - range.low) / range.step);
  return range.low + range.step * static_cast<std::int64_t>(random.below(steps + 1));
}

std::vector<TimeMs> draw_arrivals(const Generator& generator, SplitMix64& random) {
  switch (generator.arrivals) {
    case ArrivalProcess::backlog:
      return std::vector<TimeMs>(generator.jobs, 0);
    case ArrivalProcess::poisson:
      return poisson_arrivals_ms(generator.rate_per_s, generator.duration_ms, random);
    case ArrivalProcess::self_similar:
      break;
  }
  const auto periods = static_cast<std::size_t>((generator.duration_ms + generator.period_ms - 1) /
                                                generator.period_ms);
  const auto noise =
      FractionalGaussianNoise{std::max<std::size_t>(periods, 1), generator.hurst}.draw(random);
  auto arrivals = self_similar_arrivals_ms(
      {generator.rate_per_s, generator.variation, generator.period_ms}, noise, random);
  std::erase_if(arrivals, [&](TimeMs at) { return at >= generator.duration_ms; });
  return arrivals;
}

Job draw_job(const Scenario& scenario, const Generator& generator, TimeMs submit_ms,
             SplitMix64& random) {
  Job job;
  job.submit_ms = submit_ms;
  job.tenant = generator.tenant;
  job.tasks = static_cast<std::uint32_t>(draw(generator.tasks, random));
  for (std::size_t r = 0; r < generator.demand.size(); ++r)
    job.demand[r] = draw(generator.demand[r], random);
  const auto& measured = generator.measured_run_ms;
  job.run_ms =
      measured.empty() ? draw(generator.run_ms, random) : measured[random.below(measured.size())];
  if (generator.run_ms_per_unit > 0)
    job.run_ms = generator.run_ms_per_unit * cost_of(scenario.cluster, job);
  job.estimate_ms = static_cast<TimeMs>(
      std::llround(static_cast<double>(job.run_ms) * generator.estimate_factor));
  job.is_service = generator.is_service;
  if (job.is_service)
    job.run_ms = job.estimate_ms = std::max<TimeMs>(scenario.engine.end_ms - submit_ms, 1);
  job.min_units = generator.min_units;
  job.placement = generator.placement;
  job.rule = generator.rule;
  job.is_gang = generator.is_gang;
  job.max_units = generator.max_units;
  job.grace_ms = generator.grace_ms;
  job.preemption = generator.preemption;
  job.user = generator.user;
  return job;
}

/// How long all of the job's tasks take together, with its least units.
double task_ms(const Job& job) {
  if (!job.task_run_ms.empty())
    return std::accumulate(job.task_run_ms.begin(), job.task_run_ms.end(), 0.0);
  const std::uint32_t tasks = job.least_tasks > 0 ? job.least_tasks : job.tasks;
  return static_cast<double>(job.run_ms) * tasks;
}

/// Not before this all work is done, if no node is left with room too small.
TimeMs least_end_ms(const Cluster& cluster, const Workload& workload) {
  const ResourceVector total = total_capacity(cluster);
  std::array<double, kMaxResources> work{};
  for (const Job& job : workload.jobs) {
    const ResourceVector held = demand_of(job, job.min_units);
    for (std::size_t r = 0; r < kMaxResources; ++r)
      work[r] += static_cast<double>(held[r]) * task_ms(job);
  }
  double end = workload.jobs.empty() ? 0 : static_cast<double>(workload.jobs.back().submit_ms);
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (total[r] > 0) end = std::max(end, work[r] / static_cast<double>(total[r]));
  return static_cast<TimeMs>(end);
}

TimeMs default_sample(TimeMs end, const Cluster& cluster, const Workload& workload) {
  if (end == 0) end = least_end_ms(cluster, workload);
  return std::max<TimeMs>(end / kSamplesPerRun, 1);
}

/// What the policy can run of it.
Workload workload_for(const PolicyOptions& policy, Workload workload) {
  for (Job& job : workload.jobs) {
    if (!needs_pool(policy.name)) job = spread_over_nodes(std::move(job), grows_over_nodes(policy));
    if (!knows_gangs(policy.name)) job.is_gang = false;
  }
  return workload;
}

}  // namespace

Workload draw_workload(const Scenario& scenario, std::uint64_t seed) {
  Workload workload = scenario.trace;
  SplitMix64 states{seed};
  for (const auto& generator : scenario.generators) {
    SplitMix64 random{states.next()};
    for (const TimeMs after : draw_arrivals(generator, random))
      workload.jobs.push_back(draw_job(scenario, generator, generator.start_ms + after, random));
  }
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit_ms < b.submit_ms; });
  return workload;
}

bool has_gangs(const Scenario& scenario) {
  const auto& jobs = scenario.trace.jobs;
  const auto& generators = scenario.generators;
  return std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.is_gang; }) ||
         std::any_of(generators.begin(), generators.end(),
                     [](const Generator& generator) { return generator.is_gang; });
}

bool has_elastic_jobs(const Scenario& scenario) {
  const auto& generators = scenario.generators;
  return std::any_of(generators.begin(), generators.end(), [](const Generator& generator) {
    return generator.max_units > generator.min_units;
  });
}

bool any_tenant_has_queue(const Cluster& cluster) {
  const auto& tenants = cluster.tenants;
  return std::any_of(tenants.begin(), tenants.end(), [](const SimTenant& tenant) {
    return tenant.queue.value_or(QueuePolicy::fifo) != QueuePolicy::fifo;
  });
}

bool has_preempting_jobs(const Scenario& scenario) {
  const auto& generators = scenario.generators;
  return std::any_of(generators.begin(), generators.end(),
                     [](const Generator& generator) { return generator.preemption.preempts; });
}

bool any_tenant_has_min(const Cluster& cluster) {
  return std::any_of(cluster.tenants.begin(), cluster.tenants.end(),
                     [](const SimTenant& tenant) { return !tenant.terms.min.is_zero(); }) ||
         std::any_of(cluster.groups.begin(), cluster.groups.end(), [](const GroupTerms& group) {
           return std::any_of(group.min.begin(), group.min.end(),
                              [](const auto& amount) { return amount.value_or(0) > 0; });
         });
}

bool may_preempt(const Scenario& scenario) {
  return has_preempting_jobs(scenario) ||
         (scenario.policy.preempts_for_min && any_tenant_has_min(scenario.cluster));
}

bool has_services(const Scenario& scenario) {
  const auto& generators = scenario.generators;
  return std::any_of(generators.begin(), generators.end(),
                     [](const Generator& generator) { return generator.is_service; });
}

Expected<RunMetrics> run_once(const Scenario& scenario, std::uint64_t seed) {
  const Workload workload = workload_for(scenario.policy, draw_workload(scenario, seed));
  const Cluster cluster =
      needs_pool(scenario.policy.name) ? pooled(scenario.cluster) : scenario.cluster;
  auto scheduler = make_scheduler(scenario.policy, cluster, workload);
  if (!scheduler) return scheduler.error();
  MetricsOptions options = scenario.metrics;
  if (options.sample_ms == 0)
    options.sample_ms = default_sample(scenario.engine.end_ms, cluster, workload);
  if (options.horizon_ms == 0) options.horizon_ms = scenario.engine.end_ms;
  options.with_preemption = may_preempt(scenario);
  options.with_urgent = has_preempting_jobs(scenario);
  options.with_services = has_services(scenario);
  EngineOptions engine = scenario.engine;
  if (scenario.policy.accounting == SequenceAccounting::time) {
    options.accounting = Accounting::time;
    engine.step_ms = options.sample_ms;
  }
  Recorder recorder{cluster, workload, options};
  const EngineResult result = run_engine(cluster, workload, **scheduler, recorder, engine);
  return recorder.finish(result, **scheduler);
}

Expected<std::vector<RunMetrics>> run_all(const Scenario& scenario, std::uint32_t threads,
                                          const std::function<void(double)>& progress) {
  std::vector<std::optional<Expected<RunMetrics>>> runs(scenario.seeds);
  std::mutex reporting;
  std::size_t done = 0;
  for_each_parallel(runs.size(), threads, [&](std::size_t i) {
    runs[i] = run_once(scenario, i + 1);
    const std::lock_guard lock{reporting};
    progress(static_cast<double>(++done) / static_cast<double>(runs.size()));
  });
  std::vector<RunMetrics> results;
  for (auto& run : runs) {
    if (!*run) return run->error();
    results.push_back(std::move(**run));
  }
  return results;
}

void for_each_parallel(std::size_t count, std::uint32_t threads,
                       const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  for (std::uint32_t i = 1; i < threads && i < count; ++i) helpers.emplace_back(take_turns);
  take_turns();
}

}  // namespace fairwater::sim::inline report
