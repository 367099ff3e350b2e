// The water-fill, whole and under change, against rounds of pouring in arithmetic that cannot
// overflow.
#include "policy/quota/water_fill.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "policy/core/exact_share.hpp"
#include "tests/policy/property.hpp"

namespace fairwater {
namespace {

using test::check_property;
using test::draw;

/// Sign of a / b - c / d, by continued fractions: no product is ever formed.
int compare_fractions(Wide a, Wide b, Wide c, Wide d) {
  int sign = 1;
  for (;;) {
    if (a / b != c / d) return a / b < c / d ? -sign : sign;
    a %= b;
    c %= d;
    if (a == 0 || c == 0) return a == c ? 0 : (a == 0 ? -sign : sign);
    std::swap(a, b);
    std::swap(c, d);
    sign = -sign;
  }
}

/// floor(amount * part / whole), bit by bit.
Amount slow_share(Amount amount, Wide part, Wide whole) {
  Wide quotient = 0;
  Wide remainder = 0;
  for (int bit = 62; bit >= 0; --bit) {
    quotient *= 2;
    remainder *= 2;
    if ((amount >> bit & 1) != 0) remainder += part;
    quotient += remainder / whole;
    remainder %= whole;
  }
  return static_cast<Amount>(quotient);
}

struct Slow {
  std::vector<Amount> runtime;
  std::optional<WaterMark> level;
};

/// Pours in rounds: whoever has enough at a round's height leaves, until nobody does.
Slow pour_in_rounds(Amount capacity, const std::vector<QuotaGroup>& groups) {
  Slow slow;
  std::vector<Amount> need(groups.size());
  std::vector<std::size_t> asking;
  Wide bases = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Amount wanted = std::min(groups[i].request, groups[i].max);
    slow.runtime.push_back(std::min(wanted, groups[i].min));
    need[i] = wanted - slow.runtime[i];
    bases += slow.runtime[i];
    if (need[i] > 0 && groups[i].weight > 0) asking.push_back(i);
  }
  Wide weight = 0;
  for (const std::size_t i : asking) weight += groups[i].weight;
  if (bases > capacity) {
    Wide before = 0;
    for (Amount& runtime : slow.runtime) {
      const Amount base = runtime;
      runtime = slow_share(capacity, before + base, bases) - slow_share(capacity, before, bases);
      before += base;
    }
    slow.level = WaterMark{0, std::max<Wide>(weight, 1)};
    return slow;
  }
  Wide rest = capacity - bases;
  for (bool changed = true; changed && !asking.empty();) {
    const Wide poured = rest;
    const Wide over = weight;
    changed = std::erase_if(asking, [&](std::size_t i) {
                if (compare_fractions(need[i], groups[i].weight, poured, over) > 0) return false;
                slow.runtime[i] += need[i];
                rest -= need[i];
                weight -= groups[i].weight;
                return true;
              }) > 0;
  }
  if (asking.empty()) return slow;
  slow.level = WaterMark{rest, weight};
  std::stable_sort(asking.begin(), asking.end(), [&](std::size_t a, std::size_t b) {
    return compare_fractions(need[a], groups[a].weight, need[b], groups[b].weight) < 0;
  });
  Wide before = 0;
  for (const std::size_t i : asking) {
    const auto amount = static_cast<Amount>(rest);
    slow.runtime[i] +=
        slow_share(amount, before + groups[i].weight, weight) - slow_share(amount, before, weight);
    before += groups[i].weight;
  }
  return slow;
}

bool same_level(const std::optional<WaterMark>& a, const std::optional<WaterMark>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->poured == b->poured && a->weight == b->weight;
}

/// How large the numbers of one case are, and how often they are equal.
enum class Range { few, small, large, huge };

Amount draw_amount(Range range) {
  switch (range) {
    case Range::few:
      return draw<Amount>(0, 4);
    case Range::small:
      return draw<Amount>(0, 1000);
    case Range::large:
      return draw<Amount>(0, Amount{1} << 55);
    case Range::huge:
      break;
  }
  constexpr Amount kTop = Amount{1} << 62;
  switch (draw(0, 3)) {
    case 0:
      return draw<Amount>(0, 3);
    case 1:
      return draw<Amount>(kTop / 2, kTop);
    default:
      return kTop - draw<Amount>(0, 3);
  }
}

QuotaGroup draw_group(Range range) {
  QuotaGroup group;
  group.weight = draw_amount(range);
  group.request = draw_amount(range);
  if (draw(0, 2) == 0) group.min = draw_amount(range);
  if (draw(0, 2) == 0) group.max = draw_amount(range);
  return group;
}

/// Mostly a capacity at which some groups are satisfied and others are not.
Amount draw_capacity(Range range, const std::vector<QuotaGroup>& groups) {
  Wide wanted = 0;
  for (const QuotaGroup& group : groups) wanted += std::min(group.request, group.max);
  const Wide top = std::min(wanted, Wide{1} << 62);
  return draw(0, 3) == 0 ? draw_amount(range) : draw<Amount>(0, static_cast<Amount>(top));
}

TEST_CASE("The whole water-fill agrees with pouring in rounds", "[property][water-fill]") {
  WaterFiller filler;
  check_property("water-fill against rounds", 20'000, [&] {
    const auto range = static_cast<Range>(draw(0, 3));
    const int count = draw(0, 9) == 0 ? draw(60, 200) : draw(0, 12);
    std::vector<QuotaGroup> groups;
    for (int i = 0; i < count; ++i) groups.push_back(draw_group(range));
    const Amount capacity = draw_capacity(range, groups);
    const Slow slow = pour_in_rounds(capacity, groups);
    const WaterFillResult result = water_fill(capacity, groups);
    RC_ASSERT(result.runtime == slow.runtime);
    RC_ASSERT(same_level(result.level, slow.level));
    const WaterFillResult& again = filler.fill(capacity, groups);
    RC_ASSERT(again.runtime == slow.runtime);
    RC_ASSERT(same_level(again.level, slow.level));
  });
}

