// Small clusters and workloads, a scheduler that does what the test says, and an observer that
// keeps its own books of what happened.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "policy/core/splitmix64.hpp"
#include "sim/engine/engine.hpp"
#include "sim/schedulers/list.hpp"
#include "sim/traces/trace_workload.hpp"
#include "tests/values/last_words.hpp"

namespace fairwater::sim::test {

/// Nodes of so many processors of 1000 millicores, each a unit; tenants of these weights.
inline Cluster processors(const std::vector<Amount>& per_node, const std::vector<Weight>& weights) {
  Cluster cluster;
  cluster.resources = {"cpu"};
  cluster.settings.granules[kCpu] = 1000;
  for (const Amount count : per_node) cluster.nodes.emplace_back().capacity[kCpu] = count * 1000;
  for (const Weight weight : weights) cluster.tenants.emplace_back().terms.weight = weight;
  return cluster;
}

/// Tasks of so many processors each.
inline Job job_of(TimeMs submit_ms, TenantIndex tenant, std::uint32_t tasks, Amount per_task,
                  TimeMs run_ms) {
  Job job;
  job.submit_ms = submit_ms;
  job.tenant = tenant;
  job.tasks = tasks;
  job.demand[kCpu] = per_task * 1000;
  job.run_ms = job.estimate_ms = run_ms;
  return job;
}

/// Does what `script` says for the moment of the cycle, and keeps what it was told.
class ScriptedScheduler final : public Scheduler {
 public:
  explicit ScriptedScheduler(std::function<Actions(TimeMs)> script) : script_(std::move(script)) {}
  void submit(JobIndex job) override { told.push_back("submit " + std::to_string(job)); }
  void end(TaskId task, NodeIndex node) override {
    told.push_back("end " + std::to_string(task.job) + "." + std::to_string(task.index) + " on " +
                   std::to_string(node));
  }
  Actions cycle(TimeMs now) override {
    told.push_back("cycle " + std::to_string(now));
    asked_ms_ = now;
    return script_(now);
  }
  [[nodiscard]] std::optional<TimeMs> wakes_at() const override {
    return wakes_after_ms ? std::optional(asked_ms_ + *wakes_after_ms) : std::nullopt;
  }
  [[nodiscard]] Account account(TenantIndex tenant) const override {
    const auto found = accounts.find(tenant);
    return found == accounts.end() ? Account{} : found->second;
  }

  std::vector<std::string> told;
  std::map<TenantIndex, Account> accounts;
  std::optional<TimeMs> wakes_after_ms;  ///< each cycle

 private:
  std::function<Actions(TimeMs)> script_;
  TimeMs asked_ms_ = 0;
};

/// One run of one task, from its start to its end.
struct TaskRun {
  TaskId task;
  NodeIndex node = 0;
  TimeMs start = 0;
  TimeMs end = -1;  ///< -1: still running
  bool killed = false;
  friend bool operator==(const TaskRun&, const TaskRun&) = default;
};

/// Books of its own, by plain addition: what runs where, and whether a node ever held too much.
class Books : public Observer {
 public:
  Books(const Cluster& cluster, const Workload& workload)
      : cluster_(cluster), workload_(workload), used(cluster.nodes.size()) {}

  void advance(TimeMs to) override {
    if (to <= now) time_went_back = true;
    now = to;
  }
  void submitted(JobIndex job) override {
    waiting[job] = workload_.jobs[job].tasks;
    if (workload_.jobs[job].submit_ms != now) wrong_submission = true;
  }
  void started(const Start& start) override {
    if (!waiting.contains(start.task.job)) started_unsubmitted = true;
    if (--waiting[start.task.job] == 0) waiting.erase(start.task.job);
    running[start.task] = runs.size();
    units[start.task] = start.units;
    runs.push_back({start.task, start.node, now});
    hold(start.task, start.node, start.units);
  }
  void resized(TaskId task, Units before, Units after) override {
    if (units.at(task) != before) wrong_units = true;
    units[task] = after;
    hold(task, runs[running.at(task)].node, after - before);
  }
  void ended(TaskId task, NodeIndex node, Units held, bool killed) override {
    TaskRun& run = runs[running.at(task)];
    if (run.node != node || units.at(task) != held) wrong_units = true;
    run.end = now;
    run.killed = killed;
    running.erase(task);
    units.erase(task);
    if (killed)
      ++waiting[task.job];
    else if (shares_work(workload_.jobs[task.job]))
      waiting.erase(task.job);  // what has not begun is not needed
    hold(task, node, -held);
  }
  [[nodiscard]] bool sound() const {
    return !over_capacity && !time_went_back && !wrong_submission && !started_unsubmitted &&
           !wrong_units;
  }

