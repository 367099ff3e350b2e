#include "policy/allocator/closed_nodes.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Nodes in one message.
constexpr std::size_t kMostTold = 4;

}  // namespace

void ClosedNodes::add(const NodeRoom& node, const ObstacleNames& names) {
  ++count_;
  if (count_ > kMostTold + 1) return;
  if (count_ > 1) list_ += ", ";
  if (count_ == kMostTold + 1) {
    list_ += "..";
    return;
  }
  list_ += "node " + (node.traits.name.empty() ? std::to_string(node.id.value) : node.traits.name);
  const auto why = names.closed.find(node.id);
  if (why != names.closed.end()) list_ += " " + why->second;
}

std::string ClosedNodes::text(const std::string& one_is, const std::string& more_are) const {
  if (!any()) return {};
  return "; " + std::to_string(count_) +
         (count_ == 1 ? " allowed node that takes no tasks now " + one_is
                      : " allowed nodes that take no tasks now " + more_are) +
         ": " + list_;
}

}  // namespace fairwater::inline policy::inline allocator
