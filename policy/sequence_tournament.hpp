// A winner tree: the smallest of n keys, one of which changes at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fairwater::sequence_detail {

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

}  // namespace fairwater::sequence_detail
