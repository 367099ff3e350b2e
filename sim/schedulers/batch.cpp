#include "sim/schedulers/batch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "policy/core/check.hpp"

namespace fairwater::sim {

// -- fifo ----------------------------------------------------------------------------------------

FifoScheduler::FifoScheduler(const Cluster& cluster, const Workload& workload)
    : workload_(workload), room_(cluster) {}

void FifoScheduler::submit(JobIndex job) { queue_.add(job, workload_.jobs[job].tasks); }

void FifoScheduler::end(TaskId task, NodeIndex node) {
  room_.give_back(workload_.jobs[task.job], node);
}

Actions FifoScheduler::cycle(TimeMs /*now*/) {
  Actions actions;
  while (!queue_.empty()) {
    const TaskId task = queue_.task(0);
    const Job& job = workload_.jobs[task.job];
    const auto node = room_.first_fit(job);
    if (!node) break;
    room_.take(job, *node);
    queue_.take(0);
    actions.start.push_back({task, *node, 1});
  }
  return actions;
}

// -- easy ----------------------------------------------------------------------------------------

EasyScheduler::EasyScheduler(const Cluster& cluster, const Workload& workload, BackfillOrder order)
    : cluster_(cluster),
      workload_(workload),
      order_(order),
      room_(cluster),
      running_(cluster.nodes.size()) {}

void EasyScheduler::submit(JobIndex job) { queue_.add(job, workload_.jobs[job].tasks); }

void EasyScheduler::end(TaskId task, NodeIndex node) {
  room_.give_back(workload_.jobs[task.job], node);
  const auto found = expected_end_.find(task);
  running_[node].erase({found->second, task});
  expected_end_.erase(found);
}

void EasyScheduler::start(TaskId task, NodeIndex node, TimeMs now, Actions& actions) {
  const Job& job = workload_.jobs[task.job];
  room_.take(job, node);
  running_[node].insert({now + job.estimate_ms, task});
  expected_end_[task] = now + job.estimate_ms;
  actions.start.push_back({task, node, 1});
}

/// O(running). A task beyond its estimate is expected to end at once.
EasyScheduler::Reservation EasyScheduler::reserve(const Job& head, TimeMs now) const {
  Reservation best{0, std::numeric_limits<TimeMs>::max(), {}};
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    if (head.rule && !head.rule->allows(cluster_.nodes[node].traits)) continue;
    ResourceVector free = room_.free(node);
    const auto& running = running_[node];
    for (auto next = running.begin(); next != running.end();) {
      const TimeMs at = std::max(next->end, now);
      if (at >= best.at) break;
      for (; next != running.end() && std::max(next->end, now) == at; ++next)
        free += workload_.jobs[next->task.job].demand;
      if (!head.demand.fits(free)) continue;
      best = {node, at, free - head.demand};
      break;
    }
  }
  FAIRWATER_CHECK(best.at != std::numeric_limits<TimeMs>::max(),
                  "every job fits an empty node of the cluster");
  return best;
}

std::optional<NodeIndex> EasyScheduler::backfill_node(const Job& job, const Reservation& head,
                                                      TimeMs now) const {
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    if (!room_.fits(job, node)) continue;
    if (node != head.node || now + job.estimate_ms <= head.at || job.demand.fits(head.spare))
      return node;
  }
  return std::nullopt;
}

std::vector<std::size_t> EasyScheduler::candidates() const {
  std::vector<std::size_t> places(queue_.size() - 1);
  std::iota(places.begin(), places.end(), std::size_t{1});
  if (order_ == BackfillOrder::shortest_estimate)
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return workload_.jobs[queue_.task(a).job].estimate_ms <
             workload_.jobs[queue_.task(b).job].estimate_ms;
    });
  return places;
}

void EasyScheduler::backfill(TimeMs now, Actions& actions) {
  Reservation head = reserve(workload_.jobs[queue_.task(0).job], now);
  std::vector<std::size_t> places = candidates();
  for (auto next = places.begin(); next != places.end();) {
    const TaskId task = queue_.task(*next);
    const Job& job = workload_.jobs[task.job];
    const auto node = backfill_node(job, head, now);
    if (!node) {
      ++next;
      continue;
    }
    if (*node == head.node && now + job.estimate_ms > head.at) head.spare -= job.demand;
    const std::size_t place = *next;
    start(task, *node, now, actions);
    if (!queue_.take(place)) continue;
    ++next;
    for (auto& behind : std::span(next, places.end()))
      if (behind > place) --behind;
  }
}

