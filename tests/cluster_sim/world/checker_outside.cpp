// Of the checker: what leaves the coordinator, and what machines do.
#include <algorithm>

#include "tests/cluster_sim/world/checker.hpp"

namespace fairwater::cluster_sim {

// -- what leaves the coordinator ------------------------------------------------------------------

void Checker::ordered(const std::string& node, const LaunchOrder& order, std::uint64_t epoch) {
  const TaskKey& task = order.task;
  stage_.log.line("order {} to {}", text_of(task), node);
  // One that was deposed and does not know it does not know what others wrote since, either.
  const bool knows_all = epoch == epoch_;
  const auto granted = granted_.find(task);
  const auto host = granted == granted_.end() ? nodes_.end() : nodes_.find(granted->second);
  const bool is_host = host == nodes_.end() ? !knows_all : host->second.name == node;
  if (granted == granted_.end() || !is_host)
    return stage_.broken("task {} was ordered to start on {}, and its grant is not durable",
                         text_of(task), node);
  const auto running = running_.find(task_of(task));
  if (running != running_.end() && running->second.task == task &&
      order.limits.at("memory") != running->second.demand[kMemory])
    stage_.broken("task {} was ordered to start with {} MiB, and was granted {}", text_of(task),
                  order.limits.at("memory"), running->second.demand[kMemory]);
  if (knows_all && returned_.contains(task))
    stage_.broken("task {} was ordered to start after it was given back", text_of(task));
  if (order.epoch != epoch)
    stage_.broken("task {} was ordered in epoch {}, and it is epoch {}", text_of(task), order.epoch,
                  epoch);
}

void Checker::acknowledged(const std::string& node, const TaskKey& task) {
  stage_.log.line("acknowledge {} to {}", text_of(task), node);
  if (!over_.contains(task))
    stage_.broken("node {} may forget the result of task {}, and it is not durable", node,
                  text_of(task));
}

void Checker::accepted(JobId job, const std::string& request_id, const std::string& user) {
  stage_.log.line("accepted job {} {}", job.value, request_id);
  if (!jobs_.contains(job)) stage_.broken("job {} was accepted and is not durable", job.value);
  if (jobs_[job].user != user)
    stage_.broken("job {} of user '{}' became one of '{}'", job.value, user, jobs_[job].user);
  if (!accepted_.insert(job).second && request_id.empty())
    stage_.broken("job id {} was told twice", job.value);
  const bool is_its_job =
      request_id.empty() || std::any_of(requested_.begin(), requested_.end(), [&](const auto& one) {
        return one.first.second == request_id && one.second == job;
      });
  if (!is_its_job) stage_.broken("{} is answered with job {}", request_id, job.value);
}

void Checker::cancelled(JobId id, const Ledger& ledger) {
  stage_.log.line("cancelled job {}", id.value);
  cancels_.insert(id);
  const auto job = ledger.job(id);
  if (!job || (!job->cancelled && !is_terminal(state_of(*job))))
    stage_.broken("job {} is said to be cancelled and is not durably", id.value);
}

// -- on the machines ------------------------------------------------------------------------------

void Checker::started(const std::string& machine, const TaskKey& task) {
  stage_.log.line("start {} on {}", text_of(task), machine);
  if (!started_.insert(task).second)
    stage_.broken("task {} was started twice, now on {}", text_of(task), machine);
  stopped_.erase(task);  // an earlier try to start it may have failed
  seen_services_.insert(task_of(task));
  auto& alive = alive_[task_of(task)];
  if (!alive.empty())
    stage_.broken("task {} was started on {} while {} is alive on {}", text_of(task), machine,
                  text_of(alive.begin()->first), alive.begin()->second);
  alive.emplace(task, machine);
  if (!granted_.contains(task))
    stage_.broken("task {} was started on {} and never granted", text_of(task), machine);
}

void Checker::stopped(const std::string& machine, const TaskKey& task) {
  stage_.log.line("gone {} from {}", text_of(task), machine);
  stopped_.insert(task);
  const auto alive = alive_.find(task_of(task));
  if (alive != alive_.end()) alive->second.erase(task);
}

}  // namespace fairwater::cluster_sim
