// H-DRF's order: by the rules of its paper on small trees, and against a naive look at everything.
#include "policy/dominant/share_tree.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "naive_share_tree.hpp"

namespace fairwater::test {
namespace {

ResourceVector held_of(Amount cpu, Amount memory = 0, Amount gpu = 0) {
  ResourceVector result;
  result[kCpu] = cpu;
  result[kMemory] = memory;
  result[2] = gpu;
  return result;
}

double in_doubles(FixedShare share) {
  return static_cast<double>(share) / static_cast<double>(kWholeShare);
}

ShareTree::Placeable placeable(const ResourceVector& demand) {
  return {.asks = ResourceSet::asked_by(demand)};
}

TEST_CASE("siblings that wait count as if each had what the least of them has",
          "[unit][share_tree]") {
  ShareTree tree(held_of(100, 0, 100));
  const auto group = tree.add_group(ShareTree::kRoot, alike(1), 1);
  const auto small = tree.add_leaf(group, alike(1), 2);
  const auto large = tree.add_leaf(group, alike(3), 3);
  const auto alone = tree.add_leaf(ShareTree::kRoot, alike(1), 4);
  tree.set_leaf(small, held_of(10), placeable(held_of(1)));
  tree.set_leaf(large, held_of(6, 0, 60), placeable(held_of(0, 0, 1)));
  tree.set_leaf(alone, held_of(29), placeable(held_of(1)));
  // 10 of one, and of the other 30 gpus and 3 cpus: three times as much by its weight.
  CHECK(in_doubles(tree.share(group)) == Approx(0.30));
  CHECK(tree.first() == alone);
  tree.set_leaf(alone, held_of(31), placeable(held_of(1)));
  CHECK(tree.first() == small);
  SECTION("one that waits for nothing counts with all that it holds") {
    tree.set_leaf(large, held_of(6, 0, 60), std::nullopt);
    CHECK(in_doubles(tree.share(group)) == Approx(0.16));
    tree.set_leaf(alone, held_of(31), placeable(held_of(1, 0, 1)));
    CHECK(in_doubles(tree.share(group)) == Approx(0.60));
    CHECK(tree.first() == alone);
  }
  SECTION("where all wait for nothing, nothing is next") {
    for (const auto leaf : {small, large, alone}) tree.set_leaf(leaf, held_of(5), std::nullopt);
    CHECK_FALSE(tree.first());
    tree.set_leaf(large, held_of(5), placeable(held_of(1)));
    CHECK(tree.first() == large);
    CHECK(in_doubles(tree.share(group)) == Approx(0.10));
  }
}

TEST_CASE("a leaf alone in groups counts as it would beside them", "[unit][share_tree]") {
  ShareTree tree(held_of(100, 0, 100));
  const auto outer = tree.add_group(ShareTree::kRoot, alike(3), 1);
  const auto inner = tree.add_group(outer, alike(7), 2);
  const auto leaf = tree.add_leaf(inner, alike(5), 3);
  tree.set_leaf(leaf, held_of(10, 0, 70), placeable(held_of(1)));
  CHECK(tree.share(outer) == tree.share(leaf));
  CHECK(in_doubles(tree.share(leaf)) == Approx(0.70));
}

TEST_CASE("what counts is the resource held most by its own weight", "[unit][share_tree]") {
  ShareTree tree(held_of(100, 0, 100));
  ResourceWeights more_gpus = alike(1);
  more_gpus[2] = 4;
  const auto group = tree.add_group(ShareTree::kRoot, alike(1), 1);
  const auto own = tree.add_leaf(group, more_gpus, 2);
  const auto sibling = tree.add_leaf(group, alike(1), 3);
  const auto alone = tree.add_leaf(ShareTree::kRoot, alike(1), 4);
  // 40 of 100 gpus by a weight of 4, and 12 of 100 processors by one of 1.
  tree.set_leaf(own, held_of(12, 0, 40), placeable(held_of(1)));
  tree.set_leaf(sibling, held_of(11), placeable(held_of(1)));
  tree.set_leaf(alone, held_of(36), placeable(held_of(1)));
  CHECK(in_doubles(tree.share(own)) == Approx(0.12));
  CHECK(tree.weight(own) == 1);
  // It counts with all it holds over 12 times the 11 of its sibling: 11 processors and 36.7 gpus.
  CHECK(in_doubles(tree.share(group)) == Approx(0.40 * 11 / 12));
  CHECK(tree.first() == alone);
  tree.set_leaf(alone, held_of(37), placeable(held_of(1)));
  CHECK(tree.first() == sibling);
  tree.set_leaf(sibling, held_of(13), placeable(held_of(1)));
  CHECK(tree.first() == alone);
  tree.set_leaf(own, held_of(0, 0, 40), placeable(held_of(1)));
  CHECK(tree.weight(own) == 4);
  CHECK(in_doubles(tree.share(own)) == Approx(0.40));
}

TEST_CASE("of two alike the lower rank is next, group or leaf", "[unit][share_tree]") {
  for (const std::uint64_t rank_of_group : {1U, 9U}) {
    ShareTree tree(held_of(9, 0, 0));
    const auto group = tree.add_group(ShareTree::kRoot, alike(1), rank_of_group);
    const auto one = tree.add_leaf(group, alike(1), 1);
    const auto other = tree.add_leaf(group, alike(1), 2);
    const auto alone = tree.add_leaf(ShareTree::kRoot, alike(3), 5);
    // Ninths are no fixed-point numbers: 1/9 + 1/9, and 6/9 by 3.
    tree.set_leaf(one, held_of(1), placeable(held_of(1)));
    tree.set_leaf(other, held_of(1), placeable(held_of(1)));
    tree.set_leaf(alone, held_of(6), placeable(held_of(1)));
    CHECK(tree.first() == (rank_of_group == 1 ? one : alone));
  }
}

TEST_CASE("who is below a min comes first, and its groups for it", "[unit][share_tree]") {
  ShareTree tree(held_of(100));
  const auto group = tree.add_group(ShareTree::kRoot, alike(1), 1);
  const auto poor = tree.add_leaf(group, alike(1), 2);
  const auto rich = tree.add_leaf(group, alike(1), 3);
  const auto alone = tree.add_leaf(ShareTree::kRoot, alike(1), 4);
  tree.set_leaf(poor, held_of(20), placeable(held_of(1)));
  tree.set_leaf(alone, held_of(10), placeable(held_of(1)));
  tree.set_leaf(rich, held_of(50), ShareTree::Placeable{ResourceSet::asked_by(held_of(1)), true});
  CHECK(tree.first() == rich);
  CHECK(tree.first_is_below_min());
  CHECK(in_doubles(tree.share(group)) == Approx(0.40));  // the least of all counts all the same
  tree.set_leaf(rich, held_of(50), placeable(held_of(1)));
  CHECK(tree.first() == alone);
  CHECK_FALSE(tree.first_is_below_min());
  tree.set_below_min(group, true);
  CHECK(tree.first() == poor);
  CHECK(tree.first_is_below_min());
  tree.set_below_min(group, false);
  CHECK(tree.first() == alone);
}

/// A tree and what a naive look makes of the same.
struct TwoTrees {
  explicit TwoTrees(std::uint64_t seed) : random(seed), capacity(draw_capacity()), tree(capacity) {
    naive.capacity = capacity;
    grow(0, 3);
  }
  std::int64_t draw(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
  }
  ResourceVector draw_capacity() { return held_of(draw(20, 1000), draw(20, 1000), draw(0, 8)); }
  void grow(std::size_t group, int depth) {
    for (auto count = draw(1, 4); count > 0; --count) {
      const bool is_group = depth > 0 && draw(0, 2) == 0;
      ResourceWeights weights = alike(draw(0, 4) == 0 ? draw(1, 1'000'000) : draw(1, 5));
      if (draw(0, 3) == 0)
        for (std::size_t r = 0; r < 3; ++r) weights[r] = draw(1, draw(0, 4) == 0 ? 1'000'000 : 5);
      const auto rank = naive.children.size();
      const auto parent = static_cast<ShareTree::Node>(group);
      const auto node =
          is_group ? tree.add_group(parent, weights, rank) : tree.add_leaf(parent, weights, rank);
      REQUIRE(node == rank);
      naive.children.push_back(
          {.parent = group, .weights = weights, .rank = rank, .is_group = is_group});
      if (is_group) grow(rank, depth - 1);
    }
  }
  void change() {
    const auto node =
        static_cast<ShareTree::Node>(draw(1, static_cast<std::int64_t>(naive.children.size() - 1)));
    auto& child = naive.children[node];
    child.is_below_min = draw(0, 9) == 0;
    if (child.is_group) {
      tree.set_below_min(node, child.is_below_min);
      return;
    }
    for (std::size_t r = 0; r < 3; ++r)
      child.held[r] = draw(0, 2) == 0 ? draw(0, capacity[r] / 3) : child.held[r];
    child.next.reset();
    if (draw(0, 2) > 0) child.next = held_of(draw(0, 1), draw(0, 1), draw(0, 1));
    set(tree, node);
  }
  void set(ShareTree& changed, ShareTree::Node node) const {
    const auto& child = naive.children[node];
    std::optional<ShareTree::Placeable> next;
    if (child.next) next = {ResourceSet::asked_by(*child.next), child.is_below_min};
    changed.set_leaf(node, child.held, next);
  }
  /// The same in one go, the last first.
  [[nodiscard]] ShareTree anew() const {
    ShareTree other(capacity);
    for (std::size_t i = 1; i < naive.children.size(); ++i) {
      const auto& child = naive.children[i];
      const auto parent = static_cast<ShareTree::Node>(child.parent);
      if (child.is_group)
        other.add_group(parent, child.weights, child.rank);
      else
        other.add_leaf(parent, child.weights, child.rank);
    }
    for (auto i = static_cast<ShareTree::Node>(naive.children.size() - 1); i > 0; --i) {
      if (naive.children[i].is_group)
        other.set_below_min(i, naive.children[i].is_below_min);
      else
        set(other, i);
    }
    return other;
  }

