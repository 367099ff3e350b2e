#include "sim/schedulers/conservative.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::sim::inline schedulers {
namespace {

constexpr TimeMs kForever = std::numeric_limits<TimeMs>::max();

}  // namespace

ConservativeScheduler::ConservativeScheduler(const Cluster& cluster, const Workload& workload)
    : cluster_(cluster), workload_(workload) {
  for (const auto& node : cluster.nodes) nodes_.push_back({RoomProfile(node.capacity), {}, 0});
}

void ConservativeScheduler::submit(JobIndex job) { arrived_.push_back(job); }

void ConservativeScheduler::end(TaskId task, NodeIndex index) {
  Node& node = nodes_[index];
  const auto found = expected_end_.find(task);
  node.profile.give_back(0, found->second, workload_.jobs[task.job].demand);
  node.freed_until = std::max(node.freed_until, found->second);
  node.running.erase({found->second, task});
  expected_end_.erase(found);
}

TimeMs ConservativeScheduler::duration_of(TaskId task) const {
  return std::max<TimeMs>(workload_.jobs[task.job].estimate_ms, 1);
}

bool ConservativeScheduler::may_run(const Job& job, NodeIndex node) const {
  return !job.rule || job.rule->allows(cluster_.nodes[node].traits);
}

// -- reservations --------------------------------------------------------------------------------

void ConservativeScheduler::take_room(const Reservation& reservation) {
  const TimeMs end = reservation.start + duration_of(reservation.task);
  const ResourceVector& demand = workload_.jobs[reservation.task.job].demand;
  for (const auto& [node, tasks] : reservation.nodes)
    nodes_[node].profile.take(reservation.start, end, demand * Amount{tasks});
}

void ConservativeScheduler::give_room_back(const Reservation& reservation) {
  const TimeMs end = reservation.start + duration_of(reservation.task);
  const ResourceVector& demand = workload_.jobs[reservation.task.job].demand;
  for (const auto& [node, tasks] : reservation.nodes)
    nodes_[node].profile.give_back(reservation.start, end, demand * Amount{tasks});
}

std::optional<GangPlace> ConservativeScheduler::earliest_of_gang(const Job& gang, TaskId task,
                                                                 TimeMs limit) const {
  std::vector<const RoomProfile*> profiles;
  profiles.reserve(nodes_.size());
  for (NodeIndex node = 0; node < nodes_.size(); ++node)
    profiles.push_back(may_run(gang, node) ? &nodes_[node].profile : nullptr);
  return earliest_gang_place(gang, duration_of(task), limit, profiles);
}

void ConservativeScheduler::reserve_earliest(TaskId task) {
  const Job& job = workload_.jobs[task.job];
  if (job.is_gang) {
    auto place = earliest_of_gang(job, task, kForever);
    FAIRWATER_CHECK(place.has_value(), "every gang fits an empty cluster");
    take_room(*reservations_.insert({place->start, task, std::move(place->nodes)}).first);
    return;
  }
  TimeMs best_start = kForever;
  NodeIndex best = 0;
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (!may_run(job, node)) continue;
    const auto start = nodes_[node].profile.earliest(job.demand, duration_of(task), best_start);
    if (!start) continue;
    best_start = *start;
    best = node;
  }
  FAIRWATER_CHECK(best_start != kForever, "every job fits an empty node of the cluster");
  take_room(*reservations_.insert({best_start, task, {{best, 1}}}).first);
}

// -- tasks that did not end when they should have
// --------------------------------------------------

void ConservativeScheduler::extend_overdue(NodeIndex index, TimeMs now) {
  Node& node = nodes_[index];
  while (!node.running.empty() && node.running.begin()->end <= now) {
    const TaskId task = node.running.extract(node.running.begin()).value().task;
    node.running.insert({now + 1, task});
    expected_end_[task] = now + 1;
    node.profile.take(now, now + 1, workload_.jobs[task.job].demand);
  }
}

/// Where a reservation cannot be kept, or was not begun in time.
std::vector<bool> ConservativeScheduler::broken_nodes(TimeMs now) const {
  std::vector<bool> broken(nodes_.size());
  for (NodeIndex node = 0; node < nodes_.size(); ++node)
    broken[node] = !nodes_[node].profile.is_sound_now();
  for (auto late = reservations_.begin(); late != reservations_.end() && late->start < now; ++late)
    for (const NodeTasks& there : late->nodes) broken[there.node] = true;
  return broken;
}

