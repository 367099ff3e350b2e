// What the task policies keep while they run: everybody's waiting tasks, and the room on nodes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "policy/allocator/waiting_tasks.hpp"
#include "sim/engine/scheduler.hpp"

namespace fairwater::sim {

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
  /// Takes that task out. True when its job has no further task and left the queue: the jobs
  /// behind it moved up. O(1) for the first job, else O(jobs).
  bool take(std::size_t place) {
    if (++jobs_[place].next < jobs_[place].tasks) return false;
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(place));
    return true;
  }

 private:
  struct Entry {
    JobIndex job = 0;
    std::uint32_t next = 0;
    std::uint32_t tasks = 1;
  };
  std::deque<Entry> jobs_;
};

/// The free room of every node, as a policy sees it.
class Room {
 public:
  explicit Room(const Cluster& cluster);

  [[nodiscard]] const ResourceVector& free(NodeIndex node) const { return free_[node]; }
  [[nodiscard]] NodeIndex size() const { return static_cast<NodeIndex>(free_.size()); }
  [[nodiscard]] bool fits(const Job& job, NodeIndex node) const {
    return job.demand.fits(free_[node]) &&
           (!job.rule || job.rule->allows(cluster_->nodes[node].traits));
  }
  /// The first node that has room for a task. O(nodes).
  [[nodiscard]] std::optional<NodeIndex> first_fit(const Job& job) const;
  void take(const Job& job, NodeIndex node) { free_[node] -= job.demand; }
  void give_back(const Job& job, NodeIndex node) { free_[node] += job.demand; }

 private:
  const Cluster* cluster_;
  std::vector<ResourceVector> free_;
};

}  // namespace fairwater::sim
