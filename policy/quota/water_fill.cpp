#include "policy/quota/water_fill.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "policy/core/check.hpp"
#include "policy/core/exact_share.hpp"
#include "policy/core/ratio.hpp"
#include "policy/quota/bucket_sort.hpp"

namespace fairwater::inline policy::inline quota {
namespace {

/// About need / weight: three roundings, each of at most 2^-53 of it. Where both are below 2^53 it
/// is one rounding, which never swaps the order.
double rounded_ratio(Amount need, Weight weight) {
  return static_cast<double>(need) / static_cast<double>(weight);
}
/// How many groups ahead to fetch where they come in no order that the processor foresees.
constexpr std::size_t kAhead = 16;

/// Ratios that are further apart than this part of them are in their exact order.
constexpr double kRounding = 0x1p-50;

}  // namespace

class WaterFiller::Impl {
 public:
  WaterFillResult& fill(Amount capacity, std::span<const QuotaGroup> groups) {
    FAIRWATER_CHECK(capacity >= 0, "a capacity is not negative");
    capacity_ = capacity;
    groups_ = groups;
    by_ratio_ = RatioBuckets(groups.size());
    result_.level.reset();
    measure();
    const Wide rest = capacity_ - bases_;
    if (rest < 0)
      scale_bases();
    else if (needs_ > rest)
      pour(rest);
    return result_;
  }

 private:
  struct Bucket {
    Wide need = 0;
    Wide weight = 0;
    std::uint32_t count = 0;
  };

  /// Of a group whose runtime is its base.
  [[nodiscard]] Amount need(std::size_t i) const {
    return groups_[i].wanted() - result_.runtime[i];
  }

  /// Adds up bases and needs, and gives every group all that it wants for now.
  void measure() {
    result_.runtime.resize(groups_.size());
    ratios_.resize(groups_.size());
    buckets_.assign(by_ratio_.size(), Bucket{});
    // Locals, because the compiler must take a store of an amount for one to any member.
    Amount* const runtime = result_.runtime.data();
    double* const ratios = ratios_.data();
    Bucket* const buckets = buckets_.data();
    Wide bases = 0;
    Amount need_bits = 0;
    Weight weight_bits = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const QuotaGroup& group = groups_[i];
      const Amount wanted = group.wanted();
      const Amount base = group.base();
      const Amount need = wanted - base;
      const Weight weight = group.weight;
      runtime[i] = weight > 0 ? wanted : base;
      bases += base;
      ratios[i] = 0;
      if (need == 0 || weight == 0) continue;
      const double ratio = rounded_ratio(need, weight);
      ratios[i] = ratio;
      need_bits |= need;
      weight_bits |= weight;
      Bucket& bucket = buckets[by_ratio_.of(ratio)];
      bucket.need += need;
      bucket.weight += weight;
      ++bucket.count;
    }
    bases_ = bases;
    need_bound_ = std::bit_ceil(static_cast<std::uint64_t>(need_bits) + 1);
    weight_bound_ = std::bit_ceil(static_cast<std::uint64_t>(weight_bits) + 1);
    needs_ = weights_ = 0;
    for (const Bucket& bucket : buckets_) {
      needs_ += bucket.need;
      weights_ += bucket.weight;
    }
  }

