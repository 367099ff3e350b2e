// Room of tasks that have ended while their tenants have not yet said what waits now. Where tenants
// hear of ends later than the allocator does, the next attempt of a task that failed, the rest of
// its gang or a job that waited for it would else find that somebody has grown into its room, and
// wait until that has given back. Others' tasks within their quotas take it at once.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline allocator {

class UnheardEnds {
 public:
  void add(const TaskKey& task, TenantId tenant, NodeId node, const ResourceVector& demand) {
    if (ends_.emplace(task, End{tenant, node, demand}).second) on_nodes_[node] += demand;
  }
  /// Their tenants have heard of them. Others than were added are ignored.
  void hear(std::span<const TaskKey> tasks) {
    for (const TaskKey& task : tasks)
      if (const auto end = ends_.find(task); end != ends_.end()) (void)erase(end);
  }
  /// Of a tenant that is gone. O(ends).
  void forget(TenantId tenant) {
    for (auto end = ends_.begin(); end != ends_.end();)
      end = end->second.tenant == tenant ? erase(end) : std::next(end);
  }
  /// Of a node that is gone. O(ends).
  void forget(NodeId node) {
    for (auto end = ends_.begin(); end != ends_.end();)
      end = end->second.node == node ? erase(end) : std::next(end);
  }
  /// What they held there.
  [[nodiscard]] ResourceVector on(NodeId node) const {
    const auto found = on_nodes_.find(node);
    return found == on_nodes_.end() ? ResourceVector{} : found->second;
  }

 private:
  struct End {
    TenantId tenant;
    NodeId node;
    ResourceVector demand;
  };
  std::map<TaskKey, End>::iterator erase(std::map<TaskKey, End>::iterator end) {
    const auto node = on_nodes_.find(end->second.node);
    node->second -= end->second.demand;
    if (node->second.is_zero()) on_nodes_.erase(node);
    return ends_.erase(end);
  }

  std::map<TaskKey, End> ends_;
  std::map<NodeId, ResourceVector> on_nodes_;
};

/// What a window may name as heard (DemandWindow::heard), out of all that has ended: `is_to_come`
/// says of which tasks it does not show yet what follows, and these stay. O(ended).
template <class IsToCome>
[[nodiscard]] std::vector<TaskKey> take_heard(std::vector<TaskKey>& ended, IsToCome&& is_to_come) {
  const auto heard = std::partition(ended.begin(), ended.end(), is_to_come);
  std::vector<TaskKey> taken(heard, ended.end());
  ended.erase(heard, ended.end());
  return taken;
}

}  // namespace fairwater::inline policy::inline allocator
