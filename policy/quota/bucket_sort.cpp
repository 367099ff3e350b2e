#include "policy/quota/bucket_sort.hpp"

#include <algorithm>
#include <utility>

namespace fairwater::inline policy::inline quota {
namespace {

/// Stable. Gives up, with the items in some order, after more than `budget` moves.
bool insertion_sort(RatioItem* begin, RatioItem* end, std::size_t budget) {
  for (RatioItem* next = begin + 1; next < end; ++next) {
    const RatioItem item = *next;
    RatioItem* hole = next;
    for (; hole > begin && item.ratio < (hole - 1)->ratio; --hole) *hole = *(hole - 1);
    *hole = item;
    const auto moves = static_cast<std::size_t>(next - hole);
    if (moves > budget) return false;
    budget -= moves;
  }
  return true;
}

}  // namespace

void RatioSorter::start(std::size_t first, const std::vector<std::uint32_t>& counts) {
  first_ = first;
  next_.resize(counts.size());
  std::uint32_t total = 0;
  for (std::size_t b = 0; b < counts.size(); ++b)
    next_[b] = std::exchange(total, total + counts[b]);
  items_.resize(total);
}

std::span<RatioItem> RatioSorter::sort() {
  std::size_t begin = 0;
  for (const std::uint32_t end : next_) {
    sort_bucket(items_.data() + begin, end - begin);
    begin = end;
  }
  return {items_.data(), begin};
}

/// Spreads the bucket's items over as many slots by where they lie in it, then puts neighbours
/// right.
void RatioSorter::sort_bucket(RatioItem* begin, std::size_t count) {
  if (count < 2) return;
  const auto by_ratio = [](const RatioItem& a, const RatioItem& b) { return a.ratio < b.ratio; };
  const auto [least, largest] = std::minmax_element(begin, begin + count, by_ratio);
  if (least->ratio == largest->ratio) return;
  const double origin = least->ratio;
  const double slots_per_ratio = static_cast<double>(count) / (largest->ratio - origin);
  const auto slot_of = [&](const RatioItem& item) {
    return std::min(static_cast<std::size_t>((item.ratio - origin) * slots_per_ratio), count - 1);
  };
  slots_.assign(count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) ++slots_[slot_of(begin[i]) + 1];
  for (std::size_t slot = 1; slot <= count; ++slot) slots_[slot] += slots_[slot - 1];
  scratch_.assign(begin, begin + count);
  for (const RatioItem& item : scratch_) begin[slots_[slot_of(item)]++] = item;
  constexpr std::size_t kMovesPerItem = 8;
  if (insertion_sort(begin, begin + count, kMovesPerItem * count)) return;
  std::sort(begin, begin + count, [](const RatioItem& a, const RatioItem& b) {
    return a.ratio != b.ratio ? a.ratio < b.ratio : a.index < b.index;
  });
}

}  // namespace fairwater::inline policy::inline quota
