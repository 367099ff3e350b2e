#include "actors/coordinator/node_tasks.hpp"

#include <algorithm>
#include <utility>

namespace fairwater::inline actors::inline coordinator {
namespace {

TenantTasks& group_of(std::vector<TenantTasks>& groups, const TenantActor& tenant) {
  auto group = std::find_if(groups.begin(), groups.end(),
                            [&](const TenantTasks& g) { return g.tenant == tenant; });
  if (group != groups.end()) return *group;
  groups.push_back({tenant, {}, {}, {}});
  return groups.back();
}

}  // namespace

NodeTasks::NodeTasks(std::vector<AssignedTask> assigned) {
  for (auto& task : assigned) assigned_.emplace(task.task, std::move(task));
}

std::shared_ptr<const LaunchOrder> NodeTasks::order_of_job(const LaunchOrder& order) const {
  for (auto other = assigned_.lower_bound(TaskKey{order.task.job, 0, 0});
       other != assigned_.end() && other->first.job == order.task.job; ++other)
    if (const LaunchOrder& known = *other->second.order_of_job;
        known.limits == order.limits && known.devices == order.devices)
      return other->second.order_of_job;
  return std::make_shared<const LaunchOrder>(order);
}

void NodeTasks::assign(const TenantActor& tenant, const LaunchOrder& order, JobKind kind,
                       WallTime granted_at) {
  assigned_.emplace(order.task,
                    AssignedTask{order.task, order_of_job(order), tenant, kind, false, granted_at});
}

bool NodeTasks::request_stop(const TaskKey& task) {
  if (!assigned_.contains(task)) return false;
  stop_requested_.insert(task);
  return true;
}

std::vector<TaskKey> NodeTasks::request_stop_of_services() {
  std::vector<TaskKey> requested;
  for (const auto& [key, task] : assigned_)
    if (task.kind == JobKind::service && stop_requested_.insert(key).second)
      requested.push_back(key);
  return requested;
}

std::vector<AssignedTask> NodeTasks::reclaim_batch() {
  std::vector<AssignedTask> reclaimed;
  for (auto& [key, task] : assigned_) {
    if (task.kind == JobKind::service || task.reclaimed || settling_.contains(key)) continue;
    task.reclaimed = true;
    reclaimed.push_back(task);
  }
  return reclaimed;
}

void NodeTasks::not_reclaimed(const std::vector<AssignedTask>& tasks) {
  for (const auto& task : tasks)
    if (const auto found = assigned_.find(task.task); found != assigned_.end())
      found->second.reclaimed = false;
}

ReportOutcome NodeTasks::take_report(const AgentReport& report, bool registering,
                                     std::uint32_t incarnation, WallTime now) {
  ReportOutcome outcome;
  std::set<TaskKey> named(report.running.begin(), report.running.end());
  for (const auto& result : report.finished) {
    named.insert(result.task);
    const auto known = assigned_.find(result.task);
    if (known == assigned_.end() && result.task.incarnation < incarnation) {
      if (settling_.contains(result.task)) continue;
      if (disowned_.size() < kMostDisowned && disowned_.insert(result.task).second) {
        settling_.insert(result.task);
        outcome.disowned.push_back(plausible(result, {}, now));
      } else {
        outcome.acknowledge.push_back(result.task);
      }
    } else if (known == assigned_.end()) {
      outcome.acknowledge.push_back(result.task);
    } else if (settling_.insert(result.task).second) {
      const bool failed = result.reason == EndReason::launch_failed;
      (failed ? outcome.failed_launches : outcome.settle)
          .push_back(plausible(result, known->second.granted_at, now));
    }
  }
  for (const auto& task : report.running) {
    if (assigned_.contains(task)) continue;
    outcome.stops.push_back({task, 0});
    outcome.runs_lost_life = outcome.runs_lost_life || task.incarnation < incarnation;
  }
  if (!registering) return outcome;
  for (const auto& [key, task] : assigned_) {
    if (named.contains(key) || settling_.contains(key)) continue;
    if (key.incarnation < incarnation) {
      outcome.returns.push_back(key);
      continue;
    }
    outcome.launches.push_back(*task.order_of_job);
    outcome.launches.back().task = key;
  }
  for (const auto& task : stop_requested_) outcome.stops.push_back({task, 0});
  return outcome;
}

std::vector<TenantTasks> NodeTasks::settled(const std::vector<TaskResult>& results) {
  std::vector<TenantTasks> groups;
  for (const auto& result : results) {
    settling_.erase(result.task);
    auto task = assigned_.find(result.task);
    if (task == assigned_.end()) continue;
    group_of(groups, task->second.tenant).results.push_back(result);
    stop_requested_.erase(result.task);
    assigned_.erase(task);
  }
  return groups;
}

void NodeTasks::not_settled(const std::vector<TaskResult>& results) {
  for (const auto& result : results) {
    settling_.erase(result.task);
    disowned_.erase(result.task);
  }
}

std::vector<TaskKey> NodeTasks::unsettled() const {
  std::vector<TaskKey> keys;
  for (const auto& [key, task] : assigned_)
    if (!settling_.contains(key)) keys.push_back(key);
  return keys;
}

void NodeTasks::begin_return(const std::vector<TaskKey>& keys) {
  settling_.insert(keys.begin(), keys.end());
}

std::vector<TenantTasks> NodeTasks::take_back(const std::vector<TaskKey>& keys) {
  std::vector<TenantTasks> groups;
  for (const auto& key : keys) {
    auto task = assigned_.find(key);
    if (task == assigned_.end()) continue;
    group_of(groups, task->second.tenant).keys.push_back(key);
    settling_.erase(key);
    stop_requested_.erase(key);
    assigned_.erase(task);
  }
  return groups;
}

std::vector<JobMembers> NodeTasks::kept_members() {
  forget_members_of_others();
  std::vector<JobMembers> kept;
  kept.reserve(members_.size());
  for (const auto& [id, members] : members_) kept.push_back(members);
  return kept;
}

void NodeTasks::forget_members_of_others() {
  std::erase_if(members_, [&](const auto& job) { return !has_task_of(job.first); });
}

}  // namespace fairwater::inline actors::inline coordinator
