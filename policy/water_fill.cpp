#include "policy/water_fill.hpp"

#include <algorithm>
#include <numeric>

#include "policy/check.hpp"
#include "policy/exact_share.hpp"

namespace fairwater {
namespace {

/// A group that still asks after its base.
struct Asking {
  Amount need;
  Weight weight;
  std::uint32_t index;
  /// Exact order of (need / weight, input order).
  friend bool operator<(const Asking& a, const Asking& b) {
    const Wide x = Wide{a.need} * b.weight;
    const Wide y = Wide{b.need} * a.weight;
    return x != y ? x < y : a.index < b.index;
  }
};

/// True when pouring `rest` over weights `weight` reaches need / group weight or more.
bool reaches(const Asking& group, Wide rest, Wide weight) {
  Wide poured = 0;
  const bool overflow = __builtin_mul_overflow(Wide{group.need}, weight, &poured);
  return !overflow && poured <= rest * group.weight;
}

}  // namespace

WaterFillResult water_fill(Amount capacity, std::span<const QuotaGroup> groups) {
  FAIRWATER_CHECK(capacity >= 0, "a capacity is not negative");
  WaterFillResult result;
  result.runtime.resize(groups.size());
  std::vector<Asking> asking;
  Wide bases = 0;
  Wide weight = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const QuotaGroup& group = groups[i];
    const Amount wanted = std::min(group.request, group.max);
    const Amount base = std::min(wanted, group.min);
    result.runtime[i] = base;
    bases += base;
    if (group.weight > 0 && wanted > base) {
      asking.push_back({wanted - base, group.weight, static_cast<std::uint32_t>(i)});
      weight += group.weight;
    }
  }
  if (bases > capacity) {
    const ProportionalShare share(capacity, bases);
    Wide before = 0;
    for (Amount& runtime : result.runtime) {
      const Amount base = runtime;
      runtime = share.between(before, base);
      before += base;
    }
    result.level = WaterMark{0, std::max<Wide>(weight, 1)};
    return result;
  }
  Wide rest = capacity - bases;
  std::sort(asking.begin(), asking.end());
  auto group = asking.begin();
  for (; group != asking.end() && reaches(*group, rest, weight); ++group) {
    result.runtime[group->index] += group->need;
    rest -= group->need;
    weight -= group->weight;
  }
  if (group == asking.end()) return result;
  result.level = WaterMark{rest, weight};
  const ProportionalShare share(static_cast<Amount>(rest), weight);
  Wide before = 0;
  for (; group != asking.end(); ++group) {
    result.runtime[group->index] += share.between(before, group->weight);
    before += group->weight;
  }
  return result;
}

}  // namespace fairwater
