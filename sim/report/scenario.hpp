// A simulation as a file describes it: cluster, workload, policy, metrics, seeds. The same scenario
// and seed give the same run, whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/report/metrics.hpp"
#include "sim/schedulers/list.hpp"
#include "sim/traces/trace_workload.hpp"

namespace fairwater::sim::inline report {

/// `low` and what follows by steps up to `high`, all as likely.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t step = 1;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class ArrivalProcess : std::uint8_t {
  backlog = 0,       ///< `jobs` at the start
  poisson = 1,       ///< independent arrivals
  self_similar = 2,  ///< fractional Gaussian noise (sim/traces/generators.hpp)
};

/// One tenant's stream of jobs by chance.
struct Generator {
  TenantIndex tenant = 0;
  ArrivalProcess arrivals = ArrivalProcess::poisson;
  std::uint32_t jobs = 0;     ///< of a backlog
  double rate_per_s = 1;      ///< mean, of the others
  double hurst = 0.5;         ///< of self-similar arrivals
  double variation = 0.5;     ///< of a period's arrivals, over their mean
  TimeMs period_ms = 1000;    ///< of self-similar arrivals
  TimeMs start_ms = 0;        ///< of arrivals
  TimeMs duration_ms = 0;     ///< of arrivals, but for a backlog
  Range tasks{1, 1};          ///< of a job
  std::vector<Range> demand;  ///< of a unit of a task, by resource
  Range run_ms{1000, 1000};   ///< of a task
  /// Of a task, all as likely: what the class's runs took with this demand. Empty: `run_ms`.
  std::vector<TimeMs> measured_run_ms{};
  std::int64_t run_ms_per_unit = 0;  ///< above 0: the run time is this times what a task costs
  double estimate_factor = 1;        ///< estimate / run time
  Units min_units = 1;
  Units max_units = 1;
  TimeMs grace_ms = 5000;  ///< so long a task that is told to end takes to do so
  Placement placement = Placement::unset;
  PlacementRulePtr rule = nullptr;
  bool is_gang = false;  ///< the tasks of a job start at once
  PreemptionTerms preemption{.is_preemptible = true};
  bool is_service = false;  ///< `run_ms` and `estimate_factor` do not count
  std::string user{};       ///< of the tenant's
};

/// Jobs of a log that are not in a scenario's trace.
struct LeftOut {
  std::size_t never_ran = 0;    ///< the log has no run of theirs
  std::size_t fit_no_node = 0;  ///< of this cluster
};

/// With services, `engine.end_ms` is above 0.
struct Scenario {
  Cluster cluster;
  Workload trace;  ///< jobs that are the same for all seeds
  LeftOut left_out;
  std::vector<Generator> generators;
  PolicyOptions policy;
  EngineOptions engine;
  MetricsOptions metrics;
  std::uint32_t seeds = 1;
};

/// The workload of one seed: the trace and what the generators draw, each generator from a state of
/// its own. O(jobs log jobs).
[[nodiscard]] Workload draw_workload(const Scenario& scenario, std::uint64_t seed);
[[nodiscard]] bool has_gangs(const Scenario& scenario);
[[nodiscard]] bool has_elastic_jobs(const Scenario& scenario);
[[nodiscard]] bool has_preempting_jobs(const Scenario& scenario);
/// Of its own, or a group.
[[nodiscard]] bool any_tenant_has_min(const Cluster& cluster);
/// Jobs by their word, or tasks within a min.
[[nodiscard]] bool may_preempt(const Scenario& scenario);
[[nodiscard]] bool has_services(const Scenario& scenario);
/// Another one than `fifo`.
[[nodiscard]] bool any_tenant_has_queue(const Cluster& cluster);

/// A policy that knows no gangs starts their tasks one by one, and where elastic jobs do not grow
/// they run with their least. A file's sample_ms of 0 gives about
/// 300 samples.
[[nodiscard]] Expected<RunMetrics> run_once(const Scenario& scenario, std::uint64_t seed);

/// Runs seeds 1 .. scenario.seeds, some at once; results by seed. `progress` gets what is done, 0
/// to 1, and is called from one thread at a time.
[[nodiscard]] Expected<std::vector<RunMetrics>> run_all(
    const Scenario& scenario, std::uint32_t threads, const std::function<void(double)>& progress);

/// Calls `work(0) .. work(count - 1)` on `threads` threads; returns when all are done.
void for_each_parallel(std::size_t count, std::uint32_t threads,
                       const std::function<void(std::size_t)>& work);

}  // namespace fairwater::sim::inline report
