#include "sim/engine/queues.hpp"

namespace fairwater::sim {

Room::Room(const Cluster& cluster) : cluster_(&cluster) {
  for (const auto& node : cluster.nodes) free_.push_back(node.capacity);
}

std::optional<NodeIndex> Room::first_fit(const Job& job) const {
  for (NodeIndex node = 0; node < size(); ++node)
    if (fits(job, node)) return node;
  return std::nullopt;
}

}  // namespace fairwater::sim
