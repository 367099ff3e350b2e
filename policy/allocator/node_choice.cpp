#include "policy/allocator/node_choice.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "policy/allocator/state.hpp"
#include "policy/dominant/machine_fit.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// Changes that are kept for shapes that nobody asks for meanwhile.
constexpr std::size_t kMostChanges = 1 << 16;
/// Nodes with room kept for others that one choice looks past.
constexpr std::size_t kMostLooks = 1024;
constexpr Amount kMillion = 1'000'000;

PlacedUser user_of(const ResourceVector& demand) {
  PlacedUser user{.demand = demand, .demand_sum = 0, .gdrs = 0, .type = 0, .first_resource = 0};
  while (user.first_resource + 1 < kMaxResources && demand[user.first_resource] == 0)
    ++user.first_resource;
  return user;
}

/// In millionths, of the resources that the task asks for, the one of which most is used with it.
double fullness(const ResourceVector& demand, const NodeRoom& node) {
  Amount fullest = 0;
  for (std::size_t r = 0; r < kMaxResources; ++r)
    if (demand[r] > 0)
      fullest = std::max(fullest, static_cast<Amount>(Wide{node.used[r] + demand[r]} * kMillion /
                                                      node.capacity[r]));
  return static_cast<double>(fullest);
}

std::uint32_t site_rank(const PlacementRule* rule, const NodeTraits& traits) {
  if (rule == nullptr) return 0;
  const auto found = std::find(rule->sites.begin(), rule->sites.end(), traits.site);
  return static_cast<std::uint32_t>(found - rule->sites.begin());
}

template <class Visitor>
void visit_nodes_with_room(const AllocatorState& state, const PlacementRulePtr& rule,
                           const ResourceVector& demand, Visitor&& visit) {
  for (auto id = state.next_with_room(NodeId{}, rule, demand); id;
       id = state.next_with_room(NodeId{id->value + 1}, rule, demand))
    visit(*id);
}

template <class Entry>
auto after(const std::set<Entry>& order, const Entry& entry) {
  return order.upper_bound(entry);
}
template <class Entry>
auto after(const std::vector<Entry>& order, const Entry& entry) {
  return std::upper_bound(order.begin(), order.end(), entry);
}

/// The first in that order that may be chosen; of those that tie with it, the lowest id.
template <class Order, class Predicate>
std::optional<NodeId> first_in(const Order& order, Predicate&& may_be_chosen) {
  std::size_t looks = 0;
  auto best = order.begin();
  while (best != order.end() && !may_be_chosen(best->node))
    if (++looks == kMostLooks || ++best == order.end()) return std::nullopt;
  if (best == order.end()) return std::nullopt;
  NodeId chosen = best->node;
  const double most = best->score + kScoreTie * std::abs(best->score);
  double score = best->score;
  for (;;) {
    auto last = *best;
    last.score = score;
    last.node = NodeId{UINT32_MAX};
    const auto next = after(order, last);
    if (next == order.end() || next->rank != best->rank || next->score > most) return chosen;
    score = next->score;
    if (++looks > kMostLooks) return chosen;
    if (next->node < chosen && may_be_chosen(next->node)) chosen = next->node;
  }
}

}  // namespace

bool goes_by_rule(const WaitingRange& task) {
  return chooses_nodes(task.placement) && !task.is_gang && !task.demand.is_zero();
}

bool go_to_same_nodes(const WaitingRange& a, const WaitingRange& b) {
  return a.placement == b.placement && a.rule == b.rule && a.demand == b.demand &&
         longest_run_ms(a) == longest_run_ms(b);
}

// -- events
// ----------------------------------------------------------------------------------------

void NodeChoices::note_task(NodeId node, const ResourceVector& demand, bool is_held) {
  if (shapes_.empty()) return;
  log(node);
  if (!loads_ || demand.is_zero()) return;
  const Wide gdrs = loads_->scale.gdrs(demand);
  loads_->gdrs[node] += is_held ? gdrs : -gdrs;
}

void NodeChoices::note_node(NodeId node) {
  totals_are_stale_ = true;
  if (!shapes_.empty()) log(node);
}

void NodeChoices::forget_refusals() {
  asked_before_ = asked_;
  asked_shapes_ = 0;
  refused_.clear();
  is_stopped_ = false;
}

