#include "sim/schedulers/batch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline schedulers {

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
    const Job& job = workload_.jobs[queue_.task(0).job];
    const std::vector<NodeIndex> nodes = room_.first_fit_of_all(job);
    if (nodes.empty()) break;
    for (const NodeIndex node : nodes) room_.take(job, node);
    queue_.start(0, nodes, actions);
  }
  return actions;
}

// -- easy ----------------------------------------------------------------------------------------

EasyScheduler::EasyScheduler(const Cluster& cluster, const Workload& workload, BackfillOrder order)
    : workload_(workload), order_(order), room_(cluster), running_(cluster.nodes.size()) {}

void EasyScheduler::submit(JobIndex job) { queue_.add(job, workload_.jobs[job].tasks); }

void EasyScheduler::end(TaskId task, NodeIndex node) {
  room_.give_back(workload_.jobs[task.job], node);
  const auto found = expected_end_.find(task);
  running_[node].erase({found->second, task});
  expected_end_.erase(found);
}

bool EasyScheduler::start(std::size_t place, const std::vector<NodeIndex>& nodes, TimeMs now,
                          Actions& actions) {
  TaskId task = queue_.task(place);
  const Job& job = workload_.jobs[task.job];
  for (const NodeIndex node : nodes) {
    room_.take(job, node);
    running_[node].insert({now + job.estimate_ms, task});
    expected_end_[task] = now + job.estimate_ms;
    ++task.index;
  }
  return queue_.start(place, nodes, actions);
}

/// O(running). A task beyond its estimate is expected to end at once.
EasyScheduler::Reservation EasyScheduler::reserve(const Job& head, TimeMs now) const {
  if (head.is_gang) return reserve_for_gang(head, now);
  Reservation best{std::numeric_limits<TimeMs>::max(), {}};
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    if (!room_.allows(head, node)) continue;
    ResourceVector free = room_.free(node);
    const auto& running = running_[node];
    for (auto next = running.begin(); next != running.end();) {
      const TimeMs at = std::max(next->end, now);
      if (at >= best.at) break;
      for (; next != running.end() && std::max(next->end, now) == at; ++next)
        free += workload_.jobs[next->task.job].demand;
      if (!head.demand.fits(free)) continue;
      best = {at, {{node, free - head.demand}}};
      break;
    }
  }
  FAIRWATER_CHECK(best.at != std::numeric_limits<TimeMs>::max(),
                  "every job fits an empty node of the cluster");
  return best;
}

/// Of all that runs on nodes that the job may use: by when it is expected to end, in order.
std::vector<EasyScheduler::Ending> EasyScheduler::endings_for(const Job& job, TimeMs now) const {
  std::vector<Ending> endings;
  for (NodeIndex node = 0; node < room_.size(); ++node)
    if (room_.allows(job, node))
      for (const Expected& running : running_[node])
        endings.push_back({std::max(running.end, now), node, running.task.job});
  std::stable_sort(endings.begin(), endings.end(),
                   [](const Ending& a, const Ending& b) { return a.at < b.at; });
  return endings;
}

/// O(running * log). Of the nodes those that have least room now come first: what is free now is
/// left to others.
EasyScheduler::Reservation EasyScheduler::reserve_for_gang(const Job& head, TimeMs now) const {
  std::vector<ResourceVector> free;
  std::vector<std::pair<std::uint32_t, NodeIndex>> by_room_now;
  std::uint64_t fitting = 0;
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    free.push_back(room_.free(node));
    by_room_now.emplace_back(room_.tasks_that_fit(head, node), node);
    fitting += by_room_now.back().first;
  }
  Reservation reservation{now, {}};
  for (const Ending& ending : endings_for(head, now)) {
    if (fitting >= head.tasks && ending.at > reservation.at) break;
    reservation.at = ending.at;
    fitting -= tasks_that_fit(head, free[ending.node]);
    free[ending.node] += workload_.jobs[ending.job].demand;
    fitting += tasks_that_fit(head, free[ending.node]);
  }
  FAIRWATER_CHECK(fitting >= head.tasks, "every job fits an empty cluster");
  std::sort(by_room_now.begin(), by_room_now.end());
  std::uint32_t left = head.tasks;
  for (const auto& [room_now, node] : by_room_now) {
    if (!room_.allows(head, node)) continue;
    const std::uint32_t tasks = std::min(left, tasks_that_fit(head, free[node]));
    if (tasks > 0) reservation.spare[node] = free[node] - head.demand * Amount{tasks};
    left -= tasks;
  }
  return reservation;
}

/// On nodes that the head leaves alone first, but what ends in time goes where it is to start.
std::vector<NodeIndex> EasyScheduler::backfill_nodes_of_gang(const Job& gang,
                                                             const Reservation& head,
                                                             TimeMs now) const {
  const bool ends_in_time = now + gang.estimate_ms <= head.at;
  std::vector<NodeIndex> nodes;
  const auto add = [&](NodeIndex node, std::uint32_t fitting) {
    const std::size_t left = gang.tasks - nodes.size();
    nodes.insert(nodes.end(), std::min<std::size_t>(left, fitting), node);
  };
  const auto add_reserved = [&] {
    for (const auto& [node, spare] : head.spare) {
      const std::uint32_t fitting = room_.tasks_that_fit(gang, node);
      add(node, ends_in_time ? fitting : std::min(fitting, tasks_that_fit(gang, spare)));
    }
  };
  if (ends_in_time) add_reserved();
  for (NodeIndex node = 0; node < room_.size() && nodes.size() < gang.tasks; ++node)
    if (!head.spare.contains(node)) add(node, room_.tasks_that_fit(gang, node));
  if (!ends_in_time) add_reserved();
  if (nodes.size() < gang.tasks) nodes.clear();
  return nodes;
}

std::vector<NodeIndex> EasyScheduler::backfill_nodes(const Job& job, const Reservation& head,
                                                     TimeMs now) const {
  if (job.is_gang) return backfill_nodes_of_gang(job, head, now);
  for (NodeIndex node = 0; node < room_.size(); ++node) {
    if (!room_.fits(job, node)) continue;
    const auto reserved = head.spare.find(node);
    if (reserved == head.spare.end() || now + job.estimate_ms <= head.at ||
        job.demand.fits(reserved->second))
      return {node};
  }
  return {};
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
    const std::size_t place = *next;
    const Job& job = workload_.jobs[queue_.task(place).job];
    const std::vector<NodeIndex> nodes = backfill_nodes(job, head, now);
    if (nodes.empty()) {
      ++next;
      continue;
    }
    if (now + job.estimate_ms > head.at)
      for (const NodeIndex node : nodes)
        if (const auto reserved = head.spare.find(node); reserved != head.spare.end())
          reserved->second -= job.demand;
    if (!start(place, nodes, now, actions)) continue;
    ++next;
    for (auto& behind : std::span(next, places.end()))
      if (behind > place) --behind;
  }
}

Actions EasyScheduler::cycle(TimeMs now) {
  Actions actions;
  while (!queue_.empty()) {
    const Job& head = workload_.jobs[queue_.task(0).job];
    const std::vector<NodeIndex> nodes = room_.first_fit_of_all(head);
    if (nodes.empty()) break;
    start(0, nodes, now, actions);
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
    while (start_next(part.tenant, node, std::numeric_limits<Units>::max(), actions)) {
    }
}

Actions ProportionalScheduler::cycle(TimeMs /*now*/) {
  Actions actions;
  for (const NodeIndex node : due_) deal(node, actions);
  due_.clear();
  return actions;
}

}  // namespace fairwater::sim::inline schedulers
