// Of the checker: what a grant must be.
#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/cluster_sim/world/checker.hpp"

namespace fairwater::cluster_sim {
namespace {

/// As machines have them, see machine.cpp.
bool is_shared_gpu(const std::string& device) { return device == "gpu2" || device == "gpu3"; }

/// For how long after a change of a node deals by what it was may still become durable.
constexpr std::int64_t kChangeSettles_us = 10 * kSecond;

}  // namespace

void Checker::check_growth(const TaskKey& grown) {
  const std::uint32_t limit = jobs_[grown.job].growth_limit;
  if (limit == 0) return;
  const auto first = running_.lower_bound({grown.job, 0});
  const auto behind = running_.lower_bound({JobId{grown.job.value + 1}, 0});
  if (const auto tasks = std::distance(first, behind); tasks > limit)
    stage_.broken("task {} has grown: {} tasks of its job run, and its class makes use of {}",
                  text_of(grown), tasks, limit);
}

/// What is over on the machine holds nothing, also before its result is durable.
void Checker::check_max(const Grant& grant) {
  std::vector<TenantId> holders = nesting_.around(grant.tenant);
  holders.push_back(grant.tenant);
  for (const TenantId holder : holders) {
    const auto leaves = nesting_.leaves(holder);
    ResourceVector held;
    for (const auto& [task, running] : running_)
      if (std::binary_search(leaves.begin(), leaves.end(), running.tenant) &&
          !stopped_.contains(running.task))
        held += running.demand;
    const auto max = *catalog_.to_limit(nesting_.spec(holder).max, "max");
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (grant.demand[r] > 0 && held[r] > max[r])
        stage_.broken("with task {} tenant {} holds {} of resource {}, and its max is {}",
                      text_of(grant.task), nesting_.spec(holder).name, held[r], r, max[r]);
  }
}

void Checker::check_gang(const TaskKey& granted) {
  for (std::uint32_t index = 0; index < jobs_.at(granted.job).tasks; ++index) {
    const auto running = running_.find({granted.job, index});
    if (running == running_.end() || running->second.task.attempt != granted.attempt)
      return stage_.broken("task {} of a gang was granted without task {}", text_of(granted),
                           index);
  }
}

void Checker::check_devices(const RunningTask& granted) {
  const auto has = [](const RunningTask& task, const std::string& device) {
    return std::find(task.devices.begin(), task.devices.end(), device) != task.devices.end();
  };
  for (const std::string& device : jobs_[granted.task.job].devices)
    if (!has(granted, device))
      stage_.broken("task {} was granted without {}, for which its job asks", text_of(granted.task),
                    device);
  check_shares(granted);
  for (const auto& [id, other] : running_)
    for (const std::string& device : granted.devices)
      if (other.node == granted.node && other.task != granted.task &&
          !stopped_.contains(other.task) && has(other, device) && !is_shared_gpu(device))
        stage_.broken("task {} was granted {}, which {} has", text_of(granted.task), device,
                      text_of(other.task));
}

void Checker::check_placement(const RunningTask& granted) {
  const PlacementRulePtr& rule = jobs_[granted.task.job].rule;
  const NodeModel& node = nodes_[granted.node];
  const bool settles = stage_.time.now_us() < node.changed_at_us + kChangeSettles_us;
  if (!rule || rule->allows(node.traits) || (settles && rule->allows(node.traits_before))) return;
  stage_.broken("task {} was granted to {}, where its job's labels or sites do not let it be",
                text_of(granted.task), node.name);
}

void Checker::check_planned_drain(const RunningTask& granted) {
  const NodeModel& node = nodes_[granted.node];
  // The record may have waited for etcd, and before it had its time: what was known is what was so
  // when it was decided, which may be when the last silence began.
  const std::int64_t now_us = stage_.time.now_us();
  const std::int64_t wall_us = stage_.time.wall_time().microseconds;
  const bool has_waited = now_us - waited_until_us_ < kChangeSettles_us;
  const std::int64_t waited_us =
      std::max(has_waited ? now_us - waited_from_us_ : 0, wall_us - std::min(record_us_, wall_us));
  const std::int64_t decided_us = wall_us - waited_us;
  const std::int64_t known_us = now_us - node.drain_seen_at_us - waited_us;
  if (node.drain_begins_us == 0 || known_us < kChangeSettles_us) return;
  const std::int64_t limit_us = jobs_[granted.task.job].limit_us;
  // The leader's clock may have lost a percent since it looked at its date, and that be ahead.
  const std::int64_t ends_us = decided_us + limit_us - kMostApart_us - known_us / 50;
  if (limit_us == 0 || ends_us > node.drain_begins_us)
    stage_.broken("task {} with a limit of {} ms was granted to {}, which drains in {} ms",
                  text_of(granted.task), limit_us / kMs, node.name,
                  (node.drain_begins_us - decided_us) / kMs);
}

void Checker::check_shares(const RunningTask& granted) {
  const std::size_t resource = *catalog_.index_of(kSharedGpus);
  const Amount milli = granted.demand[resource];
  const auto of_each = [&](const RunningTask& task) {
    return std::min(task.demand[resource], kMilliPerGpu);
  };
  const auto given = std::count_if(granted.devices.begin(), granted.devices.end(), is_shared_gpu);
  if (milli != given * of_each(granted))
    stage_.broken("task {} takes {} thousandths of GPUs, and was granted {} of them",
                  text_of(granted.task), milli, given);
  for (const std::string& device : granted.devices) {
    if (!is_shared_gpu(device)) continue;
    Amount taken = 0;
    for (const auto& [id, task] : running_)
      if (task.node == granted.node && !stopped_.contains(task.task) &&
          std::find(task.devices.begin(), task.devices.end(), device) != task.devices.end())
        taken += of_each(task);
    if (taken > kMilliPerGpu)
      stage_.broken("task {} was granted {}, of which {} thousandths are taken with it",
                    text_of(granted.task), device, taken);
  }
}

void Checker::grant(const Deal& deal, const Grant& grant) {
  const auto& key = grant.task;
  const auto id = task_of(key);
  stage_.log.line("grant {} node {}", text_of(key), deal.node.value);
  const auto job = jobs_.find(key.job);
  if (job == jobs_.end() || key.index >= job->second.tasks)
    stage_.broken("task {} was granted, and no such task was submitted", text_of(key));
  else if (job->second.is_cancelled)
    stage_.broken("task {} was granted after its job was cancelled", text_of(key));
  if (!nodes_.contains(deal.node))
    stage_.broken("task {} was granted to node {}, which is unknown", text_of(key),
                  deal.node.value);
  if (running_.contains(id))
    stage_.broken("task {} was granted while {} runs", text_of(key), text_of(running_.at(id).task));
  if (const auto pause = not_before_us_.find(id);
      pause != not_before_us_.end() && record_us_ < pause->second)
    stage_.broken("task {} of a service was granted {} ms before its pause was over", text_of(key),
                  (pause->second - record_us_) / kMs);
  auto& last_attempt = last_attempt_[id];
  if (key.attempt <= last_attempt)
    stage_.broken("task {} was granted after attempt {}", text_of(key), last_attempt);
  last_attempt = key.attempt;
  if (const auto least = least_memory_.find(id);
      least != least_memory_.end() && grant.demand[kMemory] < least->second)
    stage_.broken("task {} was granted {} MiB, and should have {} by now", text_of(key),
                  grant.demand[kMemory], least->second);
  const bool has_grown = grant.step == GrantStep::growth;
  if (has_grown && job != jobs_.end() && !job->second.is_elastic)
    stage_.broken("task {} was granted by growth, and its job is not elastic", text_of(key));
  running_[id] = {key, deal.node, grant.tenant, grant.demand, has_grown, false, grant.devices};
  if (has_grown) check_growth(key);
  check_devices(running_[id]);
  check_placement(running_[id]);
  check_planned_drain(running_[id]);
  if (nesting_.is_leaf(grant.tenant))
    check_max(grant);
  else
    stage_.broken("task {} was granted to tenant {}, which runs no jobs", text_of(key),
                  grant.tenant.value);
  granted_[key] = deal.node;
  has_granted_ = true;
}

/// What is over on the machine holds nothing, also before its result is durable.
void Checker::check_room(NodeId id) {
  const auto& node = nodes_[id];
  ResourceVector held;
  for (const auto& [task, running] : running_)
    if (running.node == id && !stopped_.contains(running.task)) held += running.demand;
  const bool settles = stage_.time.now_us() < node.changed_at_us + kChangeSettles_us;
  if (held.fits(node.capacity) || (settles && held.fits(node.capacity_before))) return;
  stage_.broken("node {} was given {} millicores and {} MiB, and has {} and {}", node.name,
                held[kCpu], held[kMemory], node.capacity[kCpu], node.capacity[kMemory]);
}

}  // namespace fairwater::cluster_sim
