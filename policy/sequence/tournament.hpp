// Which class of members the next slot falls to: a winner tree over the times of their next slots.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairwater::inline policy::inline sequence::sequence_detail {

/// The times j / R of a class's slots, one after the other, as multiples of 2^-62 rounded down.
/// Weights are below 2^30, so times that differ do so by more than 2^-60 and compare exactly.
class SlotTimes {
 public:
  /// At slot `slot`, at most `weight` + 1.
  SlotTimes(std::uint64_t slot, std::uint32_t weight)
      : step_(kOne / weight),
        step_rest_(static_cast<std::uint32_t>(kOne % weight)),
        weight_(weight) {
    const auto at = static_cast<unsigned __int128>(slot) * kOne;
    time_ = static_cast<std::uint64_t>(at / weight);
    rest_ = static_cast<std::uint32_t>(at % weight);
  }
  [[nodiscard]] std::uint64_t virtual_time() const { return time_; }
  void next() {
    rest_ += step_rest_;
    const bool carry = rest_ >= weight_;
    rest_ -= carry ? weight_ : 0;
    time_ += step_ + (carry ? 1 : 0);
  }
  void previous() {
    const bool borrow = rest_ < step_rest_;
    rest_ += borrow ? weight_ : 0;
    rest_ -= step_rest_;
    time_ -= step_ + (borrow ? 1 : 0);
  }

 private:
  static constexpr std::uint64_t kOne = std::uint64_t{1} << 62;
  std::uint64_t time_;
  std::uint64_t step_;
  std::uint32_t rest_;
  std::uint32_t step_rest_;
  std::uint32_t weight_;
};

/// Keys of 128 bits whose lowest 32 tell them apart. Setting one key costs O(log n) without a
/// branch that depends on the keys.
class Tournament {
 public:
  using Key = unsigned __int128;
  static constexpr Key kNever = ~Key{0};

  /// Sets all keys. O(n).
  void assign(const std::vector<Key>& keys) {
    leaves_ = std::bit_ceil(keys.size() + 1);
    nodes_.assign(2 * leaves_, kNever);
    for (std::size_t i = 0; i < keys.size(); ++i) nodes_[leaves_ + i] = keys[i];
    for (std::size_t i = leaves_ - 1; i > 0; --i)
      nodes_[i] = smaller(nodes_[2 * i], nodes_[2 * i + 1]);
  }
  void set(std::size_t index, Key key) {
    std::size_t node = leaves_ + index;
    nodes_[node] = key;
    for (; node > 1; node /= 2) {
      key = smaller(key, nodes_[node ^ 1]);
      nodes_[node / 2] = key;
    }
  }
  [[nodiscard]] Key smallest() const { return nodes_[1]; }

 private:
  static Key smaller(Key a, Key b) { return a < b ? a : b; }

  std::size_t leaves_ = 0;
  std::vector<Key> nodes_;  ///< 1 is the root, the children of i are 2i and 2i + 1
};

}  // namespace fairwater::inline policy::inline sequence::sequence_detail
