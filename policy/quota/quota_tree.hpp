// FuxiMaster's QuotaGroups as a tree of any depth over any number of resources: a group's children
// share its runtime quota by the same water-fill (policy/quota/water_fill.hpp) that gave it to the
// group.
//
// Unless given, a group's min is the sum of its children's, and its request the sum of what they
// can use, min(request, max). Sums stop at 2^62, which is more than any capacity. Exact, and the
// same to the unit as the whole form level by level.
//
// A member is a child that has no children: it is known by a key alone, has all its terms of a
// resource in one piece, and costs at the top no more than in a WaterLevel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/core/types.hpp"
#include "policy/quota/water_fill.hpp"

namespace fairwater::inline policy::inline quota {

class QuotaTree {
 public:
  /// Groups are numbered from 1 in the order in which they are added.
  using Group = std::uint32_t;
  /// Unique among siblings, groups and members, and their input order.
  using Key = WaterLevel::Key;
  /// What the top groups share; it has a capacity instead of terms.
  static constexpr Group kRoot = 0;

  explicit QuotaTree(std::size_t resources);

  /// Adds a group without request, min or max under `parent`. O(resources * log siblings).
  Group add(Group parent, Key key, Weight weight);
  /// With its number as key.
  Group add(Group parent, Weight weight);

  /// Each takes O(depth * log siblings).
  void set_capacity(std::size_t resource, Amount capacity);
  /// Of all resources, or of one.
  void set_weight(Group group, Weight weight);
  void set_weight(Group group, std::size_t resource, Weight weight);
  void set_max(Group group, std::size_t resource, Amount max);
  /// None: the sum of the children's.
  void set_min(Group group, std::size_t resource, std::optional<Amount> min);
  void set_request(Group group, std::size_t resource, std::optional<Amount> request);
  /// Adds the member or replaces what was known of it.
  void set_member(Group parent, Key key, std::size_t resource, const QuotaGroup& terms);
  void erase_member(Group parent, Key key, std::size_t resource);

  [[nodiscard]] Amount capacity(std::size_t resource) const;
  [[nodiscard]] Amount request(Group group, std::size_t resource) const;
  [[nodiscard]] Amount min(Group group, std::size_t resource) const;
  [[nodiscard]] const QuotaGroup& member(Group parent, Key key, std::size_t resource) const {
    return nodes_[parent].children[resource].group(key);
  }
  // Reading brings the levels on the way down up to date, so even constant functions are not for
  // several threads at once.
  /// How much the group may hold now. O(depth * log siblings).
  [[nodiscard]] Amount runtime(Group group, std::size_t resource) const;
  [[nodiscard]] Amount member_runtime(Group parent, Key key, std::size_t resource) const {
    return filled_level(parent, resource).runtime(key);
  }
  /// The height at which pouring among the group's children stopped.
  [[nodiscard]] std::optional<WaterMark> level(Group parent, std::size_t resource) const;

 private:
  struct Terms {
    Weight weight = 1;
    std::optional<Amount> own_request;
    std::optional<Amount> own_min;
    Amount max = kUnlimited;
    Wide children_request = 0;
    Wide children_min = 0;
    [[nodiscard]] Amount request() const;
    [[nodiscard]] Amount min() const;
  };
  struct Node {
    Group parent;
    Key key;
    std::vector<Terms> terms;                  ///< per resource
    mutable std::vector<WaterLevel> children;  ///< per resource; none before the first child
  };

  /// Replaces the terms and carries the change of request and min up to the root.
  void change(Group group, std::size_t resource, const Terms& terms);
  /// The level that the group's children share, filled with the group's own quota.
  const WaterLevel& filled_level(Group parent, std::size_t resource) const {
    return parent == kRoot ? nodes_[kRoot].children[resource] : fill_level(parent, resource);
  }
  const WaterLevel& fill_level(Group group, std::size_t resource) const;

  std::vector<Node> nodes_;
};

}  // namespace fairwater::inline policy::inline quota