 private:
  void hold(TaskId task, NodeIndex node, Units changed) {
    const Job& job = workload_.jobs[task.job];
    for (std::size_t r = 0; r < kMaxResources; ++r) {
      used[node][r] += job.demand[r] * changed;
      if (used[node][r] > cluster_.nodes[node].capacity[r] || used[node][r] < 0)
        over_capacity = true;
    }
    if (changed > 0 && job.rule && !job.rule->allows(cluster_.nodes[node].traits))
      over_capacity = true;
  }

  const Cluster& cluster_;
  const Workload& workload_;

 public:
  TimeMs now = 0;
  std::vector<TaskRun> runs;  ///< by start
  std::map<JobIndex, std::uint32_t> waiting;
  std::map<TaskId, std::size_t> running;  ///< to its place in `runs`
  std::map<TaskId, Units> units;
  std::vector<ResourceVector> used;  ///< by node
  bool over_capacity = false, time_went_back = false, wrong_submission = false;
  bool started_unsubmitted = false, wrong_units = false;
};

/// Three tenants' jobs of one or two resources, of one or several tasks, on four nodes of three
/// shapes: more than there is room for at times, and bursts at one instant.
struct RandomCase {
  Cluster cluster;
  Workload workload;
};
inline RandomCase random_case(std::uint64_t seed, int jobs) {
  SplitMix64 random(seed);
  const auto below = [&random](std::int64_t count) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
  };
  RandomCase made{processors({8, 8, 16, 4}, {1 + below(5), 1 + below(5), 1 + below(5)}), {}};
  made.cluster.resources = {"cpu", "memory"};
  made.cluster.settings.granules[kMemory] = 512;
  const Amount memories[] = {16'384, 8192, 32'768, 16'384};
  for (std::size_t i = 0; i < 4; ++i) {
    made.cluster.nodes[i].capacity[kMemory] = memories[i];
    made.cluster.nodes[i].traits = {"n" + std::to_string(i), i < 2 ? "east" : "west", {}};
  }
  const auto east = std::make_shared<PlacementRule>(PlacementRule{{"east"}, {}});
  TimeMs now = 0;
  for (int i = 0; i < jobs; ++i) {
    now += below(3) == 0 ? 0 : below(2500);
    Job job =
        job_of(now, static_cast<TenantIndex>(below(3)), static_cast<std::uint32_t>(1 + below(5)),
               1 + below(4), below(20) == 0 ? 0 : 1 + below(9000));
    job.demand[kMemory] = below(2) == 0 ? 0 : 64 * (1 + below(60));
    job.estimate_ms = job.run_ms + (below(2) == 0 ? 0 : below(5000));
    if (below(6) == 0) job.rule = east;
    made.workload.jobs.push_back(std::move(job));
  }
  remove_impossible_jobs(made.cluster, made.workload);
  return made;
}

/// As a coordinator deals, whichever its ledger counts; what preempts need not wait for it.
inline std::vector<PolicyOptions> both_ledgers() {
  return {{.name = "sequence", .preempt_after_ms = 0},
          {.name = "sequence", .accounting = SequenceAccounting::time, .preempt_after_ms = 0}};
}

using fairwater::test::last_words;

}  // namespace fairwater::sim::test