/// Enough groups for every number of buckets, evenly spread, crowded, or equal.
TEST_CASE("Thousands of groups agree with pouring in rounds", "[property][water-fill]") {
  check_property("large water-fill against rounds", 60, [] {
    const auto range = static_cast<Range>(draw(0, 3));
    const Amount crowd = draw_amount(range) / 3;
    const int crowded_percent = draw(0, 2) * 50;
    std::vector<QuotaGroup> groups;
    for (int i = draw(200, 6000); i > 0; --i) {
      QuotaGroup group = draw_group(range);
      if (draw(0, 99) < crowded_percent) {
        group.weight = 1 + draw<Weight>(0, 2);
        group.request = std::max<Amount>(crowd - draw<Amount>(0, 5), 0) * group.weight;
      }
      groups.push_back(group);
    }
    const Amount capacity = draw_capacity(range, groups);
    const WaterFillResult result = water_fill(capacity, groups);
    const Slow slow = pour_in_rounds(capacity, groups);
    RC_ASSERT(result.runtime == slow.runtime);
    RC_ASSERT(same_level(result.level, slow.level));
  });
}

TEST_CASE("Results add up to the capacity or to all that is wanted", "[property][water-fill]") {
  check_property("water-fill sums", 10'000, [] {
    const auto range = static_cast<Range>(draw(0, 3));
    std::vector<QuotaGroup> groups;
    Wide wanted = 0;
    for (int i = draw(0, 30); i > 0; --i) {
      groups.push_back(draw_group(range));
      groups.back().weight = std::max<Weight>(groups.back().weight, 1);
      wanted += std::min(groups.back().request, groups.back().max);
    }
    const Amount capacity = draw_capacity(range, groups);
    const std::vector<Amount> runtime = water_fill(capacity, groups).runtime;
    RC_ASSERT(std::accumulate(runtime.begin(), runtime.end(), Wide{0}) ==
              std::min<Wide>(capacity, wanted));
  });
}

TEST_CASE("The water level under change agrees with pouring in rounds", "[property][water-fill]") {
  check_property("water level against rounds", 10'000, [] {
    const auto range = static_cast<Range>(draw(0, 3));
    const bool sparse = draw(0, 3) == 0;
    WaterLevel level;
    std::map<WaterLevel::Key, QuotaGroup> model;
    Amount capacity = 0;
    const int steps = draw(1, 60);
    const auto keys = draw<WaterLevel::Key>(1, 40);
    for (int step = 0; step < steps; ++step) {
      const WaterLevel::Key key = draw<WaterLevel::Key>(0, keys) * (sparse ? 99'000'007U : 1U);
      const int what = draw(0, 9);
      if (what == 0) {
        std::vector<QuotaGroup> groups;
        for (const auto& [k, group] : model) groups.push_back(group);
        capacity = draw_capacity(range, groups);
        level.set_capacity(capacity);
      } else if (what <= 2 && model.erase(key) > 0) {
        level.erase(key);
      } else if (what <= 5 && model.count(key) > 0) {
        model[key].request = draw_amount(range);
        level.set_request(key, model[key].request);
      } else {
        model[key] = draw_group(range);
        level.set(key, model[key]);
      }
      if (draw(0, 2) > 0) continue;
      std::vector<QuotaGroup> groups;
      for (const auto& [k, group] : model) groups.push_back(group);
      const Slow slow = pour_in_rounds(capacity, groups);
      std::size_t i = 0;
      for (const auto& [k, group] : model) {
        RC_ASSERT(level.group(k) == group);
        RC_ASSERT(level.runtime(k) == slow.runtime[i++]);
      }
      RC_ASSERT(same_level(level.level(), slow.level));
    }
  });
}