  void scale_bases() {
    const ProportionalShare share(capacity_, bases_);
    Wide before = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Amount base = groups_[i].base();
      result_.runtime[i] = share.between(before, base);
      before += base;
    }
    result_.level = WaterMark{0, std::max<Wide>(weights_, 1)};
  }

  void pour(Wide rest) {
    Wide whole = weights_;
    const std::size_t first = skip_saturated(rest, whole);
    share_out(sort_from(first), rest, whole);
  }

  /// The first bucket that the water may not fill; takes all before it out of `rest` and `whole`.
  std::size_t skip_saturated(Wide& rest, Wide& whole) const {
    constexpr double kSurely = 1 - 0x1p-40;  // far more than what rounding below can be wrong by
    std::size_t b = 0;
    for (;; ++b) {
      FAIRWATER_CHECK(b < buckets_.size(), "water stops below what all need");
      if (buckets_[b].count == 0) continue;
      const Wide left = rest - buckets_[b].need;
      const Wide over = whole - buckets_[b].weight;
      const double wanted = by_ratio_.upper_edge(b) * approximately(over);
      if (left < 0 || wanted > approximately(left) * kSurely) return b;
      rest = left;
      whole = over;
    }
  }

  /// Takes all from bucket `first` on back to their bases, and returns them in order of their
  /// ratios.
  std::span<const RatioItem> sort_from(std::size_t first) {
    counts_.clear();
    for (std::size_t b = first; b < buckets_.size(); ++b) counts_.push_back(buckets_[b].count);
    sorter_.start(first, counts_);
    // Half of the groups or so are below: without a branch there is nothing to mispredict.
    const double least = by_ratio_.lower_edge(first);
    above_.resize(groups_.size() + 1);
    std::uint32_t* const above = above_.data();
    Amount* const runtime = result_.runtime.data();
    const double* const ratios = ratios_.data();
    std::size_t count = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      above[count] = static_cast<std::uint32_t>(i);
      count += ratios[i] >= least ? 1 : 0;
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (k + kAhead < count) __builtin_prefetch(&groups_[above[k + kAhead]]);
      const std::uint32_t i = above[k];
      const QuotaGroup& group = groups_[i];
      const double ratio = ratios[i];
      runtime[i] = group.base();
      sorter_.add(by_ratio_.of(ratio), {ratio, group.weight, i});
    }
    const std::span<RatioItem> sorted = sorter_.sort();
    // Unequal ratios of small numbers differ by more than a rounding.
    constexpr Wide kDistinct = Wide{1} << 51;
    if (Wide{need_bound_} * weight_bound_ >= kDistinct) settle_neighbours(sorted);
    return sorted;
  }

  /// Orders what rounding made equal or may have swapped: runs of ratios with next to nothing
  /// between each and the one after it.
  void settle_neighbours(std::span<RatioItem> items) const {
    for (auto run = items.begin(); run != items.end();) {
      Weight heaviest = run->weight;
      auto end = run + 1;
      for (; end != items.end() && end->ratio <= end[-1].ratio * (1 + kRounding); ++end)
        heaviest = std::max(heaviest, end->weight);
      // Of small numbers only equal ratios are that near, and these are in input order already.
      constexpr double kDistinct = 0x1p49;
      const auto weight = static_cast<double>(heaviest);
      if (end - run > 1 && end[-1].ratio * weight * weight >= kDistinct) sort_exactly({run, end});
      run = end;
    }
  }

  void sort_exactly(std::span<RatioItem> items) const {
    std::sort(items.begin(), items.end(), [&](const RatioItem& a, const RatioItem& b) {
      const Wide x = Wide{need(a.index)} * b.weight;
      const Wide y = Wide{need(b.index)} * a.weight;
      return x != y ? x < y : a.index < b.index;
    });
  }

  void share_out(std::span<const RatioItem> sorted, Wide rest, Wide whole) {
    auto item = sorted.begin();
    for (; item != sorted.end(); ++item) {
      const Amount wanted = need(item->index);
      if (!is_reached(wanted, item->weight, rest, whole)) break;
      result_.runtime[item->index] += wanted;
      rest -= wanted;
      whole -= item->weight;
    }
    FAIRWATER_CHECK(item != sorted.end(), "water stops below what all need");
    result_.level = WaterMark{rest, whole};
    const ProportionalShare share(static_cast<Amount>(rest), whole);
    Wide before = 0;
    Amount given = 0;
    for (; item != sorted.end(); ++item) {
      if (sorted.end() - item > std::ptrdiff_t{kAhead})
        __builtin_prefetch(&result_.runtime[item[kAhead].index], 1);
      before += item->weight;
      const Amount until = share.until(before);
      result_.runtime[item->index] += until - given;
      given = until;
    }
  }

  Amount capacity_ = 0;
  std::span<const QuotaGroup> groups_;
  RatioBuckets by_ratio_{0};
  WaterFillResult result_;
  std::vector<double> ratios_;  ///< per group, 0 when it does not ask
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::uint32_t> above_;  ///< groups that the water may not fill
  RatioSorter sorter_;
  Wide bases_ = 0;
  Wide needs_ = 0;
  Wide weights_ = 0;
  std::uint64_t need_bound_ = 0;  ///< above every need, a power of two
  std::uint64_t weight_bound_ = 0;
};

WaterFiller::WaterFiller() : impl_(std::make_unique<Impl>()) {}
WaterFiller::WaterFiller(WaterFiller&&) noexcept = default;
WaterFiller& WaterFiller::operator=(WaterFiller&&) noexcept = default;
WaterFiller::~WaterFiller() = default;

const WaterFillResult& WaterFiller::fill(Amount capacity, std::span<const QuotaGroup> groups) {
  return impl_->fill(capacity, groups);
}

WaterFillResult water_fill(Amount capacity, std::span<const QuotaGroup> groups) {
  WaterFiller filler;
  return std::move(filler.impl_->fill(capacity, groups));
}

}  // namespace fairwater::inline policy::inline quota
