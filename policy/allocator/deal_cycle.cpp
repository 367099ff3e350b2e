#include "policy/allocator/deal_cycle.hpp"

#include <utility>

namespace fairwater {

void DealCycle::set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                         bool accepts) {
  allocator_.set_node(node, traits, capacity, accepts);
  if (accepts) {
    accepting_.insert(node);
  } else {
    accepting_.erase(node);
    due_.erase(node);
  }
}

void DealCycle::remove_node(NodeId node) {
  allocator_.remove_node(node);
  accepting_.erase(node);
  due_.erase(node);
}

void DealCycle::beat(NodeId node) {
  if (accepting_.contains(node)) due_.insert(node);
}

void DealCycle::take_window(DemandWindow window) {
  const bool somebody_waits = !window.next.empty();
  allocator_.set_window(std::move(window));
  if (somebody_waits) consider_all_nodes();
}

std::vector<Deal> DealCycle::run(std::size_t max_deals, std::size_t max_entries) {
  std::vector<Deal> deals;
  std::size_t entries = 0;
  if (std::exchange(all_are_due_, false)) due_ = accepting_;
  std::set<NodeId> left_work;
  const auto deal_due = [&](bool is_first_turn) {
    while (!due_.empty() && deals.size() < max_deals && entries < max_entries) {
      const NodeId node = *due_.begin();
      due_.erase(due_.begin());
      if (auto deal = allocator_.deal(node)) {
        entries += deal->entries();
        deals.push_back(std::move(*deal));
      }
      if (is_first_turn && allocator_.left_to_preferred()) left_work.insert(node);
    }
  };
  deal_due(true);
  // Those that left work to others have a second turn, for what these did not take.
  due_.merge(left_work);
  deal_due(false);
  return deals;
}

}  // namespace fairwater