void NodeChoices::forget_shares() {
  for (auto& [key, shape] : shapes_)
    if (shape.placement == kByOffer) shape.is_stale = true;
}

void NodeChoices::log(NodeId node) {
  changed_.push_back(node);
  if (changed_.size() <= kMostChanges) return;
  forgotten_ += changed_.size();
  changed_.clear();
  const auto is_behind = [&](const Shape& shape) { return shape.seen < forgotten_; };
  drop_shapes(is_behind);
  if (shapes_.empty()) loads_.reset();
}

template <class Predicate>
void NodeChoices::drop_shapes(Predicate&& is_dropped) {
  std::erase_if(shapes_, [&](const auto& known) {
    const Shape& shape = known.second;
    if (!is_dropped(shape)) return false;
    kept_nodes_ -= shape.entries.size();
    if (was_asked(shape)) --asked_shapes_;
    return true;
  });
}

// -- the nodes of a shape
// --------------------------------------------------------------------------

NodeChoices::ShapeKey NodeChoices::key_of(const WaitingRange& task) {
  return {task.placement, task.rule.get(), task.demand.amount};
}

NodeChoices::Shape NodeChoices::shape_of(const WaitingRange& task) const {
  Shape shape;
  shape.placement = task.placement;
  shape.rule = task.rule;
  shape.user = user_of(task.demand);
  if (task.placement == Placement::gdrf) {
    shape.user.demand_sum = sum_over_resources(task.demand);
    shape.user.gdrs = loads_->scale.gdrs(task.demand);
    shape.user.type = resource_type(task.demand, loads_->totals);
  }
  return shape;
}

const NodeChoices::Shape* NodeChoices::kept_shape(const AllocatorState& state,
                                                  const WaitingRange& task) {
  auto found = shapes_.find(key_of(task));
  if (found == shapes_.end()) {
    if (!make_room()) return nullptr;
    found = shapes_.emplace(key_of(task), shape_of(task)).first;
  }
  Shape& shape = found->second;
  if (shape.is_stale)
    arrange(state, shape);
  else
    follow_changes(state, shape);
  if (!was_asked(shape)) ++asked_shapes_;
  shape.asked = ++asked_;
  return &shape;
}

bool NodeChoices::make_room() {
  while (shapes_.size() >= kMostShapes ||
         (shapes_.size() >= most_demands_ && kept_nodes_ >= most_kept_nodes_)) {
    if (asked_shapes_ == shapes_.size()) return false;
    const auto oldest = std::min_element(
        shapes_.begin(), shapes_.end(),
        [](const auto& a, const auto& b) { return a.second.asked < b.second.asked; });
    kept_nodes_ -= oldest->second.entries.size();
    shapes_.erase(oldest);
  }
  return true;
}

const std::vector<NodeChoices::Entry>& NodeChoices::look_at_all(const AllocatorState& state,
                                                                const WaitingRange& task) {
  ++looks_at_all_;
  scanned_.clear();
  const Shape shape = shape_of(task);
  visit_nodes_with_room(state, task.rule, task.demand, [&](NodeId id) {
    if (const auto entry = entry_of(state, shape, state.node(id))) scanned_.push_back(*entry);
  });
  std::sort(scanned_.begin(), scanned_.end());
  return scanned_;
}

void NodeChoices::arrange(const AllocatorState& state, Shape& shape) {
  ++looks_at_all_;
  kept_nodes_ -= shape.entries.size();
  shape.order.clear();
  shape.entries.clear();
  shape.is_stale = false;
  shape.seen = forgotten_ + changed_.size();
  visit_nodes_with_room(state, shape.rule, shape.user.demand,
                        [&](NodeId id) { put(state, shape, id); });
}

void NodeChoices::follow_changes(const AllocatorState& state, Shape& shape) {
  const std::uint64_t now = forgotten_ + changed_.size();
  for (; shape.seen < now; ++shape.seen) put(state, shape, changed_[shape.seen - forgotten_]);
}

void NodeChoices::put(const AllocatorState& state, Shape& shape, NodeId id) {
  if (const auto known = shape.entries.find(id); known != shape.entries.end()) {
    shape.order.erase(known->second);
    shape.entries.erase(known);
    --kept_nodes_;
  }
  const NodeRoom* const node = state.find_node(id);
  if (node == nullptr) return;
  if (const auto entry = entry_of(state, shape, *node)) {
    shape.order.insert(*entry);
    shape.entries.emplace(id, *entry);
    ++kept_nodes_;
  }
}

