// What the task policies keep while they run: everybody's waiting tasks, and the room on nodes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "policy/allocator/waiting_tasks.hpp"
#include "sim/engine/scheduler.hpp"

namespace fairwater::sim::inline engine {

/// Jobs with tasks that wait, in the order of arrival; of each the next tasks in order of index.
class ArrivalQueue {
 public:
  void add(JobIndex job, std::uint32_t tasks) { jobs_.push_back({job, 0, tasks}); }
  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  /// The next task of the `place`-th job that waits.
  [[nodiscard]] TaskId task(std::size_t place) const {
    return {jobs_[place].job, jobs_[place].next};
  }
  /// Takes its next task out. True when its job has no further task and left the queue: the jobs
  /// behind it moved up. O(1) for the first job, else O(jobs).
  bool take(std::size_t place) { return take(place, 1); }
  /// Takes its next tasks out and starts one on each of the nodes. True as above.
  bool start(std::size_t place, const std::vector<NodeIndex>& nodes, Actions& actions) {
    const TaskId first = task(place);
    const auto count = static_cast<std::uint32_t>(nodes.size());
    for (std::uint32_t i = 0; i < count; ++i)
      actions.start.push_back({{first.job, first.index + i}, nodes[i], 1});
    return take(place, count);
  }

 private:
  struct Entry {
    JobIndex job = 0;
    std::uint32_t next = 0;
    std::uint32_t tasks = 1;
  };
  bool take(std::size_t place, std::uint32_t tasks) {
    jobs_[place].next += tasks;
    if (jobs_[place].next < jobs_[place].tasks) return false;
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(place));
    return true;
  }
  std::deque<Entry> jobs_;
};

/// The free room of every node, as a policy sees it.
class Room {
 public:
  explicit Room(const Cluster& cluster);

  [[nodiscard]] const ResourceVector& free(NodeIndex node) const { return free_[node]; }
  [[nodiscard]] NodeIndex size() const { return static_cast<NodeIndex>(free_.size()); }
  [[nodiscard]] bool allows(const Job& job, NodeIndex node) const {
    return !job.rule || job.rule->allows(cluster_->nodes[node].traits);
  }
  [[nodiscard]] bool fits(const Job& job, NodeIndex node) const {
    return job.demand.fits(free_[node]) && allows(job, node);
  }
  /// So many of its tasks may start there.
  [[nodiscard]] std::uint32_t tasks_that_fit(const Job& job, NodeIndex node) const {
    return allows(job, node) ? sim::tasks_that_fit(job, free_[node]) : 0;
  }
  /// The first node that has room for a task. O(nodes).
  [[nodiscard]] std::optional<NodeIndex> first_fit(const Job& job) const;
  /// Where what starts at once of the job may start, the first nodes with room: a node for its next
  /// task, or one for each of a gang. Empty: there is no room. O(nodes + tasks).
  [[nodiscard]] std::vector<NodeIndex> first_fit_of_all(const Job& job) const;
  void take(const Job& job, NodeIndex node) { free_[node] -= job.demand; }
  void give_back(const Job& job, NodeIndex node) { free_[node] += job.demand; }

 private:
  const Cluster* cluster_;
  std::vector<ResourceVector> free_;
};

}  // namespace fairwater::sim::inline engine
