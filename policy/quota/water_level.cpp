#include <algorithm>
#include <optional>

#include "policy/core/check.hpp"
#include "policy/core/exact_share.hpp"
#include "policy/core/slot_index.hpp"
#include "policy/quota/ratio_tree.hpp"
#include "policy/quota/water_fill.hpp"

namespace fairwater::inline policy::inline quota {

class WaterLevel::Impl {
 public:
  void set_capacity(Amount capacity) {
    FAIRWATER_CHECK(capacity >= 0, "a capacity is not negative");
    capacity_ = capacity;
    is_settled_ = false;
  }
  [[nodiscard]] Amount capacity() const { return capacity_; }

  void set(Key key, const QuotaGroup& group) {
    std::uint32_t slot = slots_.find(key);
    if (slot == SlotIndex::kNone) {
      slot = take_slot();
      entries_[slot] = {.group = {}, .base = 0, .ratio = Ratio{0, 1, key, slot, 0}};
      slots_.set(key, slot);
    }
    change(entries_[slot], group);
  }
  void set_request(Key key, Amount request) {
    Entry& entry = entry_of(key);
    QuotaGroup group = entry.group;
    group.request = request;
    change(entry, group);
  }
  void erase(Key key) {
    Entry& entry = entry_of(key);
    change(entry, QuotaGroup{});
    free_slots_.push_back(entry.ratio.slot);
    slots_.erase(key);
  }
  [[nodiscard]] bool contains(Key key) const { return slots_.find(key) != SlotIndex::kNone; }
  [[nodiscard]] const QuotaGroup& group(Key key) const { return entry_of(key).group; }

  [[nodiscard]] Amount runtime(Key key) {
    const Entry& entry = entry_of(key);
    if (bases_ > capacity_) return scaled_base(entry);
    if (!entry.asks()) return entry.base;
    settle();
    const Ratio& ratio = entry.ratio;
    if (!level_ || ratio.is_reached(level_->poured, level_->weight, height_))
      return entry.base + ratio.need;
    const Wide before = asking_.weight_before(ratio) - saturated_weight_;
    return entry.base + share_->between(before, ratio.weight);
  }

  [[nodiscard]] std::optional<WaterMark> level() {
    if (bases_ > capacity_) return WaterMark{0, std::max<Wide>(asking_.sums().weight, 1)};
    settle();
    return level_;
  }

 private:
  struct Entry {
    QuotaGroup group;
    Amount base;
    Ratio ratio;  ///< need 0: does not ask
    [[nodiscard]] bool asks() const { return ratio.need > 0; }
  };

  std::uint32_t take_slot() {
    if (free_slots_.empty()) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  Entry& entry_of(Key key) {
    const std::uint32_t slot = slots_.find(key);
    FAIRWATER_CHECK(slot != SlotIndex::kNone, "the group was set before");
    return entries_[slot];
  }
  [[nodiscard]] const Entry& entry_of(Key key) const {
    return const_cast<Impl*>(this)->entry_of(key);
  }

  void change(Entry& entry, const QuotaGroup& group) {
    const Amount base = group.base();
    const Amount need = group.weight > 0 ? group.wanted() - base : 0;
    if (need != entry.ratio.need || group.weight != entry.group.weight) {
      if (entry.asks()) asking_.erase(entry.ratio);
      entry.ratio.need = 0;
      if (need > 0) {
        entry.ratio = Ratio::of(need, group.weight, entry.ratio.key, entry.ratio.slot);
        asking_.insert(entry.ratio);
      }
    }
    if (base != entry.base) {
      if (entry.base > 0) by_key_.erase(base_ratio(entry));
      bases_ += Wide{base} - entry.base;
      entry.base = base;
      if (entry.base > 0) by_key_.insert(base_ratio(entry));
    }
    entry.group = group;
    is_settled_ = false;
  }

  /// All ratios are 1, so bases lie in order of their keys.
  static Ratio base_ratio(const Entry& entry) {
    return {entry.base, entry.base, entry.ratio.key, entry.ratio.slot, 1.0};
  }
  [[nodiscard]] Amount scaled_base(const Entry& entry) const {
    if (entry.base == 0) return 0;
    return ProportionalShare(capacity_, bases_)
        .between(by_key_.weight_before(base_ratio(entry)), entry.base);
  }

  void settle() {
    if (is_settled_) return;
    is_settled_ = true;
    const Wide rest = capacity_ - bases_;
    if (asking_.sums().need <= rest) {
      level_.reset();
      return;
    }
    const RatioSums saturated = asking_.saturated(rest);
    saturated_weight_ = saturated.weight;
    level_ = WaterMark{rest - saturated.need, asking_.sums().weight - saturated.weight};
    height_ = approximately(level_->poured) / approximately(level_->weight);
    share_.emplace(static_cast<Amount>(level_->poured), level_->weight);
  }

  Amount capacity_ = 0;
  Wide bases_ = 0;
  std::vector<Entry> entries_;  ///< by slot
  std::vector<std::uint32_t> free_slots_;
  SlotIndex slots_;
  RatioTree asking_;
  RatioTree by_key_;  ///< the bases, see base_ratio

  // Made by settle(), from everything above.
  bool is_settled_ = false;
  Wide saturated_weight_ = 0;
  std::optional<WaterMark> level_;
  double height_ = 0;  ///< about level_
  std::optional<ProportionalShare> share_;
};

WaterLevel::WaterLevel() : impl_(std::make_unique<Impl>()) {}
WaterLevel::WaterLevel(const WaterLevel& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
WaterLevel::WaterLevel(WaterLevel&&) noexcept = default;
WaterLevel& WaterLevel::operator=(const WaterLevel& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
WaterLevel& WaterLevel::operator=(WaterLevel&&) noexcept = default;
WaterLevel::~WaterLevel() = default;

void WaterLevel::set_capacity(Amount capacity) { impl_->set_capacity(capacity); }
Amount WaterLevel::capacity() const { return impl_->capacity(); }
void WaterLevel::set(Key key, const QuotaGroup& group) { impl_->set(key, group); }
void WaterLevel::set_request(Key key, Amount request) { impl_->set_request(key, request); }
void WaterLevel::erase(Key key) { impl_->erase(key); }
bool WaterLevel::contains(Key key) const { return impl_->contains(key); }
const QuotaGroup& WaterLevel::group(Key key) const { return impl_->group(key); }
Amount WaterLevel::runtime(Key key) const { return impl_->runtime(key); }
std::optional<WaterMark> WaterLevel::level() const { return impl_->level(); }

}  // namespace fairwater::inline policy::inline quota
