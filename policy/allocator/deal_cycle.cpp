#include "policy/allocator/deal_cycle.hpp"

#include <algorithm>
#include <utility>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline allocator {

void DealCycle::set_node(NodeId node, const NodeTraits& traits, const ResourceVector& capacity,
                         bool accepts) {
  allocator_.set_node(node, traits, capacity, accepts);
  look_at_freed_rooms();
  growth_due_ = reclaim_due_ = true;
  if (accepts) {
    accepting_.insert(node);
  } else {
    accepting_.erase(node);
    due_.erase(node);
    in_turn_.erase(node);
  }
}

void DealCycle::close_node_from(NodeId node, std::optional<LedgerMs> at_ms) {
  allocator_.close_node_from(node, at_ms);
  growth_due_ = reclaim_due_ = true;
}

void DealCycle::remove_node(NodeId node) {
  allocator_.remove_node(node);
  look_at_freed_rooms();
  accepting_.erase(node);
  due_.erase(node);
  in_turn_.erase(node);
}

void DealCycle::beat(NodeId node) {
  if (!allocator_.takes_tasks(node)) return;
  if (allocator_.may_matter(node) || (gives_places() && is_thorough())) due_.insert(node);
  growth_due_ = growth_due_ || allocator_.may_grow_on(node);
}

void DealCycle::take_window(DemandWindow window) {
  const bool somebody_waits = !window.next.empty();
  allocator_.set_window(std::move(window));
  look_at_freed_rooms();
  growth_due_ = reclaim_due_ = true;  // others' quotas may have moved
  if (!somebody_waits) return;
  rooms_from_ = NodeId{};
  if (gives_places() && is_thorough()) all_from_ = NodeId{};
}

void DealCycle::withdraw(TenantId tenant, JobId job) {
  allocator_.withdraw(tenant, job);
  look_at_freed_rooms();
}

bool DealCycle::look_at_freed_rooms() {
  if (!allocator_.take_freed_made_rooms()) return false;
  rooms_from_ = NodeId{};
  return true;
}

void DealCycle::consider_all_nodes() {
  (gives_places() ? all_from_ : rooms_from_) = NodeId{};
  growth_due_ = reclaim_due_ = true;
}

std::optional<CreditSettlement> DealCycle::settle_credits(std::int64_t period_ms) {
  auto settlement = allocator_.settle_credits(period_ms);
  growth_due_ = reclaim_due_ = true;
  min_due_ = allocator_.may_reclaim_for_min();
  return settlement;
}

std::optional<TimeSettlement> DealCycle::settle_time() {
  auto settlement = allocator_.settle_time();
  if (!gives_places() || is_thorough()) return settlement;
  const std::size_t waiting = std::max<std::size_t>(1, allocator_.waiting_tenants());
  const std::size_t nodes = std::min(accepting_.size(), kLooksPerSettlement / waiting + 1);
  for (std::size_t i = 0; i < nodes; ++i) {
    auto next = accepting_.upper_bound(gave_places_);
    if (next == accepting_.end()) next = accepting_.begin();
    gave_places_ = *next;
    due_.insert(gave_places_);
    in_turn_.insert(gave_places_);
  }
  return settlement;
}

/// The first by id.
std::optional<NodeId> DealCycle::next_due() const {
  std::optional<NodeId> next;
  const auto consider = [&](NodeId node) { next = next ? std::min(*next, node) : node; };
  if (!due_.empty()) consider(*due_.begin());
  if (rooms_from_)
    if (const auto node = allocator_.next_that_matters(*rooms_from_)) consider(*node);
  if (all_from_)
    if (const auto node = accepting_.lower_bound(*all_from_); node != accepting_.end())
      consider(*node);
  return next;
}

bool DealCycle::deals_all_nodes() const {
  return all_from_ == NodeId{} || due_.size() == accepting_.size();
}

bool DealCycle::may_change_growth() const {
  return (growth_due_ && allocator_.may_grow()) || (reclaim_due_ && allocator_.may_reclaim()) ||
         min_due_;
}

void DealCycle::strike_due(NodeId node) {
  due_.erase(node);
  for (std::optional<NodeId>* from : {&rooms_from_, &all_from_})
    if (*from && **from <= node) *from = NodeId{node.value + 1};
}

std::vector<Deal> DealCycle::run_by_share(std::size_t max_deals, std::size_t max_entries) {
  due_.clear();
  in_turn_.clear();
  rooms_from_.reset();
  all_from_.reset();
  allocator_.begin_choices();
  SharedDeals shared = allocator_.deal_by_share(max_deals, max_entries);
  if (shared.is_cut) rooms_from_ = NodeId{};
  take_back();
  return std::move(shared.deals);
}