  std::mt19937_64 random;
  ResourceVector capacity;
  ShareTree tree;
  NaiveShareTree naive;
};

TEST_CASE("what is next in a tree is what a look at everything finds", "[property][share_tree]") {
  std::uint64_t in_groups = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    TwoTrees trees(seed);
    for (int step = 0; step < 60; ++step) {
      INFO("seed " << seed << ", step " << step);
      trees.change();
      const auto expected = trees.naive.first();
      const auto first = trees.tree.first();
      REQUIRE(first.has_value() == expected.has_value());
      if (!first) continue;
      REQUIRE(*first == *expected);
      if (trees.tree.parent(*first) != ShareTree::kRoot) ++in_groups;
      for (auto node = *first; node != ShareTree::kRoot; node = trees.tree.parent(node)) {
        // Of two resources alike by weight the other may be found, but not another share by weight.
        REQUIRE(in_doubles(trees.tree.share(node)) / static_cast<double>(trees.tree.weight(node)) ==
                Approx(static_cast<double>(trees.naive.count(node).by_weight)));
        REQUIRE(trees.tree.first_sibling(node) == node);
        REQUIRE(trees.tree.siblings_before(node) == 0);
      }
    }
  }
  CHECK(in_groups > 3000);
}

TEST_CASE("shares follow from what is held and waits, to the bit", "[property][share_tree]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    TwoTrees trees(seed);
    for (int step = 0; step < 100; ++step) trees.change();
    const ShareTree anew = trees.anew();
    REQUIRE(anew.first() == trees.tree.first());
    for (ShareTree::Node node = 1; node < trees.naive.children.size(); ++node) {
      REQUIRE(anew.is_open(node) == trees.tree.is_open(node));
      if (!anew.is_open(node)) continue;
      REQUIRE(anew.share(node) == trees.tree.share(node));
      REQUIRE(anew.siblings_before(node) == trees.tree.siblings_before(node));
    }
  }
}

