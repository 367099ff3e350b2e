// H-DRF as its paper tells it, looked up anew for each task: policy/dominant/share_tree.hpp is
// compared with it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::test {

struct NaiveShareTree {
  using Parts = std::array<long double, kMaxResources>;
  struct Child {
    std::size_t parent = 0;  ///< 0: at the top
    ResourceWeights weights = alike(1);
    std::uint64_t rank = 0;
    bool is_group = false;
    bool is_below_min = false;  ///< of its own; a leaf's counts while something is placeable
    ResourceVector held{};      ///< by a leaf
    /// What a leaf's next placeable task asks for; none: it has none.
    std::optional<ResourceVector> next{};
  };
  struct Counted {
    bool is_open = false;
    bool is_below_min = false;
    Parts held{};
    long double by_weight = 0;  ///< its largest part, each by the weight for it
  };
  ResourceVector capacity;
  std::vector<Child> children{Child{.is_group = true}};  ///< the top first

  /// None: nothing is placeable.
  [[nodiscard]] std::optional<std::size_t> first() const {
    std::size_t at = 0;
    while (children[at].is_group) {
      const auto next = first_in(at);
      if (!next) return std::nullopt;
      at = *next;
    }
    return at;
  }

  [[nodiscard]] Counted count(std::size_t child) const {
    return children[child].is_group ? count_group(child) : count_leaf(children[child]);
  }

 private:
  [[nodiscard]] bool is_asked_for(std::size_t resource) const {
    return std::any_of(children.begin(), children.end(), [&](const Child& child) {
      return child.next && (*child.next)[resource] > 0;
    });
  }
  [[nodiscard]] long double by_weight(std::size_t child) const { return count(child).by_weight; }
  [[nodiscard]] std::optional<std::size_t> first_in(std::size_t group) const {
    std::optional<std::size_t> best;
    for (std::size_t i = 1; i < children.size(); ++i)
      if (children[i].parent == group && count(i).is_open && (!best || comes_before(i, *best)))
        best = i;
    return best;
  }
  [[nodiscard]] bool comes_before(std::size_t a, std::size_t b) const {
    if (count(a).is_below_min != count(b).is_below_min) return count(a).is_below_min;
    const long double difference = by_weight(a) - by_weight(b);
    if (difference > 1e-14L || difference < -1e-14L) return difference < 0;
    return children[a].rank < children[b].rank;
  }
  [[nodiscard]] static Counted with_share(Counted counted, const ResourceWeights& weights) {
    for (std::size_t r = 0; r < kMaxResources; ++r)
      counted.by_weight =
          std::max(counted.by_weight, counted.held[r] / static_cast<long double>(weights[r]));
    return counted;
  }
  [[nodiscard]] Counted count_leaf(const Child& leaf) const {
    Counted counted{.is_open = leaf.next.has_value(), .is_below_min = leaf.is_below_min};
    for (std::size_t r = 0; r < kMaxResources; ++r)
      if (leaf.held[r] > 0)
        counted.held[r] =
            static_cast<long double>(leaf.held[r]) / static_cast<long double>(capacity[r]);
    return with_share(counted, leaf.weights);
  }
  [[nodiscard]] Counted count_group(std::size_t group) const {
    Counted counted;
    std::optional<long double> least;
    for (std::size_t i = 1; i < children.size(); ++i) {
      if (children[i].parent != group || !count(i).is_open) continue;
      counted.is_open = true;
      counted.is_below_min = counted.is_below_min || count(i).is_below_min;
      least = least ? std::min(*least, by_weight(i)) : by_weight(i);
    }
    counted.is_below_min = counted.is_below_min || children[group].is_below_min;
    for (std::size_t i = 1; i < children.size(); ++i) {
      if (children[i].parent != group) continue;
      const Counted child = count(i);
      for (std::size_t r = 0; r < kMaxResources; ++r) {
        if (child.is_open)
          counted.held[r] += child.by_weight > 0 ? child.held[r] * (*least / child.by_weight) : 0;
        else if (!counted.is_open || is_asked_for(r))
          counted.held[r] += child.held[r];
      }
    }
    return with_share(counted, children[group].weights);
  }
};

}  // namespace fairwater::test
