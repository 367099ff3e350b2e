// Counts of a prefix of the sequence, without writing the order out.
//
// In the maximum-deficit order slot j (1..R) of a member of weight R falls at time j / R, so up to
// time x a member has floor(x * R) slots. A prefix of P slots ends at the smallest x with
// sum(floor(x * R)) >= P; what falls exactly at x is told apart by rank.
//
// Members of equal weight form a class: they move in step, so work is per class, not per member.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairwater::inline policy::inline sequence::sequence_detail {

struct WeightClass {
  std::uint32_t weight;   ///< 1..10^9
  std::uint32_t members;  ///< how many have this weight, at least 1
};

/// Where a class stands: every member has had `count` slots, and `extra` of its members (fewer than
/// all) one more.
struct ClassProgress {
  std::uint32_t count = 0;
  std::uint32_t extra = 0;
  friend bool operator==(const ClassProgress&, const ClassProgress&) = default;
};

/// The progress of every class after the first `slots` of one maximum-deficit period. `classes` are
/// in ranked order (heaviest first), `cycle` is the sum of all weights, `slots` at most `cycle`.
/// The `extra` members are the last-ranked of their class. O(classes), expected.
[[nodiscard]] std::vector<ClassProgress> count_prefix(std::span<const WeightClass> classes,
                                                      std::uint64_t cycle, std::uint64_t slots);

}  // namespace fairwater::inline policy::inline sequence::sequence_detail
