// Where water stops in a RatioTree, and what lies before one of its ratios.

#include "policy/core/check.hpp"
#include "policy/core/exact_share.hpp"
#include "policy/quota/lanes.hpp"
#include "policy/quota/ratio_tree.hpp"

namespace fairwater::inline policy::inline quota {

Wide RatioTree::weight_before(const Ratio& ratio) const {
  const Leaf& leaf = leaves_[leaf_of_[ratio.slot]];
  Wide before = 0;
  Place place = leaf.place;
  for (std::size_t height = 0; height < height_; ++height) {
    const Inner& inner = inners_[place.parent];
    for (std::size_t i = 0; i < place.at; ++i) before += inner.sums[i].weight;
    place = inner.place;
  }
  if (sums_fit_64_bits()) {
    const auto [weight, equal] = weight_below(leaf, ratio.approximate);
    before += weight;
    if (equal == 1) return before;  // none but itself
  } else {
    for (std::size_t i = 0; i < leaf.count; ++i)
      before += leaf.approximate[i] < ratio.approximate ? leaf.weight[i] : 0;
  }
  for (std::size_t i = 0; i < leaf.count; ++i)
    if (leaf.approximate[i] == ratio.approximate && leaf.at(i).before_exactly(ratio))
      before += leaf.weight[i];
  return before;
}

bool RatioTree::sums_fit_64_bits() const {
  constexpr Wide kLimit = Wide{1} << 62;
  return sums_.weight < kLimit && sums_.need < kLimit;
}

/// The weights of all ratios below `below`, and how many are equal to it.
std::pair<Weight, std::int64_t> RatioTree::weight_below(const Leaf& leaf, double below) {
  const Doubles bound = {below, below};
  Integers weight{};
  Integers equal{};
  for (std::size_t i = 0; i < leaf.count; i += 2) {
    const auto ratio = load<Doubles>(&leaf.approximate[i]);
    weight += (ratio < bound) & load<Integers>(&leaf.weight[i]);
    equal -= ratio == bound;
  }
  return {weight[0] + weight[1], equal[0] + equal[1]};
}

/// Over all ratios below `below`, and how many others are at most `doubtful_to`.
RatioTree::LeafSums RatioTree::sums_below(const Leaf& leaf, double below, double doubtful_to) {
  const Doubles low = {below, below};
  const Doubles high = {doubtful_to, doubtful_to};
  Integers need{};
  Integers weight{};
  Integers doubtful{};
  static_assert(kLeafSize % 2 == 0);
  for (std::size_t i = 0; i < leaf.count; i += 2) {
    const auto ratio = load<Doubles>(&leaf.approximate[i]);
    const Integers is_below = ratio < low;
    need += is_below & load<Integers>(&leaf.need[i]);
    weight += is_below & load<Integers>(&leaf.weight[i]);
    doubtful -= is_below ^ (ratio <= high);
  }
  return {need[0] + need[1], weight[0] + weight[1], doubtful[0] + doubtful[1]};
}

RatioSums RatioTree::saturated(Wide amount) {
  FAIRWATER_CHECK(amount >= 0 && amount < sums_.need, "water stops below what all need");
  if (finger_) {
    const auto found = saturated_at(*finger_, amount);
    if (found) return *found;
  }
  finger_ = find_level(amount);
  const auto found = saturated_at(*finger_, amount);
  FAIRWATER_CHECK(found.has_value(), "the level is in the leaf that the sums lead to");
  return *found;
}

/// Goes down to the last leaf whose least ratio is reached when everything before it is saturated.
RatioTree::Finger RatioTree::find_level(Wide amount) const {
  Finger finger;
  NodeId node = root_;
  for (std::size_t depth = 0; depth < height_; ++depth) {
    const Inner& inner = inners_[node];
    std::size_t at = 0;
    for (; at + 1 < inner.count; ++at) {
      const RatioSums before = finger.before + inner.sums[at];
      if (!inner.low[at + 1].is_reached(amount - before.need, sums_.weight - before.weight)) break;
      finger.before = before;
    }
    if (at > 0) finger.low = inner.low[at];
    if (at + 1 < inner.count) finger.next = inner.low[at + 1];
    node = inner.child[at];
  }
  finger.leaf = node;
  finger.below = finger.before;
  return finger;
}

/// Lets the level settle within the finger's leaf. Nothing when it is not there.
std::optional<RatioSums> RatioTree::saturated_at(Finger& finger, Wide amount) const {
  const bool is_settled = sums_fit_64_bits() && settle(finger, static_cast<Amount>(amount));
  const RatioSums saturated =
      is_settled ? finger.below : saturated_exactly(leaves_[finger.leaf], finger.before, amount);
  const Wide poured = amount - saturated.need;
  const Wide whole = sums_.weight - saturated.weight;
  if (whole <= 0 || poured < 0) return std::nullopt;
  if (finger.low && !finger.low->is_reached(poured, whole)) return std::nullopt;
  if (finger.next && finger.next->is_reached(poured, whole)) return std::nullopt;
  return saturated;
}

/// Moves the threshold to where it follows from what is below it, when no ratio is too near to
/// tell. From too low it rises in every round; from too high it first falls below. All sums fit 64
/// bits.
bool RatioTree::settle(Finger& finger, Amount amount) const {
  constexpr int kMaxRounds = 8;
  const Leaf& leaf = leaves_[finger.leaf];
  const auto before_need = static_cast<Amount>(finger.before.need);
  const auto before_weight = static_cast<Weight>(finger.before.weight);
  const auto whole = static_cast<Weight>(sums_.weight);
  auto need = static_cast<Amount>(finger.below.need);
  auto weight = static_cast<Weight>(finger.below.weight);
  for (int round = 0; round < kMaxRounds; ++round) {
    const double height = whole > weight && amount > need ? static_cast<double>(amount - need) /
                                                                static_cast<double>(whole - weight)
                                                          : 0;
    finger.threshold = height * (1 - Ratio::kDoubt);
    const LeafSums here = sums_below(leaf, finger.threshold, height * (1 + Ratio::kDoubt));
    const bool is_same = before_need + here.need == need && before_weight + here.weight == weight;
    need = before_need + here.need;
    weight = before_weight + here.weight;
    finger.below = {need, weight};
    if (here.doubtful > 0) return false;
    if (is_same) return true;
  }
  return false;
}

/// Round by round: whoever reaches its need at the height of a round leaves more for the others.
RatioSums RatioTree::saturated_exactly(const Leaf& leaf, const RatioSums& before,
                                       Wide amount) const {
  RatioSums saturated = before;
  std::array<bool, kLeafSize> done{};
  for (bool changed = true; changed;) {
    changed = false;
    const Wide poured = amount - saturated.need;
    const Wide whole = sums_.weight - saturated.weight;
    if (poured < 0 || whole <= 0) break;
    const double height = approximately(poured) / approximately(whole);
    for (std::size_t i = 0; i < leaf.count; ++i) {
      const Ratio ratio = leaf.at(i);
      if (done[i] || !ratio.is_reached(poured, whole, height)) continue;
      done[i] = changed = true;
      saturated += RatioSums::of(ratio);
    }
  }
  return saturated;
}

}  // namespace fairwater::inline policy::inline quota
