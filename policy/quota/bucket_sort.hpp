// Sorting by a positive floating-point ratio in linear expected time, as the water-fill needs it:
// first into buckets of equal width on the scale of the ratio's bits (about its logarithm), so that
// what lies below the water is never sorted; then each bucket by itself.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/core/types.hpp"

namespace fairwater::inline policy::inline quota {

struct RatioItem {
  double ratio;
  Weight weight;
  std::uint32_t index;
};

/// Buckets for ratios from 2^-62 to 2^62: a fixed number to each octave. Positive doubles are
/// ordered as their bits.
class RatioBuckets {
 public:
  /// More of them for more ratios: one to 32 octaves, one to each, 16 to each.
  explicit RatioBuckets(std::size_t ratios) : shift_(ratios < 256 ? 57 : ratios < 4096 ? 52 : 48) {}

  [[nodiscard]] std::size_t size() const { return of(kLargest) + 1; }
  [[nodiscard]] std::size_t of(double ratio) const {
    return (std::bit_cast<std::uint64_t>(ratio) - std::bit_cast<std::uint64_t>(kLeast)) >> shift_;
  }
  /// The least ratio in the bucket.
  [[nodiscard]] double lower_edge(std::size_t bucket) const {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(kLeast) +
                                 (std::uint64_t{bucket} << shift_));
  }
  /// At least every ratio in the bucket.
  [[nodiscard]] double upper_edge(std::size_t bucket) const {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(kLeast) +
                                 ((std::uint64_t{bucket} + 1) << shift_));
  }

 private:
  static constexpr double kLeast = 0x1p-62;
  static constexpr double kLargest = 0x1p62;

  int shift_;
};

/// Sorts items of the buckets from some bucket on, stably. Keeps its memory for the next time.
class RatioSorter {
 public:
  /// `counts`: how many items each bucket from `first` on will get.
  void start(std::size_t first, const std::vector<std::uint32_t>& counts);
  void add(std::size_t bucket, const RatioItem& item) { items_[next_[bucket - first_]++] = item; }
  /// After all were added. O(items) expected; O(items log items) where unequal ratios crowd
  /// together.
  [[nodiscard]] std::span<RatioItem> sort();

 private:
  void sort_bucket(RatioItem* begin, std::size_t count);

  std::size_t first_ = 0;
  /// Where the next item of each bucket goes.
  std::vector<std::uint32_t> next_;
  std::vector<RatioItem> items_;
  std::vector<RatioItem> scratch_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace fairwater::inline policy::inline quota