std::optional<NodeChoices::Entry> NodeChoices::entry_of(const AllocatorState& state,
                                                        const Shape& shape,
                                                        const NodeRoom& node) const {
  const PlacementRule* rule = shape.rule.get();
  if (!node.accepts || !shape.user.demand.fits(state.room_for_one(node))) return std::nullopt;
  if (rule != nullptr && !rule->allows(node.traits)) return std::nullopt;
  std::uint32_t rank = 2 * site_rank(rule, node.traits);
  if (shape.placement == Placement::gdrf &&
      resource_type(node.capacity, loads_->totals) != shape.user.type)
    ++rank;
  const std::optional<double> score = score_of(state, shape, node);
  if (!score) return std::nullopt;
  return Entry{rank, *score, node.id};
}

std::optional<double> NodeChoices::score_of(const AllocatorState& state, const Shape& shape,
                                            const NodeRoom& node) const {
  if (shape.placement == kByOffer) {
    const auto offer = state.shares_for(node, shape.user.demand, shape.rule.get(), {});
    if (!offer) return std::nullopt;
    return static_cast<double>(offer->cost);
  }
  switch (shape.placement) {
    case Placement::gdrf: {
      const auto gdrs = loads_->gdrs.find(node.id);
      const MachineLoad load{node.used, sum_over_resources(node.used),
                             gdrs == loads_->gdrs.end() ? Wide{0} : gdrs->second};
      return -log_f(with_task(load, shape.user), sum_over_resources(node.capacity),
                    static_cast<double>(loads_->scale.denominator()));
    }
    case Placement::best_fit:
      return fit_distance(shape.user, node.free());
    case Placement::spread:
      return fullness(shape.user.demand, node);
    case Placement::pack:
      return -fullness(shape.user.demand, node);
    case Placement::unset:
    case Placement::in_turn:
      break;
  }
  return 0;
}

bool NodeChoices::refresh_loads(const AllocatorState& state) {
  if (loads_ && !totals_are_stale_) return true;
  ResourceVector totals;
  for (const auto& [id, node] : state.nodes()) {
    if (node.accepts) totals += node.capacity;
    if (!totals.fits(ResourceVector::filled(kMaxClusterAmount))) return false;
  }
  totals_are_stale_ = false;
  if (loads_ && loads_->totals == totals) return true;
  drop_shapes([](const Shape& shape) { return shape.placement == Placement::gdrf; });
  loads_ = Loads{totals, GdrsScale(totals), {}};
  state.visit_held([&](NodeId node, const ResourceVector& demand) {
    if (!demand.is_zero()) loads_->gdrs[node] += loads_->scale.gdrs(demand);
  });
  return true;
}

// -- choices
// ---------------------------------------------------------------------------------------

std::optional<NodeId> NodeChoices::choose(const AllocatorState& state, const TenantState& tenant,
                                          const WaitingRange& task) {
  if (is_stopped_ || !goes_by_rule(task)) return std::nullopt;
  if (task.placement == Placement::gdrf && !refresh_loads(state)) return std::nullopt;
  // Nobody asked for it to be chosen well, and each shape is a look at all nodes.
  if (task.placement == kByOffer && asked_shapes_ >= most_demands_) {
    const auto known = shapes_.find(key_of(task));
    if (known == shapes_.end() || !was_asked(known->second)) return std::nullopt;
  }
  const auto refused = refused_.find(key_of(task));
  const std::span<const NodeId> in_vain =
      refused == refused_.end() ? std::span<const NodeId>{} : refused->second.nodes;
  if (in_vain.size() >= kMostRefusals) return std::nullopt;
  const auto may_be_chosen = [&](NodeId id) {
    return std::find(in_vain.begin(), in_vain.end(), id) == in_vain.end() &&
           state.may_use(state.node(id), tenant, task);
  };
  const Shape* const kept = kept_shape(state, task);
  return kept != nullptr ? first_in(kept->order, may_be_chosen)
                         : first_in(look_at_all(state, task), may_be_chosen);
}

void NodeChoices::refuse(NodeId node, const WaitingRange& task) {
  Refusals& refusals = refused_[key_of(task)];
  refusals.rule = task.rule;
  refusals.nodes.push_back(node);
}

}  // namespace fairwater::inline policy::inline allocator