TEST_CASE("fixed-point shares are exact to the last place", "[property][share_tree]") {
  std::mt19937_64 random{11};
  int looked_at = 0, equal = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto draw = [&] {
      return static_cast<Amount>(1 + random() % (std::uint64_t{1} << (1 + random() % 40)));
    };
    const Amount part = draw(), whole = draw();
    const FixedShare share = fixed_share(part, whole);
    if (part / whole >= 64) {
      REQUIRE(share == kMostShare);
      continue;
    }
    // part << 80 is at least share * whole, and by less than whole.
    const FixedShare rest = (FixedShare(part) << kShareBits) - share * FixedShare(whole);
    REQUIRE(rest < FixedShare(whole));
    const Amount factor = draw();
    const FixedShare exact = share * FixedShare(factor);
    REQUIRE(scaled(share, FixedShare(factor) << kShareBits) == std::min(exact, kMostShare));
    // Twice as much by twice the weight is as much, but where that is between two numbers.
    const Weight weight = 1 + static_cast<Weight>(random() % 1'000'000);
    const FixedShare one = by_weight(fixed_share(part, 3 * whole), weight);
    const FixedShare other = by_weight(fixed_share(3 * part, 9 * whole), weight);
    const FixedShare thrice = by_weight(fixed_share(3 * part, 3 * whole), 3 * weight);
    REQUIRE(one == other);
    REQUIRE(std::max(one, thrice) - std::min(one, thrice) <= 1);
    equal += one == thrice ? 1 : 0;
    ++looked_at;
  }
  CHECK(equal >= looked_at - 2);
  CHECK(fixed_share(1, 0) == kMostShare);
  CHECK(fixed_share(0, 0) == 0);
  CHECK(scaled(kMostShare, ~FixedShare{0}) == kMostShare);
  CHECK(scaled(kWholeShare / 3, kWholeShare) == kWholeShare / 3);
}

}  // namespace
}  // namespace fairwater::test
