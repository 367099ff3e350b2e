#include "sim/engine/queues.hpp"

#include <algorithm>

namespace fairwater::sim::inline engine {

Room::Room(const Cluster& cluster) : cluster_(&cluster) {
  for (const auto& node : cluster.nodes) free_.push_back(node.capacity);
}

std::optional<NodeIndex> Room::first_fit(const Job& job) const {
  for (NodeIndex node = 0; node < size(); ++node)
    if (fits(job, node)) return node;
  return std::nullopt;
}

std::vector<NodeIndex> Room::first_fit_of_all(const Job& job) const {
  if (!job.is_gang) {
    const auto node = first_fit(job);
    return node ? std::vector{*node} : std::vector<NodeIndex>{};
  }
  std::vector<NodeIndex> nodes;
  for (NodeIndex node = 0; node < size() && nodes.size() < job.tasks; ++node) {
    const std::size_t left = job.tasks - nodes.size();
    nodes.insert(nodes.end(), std::min<std::size_t>(left, tasks_that_fit(job, node)), node);
  }
  if (nodes.size() < job.tasks) nodes.clear();
  return nodes;
}

}  // namespace fairwater::sim::inline engine
