// Random clusters and jobs, and a real coordinator that lives through them in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/core/splitmix64.hpp"
#include "tests/actors/cluster_fixture.hpp"

namespace fairwater {

/// When runs begin, by the wall clock.
inline constexpr WallTime kBegan{1'700'000'000'000'000};
[[nodiscard]] constexpr std::int64_t milliseconds_between(WallTime from, WallTime to) {
  return (to.microseconds - from.microseconds) / 1000;
}

/// Of a property over random clusters: 1 to `usual`, or to FAIRWATER_SEEDS, or from one to another
/// as in FAIRWATER_SEEDS=31-31.
[[nodiscard]] std::vector<std::uint64_t> seeds_to_try(std::uint64_t usual);

/// A cluster and the jobs that are submitted to it, in order.
struct Scenario {
  std::vector<TenantSpec> tenants;
  std::vector<TenantSpec> groups;  ///< tenants with tenants; declared behind those
  std::vector<NodeSpec> nodes;
  std::vector<JobSpec> jobs;
  std::map<std::size_t, std::int64_t> drains_ms;  ///< since the run began, by place in `nodes`
};

struct ScenarioShape {
  std::uint32_t tenants = 4;
  std::uint32_t nodes = 4;
  std::uint32_t jobs = 150;
  std::uint32_t most_tasks = 12;  ///< of a job
  std::uint32_t groups = 0;
  std::uint32_t percent_gangs = 0;    ///< of the jobs
  std::uint32_t percent_elastic = 0;  ///< of the jobs
  /// Nodes tell names of gpus, some of them for tasks to share, and so many of the jobs take a part
  /// of one, or whole ones; as many name some.
  std::uint32_t percent_devices = 0;
  /// Of the jobs so many preempt others; then all have priorities, and some may not be preempted.
  std::uint32_t percent_urgent = 0;
  std::uint32_t percent_services = 0;  ///< of the jobs
  /// So many nodes, the first ones, are to drain within the first minutes; needs a ledger that
  /// counts time.
  std::uint32_t drains = 0;
  /// Above 0: each tenant has so many users, whose jobs these are, and any queue.
  std::uint32_t users = 0;
  /// Some tenants have weights of single resources; not where deals are by units.
  bool weighs_resources = false;
};

/// Something may follow because a second has passed: nodes report in each, and all else happens in
/// whole ones. Elsewhere tasks within a min preempt nobody.
[[nodiscard]] bool lives_in_seconds(const std::vector<JobSpec>& jobs);

[[nodiscard]] Scenario draw_scenario(const ScenarioShape& shape, SplitMix64& random);

/// A real coordinator that lives through the scenario, one event at a time: after each of them all
/// that follows from it happens, and every node has reported. Where the ledger counts time, time
/// passes between events.
class ActorRun {
 public:
  ActorRun(const Scenario& scenario, SplitMix64& random,
           const ClusterSettings& settings = ClusterFixture::default_settings(),
           Accounting accounting = Accounting::units);

  /// Submits every job, with ends of tasks in between; then `more_ends` ends.
  std::vector<JournalRecord> run(std::uint64_t percent_ends, int more_ends);
  /// Of each tenant, as the coordinator has it.
  std::map<TenantId, Units> credits();
  std::map<TenantId, Units> nets();

 private:
  [[nodiscard]] ClusterSettings settings_with_clock(ClusterSettings settings) const;
  [[nodiscard]] WallTime now() const { return {kBegan.microseconds + *now_ms_ * 1000}; }
  /// Jobs that the cluster refuses are left out.
  void submit(const JobSpec& job);
  void let_something_end();
  /// Mostly moments, now and then so long that tasks are late.
  void let_time_pass();
  void pass(std::int64_t ms);
  void pass_between_drains(std::int64_t ms);
  [[nodiscard]] bool has_bounded_loans();
  /// In the simulator an elastic job ends as a whole, with its work. To whoever deals it is the
  /// same when one is cancelled: nothing of it starts any more, and what runs ends.
  void finish_elastic();
  /// None: it runs on. What is told to end does so at some time.
  [[nodiscard]] std::optional<TaskResult> end_of(std::size_t place, const TaskKey& task);
  /// With the time that it took.
  [[nodiscard]] TaskResult timed(TaskResult result) const;
  void note_launches();
  /// One to three tasks of one node end in one report.
  void end_some();
  /// Heartbeats of all nodes, which the coordinator gathers, until nothing follows from them.
  void beat_all();
  std::uint64_t last_record();
  std::vector<TaskKey> running_on(std::size_t place) const;
  std::vector<JournalRecord> journal();

  const Scenario& scenario_;
  SplitMix64& random_;
  const bool counts_time_;
  const bool in_seconds_;
  const std::shared_ptr<std::int64_t> now_ms_ = std::make_shared<std::int64_t>(0);
  ClusterFixture cluster_;
  std::vector<FakeAgent> agents_;
  std::vector<std::vector<TaskKey>> ended_;
  std::map<TaskKey, WallTime> started_;
  std::set<JobId> gangs_;
  std::set<JobId> elastic_;
  std::set<JobId> services_;  ///< which run for ever
  std::set<JobId> finished_;  ///< of those
};

}  // namespace fairwater