Actions EasyScheduler::cycle(TimeMs now) {
  Actions actions;
  while (!queue_.empty()) {
    const TaskId task = queue_.task(0);
    const auto node = room_.first_fit(workload_.jobs[task.job]);
    if (!node) break;
    queue_.take(0);
    start(task, *node, now, actions);
  }
  if (!queue_.empty()) backfill(now, actions);
  return actions;
}

// -- proportional --------------------------------------------------------------------------------

ProportionalScheduler::ProportionalScheduler(const Cluster& cluster, const Workload& workload)
    : cluster_(cluster),
      workload_(workload),
      room_(cluster),
      queues_(cluster.tenants.size()),
      ranked_(cluster.tenants.size()) {
  std::iota(ranked_.begin(), ranked_.end(), TenantIndex{0});
  std::stable_sort(ranked_.begin(), ranked_.end(), [&](TenantIndex a, TenantIndex b) {
    return cluster.tenants[a].terms.weight > cluster.tenants[b].terms.weight;
  });
}

void ProportionalScheduler::submit(JobIndex job) {
  queues_[workload_.jobs[job].tenant].add(job, workload_.jobs[job].tasks);
  for (NodeIndex node = 0; node < room_.size(); ++node) due_.insert(node);
}

void ProportionalScheduler::end(TaskId task, NodeIndex node) {
  room_.give_back(workload_.jobs[task.job], node);
  due_.insert(node);
}

std::optional<Units> ProportionalScheduler::start_next(TenantIndex tenant, NodeIndex node,
                                                       Units part, Actions& actions) {
  if (queues_[tenant].empty()) return std::nullopt;
  const TaskId task = queues_[tenant].task(0);
  const Job& job = workload_.jobs[task.job];
  const Units cost = cost_of(cluster_, job);
  if (cost > part || !room_.fits(job, node)) return std::nullopt;
  room_.take(job, node);
  queues_[tenant].take(0);
  actions.start.push_back({task, node, 1});
  return cost;
}

void ProportionalScheduler::deal(NodeIndex node, Actions& actions) {
  struct Part {
    TenantIndex tenant = 0;
    Units units = 0;
    Wide fraction = 0;
  };
  std::vector<Part> parts;
  Wide weights = 0;
  for (const TenantIndex tenant : ranked_) {
    if (queues_[tenant].empty()) continue;
    parts.push_back({tenant, 0, 0});
    weights += cluster_.tenants[tenant].terms.weight;
  }
  if (parts.empty()) return;
  const auto& settings = cluster_.settings;
  // A node's free units are those of its scarcest resource.
  Units free = std::numeric_limits<Units>::max();
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (settings.granules[r] > 0 && cluster_.nodes[node].capacity[r] > 0)
      free = std::min(free, room_.free(node)[r] * settings.units[r] / settings.granules[r]);
  Units left = free;
  for (auto& part : parts) {
    const Wide share = Wide{free} * cluster_.tenants[part.tenant].terms.weight;
    part.units = static_cast<Units>(share / weights);
    part.fraction = share % weights;
    left -= part.units;
  }
  auto by_fraction = parts;
  std::stable_sort(by_fraction.begin(), by_fraction.end(),
                   [](const Part& a, const Part& b) { return a.fraction > b.fraction; });
  for (auto& part : by_fraction) {
    if (left-- > 0) ++part.units;
    while (const auto cost = start_next(part.tenant, node, part.units, actions))
      part.units -= *cost;
  }
  for (const auto& part : parts)
    while (start_next(part.tenant, node, free, actions)) {
    }
}

Actions ProportionalScheduler::cycle(TimeMs /*now*/) {
  Actions actions;
  for (const NodeIndex node : due_) deal(node, actions);
  due_.clear();
  return actions;
}

}  // namespace fairwater::sim
