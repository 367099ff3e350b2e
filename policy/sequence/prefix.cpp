#include "policy/sequence/prefix.hpp"

#include <algorithm>

#include "policy/core/check.hpp"

namespace fairwater::inline policy::inline sequence::sequence_detail {
namespace {

/// A time in [0, 1] as a multiple of 2^-63. Weights are below 2^30, so any two times j / R are more
/// than that apart.
using Time = std::uint64_t;
constexpr int kTimeBits = 63;
constexpr Time kTimeOne = Time{1} << kTimeBits;
using Wide = unsigned __int128;

/// floor(x * weight): the upper half of a product of 64 bits each.
std::uint64_t slots_until(Time x, std::uint32_t weight) {
  const std::uint64_t twice = std::uint64_t{weight} * 2;
  return static_cast<std::uint64_t>((static_cast<Wide>(twice) * x) >> 64);
}

std::uint64_t count_until(std::span<const WeightClass> classes, Time x) {
  std::uint64_t slots = 0;
  for (const WeightClass& c : classes) slots += slots_until(x, c.weight) * c.members;
  return slots;
}

/// The prefix ends in (low, high]: count_until(low) <= slots <= count_until(high).
struct Bracket {
  Time low;
  Time high;
};

/// Each floor takes less than one slot, so count_until(slots / cycle) lies within `members` below
/// `slots`.
Bracket first_bracket(std::uint64_t cycle, std::uint64_t slots, std::uint64_t members) {
  const auto time_at = [&](Wide at) { return static_cast<Time>((at << kTimeBits) / cycle); };
  const Time low = time_at(slots);
  const Time high = slots + members >= cycle ? kTimeOne : time_at(slots + members) + 1;
  return {low, std::min(high, kTimeOne)};
}

/// Narrows until about `goal` slots are expected inside. The floors lose half a slot per member on
/// average, which makes the middle of the bracket the first guess; the second lands just beyond the
/// end.
Bracket narrow(std::span<const WeightClass> classes, std::uint64_t cycle, std::uint64_t slots,
               Bracket bracket, std::uint64_t goal) {
  constexpr int kMaxProbes = 4;
  const double time_per_slot = static_cast<double>(kTimeOne) / static_cast<double>(cycle);
  const double wanted = static_cast<double>(goal) * time_per_slot;
  Time probe = bracket.low + (bracket.high - bracket.low) / 2;
  for (int i = 0; i < kMaxProbes; ++i) {
    if (static_cast<double>(bracket.high - bracket.low) <= wanted) break;
    const std::uint64_t count = count_until(classes, probe);
    const double missing = static_cast<double>(slots) - static_cast<double>(count);
    (count <= slots ? bracket.low : bracket.high) = probe;
    const double step = missing * time_per_slot + (missing >= 0 ? 0.4 : -0.4) * wanted;
    const double next = static_cast<double>(probe) + step;
    if (next > static_cast<double>(bracket.low) && next < static_cast<double>(bracket.high))
      probe = std::clamp(static_cast<Time>(next), bracket.low, bracket.high);
    else
      probe = bracket.low + (bracket.high - bracket.low) / 2;
  }
  return bracket;
}

/// A slot of every member of a class, within the bracket.
struct Candidate {
  double time;  ///< slot / weight, rounded
  std::uint32_t slot;
  std::uint32_t weight;
  std::uint32_t class_index;
  /// By exact time; on a tie the last-ranked comes first.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.time != b.time) return a.time < b.time;
    const std::uint64_t x = std::uint64_t{a.slot} * b.weight;
    const std::uint64_t y = std::uint64_t{b.slot} * a.weight;
    return x != y ? x < y : a.class_index > b.class_index;
  }
};

}  // namespace

std::vector<ClassProgress> count_prefix(std::span<const WeightClass> classes, std::uint64_t cycle,
                                        std::uint64_t slots) {
  FAIRWATER_CHECK(slots <= cycle, "a prefix is at most one period");
  std::vector<ClassProgress> progress(classes.size());
  if (slots == 0) return progress;

  std::uint64_t members = 0;
  for (const WeightClass& c : classes) members += c.members;
  const std::uint64_t goal = 32 + members / 32;
  const Bracket bracket = narrow(classes, cycle, slots, first_bracket(cycle, slots, members), goal);

  std::vector<Candidate> candidates;
  std::uint64_t left = slots;
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    const WeightClass& c = classes[i];
    const auto before = static_cast<std::uint32_t>(slots_until(bracket.low, c.weight));
    const auto after = static_cast<std::uint32_t>(slots_until(bracket.high, c.weight));
    progress[i].count = before;
    left -= std::uint64_t{before} * c.members;
    for (std::uint32_t slot = before + 1; slot <= after; ++slot)
      candidates.push_back({static_cast<double>(slot) / c.weight, slot, c.weight, i});
  }
  std::sort(candidates.begin(), candidates.end());
  for (const Candidate& candidate : candidates) {
    if (left == 0) break;
    ClassProgress& p = progress[candidate.class_index];
    const std::uint32_t members_here = classes[candidate.class_index].members;
    if (left < members_here) {
      p.extra = static_cast<std::uint32_t>(left);
      left = 0;
    } else {
      ++p.count;
      left -= members_here;
    }
  }
  FAIRWATER_CHECK(left == 0, "the bracket holds the end of the prefix");
  return progress;
}

}  // namespace fairwater::inline policy::inline sequence::sequence_detail