void ConservativeScheduler::mend(const std::vector<bool>& broken) {
  if (std::find(broken.begin(), broken.end(), true) == broken.end()) return;
  std::vector<Reservation> anew;
  std::copy_if(reservations_.begin(), reservations_.end(), std::back_inserter(anew),
               [&](const Reservation& reservation) {
                 return std::any_of(reservation.nodes.begin(), reservation.nodes.end(),
                                    [&](const NodeTasks& there) { return broken[there.node]; });
               });
  std::vector<bool> left = broken;  // nodes that they may have left
  for (const auto& reservation : anew) {
    for (const NodeTasks& there : reservation.nodes) left[there.node] = true;
    give_room_back(reservation);
    reservations_.erase(reservation);
  }
  for (const auto& reservation : anew) reserve_earliest(reservation.task);
  for (NodeIndex node = 0; node < nodes_.size(); ++node)
    if (left[node]) nodes_[node].freed_until = nodes_.size() == 1 ? 0 : kForever;
}

// -- tasks that ended early
// ------------------------------------------------------------------------

/// Where no node got room that it may use, its place is the same as before.
std::optional<GangPlace> ConservativeScheduler::earlier_place_of_gang(
    const Reservation& reservation) const {
  const Job& gang = workload_.jobs[reservation.task.job];
  TimeMs freed_until = 0;
  for (NodeIndex node = 0; node < nodes_.size(); ++node)
    if (may_run(gang, node)) freed_until = std::max(freed_until, nodes_[node].freed_until);
  if (freed_until == 0) return std::nullopt;
  return earliest_of_gang(gang, reservation.task, std::min(freed_until, reservation.start));
}

std::optional<GangPlace> ConservativeScheduler::earlier_place(
    const Reservation& reservation) const {
  const Job& job = workload_.jobs[reservation.task.job];
  if (job.is_gang) return earlier_place_of_gang(reservation);
  std::optional<GangPlace> best;
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].freed_until == 0 || !may_run(job, node)) continue;
    const TimeMs limit = std::min(nodes_[node].freed_until, best ? best->start : reservation.start);
    const auto start =
        nodes_[node].profile.earliest(job.demand, duration_of(reservation.task), limit);
    if (start) best = GangPlace{*start, {{node, 1}}};
  }
  return best;
}

bool ConservativeScheduler::move_up(const Reservation& before) {
  give_room_back(before);
  auto place = earlier_place(before);
  if (!place) {
    take_room(before);
    return false;
  }
  reservations_.erase(before);
  take_room(*reservations_.insert({place->start, before.task, std::move(place->nodes)}).first);
  return true;
}

bool ConservativeScheduler::compress_once() {
  const std::vector<Reservation> all{reservations_.begin(), reservations_.end()};
  std::vector<TimeMs> left_until(nodes_.size(), 0);  ///< room that those who moved have left
  bool moved = false;
  for (const auto& before : all) {
    if (!move_up(before)) continue;
    const TimeMs end = before.start + duration_of(before.task);
    for (const NodeTasks& there : before.nodes) {
      left_until[there.node] = std::max(left_until[there.node], end);
      nodes_[there.node].freed_until = std::max(nodes_[there.node].freed_until, end);
    }
    moved = true;
  }
  for (NodeIndex node = 0; node < nodes_.size(); ++node)
    nodes_[node].freed_until = left_until[node];
  return moved;
}

/// On one node a second pass finds nothing: who moves up leaves room behind those before it alone.
void ConservativeScheduler::compress() {
  const auto got_room = [](const Node& node) { return node.freed_until > 0; };
  if (std::none_of(nodes_.begin(), nodes_.end(), got_room)) return;
  while (compress_once() && nodes_.size() > 1) {
  }
  for (auto& node : nodes_) node.freed_until = 0;
}

// -- the cycle -----------------------------------------------------------------------------------

void ConservativeScheduler::start_due(TimeMs now, Actions& actions) {
  while (!reservations_.empty() && reservations_.begin()->start <= now) {
    const Reservation due = reservations_.extract(reservations_.begin()).value();
    const TimeMs end = now + duration_of(due.task);
    TaskId task = due.task;
    for (const auto& [node, tasks] : due.nodes)
      for (std::uint32_t i = 0; i < tasks; ++i, ++task.index) {
        nodes_[node].running.insert({end, task});
        expected_end_[task] = end;
        actions.start.push_back({task, node, 1});
      }
  }
}

Actions ConservativeScheduler::cycle(TimeMs now) {
  Actions actions;
  for (auto& node : nodes_) {
    node.profile.pass_to(now);
    if (node.freed_until <= now) node.freed_until = 0;
  }
  for (NodeIndex node = 0; node < nodes_.size(); ++node) extend_overdue(node, now);
  mend(broken_nodes(now));
  compress();
  for (const JobIndex job : std::exchange(arrived_, {}))
    for (std::uint32_t index = 0; index < workload_.jobs[job].tasks;
         index += starts_at_once(workload_.jobs[job]))
      reserve_earliest({job, index});
  start_due(now, actions);
  return actions;
}

}  // namespace fairwater::sim::inline schedulers
