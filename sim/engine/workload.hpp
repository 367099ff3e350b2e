// What is simulated: a cluster, its tenants, and the jobs that they submit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tenant.hpp"
#include "policy/allocator/allocator.hpp"
#include "policy/allocator/placement.hpp"
#include "policy/allocator/preemption_terms.hpp"
#include "policy/core/types.hpp"

namespace fairwater::sim::inline engine {

/// Virtual time since the simulation's start.
using TimeMs = std::int64_t;
/// By place in Cluster::tenants, Cluster::nodes and Workload::jobs.
using TenantIndex = std::uint32_t;
using NodeIndex = std::uint32_t;
using JobIndex = std::uint32_t;

struct SimTenant {
  std::string name;
  TenantTerms terms;
  /// Units that it may use of, for the elastic policies; 0: its weight's part of all.
  Units quota = 0;
  Placement placement = Placement::unset;  ///< of jobs that name none
  std::optional<QueuePolicy> queue{};      ///< in which order it wants its jobs
};
/// From `at_ms` on the node takes no task, and before it only what has ended by then as estimated;
/// from `until_ms` on it takes any again.
struct DrainWindow {
  TimeMs at_ms = 0;
  std::optional<TimeMs> until_ms{};
};
struct SimNode {
  NodeTraits traits;
  ResourceVector capacity;
  std::optional<DrainWindow> drain{};
};
struct Cluster {
  std::vector<std::string> resources;  ///< names, by index in a ResourceVector
  AllocatorSettings settings;          ///< granules, units and mode: what a task costs
  std::vector<SimNode> nodes;
  std::vector<SimTenant> tenants;
  /// Those that tenants' places name: 1, 2, .. in this order, each behind the one that it is in.
  std::vector<GroupTerms> groups;
};

/// `tasks` alike tasks that run independently of each other, or a gang.
///
/// An elastic job takes `run_ms` with the least that it runs with, and less with more. For policies
/// of a pool it is one task with `min_units` to `max_units` units; others have one unit. For those
/// that know nodes (spread_over_nodes) it is `least_tasks` to `tasks` tasks, which share its work
/// out: the least starts at once and stays, the others come and go, and all end when the work is
/// done. A task that is taken back does no more work, and has its room for `grace_ms` yet. One that
/// is preempted has done its work in vain where its job is not elastic: it runs from the start.
struct Job {
  TimeMs submit_ms = 0;
  TenantIndex tenant = 0;
  std::uint32_t tasks = 1;
  ResourceVector demand;   ///< of one unit of one task
  TimeMs run_ms = 0;       ///< of each task, or of the longest
  TimeMs estimate_ms = 0;  ///< what the policy is told of `run_ms`
  Units min_units = 1;
  Units max_units = 1;
  PlacementRulePtr rule = nullptr;
  std::vector<TimeMs> task_run_ms{};  ///< by task; empty: `run_ms` each
  Placement placement = Placement::unset;
  bool has_estimate = true;       ///< false: for want of one, `estimate_ms` is `run_ms`
  bool is_gang = false;           ///< its tasks start at once, on whichever nodes, or not at all
  std::uint32_t least_tasks = 0;  ///< of an elastic job over nodes; 0: it is none
  TimeMs grace_ms = 5000;         ///< of a task that is told to end; the default is a job file's
  PreemptionTerms preemption{.is_preemptible = true};  ///< as it says itself: preemption_of()
  /// Its tasks run until the simulation's end, as long as which `run_ms` and `estimate_ms` are.
  bool is_service = false;
  std::string user{};  ///< of the tenant's
};
struct Workload {
  std::vector<Job> jobs;  ///< by submit_ms
};

[[nodiscard]] ResourceVector total_capacity(const Cluster& cluster);
/// Where tenants are in groups, gives each a weight in proportion to its part of the tree, for what
/// knows no groups: the sequence, and other policies. Those outside of groups have a place from
/// then on.
void weigh_by_tree(Cluster& cluster);
/// The same room on one node; placement rules that name a site or a label hold nowhere there.
[[nodiscard]] Cluster pooled(const Cluster& cluster);
/// Jobs of a tenant that are alike, for predictions: by what they ask for.
[[nodiscard]] std::string class_of(const Job& job);
[[nodiscard]] inline TimeMs run_ms_of(const Job& job, std::uint32_t task) {
  return job.task_run_ms.empty() ? job.run_ms : job.task_run_ms[task];
}
/// What `units` units of the job hold.
[[nodiscard]] ResourceVector demand_of(const Job& job, Units units);
/// For how many of its tasks, with one unit each, there is room: at most all of them.
[[nodiscard]] std::uint32_t tasks_that_fit(const Job& job, const ResourceVector& free);
/// Whether the cluster, when it is empty, has room for what starts at once of the job: a task,
/// all of a gang, the least of an elastic job. O(nodes).
[[nodiscard]] bool could_ever_run(const Cluster& cluster, const Job& job);
/// So many of its tasks start at once, or none.
[[nodiscard]] inline std::uint32_t starts_at_once(const Job& job) {
  return job.is_gang ? job.tasks : std::max(job.least_tasks, std::uint32_t{1});
}
[[nodiscard]] inline bool shares_work(const Job& job) { return job.least_tasks > 0; }
/// What a job of several units is where there are nodes: tasks of one unit. With `grows` an elastic
/// one has as many as its most, else its least, which starts at once.
[[nodiscard]] Job spread_over_nodes(Job job, bool grows);
/// Whose room its tasks may take, and who may take theirs.
[[nodiscard]] inline PreemptionTerms preemption_of(const Job& job) {
  return with_exemptions(job.preemption, job.is_service, job.is_gang);
}
/// As coordinators have it; 0: for ever.
[[nodiscard]] inline TimeMs limit_ms_of(const Job& job) {
  return job.is_service ? 0 : std::max<TimeMs>(job.estimate_ms, 1);
}
/// What one unit of the job costs in the ledger's currency.
[[nodiscard]] Units cost_of(const Cluster& cluster, const Job& job);

}  // namespace fairwater::sim::inline engine