std::vector<Deal> DealCycle::run(std::size_t max_deals, std::size_t max_entries) {
  if (allocator_.awaits_window()) return {};
  if (allocator_.allocates_by_share()) return run_by_share(max_deals, max_entries);
  std::vector<Deal> deals;
  std::size_t entries = 0;
  std::size_t looks_in_vain = 0;
  bool stopped_choosing = false;
  std::set<NodeId> left_work;
  std::set<NodeId> left_to_chosen;
  if (is_thorough()) allocator_.forget_gang_plans();
  if (deals_all_nodes()) (void)allocator_.take_forgotten_gang_plans();
  allocator_.begin_choices();
  const auto deal_node = [&](NodeId node, bool gives_all_places) {
    auto deal = allocator_.deal(node, gives_all_places);
    // None is made anew in this cycle: this ends as well.
    if (look_at_freed_rooms()) looks_in_vain = 0;
    if (!deal) {
      if (bound_looks(++looks_in_vain, deals.size())) stopped_choosing = true;
      return;
    }
    entries += deal->entries();
    deals.push_back(std::move(*deal));
  };
  const auto may_go_on = [&] {
    return deals.size() < max_deals && entries < max_entries && !allocator_.awaits_window();
  };
  const auto deal_due = [&](bool is_first_turn) {
    looks_in_vain = 0;
    while (may_go_on()) {
      const auto node = next_due();
      if (!node) {
        rooms_from_.reset();
        all_from_.reset();
        break;
      }
      strike_due(*node);
      const bool gives_all_places = in_turn_.erase(*node) > 0 || is_thorough();
      deal_node(*node, gives_all_places);
      if (is_first_turn && allocator_.left_to_preferred()) left_work.insert(*node);
      for (const NodeId chosen : allocator_.chosen_next())
        if (accepting_.contains(chosen)) due_.insert(chosen);
      if (allocator_.left_to_chosen()) left_to_chosen.insert(*node);
      if (allocator_.gave_up_choosing() || std::exchange(stopped_choosing, false))
        due_.merge(std::exchange(left_to_chosen, {}));
      // What it left for more that is to come is dealt with the window that shows it.
      if (allocator_.awaits_window()) due_.insert(*node);
      if (!allocator_.placed_gang()) continue;
      // A gang is granted whole, whatever the bounds; then the node may have room for more.
      while (const auto next = allocator_.next_of_gang()) deal_node(*next, gives_all_places);
      due_.insert(*node);
    }
  };
  deal_due(true);
  // Those that left work to others have a second turn, for what these did not take.
  due_.merge(left_work);
  deal_due(false);
  // What grows leaves alone the room that is kept for gangs: there it is looked at first.
  while (may_change_growth() && is_thorough() && allocator_.take_forgotten_gang_plans()) {
    all_from_ = NodeId{};
    deal_due(false);
  }
  if (!next_due() && may_go_on()) grow(deals, max_deals - deals.size(), max_entries - entries);
  return deals;
}

bool DealCycle::bound_looks(std::size_t in_vain, std::size_t deals) {
  const std::size_t nodes = accepting_.size() + 1;
  const std::size_t bound = allocator_.looks_in_vain(nodes, deals);
  // Without choices nodes have two turns, and two more after each deal.
  FAIRWATER_CHECK(in_vain <= bound + 4 * nodes * (deals + 1), "a cycle ends");
  return in_vain > bound && allocator_.stop_choosing();
}

void DealCycle::take_back() {
  if (!std::exchange(reclaim_due_, false)) return;
  const std::vector<Reclaim> reclaims = allocator_.reclaim(std::exchange(min_due_, false));
  reclaims_.insert(reclaims_.end(), reclaims.begin(), reclaims.end());
}

void DealCycle::grow(std::vector<Deal>& deals, std::size_t max_deals, std::size_t max_entries) {
  take_back();
  if (!growth_due_ || !allocator_.may_grow()) return;
  std::vector<Deal> grown = allocator_.grow(max_deals, max_entries);
  std::size_t entries = 0;
  for (Deal& deal : grown) {
    entries += deal.entries();
    deals.push_back(std::move(deal));
  }
  growth_due_ = grown.size() >= max_deals || entries >= max_entries;
}

}  // namespace fairwater::inline policy::inline allocator
