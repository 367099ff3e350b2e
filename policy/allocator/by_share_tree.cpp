#include "policy/allocator/by_share_tree.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/allocator/share_places.hpp"
#include "policy/allocator/state.hpp"
#include "policy/allocator/tenant_shares.hpp"

namespace fairwater::inline policy::inline allocator {
namespace {

/// What decides where a task has room: under dominant shares nothing is kept for anybody.
using ShapeKey = std::tuple<std::array<Amount, kMaxResources>, const PlacementRule*, std::int64_t,
                            NodeId, Placement>;

ShapeKey key_of(const WaitingRange& task) {
  return {task.demand.amount, task.rule.get(), longest_run_ms(task), task.home, task.placement};
}

/// Tasks that have room where the others do; or one gang.
struct Shape {
  const TenantState* tenant = nullptr;  ///< one that has such a task
  WindowRange entry;                    ///< which it is
  std::vector<GangShare> mind;          ///< where there is room; none: there is none any more
  std::vector<std::uint32_t> slots;     ///< of tenants of which one is next, or was
};

/// A tenant that waits.
struct Waiting {
  TenantState* tenant = nullptr;
  std::uint32_t cursor = 0;
  std::optional<std::size_t> shape;  ///< of what is at the cursor; none: nothing can be placed
  [[nodiscard]] const WindowRange& next() const { return tenant->window[cursor]; }
};

/// A group with a max of its own.
struct Limited {
  std::vector<std::uint32_t> slots;  ///< of tenants that wait in it
  ResourceVector most_asked;         ///< by any of them at once, or more
};

class TreeFilling {
 public:
  explicit TreeFilling(AllocatorState& state)
      : state_(state), places_(state), shares_(tenant_shares(state)), waiting_(state.slots()) {
    note_limits();
    for (const RankKey& key : state_.waiting()) {
      Waiting& waiting = waiting_[key.slot];
      waiting.tenant = &state_.at(key.slot);
      if (state_.next_with_room(NodeId{}, nullptr, waiting.tenant->least_demand)) look(key.slot);
    }
  }

  SharedDeals run(std::size_t max_deals, std::size_t max_entries) {
    std::size_t entries = 0;
    while (!has_run_out_ && places_.deals() < max_deals && entries < max_entries) {
      const auto first = shares_.tree.first();
      if (!first) break;
      entries += take_turn(slot_of_.at(*first));
    }
    return {places_.take_deals(), shares_.tree.first().has_value() || has_run_out_};
  }

 private:
  static bool has_max(const GroupTerms& terms) {
    return std::any_of(terms.max.amount.begin(), terms.max.amount.end(),
                       [](Amount max) { return max < kUnlimited; });
  }

  void note_limits() {
    for (const RankKey& key : state_.waiting()) {
      slot_of_[shares_.of_tenant[key.slot]] = key.slot;
      for (auto group = state_.at(key.slot).group; group != QuotaTree::kRoot;) {
        const auto bounds = state_.quotas().group(group);
        if (has_max(bounds.terms)) limited_[group].slots.push_back(key.slot);
        group = bounds.parent;
      }
    }
  }

  /// Finds the first from the cursor on that can be placed.
  void look(std::uint32_t slot) {
    Waiting& waiting = waiting_[slot];
    waiting.shape.reset();
    while (skip_taken(*waiting.tenant, waiting.cursor)) {
      if (state_.is_within_max(*waiting.tenant, waiting.next())) {
        const std::size_t shape = shape_of(*waiting.tenant, waiting.next());
        if (!shapes_[shape].mind.empty()) return stand_at(slot, shape);
      }
      ++waiting.cursor;
    }
    close(slot);
  }

  void stand_at(std::uint32_t slot, std::size_t shape) {
    Waiting& waiting = waiting_[slot];
    waiting.shape = shape;
    shapes_[shape].slots.push_back(slot);
    for (auto group = waiting.tenant->group; group != QuotaTree::kRoot;
         group = state_.quotas().group(group).parent)
      if (const auto limited = limited_.find(group); limited != limited_.end())
        note_asked(limited->second, waiting.next());
    shares_.set(*waiting.tenant, &waiting.next());
  }

  /// Nothing of the tenant's is looked at any more in this cycle.
  void close(std::uint32_t slot) {
    waiting_[slot].shape.reset();
    shares_.set(*waiting_[slot].tenant, nullptr);
  }

  static void note_asked(Limited& limited, const WindowRange& next) {
    for (const std::size_t r : next.asks)
      limited.most_asked[r] = std::max(limited.most_asked[r], next.asked_at_once(r));
  }

  /// Looked for where none is known yet.
  std::size_t shape_of(const TenantState& tenant, const WindowRange& entry) {
    if (!entry.is_gang()) {
      const auto [known, is_new] = shape_at_.try_emplace(key_of(entry.range), shapes_.size());
      if (!is_new) return known->second;
    }
    shapes_.push_back({&tenant, entry, {}, {}});
    find_room(shapes_.size() - 1);
    return shapes_.size() - 1;
  }