/// Long runs over many groups: every split, merge and move of the level comes up.
TEST_CASE("A water level of thousands of groups stays the whole form's", "[property][water-fill]") {
  check_property("large water levels", 40, [] {
    const auto range = static_cast<Range>(draw(0, 3));
    const int drift = draw(0, 2);
    WaterLevel level;
    const auto count = draw<WaterLevel::Key>(100, 4000);
    std::vector<QuotaGroup> groups(count);
    for (WaterLevel::Key key = 0; key < count; ++key) {
      groups[key] = draw_group(range);
      level.set(key, groups[key]);
    }
    for (int round = 0; round < 12; ++round) {
      const Amount capacity = draw_capacity(range, groups);
      level.set_capacity(capacity);
      for (int i = draw(0, 3000); i > 0; --i) {
        const auto key = draw<WaterLevel::Key>(0, count - 1);
        Amount request = draw_amount(range);
        if (drift == 1) request = groups[key].request / 2 + request / 2;
        if (drift == 2) request = request / (round + 1);
        groups[key].request = request;
        level.set_request(key, request);
        if (i % 16 == 0) (void)level.runtime(key);
      }
      const WaterFillResult whole = water_fill(capacity, groups);
      for (WaterLevel::Key key = 0; key < count; ++key)
        RC_ASSERT(level.runtime(key) == whole.runtime[key]);
      RC_ASSERT(same_level(level.level(), whole.level));
    }
  });
}

TEST_CASE("Proportional shares are exact where their product is not", "[property][water-fill]") {
  check_property("proportional share against bits", 20'000, [] {
    const auto amount = draw(0, 1) == 0 ? draw<Amount>(0, Amount{1} << 62) : draw<Amount>(0, 1000);
    const Wide whole = (Wide{draw<Amount>(1, Amount{1} << 62)} << draw(0, 30)) >> draw(0, 61);
    const Wide part =
        draw(0, 5) == 0 ? whole : Wide{draw<Amount>(0, Amount{1} << 62)} % (whole + 1);
    RC_PRE(whole > 0);
    RC_ASSERT(ProportionalShare(amount, whole).until(part) == slow_share(amount, part, whole));
  });
}

TEST_CASE("A copy of a water level goes its own way", "[unit][water-fill]") {
  WaterLevel first;
  first.set_capacity(10);
  first.set(1, {.weight = 1, .request = 10});
  first.set(2, {.weight = 1, .request = 10});
  WaterLevel second = first;
  first.set_request(1, 2);
  CHECK(first.runtime(2) == 8);
  CHECK(second.runtime(2) == 5);
}

/// Cases with the same meaning from YARN's TestComputeFairShares (Apache-2.0): maximum shares and
/// weights alone. With minimum shares it clips `weight * level` to [min, max], where here min is
/// served first and the rest is poured on top of it, so those cases come out otherwise.
TEST_CASE("Shares with maxima and weights are YARN's", "[unit][water-fill]") {
  const auto shares = [](Amount total, std::vector<QuotaGroup> groups) {
    for (QuotaGroup& group : groups) group.request = total;
    return water_fill(total, groups).runtime;
  };
  using Shares = std::vector<Amount>;
  CHECK(shares(40, {{}, {}, {}, {}}) == Shares{10, 10, 10, 10});
  CHECK(shares(40, {{.max = 100}, {.max = 50}, {.max = 11}, {.max = 3}}) == Shares{13, 13, 11, 3});
  CHECK(shares(45, {{.weight = 4}, {.weight = 2}, {.weight = 2}, {.weight = 1}}) ==
        Shares{20, 10, 10, 5});
  CHECK(shares(45, {{.weight = 4, .max = 10},
                    {.weight = 2, .max = 11},
                    {.weight = 2, .max = 30},
                    {.weight = 1, .max = 20}}) == Shares{10, 11, 16, 8});
  CHECK(shares(40'000'000, {{}, {}, {}, {}}) ==
        Shares{10'000'000, 10'000'000, 10'000'000, 10'000'000});
  CHECK(shares(40, {}).empty());
}

}  // namespace
}  // namespace fairwater
