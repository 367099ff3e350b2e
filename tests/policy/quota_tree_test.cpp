// The tree of quotas against the whole water-fill, level by level from the top.
#include "policy/quota/quota_tree.hpp"

#include <algorithm>
#include <vector>

#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;
using Group = QuotaTree::Group;

/// What was told to the tree of one group and one resource.
struct Told {
  Group parent = QuotaTree::kRoot;
  Weight weight = 1;
  std::optional<Amount> request;
  std::optional<Amount> min;
  Amount max = kUnlimited;
};

/// Computes every quota anew, children after their parent.
class FromTheTop {
 public:
  explicit FromTheTop(const std::vector<Told>& groups) : told_(groups), runtime_(groups.size()) {}

  std::vector<Amount> fill(Amount capacity) {
    fill_children(QuotaTree::kRoot, capacity);
    return runtime_;
  }

 private:
  static constexpr Wide kMaxSum = Wide{1} << 62;

  [[nodiscard]] Amount request(Group group) const {
    if (told_[group].request) return *told_[group].request;
    Wide sum = 0;
    for (Group child = 1; child < told_.size(); ++child)
      if (told_[child].parent == group) sum += std::min(request(child), told_[child].max);
    return static_cast<Amount>(std::min(sum, kMaxSum));
  }
  [[nodiscard]] Amount min(Group group) const {
    if (told_[group].min) return *told_[group].min;
    Wide sum = 0;
    for (Group child = 1; child < told_.size(); ++child)
      if (told_[child].parent == group) sum += min(child);
    return static_cast<Amount>(std::min(sum, kMaxSum));
  }
  void fill_children(Group parent, Amount capacity) {
    std::vector<Group> children;
    std::vector<QuotaGroup> groups;
    for (Group child = 1; child < told_.size(); ++child) {
      if (told_[child].parent != parent) continue;
      children.push_back(child);
      groups.push_back({told_[child].weight, min(child), told_[child].max, request(child)});
    }
    const WaterFillResult result = water_fill(capacity, groups);
    for (std::size_t i = 0; i < children.size(); ++i) {
      runtime_[children[i]] = result.runtime[i];
      fill_children(children[i], result.runtime[i]);
    }
  }

  const std::vector<Told>& told_;
  std::vector<Amount> runtime_;
};

Amount draw_amount(bool huge) {
  return huge && draw(0, 2) > 0 ? draw<Amount>((Amount{1} << 62) - 1000, Amount{1} << 62)
                                : draw<Amount>(0, 60);
}

TEST_CASE("A tree's quotas are the whole form's, level by level", "[property][water-fill]") {
  check_property("quota tree against water-fill from the top", 10'000, [] {
    const bool huge = draw(0, 3) == 0;
    QuotaTree tree(1);
    std::vector<Told> told(1);
    Amount capacity = 0;
    const int steps = draw(1, 30);
    for (int step = 0; step < steps; ++step) {
      const auto groups = static_cast<Group>(told.size());
      const int what = draw(0, 5);
      if (groups == 1 || (what == 0 && groups < 12)) {
        Told added;
        added.parent = draw<Group>(0, groups - 1);
        added.weight = draw_amount(huge);
        RC_ASSERT(tree.add(added.parent, added.weight) == groups);
        told.push_back(added);
      } else {
        const auto group = draw<Group>(1, groups - 1);
        const std::optional<Amount> amount =
            draw(0, 4) == 0 ? std::nullopt : std::optional(draw_amount(huge));
        if (what <= 2) {
          tree.set_request(group, 0, told[group].request = amount);
        } else if (what == 3) {
          tree.set_min(group, 0, told[group].min = amount);
        } else if (what == 4) {
          tree.set_max(group, 0, told[group].max = amount.value_or(kUnlimited));
        } else {
          tree.set_capacity(0, capacity = draw_amount(huge));
        }
      }
      const std::vector<Amount> expected = FromTheTop(told).fill(capacity);
      for (Group group = 1; group < told.size(); ++group)
        RC_ASSERT(tree.runtime(group, 0) == expected[group]);
    }
  });
}

TEST_CASE("A parent asks for what its children can use", "[unit][water-fill]") {
  QuotaTree tree(2);
  tree.set_capacity(0, 100);
  tree.set_capacity(1, 10);
  const Group a = tree.add(QuotaTree::kRoot, 1);
  const Group x = tree.add(a, 1);
  const Group y = tree.add(a, 3);
  tree.set_request(x, 0, 50);
  tree.set_max(x, 0, 20);
  tree.set_request(y, 0, 15);
  tree.set_min(y, 0, 5);
  CHECK(tree.request(a, 0) == 35);
  CHECK(tree.min(a, 0) == 5);
  CHECK(tree.runtime(a, 0) == 35);
  CHECK(tree.runtime(x, 0) == 20);
  CHECK(tree.runtime(a, 1) == 0);
  tree.set_request(a, 0, 13);
  CHECK(tree.runtime(a, 0) == 13);
  CHECK(tree.runtime(x, 0) == 2);
  CHECK(tree.runtime(y, 0) == 11);
}

}  // namespace
}  // namespace fairwater