  void find_room(std::size_t index) {
    Shape& shape = shapes_[index];
    auto place = places_.find_room(*shape.tenant, shape.entry);
    shape.mind = place ? std::move(place->shares) : std::vector<GangShare>{};
    for (const GangShare& share : shape.mind) minds_at_[share.node].push_back(index);
  }

  /// How many tasks started.
  std::size_t take_turn(std::uint32_t slot) {
    Waiting& waiting = waiting_[slot];
    TenantState& tenant = *waiting.tenant;
    const auto place = places_.find(tenant, waiting.next());
    if (!place) {  // it was the last of many nodes that were looked at, and is not now
      ++waiting.cursor;
      look(slot);
      return 0;
    }
    const GrantStep step =
        shares_.tree.first_is_below_min() ? GrantStep::guarantee : GrantStep::allowance;
    const std::size_t placed = places_.start(tenant, waiting.cursor, *place, step);
    has_run_out_ = tenant.has_run_out();
    shares_.follow_mins(state_, tenant);
    if (waiting.next().is_gang()) waiting.shape.reset();
    for (const GangShare& share : place->shares) look_again_at(share.node);
    for (auto group = tenant.group; group != QuotaTree::kRoot;
         group = state_.quotas().group(group).parent)
      look_again_below(group);
    // It holds more, and may be at its own max; of its range nothing may be left.
    if (waiting.shape && waiting.next().range.count > 0 &&
        state_.is_within_max(tenant, waiting.next()))
      shares_.set(tenant, &waiting.next());
    else
      look(slot);
    return placed;
  }

  /// Something was placed there.
  void look_again_at(NodeId id) {
    const auto known = minds_at_.find(id);
    if (known == minds_at_.end()) return;
    const NodeRoom& node = state_.node(id);
    std::vector<std::size_t> lost;
    std::erase_if(known->second, [&](std::size_t index) {
      const bool has_room = has_room_still(node, shapes_[index]);
      if (!has_room) lost.push_back(index);
      return !has_room;
    });
    for (const std::size_t index : lost) {
      if (is_past_gang(index)) continue;
      find_room(index);
      if (!shapes_[index].mind.empty()) continue;
      for (const std::uint32_t slot : std::exchange(shapes_[index].slots, {}))
        if (waiting_[slot].shape == index) look(slot);
    }
  }

  /// It has started, or its tenant looks past it.
  [[nodiscard]] bool is_past_gang(std::size_t index) const {
    const Shape& shape = shapes_[index];
    return shape.entry.is_gang() && waiting_[shape.tenant->rank.slot].shape != index;
  }

  /// For what had room there. A gang's devices are chosen together.
  [[nodiscard]] bool has_room_still(const NodeRoom& node, const Shape& shape) const {
    const WaitingRange& task = shape.entry.range;
    const auto share = std::find_if(shape.mind.begin(), shape.mind.end(),
                                    [&](const GangShare& at) { return at.node == node.id; });
    if (share == shape.mind.end() || !(task.demand * Amount{share->tasks}).fits(node.free()))
      return false;
    if (!shape.entry.is_gang()) return state_.has_devices_for(node, task);
    return !names_devices(task) && !state_.takes_shares(task.demand);
  }

  /// Some tenant in the group holds more.
  void look_again_below(QuotaTree::Group group) {
    const auto found = limited_.find(group);
    if (found == limited_.end()) return;
    Limited& limited = found->second;
    const auto bounds = state_.quotas().group(group);
    if ((bounds.used + limited.most_asked).fits(bounds.terms.max)) return;
    limited.most_asked = {};
    for (const std::uint32_t slot : limited.slots) {
      const Waiting& waiting = waiting_[slot];
      if (!waiting.shape) continue;
      if (state_.is_within_max(*waiting.tenant, waiting.next()))
        note_asked(limited, waiting.next());
      else
        look(slot);
    }
  }

  AllocatorState& state_;
  bool has_run_out_ = false;  ///< a window: see run_out.hpp
  SharePlaces places_;
  TenantShares shares_;
  std::vector<Waiting> waiting_;  ///< by slot
  std::map<ShareTree::Node, std::uint32_t> slot_of_;
  std::vector<Shape> shapes_;
  std::map<ShapeKey, std::size_t> shape_at_;
  std::map<NodeId, std::vector<std::size_t>> minds_at_;  ///< shapes that have room there
  std::map<QuotaTree::Group, Limited> limited_;
};

}  // namespace

SharedDeals deal_by_share_in_tree(AllocatorState& state, std::size_t max_deals,
                                  std::size_t max_entries) {
  return TreeFilling{state}.run(max_deals, max_entries);
}

}  // namespace fairwater::inline policy::inline allocator
